//! The store's time, told from this machine's clock between two looks at the store.

use std::sync::{Mutex, PoisonError};

use steadfast_engine::Time;
use steadfast_resilience::clock::{Clock, Moment};

/// Tells the store's time. It never goes back.
#[derive(Debug)]
pub(crate) struct StoreClock {
    clock: Clock,
    /// The store's time at a moment of this machine, and the latest that was told.
    seen: Mutex<(Time, Moment, Time)>,
}

impl StoreClock {
    pub(crate) fn new(clock: Clock, now: Time) -> Self {
        let moment = clock.now();
        Self { clock, seen: Mutex::new((now, moment, now)) }
    }

    /// The store said that it is `now`; it was asked at this moment.
    pub(crate) fn set(&self, now: Time, at: Moment) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        (seen.0, seen.1) = (now, at);
    }

    pub(crate) fn now(&self) -> Time {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now = seen.0 + self.clock.now().since(seen.1);
        seen.2 = seen.2.max(now);
        seen.2
    }
}
