//! The same without the feature `metrics`: nothing.

use std::time::Duration;

use super::watch::{Outcome, Watched};
use crate::classify::Verdict;
use crate::clock::Moment;
use crate::pipeline::Inner;

/// No metrics.
#[derive(Debug, Default)]
pub(crate) struct Meter;

impl Meter {
    #[inline]
    pub(super) fn succeeded(&self, _: &Watched<'_>, _: u32, _: Duration, _: Moment) {}

    pub(super) fn attempt_ended(&self, _: &Watched<'_>, _: u32, _: Option<&Verdict>) {}

    pub(super) fn ended(&self, _: &Watched<'_>, _: Outcome, _: Duration, _: Moment) {}

    #[cfg(feature = "tokio")]
    pub(super) fn hedged(&self, _: &Watched<'_>) {}

    pub(super) fn unclassified(&self, _: &Watched<'_>) {}

    pub(super) fn set_gauges(&self, _: &Inner, _: Moment) {}
}

/// No count for the metrics.
#[derive(Debug, Default)]
pub(crate) struct Refusals(());

impl Refusals {
    #[inline]
    pub(crate) fn count(&self, _: &str) {}
}

pub(crate) fn state_changed(_: &crate::breaker::Change) {}

/// Does something of which nothing is measured.
#[cfg(feature = "simulate")]
pub(crate) fn unmetered<T>(work: impl FnOnce() -> T) -> T {
    work()
}
