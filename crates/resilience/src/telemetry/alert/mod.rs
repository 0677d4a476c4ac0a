//! Alerts from a pipeline's own counts: when too many calls fail, retries pile up, the service throttles, or answers
//! take longer than they used to.
//!
//! [`Evaluator`] is pure: given a [`Report`](super::Report) at a moment, it says which alerts were raised and which are over. It compares
//! what happened within a window, waits until it has lasted, and lets go only well below the threshold, so that it does
//! not flap. [`Watcher`] looks at pipelines, logs, and tells a function of yours.
//!
//! ```
//! use std::time::Duration;
//! use steadfast_resilience::Pipeline;
//! use steadfast_resilience::telemetry::alert::{Rule, Watcher};
//!
//! let payments = Pipeline::standard("payments");
//! let mut watcher = Watcher::new(Rule::standard())
//!     .watch(&payments)
//!     .on_alert(|alert| eprintln!("{alert}")); // page somebody
//! // Every few seconds, in a task or thread of yours:
//! let alerts = watcher.look(payments.now());
//! assert!(alerts.is_empty());
//! ```

mod evaluate;
mod rule;
#[cfg(test)]
mod tests;
mod watcher;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use evaluate::Evaluator;
pub use rule::{Measure, Rule, Threshold};
pub use watcher::Watcher;

use crate::clock::Moment;

/// Something worth a person's attention has begun, or is over.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Alert {
    /// Whose calls.
    pub pipeline: Arc<str>,
    /// What was measured.
    pub measure: Measure,
    /// Raised, or cleared.
    pub state: State,
    /// The value now: a share, a number of retries per call, or seconds.
    pub value: f64,
    /// What it must not reach.
    pub threshold: f64,
    /// Calls in the window that it was measured by.
    pub calls: u64,
    /// The window.
    pub window: Duration,
    /// When.
    pub at: Moment,
}

/// What an alert says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has lasted long enough to be told.
    Raised,
    /// It is over.
    Cleared,
}

impl State {
    /// In one word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Raised => "raised",
            Self::Cleared => "cleared",
        }
    }
}

impl Alert {
    /// What is so, without advice.
    #[must_use]
    pub fn in_words(&self) -> String {
        let Self { pipeline, measure, calls, window, .. } = self;
        let (value, threshold) = (measure.in_words(self.value), measure.in_words(self.threshold));
        format!(
            "`{pipeline}`: {} {value} over {calls} calls in {window:?} (alert at {threshold})",
            measure.words()
        )
    }
}

impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let then = match self.state {
            State::Raised => self.measure.advice(),
            State::Cleared => "it is over",
        };
        write!(f, "{}: {then}", self.in_words())
    }
}
