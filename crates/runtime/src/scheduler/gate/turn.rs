//! An attempt's turn in a ramp.

use std::sync::{Arc, Mutex, PoisonError};

use steadfast_resilience::clock::{Clock, Moment};
use steadfast_resilience::ramp::Window;

/// When an attempt may call, and with whom it shares the time.
pub(crate) struct Turn {
    pub(super) at: Moment,
    pub(super) window: Arc<Mutex<Window>>,
}

impl Turn {
    /// Waits for it.
    pub(crate) async fn comes(self, clock: &Clock) {
        let mut at = self.at;
        loop {
            if at > clock.fine_now() {
                clock.sleep_until(at).await;
            }
            let begun = self.window.lock().unwrap_or_else(PoisonError::into_inner).begin(clock.fine_now());
            match begun {
                Ok(()) => return,
                Err(next) => at = next,
            }
        }
    }
}
