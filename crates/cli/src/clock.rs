//! Real time, for commands that show something as it happens.
//! The only module of this binary that asks the time or waits.

use std::time::Duration;

use steadfast_resilience::clock::{Clock, Moment};
use tokio::time::Instant;

/// Tells how long something has been going on: on the library's clock, so that the times of its events fit, and for
/// waits on tokio's, so that two who wait for the same time wake together.
#[derive(Clone, Debug)]
pub(crate) struct Stopwatch {
    clock: Clock,
    started: Moment,
    waits_from: Instant,
}

#[expect(clippy::disallowed_methods, reason = "this is the clock module: shows run in real time")]
impl Stopwatch {
    pub(crate) fn start() -> Self {
        let clock = Clock::system();
        Self { started: clock.now(), waits_from: Instant::now(), clock }
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
        tokio::time::sleep_until(self.waits_from + elapsed).await;
    }
}

/// Waits.
#[expect(clippy::disallowed_methods, reason = "this is the clock module: shows run in real time")]
pub(crate) async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}

/// The time on the wall, for what is shown beside an age.
pub(crate) fn wall() -> jiff::Timestamp {
    jiff::Timestamp::now()
}
