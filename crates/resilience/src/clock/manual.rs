//! A clock that only moves when told to, and an executor that moves it when all work waits.
//!
//! ```
//! use std::time::Duration;
//! use steadfast_resilience::clock::VirtualClock;
//!
//! let clock = VirtualClock::new();
//! let waited = clock.block_on(async {
//!     clock.timer(Duration::from_secs(3600)).await; // an hour, at once
//!     clock.now()
//! });
//! assert_eq!(waited.as_nanos(), 3_600_000_000_000);
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use super::Moment;

/// Time for tests. Clones show the same time.
///
/// Give it to a pipeline or a breaker with `Clock::from(&clock)`. Then either move it by hand with
/// [`advance`](Self::advance), or run a future with [`block_on`](Self::block_on), which jumps to the next timer
/// whenever nothing else can run. A blocking wait moves the clock itself.
///
/// Mind the retry budget in small tests: its reserve is three retries in ten seconds of this clock.
#[derive(Clone)]
pub struct VirtualClock {
    id: u32,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Nanoseconds since [`Moment::ZERO`]. Apart from the timers, so that reading the time takes no lock; moved under it.
    now: AtomicU64,
    timers: Mutex<Timers>,
}

/// 0 and 1 are the system's clock and tokio's.
static NEXT_ID: AtomicU32 = AtomicU32::new(2);

impl Default for VirtualClock {
    fn default() -> Self {
        Self { id: NEXT_ID.fetch_add(1, Ordering::Relaxed), shared: Arc::default() }
    }
}

#[derive(Default)]
struct Timers {
    next_id: u64,
    /// Ordered by time, then by age, so that timers of one moment fire in the order they were set.
    waiting: BTreeMap<(Moment, u64), Waker>,
}

impl VirtualClock {
    /// A clock that stands at [`Moment::ZERO`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Moment {
        Moment::from_nanos(self.shared.now.load(Ordering::Acquire))
    }

    /// Moves the clock forward, waking what was due on the way in its order.
    pub fn advance(&self, by: Duration) {
        let end = self.now() + by;
        while let Some(due) = self.next_due().filter(|due| *due <= end) {
            self.jump(due);
        }
        self.jump(end);
    }

    /// Moves the clock to a later moment, for whoever knows that no timer waits.
    #[cfg(feature = "simulate")]
    pub(crate) fn set(&self, now: Moment) {
        self.shared.now.store(now.as_nanos(), Ordering::Release);
    }

    /// A timer that ends when the clock has moved by `wait`.
    #[must_use]
    pub fn timer(&self, wait: Duration) -> Timer {
        let mut timers = self.timers();
        let id = timers.next_id;
        timers.next_id += 1;
        Timer { clock: self.clone(), at: self.now() + wait, id }
    }

    /// Runs a future to its end on this thread. Whenever it waits and nothing woke it, the clock jumps to the next
    /// timer; work that runs at the same time goes into the future with `join!` and the like.
    ///
    /// # Panics
    /// When the future waits for something that no timer will wake: it would hang for ever.
    #[expect(clippy::panic, reason = "a test that would hang for ever must fail instead")]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        loop {
            while woken.0.swap(false, Ordering::AcqRel) {
                if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                    return output;
                }
            }
            match self.next_due() {
                Some(due) => self.jump(due),
                None => panic!("virtual time: the future waits, but for no timer"),
            }
        }
    }

    pub(super) fn id(&self) -> u32 {
        self.id
    }

    fn next_due(&self) -> Option<Moment> {
        self.timers().waiting.keys().next().map(|(at, _)| *at)
    }

    fn jump(&self, to: Moment) {
        let mut timers = self.timers();
        self.shared.now.fetch_max(to.as_nanos(), Ordering::AcqRel);
        let later = match to {
            Moment::FAR => BTreeMap::new(),
            _ => timers.waiting.split_off(&(to + Duration::from_nanos(1), 0)),
        };
        let due = std::mem::replace(&mut timers.waiting, later);
        drop(timers);
        due.into_values().for_each(Waker::wake);
    }

    fn timers(&self) -> MutexGuard<'_, Timers> {
        self.shared.timers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for VirtualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timers = self.timers();
        f.debug_struct("VirtualClock")
            .field("now", &self.now())
            .field("waiting", &timers.waiting.len())
            .finish()
    }
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

/// A wait on a [`VirtualClock`]. Dropping it takes it off the clock.
#[derive(Debug)]
pub struct Timer {
    clock: VirtualClock,
    at: Moment,
    id: u64,
}

impl Future for Timer {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut timers = self.clock.timers();
        if self.clock.now() >= self.at {
            return Poll::Ready(());
        }
        let before = timers.waiting.insert((self.at, self.id), cx.waker().clone());
        // A waker's drop is foreign code, which may come back here: not under the lock.
        drop(timers);
        drop(before);
        Poll::Pending
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        let waker = self.clock.timers().waiting.remove(&(self.at, self.id));
        drop(waker);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_fire_in_the_order_of_their_times() {
        let clock = VirtualClock::new();
        let order = Mutex::new(Vec::new());
        let step = |seconds: u64| {
            let (clock, order) = (&clock, &order);
            async move {
                clock.timer(Duration::from_secs(seconds)).await;
                order.lock().unwrap().push((seconds, clock.now()));
            }
        };
        clock.block_on(async { tokio::join!(step(3), step(1), step(2)) });
        let order = order.into_inner().unwrap();
        assert_eq!(order.iter().map(|(s, _)| *s).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(order.iter().all(|(s, at)| at.as_nanos() == s * 1_000_000_000));
    }

    #[test]
    fn advance_stops_at_nothing_and_ends_where_told() {
        let clock = VirtualClock::new();
        let timer = clock.timer(Duration::from_secs(5));
        clock.advance(Duration::from_secs(4));
        assert_eq!(clock.now().as_nanos(), 4_000_000_000);
        drop(timer);
        clock.advance(Duration::from_secs(4));
        assert_eq!(clock.now().as_nanos(), 8_000_000_000);
    }

    #[test]
    fn a_timer_at_the_end_of_time_ends() {
        let clock = VirtualClock::new();
        clock.block_on(clock.timer(Duration::MAX));
        assert_eq!(clock.now(), Moment::FAR);
        clock.advance(Duration::MAX);
    }

    #[test]
    fn a_dropped_timer_leaves_the_clock() {
        let clock = VirtualClock::new();
        let mut timer = Box::pin(clock.timer(Duration::from_secs(5)));
        let mut context = Context::from_waker(Waker::noop());
        assert!(timer.as_mut().poll(&mut context).is_pending());
        assert!(clock.next_due().is_some());
        drop(timer);
        assert!(clock.next_due().is_none());
    }

    #[test]
    #[should_panic(expected = "for no timer")]
    fn waiting_for_nothing_fails_instead_of_hanging() {
        VirtualClock::new().block_on(std::future::pending::<()>());
    }
}
