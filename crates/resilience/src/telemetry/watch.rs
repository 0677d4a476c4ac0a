//! Counting what becomes of calls: for a pipeline's own [`Report`], and for the metrics.
//!
//! A call that succeeds at once adds to one word; everything else is counted where it happens.

use std::time::Duration;

use super::Report;
use super::meter::Meter;
use crate::classify::{Class, Verdict};
use crate::clock::{Moment, nanos};
use crate::pipeline::Inner;
use crate::window::Total;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Succeeded,
    Failed,
    /// A terminal error: an answer.
    Terminal,
    /// By a breaker, before anything was attempted.
    Refused,
    /// By a limit on calls, before anything was attempted.
    Limited,
    Cancelled,
}

impl Outcome {
    /// As logs and metrics have it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Terminal => "terminal",
            Self::Refused => "refused",
            Self::Limited => "limited",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The call that is counted.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "metrics"), expect(dead_code, reason = "labels of metrics"))]
pub(crate) struct Watched<'a> {
    pub(crate) pipeline: &'a Inner,
    /// Empty when the call was not named.
    pub(crate) operation: &'a str,
}

/// The counts of one pipeline.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    succeeded: Total,
    /// Nanoseconds.
    time_to_success: Total,
    failed: Total,
    terminal: Total,
    refused: Total,
    limited: Total,
    cancelled: Total,
    /// Attempts that did not succeed.
    unsuccessful: Total,
    retries: Total,
    hedges: Total,
    throttled: Total,
    meter: Meter,
}

impl Watch {
    #[inline]
    pub(crate) fn succeeded(&self, call: &Watched<'_>, retries: u32, elapsed: Duration, now: Moment) {
        self.succeeded.add(1);
        // By the coarse clock most quick calls take no time, and cost none here.
        if !elapsed.is_zero() {
            self.time_to_success.add(nanos(elapsed));
        }
        if retries > 0 {
            self.retries.add(1);
        }
        self.meter.succeeded(call, retries, elapsed, now);
    }

    pub(crate) fn attempt_failed(&self, call: &Watched<'_>, number: u32, failure: &Verdict, now: Moment) {
        self.count_attempt(number);
        if failure.class() == Class::Throttled {
            self.throttled.add(1);
        }
        self.meter.attempt_ended(call, number, Some(failure));
        self.meter.set_gauges(call.pipeline, now);
    }

    /// An attempt that nobody waited for.
    pub(crate) fn attempt_given_up(&self, call: &Watched<'_>, number: u32) {
        self.count_attempt(number);
        self.meter.attempt_ended(call, number, None);
    }

    /// A request beside another one.
    #[cfg(feature = "tokio")]
    pub(crate) fn hedged(&self, call: &Watched<'_>) {
        self.hedges.add(1);
        self.meter.hedged(call);
    }

    fn count_attempt(&self, number: u32) {
        self.unsuccessful.add(1);
        if number > 0 {
            self.retries.add(1);
        }
    }

    /// A call ended otherwise than by success.
    pub(crate) fn ended(&self, call: &Watched<'_>, outcome: Outcome, elapsed: Duration, now: Moment) {
        match outcome {
            Outcome::Succeeded => &self.succeeded,
            Outcome::Failed => &self.failed,
            Outcome::Terminal => &self.terminal,
            Outcome::Refused => &self.refused,
            Outcome::Limited => &self.limited,
            Outcome::Cancelled => &self.cancelled,
        }
        .add(1);
        self.meter.ended(call, outcome, elapsed, now);
    }

    pub(crate) fn unclassified(&self, call: &Watched<'_>) {
        self.meter.unclassified(call);
    }

    /// Brings the gauges up to date, also when no call comes.
    pub(crate) fn set_gauges(&self, pipeline: &Inner, now: Moment) {
        self.meter.set_gauges(pipeline, now);
    }

    pub(crate) fn report(&self) -> Report {
        let succeeded = self.succeeded.sum();
        Report {
            succeeded,
            failed: self.failed.sum(),
            terminal: self.terminal.sum(),
            refused: self.refused.sum(),
            limited: self.limited.sum(),
            cancelled: self.cancelled.sum(),
            attempts: succeeded + self.unsuccessful.sum() + self.hedges.sum(),
            retries: self.retries.sum(),
            hedges: self.hedges.sum(),
            throttled: self.throttled.sum(),
            time_to_success: Duration::from_nanos(self.time_to_success.sum()),
        }
    }
}
