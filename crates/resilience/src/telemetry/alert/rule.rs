//! What is measured, and when it is too much.

use std::time::Duration;

use crate::telemetry::Report;

/// What is measured over a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Measure {
    /// The share of calls that failed or were refused, by a breaker or a limit. Terminal errors are answers, and cancelled
    /// calls say nothing.
    FailureRate,
    /// Retries for each call.
    MeanRetries,
    /// The share of attempts that the service throttled.
    ThrottledShare,
    /// Seconds that a call which succeeded took on average, retries and waits included.
    TimeToSuccess,
}

impl Measure {
    /// In one word, for logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FailureRate => "failure-rate",
            Self::MeanRetries => "mean-retries",
            Self::ThrottledShare => "throttled-share",
            Self::TimeToSuccess => "time-to-success",
        }
    }

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::FailureRate => "failed calls are",
            Self::MeanRetries => "retries per call are",
            Self::ThrottledShare => "throttled attempts are",
            Self::TimeToSuccess => "the mean time to success is",
        }
    }

    /// What to look at.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::FailureRate => {
                "look at the kinds of failure and at the breaker's last trip: the service is down, or refuses us, or our own limit is reached"
            }
            Self::MeanRetries => {
                "the service fails now and then and retries hide it: look at the kinds of failure, then at the service"
            }
            Self::ThrottledShare => {
                "we send more than the service takes: send less, or have the limit raised"
            }
            Self::TimeToSuccess => {
                "answers come late: compare retries (waits) with attempts (a slow service), then look at its load"
            }
        }
    }

    /// The value as people read it.
    pub(super) fn in_words(self, value: f64) -> String {
        match self {
            Self::FailureRate | Self::ThrottledShare => format!("{:.1} %", value * 100.0),
            Self::MeanRetries => format!("{value:.2}"),
            Self::TimeToSuccess => format!("{value:.3} s"),
        }
    }

    /// Its value over what happened, and the calls that it speaks for; `None` when there is nothing to divide by.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    pub(super) fn of(self, happened: &Report) -> Option<(f64, u64)> {
        let bad = happened.failed + happened.refused + happened.limited;
        let (value, whole, calls) = match self {
            Self::FailureRate => {
                let calls = happened.succeeded + happened.terminal + bad;
                (bad as f64, calls, calls)
            }
            Self::MeanRetries => {
                let calls = happened.calls() - happened.refused - happened.limited;
                (happened.retries as f64, calls, calls)
            }
            Self::ThrottledShare => (happened.throttled as f64, happened.attempts, happened.attempts),
            Self::TimeToSuccess => {
                (happened.time_to_success.as_secs_f64(), happened.succeeded, happened.succeeded)
            }
        };
        (whole > 0).then(|| (value / whole as f64, calls))
    }
}

/// When a value is too much.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Threshold {
    /// From this value on.
    At(f64),
    /// From this many times the usual value on, and never below `floor`. What is usual is measured over the ten windows
    /// before, and stands still while the alert lasts.
    TimesUsual {
        /// How many times.
        factor: f64,
        /// Less than this is never too much.
        floor: f64,
    },
}

/// One rule: what is measured, when it is too much, and for how long.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use = "a rule does nothing until an evaluator or a watcher has it"]
pub struct Rule {
    pub(super) measure: Measure,
    pub(super) threshold: Threshold,
    pub(super) window: Duration,
    pub(super) lasting: Duration,
    pub(super) min_calls: u64,
    pub(super) clear_below: f64,
}

/// How far back a rule looks when nothing else is said: long enough for a mean, short enough to tell within minutes.
const WINDOW: Duration = Duration::from_secs(60);
/// How long it has to last: a restart or a failover is over by then.
const LASTING: Duration = Duration::from_secs(60);
/// Below this many calls in a window one failure would be an alert.
const MIN_CALLS: u64 = 20;
/// An alert ends below this share of its threshold.
const CLEAR_BELOW: f64 = 0.8;

impl Rule {
    /// A rule with the default window (60 s), time (60 s), minimum of calls (20) and end (below 80 % of the threshold).
    pub const fn new(measure: Measure, threshold: Threshold) -> Self {
        Self {
            measure,
            threshold,
            window: WINDOW,
            lasting: LASTING,
            min_calls: MIN_CALLS,
            clear_below: CLEAR_BELOW,
        }
    }

    /// One rule for each measure: 5 % of calls failed; 0.2 retries per call, twice what the default budget pays for;
    /// 5 % of attempts throttled; three times the usual time to success, and at least 100 ms.
    #[must_use]
    pub fn standard() -> Vec<Self> {
        vec![
            Self::new(Measure::FailureRate, Threshold::At(0.05)),
            Self::new(Measure::MeanRetries, Threshold::At(0.2)),
            Self::new(Measure::ThrottledShare, Threshold::At(0.05)),
            Self::new(Measure::TimeToSuccess, Threshold::TimesUsual { factor: 3.0, floor: 0.1 }),
        ]
    }

    /// How far back it looks. Default: 60 s.
    pub const fn within(mut self, window: Duration) -> Self {
        self.window = window;
        self
    }

    /// How long it has to last before the alert is raised, and to be better before it is cleared. Default: 60 s.
    pub const fn lasting(mut self, time: Duration) -> Self {
        self.lasting = time;
        self
    }

    /// Says nothing below this many calls in the window. Default: 20.
    pub const fn min_calls(mut self, calls: u64) -> Self {
        self.min_calls = calls;
        self
    }

    /// The alert ends below this share of the threshold, from 0 to 1. Default: 0.8.
    pub const fn clear_below(mut self, share: f64) -> Self {
        self.clear_below = share;
        self
    }
}
