//! Real time, for commands that show something as it happens. On the library's own clock, so that the times of its events fit.
//! The only module of this binary that waits.

use std::time::Duration;

use steadfast_resilience::clock::{Clock, Moment};

/// Tells how long something has been going on.
#[derive(Clone, Debug)]
pub(crate) struct Stopwatch {
    clock: Clock,
    started: Moment,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        let clock = Clock::system();
        Self { started: clock.now(), clock }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.since_start(self.clock.now())
    }

    /// When a moment of the library was, on this stopwatch.
    pub(crate) fn since_start(&self, moment: Moment) -> Duration {
        moment.since(self.started)
    }

    /// Waits until this much time has passed since the start; not at all if it has.
    pub(crate) async fn wait_until(&self, elapsed: Duration) {
        let left = elapsed.saturating_sub(self.elapsed());
        if !left.is_zero() {
            pause(left).await;
        }
    }
}

/// Waits.
#[expect(clippy::disallowed_methods, reason = "this is the clock module: shows run in real time")]
pub(crate) async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}
