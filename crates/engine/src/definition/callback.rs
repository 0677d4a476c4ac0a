//! Steps whose service may take the work on, and answer later.

use std::time::Duration;

use super::Step;

impl Step {
    /// Its service may take the work on and answer later, by a callback that comes within this time after that. An attempt is
    /// under way until then; without a callback it has not answered.
    pub fn callback(mut self, within: Duration) -> Self {
        self.callback = Some(within);
        self
    }

    /// How long its service may take to call back; `None` for a step that is answered at once.
    #[must_use]
    pub fn callback_within(&self) -> Option<Duration> {
        self.callback
    }
}
