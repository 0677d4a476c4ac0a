//! Who drives the writer: a thread of its own, which callers may forestall, or whoever waits for it.

#[cfg(test)]
mod tests;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use steadfast_engine::Time;
use steadfast_store::{Error, Kind};

use crate::answer::{Receiver, answer};
use crate::job::Work;
use crate::queue::{Group, Queue};
use crate::writer::{Outcome, Writer};

/// The writer's thread, as the system shows it.
const NAME: &str = "steadfast-writer";
/// The most bytes of a write that a caller makes itself: one task's, but for large payloads. More of them come from many tasks at
/// once, and to prepare the next ones meanwhile is worth more.
const SMALL: usize = 2 << 10;
/// So many small commits after a larger one are left to the thread, two tasks' worth: under load a small write that is made at once is
/// a commit of its own, where it could have shared one with a hundred others.
const CALM_AFTER: u32 = 8;
/// A disk that takes longer is waited for on the writer's own thread.
const QUICK: Duration = Duration::from_millis(1);

/// The writer, and who drives it.
pub(crate) struct Drive {
    queue: Arc<Queue>,
    desk: Arc<Desk>,
    by: By,
    /// Whether callers may write themselves what is small, as long as nobody else writes and the disk is quick.
    at_once: AtomicBool,
}

/// Where one writes at a time.
struct Desk {
    writer: Mutex<Writer>,
    /// How long the last commit took, in nanoseconds.
    took: AtomicU64,
    /// How many small commits there were since the last larger one, up to [`CALM_AFTER`].
    small: AtomicU32,
}

enum By {
    /// A thread of its own: callers go on while it waits for the disk. `None` once it was waited for.
    Thread(Option<JoinHandle<()>>),
    /// Whoever polls an answer: no thread that a paused clock would not know of.
    Caller,
}

impl Desk {
    fn new(writer: Writer) -> Arc<Self> {
        Arc::new(Self {
            writer: Mutex::new(writer),
            took: AtomicU64::new(0),
            small: AtomicU32::new(CALM_AFTER),
        })
    }

    /// Writes what waits, and tells everybody. `false` if nothing does.
    fn turn(&self, queue: &Queue) -> bool {
        let done = {
            let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
            match queue.take() {
                group if group.is_empty() => return false,
                group => self.carry_out(&mut writer, group),
            }
        };
        // A waker may ask this store something: nothing is locked any more.
        tell(done);
        true
    }

    /// Whether the last commits were small, and the disk is quick.
    fn is_calm(&self) -> bool {
        u128::from(self.took.load(Ordering::Relaxed)) <= QUICK.as_nanos()
            && self.small.load(Ordering::Relaxed) >= CALM_AFTER
    }

    /// The same, if nobody else is at it and all is calm; whether it was so.
    fn try_turn(&self, queue: &Queue) -> bool {
        if !self.is_calm() {
            return false;
        }
        let done = {
            let mut writer = match self.writer.try_lock() {
                Ok(writer) => writer,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return false,
            };
            if !writer.begin_at_once() {
                return false;
            }
            self.carry_out(&mut writer, queue.take_once())
        };
        tell(done);
        true
    }

    fn carry_out(&self, writer: &mut Writer, group: Group) -> Outcome {
        #[expect(clippy::disallowed_methods, reason = "how long the disk takes is not the store's time")]
        let began = Instant::now();
        // Only who writes changes it: nobody else does at the same time.
        let small = match group.iter().map(|job| job.bytes()).sum::<usize>() {
            0..=SMALL => self.small.load(Ordering::Relaxed).saturating_add(1).min(CALM_AFTER),
            _ => 0,
        };
        self.small.store(small, Ordering::Relaxed);
        let done = writer.carry_out(group);
        let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.took.store(took, Ordering::Relaxed);
        done
    }
}

