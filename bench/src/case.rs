//! One row of a benchmark: a call that is made again and again, on one thread or on two that share what they call.

use std::fmt;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use tokio::runtime::{Builder, Runtime};

use crate::{alloc, cpu};

/// What the cases of one set have in common: they can be compared. In the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Set {
    /// Nothing around the operation.
    Bare,
    /// A closed breaker, one thread, ready at once.
    Breaker,
    /// The same for an operation that pends once.
    BreakerPending,
    /// A closed breaker shared by two threads.
    BreakerShared,
    /// An open breaker that refuses.
    BreakerOpen,
    /// Retry over breaker over timeout, ready at once.
    Pipeline,
    /// The same for an operation that pends once.
    PipelinePending,
    /// Parts of a pipeline alone, ready at once.
    Part,
    /// The same for an operation that pends once.
    PartPending,
    /// A pipeline that is watched, ready at once.
    Watched,
}

impl Set {
    /// In words.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Bare => "bare call",
            Self::Breaker => "breaker closed, one thread",
            Self::BreakerPending => "breaker closed, one thread, pends once",
            Self::BreakerShared => "breaker closed, two threads",
            Self::BreakerOpen => "breaker open, refusal",
            Self::Pipeline => "pipeline, ready at once",
            Self::PipelinePending => "pipeline, pends once",
            Self::Part => "one part alone, ready at once",
            Self::PartPending => "one part alone, pends once",
            Self::Watched => "pipeline, watched, ready at once",
        }
    }

    /// Whether its calls succeed.
    const fn succeeds(self) -> bool {
        !matches!(self, Self::BreakerOpen)
    }
}

/// Whose a case is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Ours, as it comes.
    Ours,
    /// A peer to compare with.
    Peer,
    /// Shown beside them.
    Other,
}

/// A row: what it is, and how to run it.
pub struct Case {
    /// Its set.
    pub set: Set,
    /// Its name within the set.
    pub who: &'static str,
    /// Whose it is.
    pub role: Role,
    body: Box<dyn Body>,
    /// The recorder of metrics while it runs.
    #[cfg(feature = "telemetry")]
    recorder: Option<&'static dyn metrics::Recorder>,
}

/// What a number of calls took.
#[derive(Clone, Copy, Debug)]
pub struct Lap {
    /// From the first call to the end of the last; of the slower thread.
    pub elapsed: Duration,
    /// Made by the thread that calls.
    pub allocations: u64,
    succeeded: u64,
}

trait Body {
    fn run(&mut self, calls: u64) -> Result<Lap>;
}

impl Case {
    /// Calls on one thread. `make` runs inside of the runtime and gives the call: it says whether it succeeded.
    ///
    /// # Errors
    /// Whatever keeps the runtime or the call from being made.
    pub fn one_thread<C>(
        set: Set,
        who: &'static str,
        role: Role,
        make: impl AsyncFnOnce() -> Result<C>,
    ) -> Result<Self>
    where
        C: AsyncFnMut(u64) -> bool + 'static,
    {
        let runtime = runtime()?;
        let call = runtime.block_on(make())?;
        Ok(Self {
            set,
            who,
            role,
            body: Box::new(OneThread { runtime, call }),
            #[cfg(feature = "telemetry")]
            recorder: None,
        })
    }

    /// Calls on two threads at once. `make` gives what makes each thread's call.
    ///
    /// # Errors
    /// Whatever keeps the runtime or the call from being made.
    pub fn two_threads<M, C>(
        set: Set,
        who: &'static str,
        role: Role,
        make: impl AsyncFnOnce() -> Result<M>,
    ) -> Result<Self>
    where
        M: Fn() -> C + Sync + 'static,
        C: AsyncFnMut(u64) -> bool,
    {
        let runtime = runtime()?;
        let make_call = runtime.block_on(make())?;
        Ok(Self {
            set,
            who,
            role,
            body: Box::new(TwoThreads { make_call, _runtime: runtime }),
            #[cfg(feature = "telemetry")]
            recorder: None,
        })
    }

    /// With this recorder of metrics in force on the thread that calls.
    #[cfg(feature = "telemetry")]
    #[must_use]
    pub fn recorded(mut self, recorder: &'static dyn metrics::Recorder) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Makes the calls and checks that they went as they should.
    ///
    /// # Errors
    /// When a call had another outcome than its set says: then the figure would mean nothing.
    pub fn run(&mut self, calls: u64) -> Result<Lap> {
        #[cfg(feature = "telemetry")]
        let _recorder = self.recorder.map(metrics::set_default_local_recorder);
        let lap = self.body.run(calls)?;
        let expected = if self.set.succeeds() { calls } else { 0 };
        ensure!(lap.succeeded == expected, "{self:?}: {} of {calls} calls succeeded", lap.succeeded);
        Ok(lap)
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.set.title(), self.who)
    }
}

/// A runtime for one thread. Each case has its own: a timer or a task that one leaves behind slows no other down.
fn runtime() -> Result<Runtime> {
    Ok(Builder::new_current_thread().enable_time().build()?)
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
async fn lap<C: AsyncFnMut(u64) -> bool>(calls: u64, call: &mut C) -> Lap {
    let before = alloc::allocations();
    let started = Instant::now();
    let mut succeeded = 0;
    for input in 0..calls {
        succeeded += u64::from(call(black_box(input)).await);
    }
    let elapsed = started.elapsed();
    Lap { elapsed, allocations: alloc::allocations() - before, succeeded }
}

struct OneThread<C> {
    runtime: Runtime,
    call: C,
}

impl<C: AsyncFnMut(u64) -> bool> Body for OneThread<C> {
    fn run(&mut self, calls: u64) -> Result<Lap> {
        Ok(self.runtime.block_on(lap(calls, &mut self.call)))
    }
}

struct TwoThreads<M> {
    make_call: M,
    /// Where the call was made: a peer's clock may have its driver there.
    _runtime: Runtime,
}

impl<M, C> Body for TwoThreads<M>
where
    M: Fn() -> C + Sync,
    C: AsyncFnMut(u64) -> bool,
{
    fn run(&mut self, calls: u64) -> Result<Lap> {
        let gate = AtomicUsize::new(0);
        let side = &|nth| {
            cpu::pin(nth);
            let runtime = runtime();
            let mut call = (self.make_call)();
            pass_together(&gate, 2);
            Ok(runtime?.block_on(lap(calls, &mut call)))
        };
        let laps = thread::scope(|scope| {
            let sides = [0, 1].map(|nth| scope.spawn(move || side(nth)));
            sides.map(thread::ScopedJoinHandle::join)
        });
        let [one, other] = laps.map(|lap| lap.unwrap_or_else(|_| Err(anyhow!("a thread panicked"))));
        let (one, other) = (one?, other?);
        let slower = if one.elapsed > other.elapsed { one } else { other };
        // The set's check sees a call that went wrong on either side.
        Ok(Lap { succeeded: one.succeeded.min(other.succeeded), ..slower })
    }
}

/// Waits, awake, until all have come: a thread that sleeps would start late.
fn pass_together(gate: &AtomicUsize, all: usize) {
    gate.fetch_add(1, Ordering::AcqRel);
    while gate.load(Ordering::Acquire) < all {
        thread::yield_now();
    }
}
