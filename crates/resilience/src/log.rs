//! What is logged: each failed attempt, and successes if asked. Refusals are not logged one by one: during an outage that
//! would be a line per call; the breaker's state change is the line.

use std::time::Duration;

use crate::classify::Verdict;
use crate::retry::Decision;

/// One failed attempt of a call through a pipeline.
#[cfg_attr(not(feature = "tracing"), expect(dead_code, reason = "read by the log alone"))]
pub(crate) struct FailedAttempt<'a> {
    pub(crate) pipeline: &'a str,
    pub(crate) operation: &'static str,
    pub(crate) attempt: u32,
    pub(crate) failure: &'a Verdict,
    pub(crate) decision: &'a Decision,
    pub(crate) elapsed: Duration,
}

#[cfg(feature = "tracing")]
mod with_tracing {
    use super::{Decision, Duration, FailedAttempt};
    use crate::classify::Class;

    /// A failure that will be tried again is a warning; only the last one is an error.
    pub(crate) fn failed_attempt(failed: &FailedAttempt<'_>) {
        let FailedAttempt { pipeline, operation, attempt, failure, decision, elapsed } = failed;
        let (kind, class) = (failure.kind().as_str(), failure.class().as_str());
        let throttled = failure.class() == Class::Throttled;
        match decision {
            Decision::After(wait) => tracing::warn!(
                pipeline,
                operation,
                attempt,
                kind,
                class,
                throttled,
                ?wait,
                ?elapsed,
                "attempt failed, will be tried again"
            ),
            Decision::Stop(stop) => tracing::error!(
                pipeline,
                operation,
                attempt,
                kind,
                class,
                throttled,
                ?elapsed,
                "operation failed: {stop}"
            ),
        }
    }

    pub(crate) fn succeeded(name: &str, attempt: u32, elapsed: Duration) {
        tracing::info!(name, attempt, ?elapsed, "call succeeded");
    }

    /// A call through a breaker alone, which nobody tries again.
    #[cfg(feature = "tokio")]
    pub(crate) fn failed_call(breaker: &str, failure: &super::Verdict) {
        let (kind, class) = (failure.kind().as_str(), failure.class().as_str());
        tracing::error!(breaker, kind, class, "call failed");
    }

    pub(crate) fn nested(pipeline: &str, calls: u32) {
        tracing::warn!(pipeline, calls, "retries inside of retries: one operation can become {calls} calls");
    }
}

#[cfg(not(feature = "tracing"))]
mod without_tracing {
    use super::{Duration, FailedAttempt};

    pub(crate) fn failed_attempt(_: &FailedAttempt<'_>) {}

    pub(crate) fn succeeded(_: &str, _: u32, _: Duration) {}

    #[cfg(feature = "tokio")]
    pub(crate) fn failed_call(_: &str, _: &super::Verdict) {}

    pub(crate) fn nested(_: &str, _: u32) {}
}

#[cfg(feature = "tracing")]
pub(crate) use with_tracing::*;
#[cfg(not(feature = "tracing"))]
pub(crate) use without_tracing::*;
