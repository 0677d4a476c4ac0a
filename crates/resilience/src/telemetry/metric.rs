//! The metrics: one table of names, from which they are described to the recorder and against which the guide is checked.
//!
//! They are there with the feature `metrics`, in whatever recorder the program installs.

/// How a metric is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Many values, of which the spread is kept.
    Histogram,
}

/// One metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// How it is to be read.
    pub kind: Kind,
    /// What it is counted in: `seconds`, or nothing where it is a plain number.
    pub unit: &'static str,
    /// Its labels.
    pub labels: &'static [&'static str],
    /// What it tells, in a sentence.
    pub about: &'static str,
}

/// The labels of one operation of one service.
const OPERATION: [&str; 2] = ["pipeline", "operation"];

macro_rules! metrics {
    ($($id:ident = $name:literal, $kind:ident, $unit:literal, $labels:expr, $about:literal;)+) => {
        $(
            #[doc = $about]
            pub const $id: Metric =
                Metric { name: $name, kind: Kind::$kind, unit: $unit, labels: &$labels, about: $about };
        )+

        /// Every metric.
        pub const ALL: &[Metric] = &[$($id),+];
    };
}

metrics! {
    CALLS = "steadfast_calls_total", Counter, "", ["pipeline", "operation", "outcome"],
        "Calls that ended, by outcome: succeeded, failed, terminal, refused, limited, cancelled.";
    CALL_SECONDS = "steadfast_call_duration_seconds", Histogram, "seconds", ["pipeline", "operation", "outcome"],
        "How long calls took that succeeded, failed or ended with a terminal error, retries and waits included.";
    ATTEMPTS = "steadfast_attempts_total", Counter, "", OPERATION,
        "Attempts of all calls, retries and hedges included.";
    RETRIES = "steadfast_retries_total", Counter, "", OPERATION,
        "Attempts that were not the first of their call.";
    HEDGES = "steadfast_hedges_total", Counter, "", OPERATION,
        "Requests that hedges made beside another one.";
    FAILURES = "steadfast_failures_total", Counter, "", ["pipeline", "operation", "kind"],
        "Attempts that failed, by kind of failure.";
    THROTTLED = "steadfast_throttled_total", Counter, "", OPERATION,
        "Attempts that the service throttled.";
    UNCLASSIFIED = "steadfast_unclassified_total", Counter, "", OPERATION,
        "Errors that no rule knows: each is a rule that is missing.";
    BUDGET_LEFT = "steadfast_budget_left", Gauge, "", ["pipeline"],
        "Retries that the budget still allows, at most a second before the last call.";
    BREAKER_STATE = "steadfast_breaker_state", Gauge, "", ["breaker"],
        "What a breaker does: -1 forced closed, 0 closed, 1 half-open, 2 open, 3 forced open.";
    BREAKER_TRANSITIONS = "steadfast_breaker_transitions_total", Counter, "", ["breaker", "from", "to"],
        "State changes of a breaker.";
    BREAKER_REFUSALS = "steadfast_breaker_refusals_total", Counter, "", ["breaker"],
        "Calls and retries that a breaker refused.";
}
