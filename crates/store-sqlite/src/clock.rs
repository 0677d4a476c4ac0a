//! The store's clock: the machine's, but never back, not over a restart either.

use std::sync::atomic::{AtomicU64, Ordering};

use steadfast_engine::Time;

pub(crate) struct Clock {
    wall: Box<dyn Fn() -> Time + Send + Sync>,
    /// The latest time that was told, or that was reserved in the file when it was opened, in milliseconds. It needs no
    /// SQL: only the owner of the file writes times into it, and those come from here.
    told: AtomicU64,
}

impl Clock {
    pub(crate) fn new(wall: impl Fn() -> Time + Send + Sync + 'static, reserved: Time) -> Self {
        Self { wall: Box::new(wall), told: AtomicU64::new(reserved.as_millis()) }
    }

    pub(crate) fn now(&self) -> Time {
        let now = (self.wall)();
        let told = self.told.fetch_max(now.as_millis(), Ordering::Relaxed);
        now.max(Time::from_millis(told))
    }
}
