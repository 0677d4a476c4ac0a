//! A limit's settings, and their check.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use arc_swap::ArcSwap;

use super::gate::Gate;
use super::pace::Pace;
use super::{Inner, Limit};
use crate::problem::{BuildError, Code, Findings};

/// Counts beyond this are no limit any more.
const MANY: u32 = 1_000_000;
/// The slowest and the fastest rate: a call in twenty minutes, and more than any service takes.
const RATE: std::ops::RangeInclusive<f64> = 0.001..=1_000_000.0;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings {
    pub(super) concurrent: Option<u32>,
    pub(super) waiting: u32,
    pub(super) rate: Option<f64>,
    pub(super) burst: Option<u32>,
    pub(super) max_wait: Duration,
}

/// Settings of a [`Limit`], not yet checked.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is built or given to a pipeline"]
pub struct Builder {
    pub(super) settings: Settings,
}

impl Default for Builder {
    fn default() -> Self {
        let settings =
            Settings { concurrent: None, waiting: 0, rate: None, burst: None, max_wait: Duration::ZERO };
        Self { settings }
    }
}

impl Builder {
    /// The most at once, and the most in a second.
    #[cfg(feature = "policy")]
    pub(crate) fn most(&self) -> (Option<u32>, Option<f64>) {
        (self.settings.concurrent, self.settings.rate)
    }

    /// At most this many calls under way at once.
    pub fn concurrent(mut self, calls: u32) -> Self {
        self.settings.concurrent = Some(calls);
        self
    }

    /// Up to this many more wait for a place, in the order they came. Default: none, they are refused.
    pub fn waiting(mut self, calls: u32) -> Self {
        self.settings.waiting = calls;
        self
    }

    /// At most this many calls begin in a second, as a mean.
    pub fn rate(mut self, calls_per_second: f64) -> Self {
        self.settings.rate = Some(calls_per_second);
        self
    }

    /// Calls that may begin at once after a quiet time. Default: a tenth of a second's worth, at least one.
    pub fn burst(mut self, calls: u32) -> Self {
        self.settings.burst = Some(calls);
        self
    }

    /// How long a call may wait for its turn. Default: not at all, it is refused.
    pub fn max_wait(mut self, time: Duration) -> Self {
        self.settings.max_wait = time;
        self
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// Every setting that makes no sense, with what to do about it.
    pub fn build(self) -> Result<Limit, BuildError> {
        let mut findings = Findings::default();
        let limit = self.build_within(&mut findings);
        findings.finish("limit").map(|_| limit)
    }

    pub(crate) fn build_within(self, findings: &mut Findings) -> Limit {
        self.check(findings);
        Limit {
            inner: Arc::new(Inner {
                gate: Arc::new(Gate::new(self.settings.concurrent)),
                settings: ArcSwap::from_pointee(self.settings),
                pace: Pace::default(),
                refused: AtomicU64::new(0),
            }),
        }
    }

    pub(crate) fn check(&self, findings: &mut Findings) {
        let Settings { concurrent, waiting, rate, burst, max_wait } = self.settings;
        for (setting, count) in [("limit.concurrent", concurrent), ("limit.burst", burst)] {
            if count.is_some_and(|count| count == 0 || count > MANY) {
                findings.error(Code::OutOfRange, setting, format!("give 1 to {MANY} calls"));
            }
        }
        if waiting > MANY {
            findings.error(Code::OutOfRange, "limit.waiting", format!("give up to {MANY} calls"));
        }
        if let Some(rate) = rate.filter(|rate| !RATE.contains(rate)) {
            let (from, to) = (RATE.start(), RATE.end());
            let message = format!("{rate} calls a second cannot be kept: give a number from {from} to {to}");
            findings.error(Code::BadNumber, "limit.rate", message);
        }
        self.check_effects(max_wait, findings);
    }

    fn check_effects(&self, max_wait: Duration, findings: &mut Findings) {
        let Settings { concurrent, waiting, rate, burst, .. } = self.settings;
        if concurrent.is_none() && rate.is_none() {
            findings.error(
                Code::Missing,
                "limit.concurrent",
                "it limits nothing: give `concurrent`, `rate` or both",
            );
        }
        if waiting > 0 && concurrent.is_none() {
            findings.warn(Code::NoEffect, "limit.waiting", "nobody waits for a place without `concurrent`");
        }
        if waiting > 0 && max_wait.is_zero() {
            findings.warn(Code::NoEffect, "limit.waiting", "nobody waits without `max_wait`: give it a time");
        }
        if burst.is_some() && rate.is_none() {
            findings.warn(Code::NoEffect, "limit.burst", "there is no `rate` that it belongs to");
        }
        if !max_wait.is_zero() && waiting == 0 && rate.is_none() {
            let message = "no call may wait for a place: give `waiting` a number";
            findings.warn(Code::NoEffect, "limit.max_wait", message);
        }
    }
}