impl Drive {
    pub(crate) fn by_thread(writer: Writer) -> Result<Self, Error> {
        let (queue, desk) = (Arc::new(Queue::default()), Desk::new(writer));
        let (jobs, own) = (Arc::clone(&queue), Arc::clone(&desk));
        let turn = move || {
            while jobs.wait() {
                own.turn(&jobs);
            }
        };
        let thread = std::thread::Builder::new().name(NAME.to_owned()).spawn(turn).map_err(|error| {
            Error::new(Kind::Unavailable, "the store's writer cannot start: the system gives no more threads")
                .because(error)
        })?;
        Ok(Self { queue, desk, by: By::Thread(Some(thread)), at_once: AtomicBool::new(false) })
    }

    pub(crate) fn by_caller(writer: Writer) -> Self {
        let at_once = AtomicBool::new(false);
        Self { queue: Arc::default(), desk: Desk::new(writer), by: By::Caller, at_once }
    }

    /// From now on callers may write themselves.
    pub(crate) fn write_at_once(&self) {
        self.at_once.store(true, Ordering::Relaxed);
    }

    /// Has this done, if it was found well-formed; at once, whether or not the answer is waited for.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        checked: Result<(), Error>,
        bytes: usize,
        work: impl FnMut(&Connection, Time) -> rusqlite::Result<T> + Send + 'static,
    ) -> Asked<'_, T> {
        let (sender, receiver) = answer();
        let itself = bytes <= SMALL && self.at_once.load(Ordering::Relaxed);
        let pushed = match checked {
            Ok(()) => self.queue.push(Box::new(Work { work, bytes, done: None, sender }), !itself),
            Err(error) => {
                sender.tell(Err(error));
                return Asked { receiver, drive: self };
            }
        };
        match pushed {
            // Whoever is at it does not know of this one, or will find it: the thread looks again. Others that wait are looked after.
            Ok(first) if itself && !self.desk.try_turn(&self.queue) && first => self.queue.wake(),
            Ok(_) => {}
            Err((job, error)) => job.answer(Err(error)),
        }
        Asked { receiver, drive: self }
    }

    /// Whether whoever waits writes.
    pub(crate) fn is_by_caller(&self) -> bool {
        matches!(self.by, By::Caller)
    }

    /// One turn of the loop on this thread, if that is how the writer is driven; whether there was something to do.
    fn turn(&self) -> bool {
        matches!(self.by, By::Caller) && self.desk.turn(&self.queue)
    }
}

/// What is queued is done before the file is closed.
impl Drop for Drive {
    fn drop(&mut self) {
        self.queue.close();
        match &mut self.by {
            By::Caller => while self.turn() {},
            By::Thread(thread) => {
                // The last clone can go on the writer's own thread, with a waker that held it: it ends by itself then.
                let own = |thread: &JoinHandle<()>| thread.thread().id() == std::thread::current().id();
                if let Some(thread) = thread.take().filter(|thread| !own(thread)) {
                    let _ = thread.join();
                }
            }
        }
    }
}

/// Tells everybody, whatever their wakers do.
fn tell(done: Outcome) {
    steadfast_store::failpoint!("writer.before_answers");
    for (job, result) in done {
        let _ = catch_unwind(AssertUnwindSafe(|| job.answer(result)));
        steadfast_store::failpoint!("writer.between_answers");
    }
}

/// The answer to come. Dropped before, its work is done all the same.
#[must_use = "the store is asked, but nobody hears the answer"]
pub(crate) struct Asked<'a, T> {
    receiver: Receiver<T>,
    drive: &'a Drive,
}

impl<T> Future for Asked<'_, T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // Asked before each turn, so that it is woken if it went along in a turn of another thread.
        loop {
            let answer = Pin::new(&mut self.receiver).poll(context);
            if answer.is_ready() || !self.drive.turn() {
                return answer;
            }
        }
    }
}

impl<T> Drop for Asked<'_, T> {
    fn drop(&mut self) {
        while !self.receiver.is_told() && self.drive.turn() {}
    }
}
