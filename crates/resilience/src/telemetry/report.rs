//! A pipeline's calls in numbers.

use std::time::Duration;

/// What became of a pipeline's calls, from the beginning. The difference of two reports is what happened between them.
///
/// The numbers are read one after another while calls go on: they can differ by the calls of that moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Calls that succeeded.
    pub succeeded: u64,
    /// Calls that failed for good, after their retries if they had any.
    pub failed: u64,
    /// Calls that ended with a terminal error, which is an answer: the request was wrong, the card declined.
    pub terminal: u64,
    /// Calls that a breaker refused before anything was attempted.
    pub refused: u64,
    /// Calls that a limit refused before anything was attempted.
    pub limited: u64,
    /// Calls that were cancelled or dropped by their caller.
    pub cancelled: u64,
    /// Attempts of all calls, retries and hedges included.
    pub attempts: u64,
    /// Attempts that were not the first of their call.
    pub retries: u64,
    /// Requests that hedges made beside another one.
    pub hedges: u64,
    /// Attempts that the service throttled.
    pub throttled: u64,
    /// The time that the calls which succeeded took together, retries and waits included.
    pub time_to_success: Duration,
}

impl Report {
    /// All calls that have ended.
    #[must_use]
    pub const fn calls(&self) -> u64 {
        self.succeeded + self.failed + self.terminal + self.refused + self.limited + self.cancelled
    }

    /// What happened since an earlier report of the same pipeline.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            succeeded: self.succeeded.saturating_sub(earlier.succeeded),
            failed: self.failed.saturating_sub(earlier.failed),
            terminal: self.terminal.saturating_sub(earlier.terminal),
            refused: self.refused.saturating_sub(earlier.refused),
            limited: self.limited.saturating_sub(earlier.limited),
            cancelled: self.cancelled.saturating_sub(earlier.cancelled),
            attempts: self.attempts.saturating_sub(earlier.attempts),
            retries: self.retries.saturating_sub(earlier.retries),
            hedges: self.hedges.saturating_sub(earlier.hedges),
            throttled: self.throttled.saturating_sub(earlier.throttled),
            time_to_success: self.time_to_success.saturating_sub(earlier.time_to_success),
        }
    }
}
