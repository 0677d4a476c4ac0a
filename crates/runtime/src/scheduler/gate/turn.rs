//! An attempt's turn in a ramp.

use std::sync::{Arc, Mutex, PoisonError};

use steadfast_resilience::clock::{Clock, Moment};
use steadfast_resilience::ramp::Pace;

/// When an attempt may call, and with whom it shares the time.
pub(crate) struct Turn {
    at: Moment,
    pace: Shared,
}

/// The pace of a gate, as its turns have it.
#[derive(Clone, Debug, Default)]
pub(super) struct Shared(Arc<Mutex<Pace>>);

impl Shared {
    pub(super) fn with<T>(&self, look: impl FnOnce(&mut Pace) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn turn(&self, at: Moment) -> Turn {
        self.with(Pace::waits);
        Turn { at, pace: self.clone() }
    }
}

impl Turn {
    /// Waits for it. Who does not wait to the end has no turn any more.
    pub(crate) async fn comes(self, clock: &Clock) {
        let mut at = self.at;
        loop {
            if at > clock.fine_now() {
                clock.sleep_until(at).await;
            }
            match self.pace.with(|pace| pace.begin(self.at, clock.fine_now())) {
                Ok(()) => return,
                Err(next) => at = next,
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.pace.with(Pace::waits_no_more);
    }
}
