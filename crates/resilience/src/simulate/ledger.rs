//! What happened, in bins of time.

use std::time::Duration;

use crate::clock::{Moment, nanos};

/// The width of a bin: herds are narrower than a second.
pub(super) const BIN: Duration = Duration::from_millis(100);
/// Bins of a second.
pub(super) const PER_SECOND: usize = 10;

/// Counts by the bin in which something happened.
#[derive(Clone, Debug, Default)]
pub(super) struct Bins(Vec<u32>);

impl Bins {
    fn new(end: Moment) -> Self {
        Self(vec![0; bin(end) + 1])
    }

    fn count(&mut self, at: Moment) {
        if let Some(bin) = self.0.get_mut(bin(at)) {
            *bin += 1;
        }
    }

    pub(super) fn all(&self) -> &[u32] {
        &self.0
    }

    /// By whole seconds.
    pub(super) fn seconds(&self) -> impl Iterator<Item = u32> {
        self.0.chunks_exact(PER_SECOND).map(|bins| bins.iter().sum())
    }
}

fn bin(at: Moment) -> usize {
    usize::try_from(at.as_nanos() / nanos(BIN)).unwrap_or(usize::MAX - 1)
}

#[derive(Clone, Debug)]
pub(super) struct Ledger {
    /// Calls, when they were made.
    pub(super) offered: Bins,
    /// Requests that reached the service.
    pub(super) sent: Bins,
    /// Calls that succeeded, when they were made.
    pub(super) succeeded: Bins,
    /// Calls that were refused at once by a breaker, when they were made.
    pub(super) refused: Bins,
    /// Calls that ended, with success or without, when they were made.
    pub(super) ended: Bins,
    /// Calls that succeeded, when they did.
    pub(super) served: Bins,
    pub(super) slowest_success: Duration,
    pub(super) retries: u64,
}

impl Ledger {
    pub(super) fn new(end: Moment) -> Self {
        let bins = || Bins::new(end);
        Self {
            offered: bins(),
            sent: bins(),
            succeeded: bins(),
            refused: bins(),
            ended: bins(),
            served: bins(),
            slowest_success: Duration::ZERO,
            retries: 0,
        }
    }

    pub(super) fn offered(&mut self, now: Moment) {
        self.offered.count(now);
    }

    pub(super) fn sent(&mut self, now: Moment, number: u32) {
        self.sent.count(now);
        self.retries += u64::from(number > 0);
    }

    pub(super) fn succeeded(&mut self, made: Moment, now: Moment) {
        self.succeeded.count(made);
        self.ended.count(made);
        self.served.count(now);
        self.slowest_success = self.slowest_success.max(now.since(made));
    }

    pub(super) fn failed(&mut self, made: Moment) {
        self.ended.count(made);
    }

    pub(super) fn refused(&mut self, made: Moment) {
        self.refused.count(made);
        self.ended.count(made);
    }
}
