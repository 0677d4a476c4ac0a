//! What a pipeline logs: each failed attempt, and successes if asked. Refusals are not logged one by one: during an
//! outage that would be a line per call; the breaker's state change is the line.

use std::time::Duration;

use crate::classify::{Class, Verdict};
use crate::retry::Decision;

#[cfg(feature = "tracing")]
pub(crate) fn failed(
    pipeline: &str,
    operation: &'static str,
    attempt: u32,
    failure: &Verdict,
    decision: &Decision,
    elapsed: Duration,
) {
    let (kind, class, throttled) =
        (failure.kind().as_str(), failure.class().as_str(), failure.class() == Class::Throttled);
    match decision {
        Decision::After(wait) => {
            tracing::warn!(
                pipeline,
                operation,
                attempt,
                kind,
                class,
                throttled,
                ?wait,
                ?elapsed,
                "attempt failed, will be tried again"
            );
        }
        Decision::Stop(stop) => {
            tracing::error!(
                pipeline,
                operation,
                attempt,
                kind,
                class,
                throttled,
                ?elapsed,
                "operation failed: {stop}"
            );
        }
    }
}

#[cfg(feature = "tracing")]
pub(crate) fn succeeded(pipeline: &str, attempt: u32, elapsed: Duration) {
    tracing::info!(pipeline, attempt, ?elapsed, "operation succeeded");
}

#[cfg(feature = "tracing")]
pub(crate) fn nested(pipeline: &str, calls: u32) {
    tracing::warn!(pipeline, calls, "retries inside of retries: one operation can become {calls} calls");
}

#[cfg(not(feature = "tracing"))]
pub(crate) fn failed(_: &str, _: &'static str, _: u32, failure: &Verdict, _: &Decision, _: Duration) {
    let _ = failure.class() == Class::Throttled;
}

#[cfg(not(feature = "tracing"))]
pub(crate) fn succeeded(_: &str, _: u32, _: Duration) {}

#[cfg(not(feature = "tracing"))]
pub(crate) fn nested(_: &str, _: u32) {}
