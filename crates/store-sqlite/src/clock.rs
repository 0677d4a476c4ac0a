//! The store's clock: the machine's, but never back, not over a restart either.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use steadfast_engine::Time;

pub(crate) struct Clock {
    wall: Box<dyn Fn() -> Time + Send + Sync>,
    /// How far the time that was reserved in the file was ahead of the wall when it was opened. It stays: a clock that
    /// stood still until the wall came after it would stop all timers for as long.
    ahead: Duration,
    /// The latest time that was told, in milliseconds. It needs no SQL: only the owner of the file writes times into it,
    /// and those come from here.
    told: AtomicU64,
}

impl Clock {
    /// A clock that goes on from `reserved`, at the pace of `wall`.
    pub(crate) fn new(wall: impl Fn() -> Time + Send + Sync + 'static, reserved: Time) -> Self {
        let ahead = reserved.since(wall());
        Self { wall: Box::new(wall), ahead, told: AtomicU64::new(reserved.as_millis()) }
    }

    pub(crate) fn now(&self) -> Time {
        let now = (self.wall)() + self.ahead;
        let told = self.told.fetch_max(now.as_millis(), Ordering::Relaxed);
        now.max(Time::from_millis(told))
    }
}
