//! What is logged: each failed attempt, and successes if asked. Refusals are not logged one by one: during an outage that
//! would be a line per call; the breaker's state change is the line.

use std::time::Duration;

use crate::classify::Verdict;
use crate::retry::Decision;

/// One failed attempt of a call through a pipeline.
#[cfg_attr(not(feature = "tracing"), expect(dead_code, reason = "read by the log alone"))]
pub(crate) struct FailedAttempt<'a> {
    pub(crate) pipeline: &'a str,
    /// Empty when the call was not named.
    pub(crate) operation: &'static str,
    pub(crate) attempt: u32,
    pub(crate) failure: &'a Verdict,
    /// The failure in words.
    pub(crate) message: &'a dyn Fn() -> Option<String>,
    pub(crate) decision: &'a Decision,
    /// Whether something stands in when the service cannot be had.
    pub(crate) has_fallback: bool,
    pub(crate) elapsed: Duration,
}

#[cfg(feature = "tracing")]
mod with_tracing {
    use super::{Decision, Duration, FailedAttempt};
    use crate::breaker::{Change, State};
    use crate::classify::{Class, Verdict};
    use crate::error::fallback_may_stand_in;

    /// The target of every event of this crate.
    const TARGET: &str = "steadfast_resilience";

    /// A failure that will be tried again is a warning, and so is one that harms nobody: a terminal error is an answer,
    /// and a fallback stands in for the rest. What is left is an error.
    pub(crate) fn failed_attempt(failed: &FailedAttempt<'_>) {
        let FailedAttempt { pipeline, attempt, failure, decision, elapsed, .. } = failed;
        let operation = Some(failed.operation).filter(|name| !name.is_empty());
        let (kind, class) = (failure.kind().as_str(), failure.class().as_str());
        let throttled = failure.class() == Class::Throttled;
        macro_rules! event {
            ($level:ident, $wait:expr, $($message:tt)+) => {
                tracing::event!(
                    target: TARGET,
                    tracing::Level::$level,
                    pipeline,
                    operation,
                    attempt,
                    kind,
                    class,
                    throttled,
                    error = (failed.message)(),
                    wait = $wait,
                    ?elapsed,
                    $($message)+
                )
            };
        }
        match decision {
            Decision::After(wait) => {
                event!(WARN, tracing::field::debug(wait), "attempt failed, will be tried again");
            }
            Decision::Stop(stop) if failed.has_fallback && fallback_may_stand_in(*stop, Some(failure)) => {
                event!(WARN, tracing::field::Empty, "call failed, its fallback stands in: {stop}");
            }
            Decision::Stop(stop) if failure.class() == Class::Terminal => {
                event!(WARN, tracing::field::Empty, "call failed: {stop}");
            }
            Decision::Stop(stop) => event!(ERROR, tracing::field::Empty, "call failed: {stop}"),
        }
    }

    pub(crate) fn succeeded(name: &str, attempt: u32, elapsed: Duration) {
        tracing::info!(target: TARGET, name, attempt, ?elapsed, "call succeeded");
    }

    /// A call through a breaker alone, which nobody tries again.
    pub(crate) fn failed_call(breaker: &str, failure: &Verdict, message: &dyn Fn() -> Option<String>) {
        let (kind, class) = (failure.kind().as_str(), failure.class().as_str());
        if failure.class() == Class::Terminal {
            tracing::warn!(target: TARGET, breaker, kind, class, error = message(), "call failed");
        } else {
            tracing::error!(target: TARGET, breaker, kind, class, error = message(), "call failed");
        }
    }

    /// Opening is a warning: calls are refused from here on.
    pub(crate) fn state_changed(change: &Change) {
        let (breaker, from, to) = (&*change.breaker, change.from.as_str(), change.to.as_str());
        if change.to == State::Open {
            tracing::warn!(target: TARGET, breaker, from, to, "{change}");
        } else {
            tracing::info!(target: TARGET, breaker, from, to, "{change}");
        }
    }

    #[cfg(feature = "tokio")]
    pub(crate) fn exchange_silent(error: &crate::breaker::share::ExchangeError) {
        tracing::warn!(target: TARGET, error = %error.0, "{error}");
    }

    pub(crate) fn nested(pipeline: &str, calls: u32) {
        tracing::warn!(
            target: TARGET,
            pipeline,
            calls,
            "retries inside of retries: one operation can become {calls} calls"
        );
    }
}

#[cfg(not(feature = "tracing"))]
mod without_tracing {
    use super::{Duration, FailedAttempt};
    use crate::classify::Verdict;

    pub(crate) fn failed_attempt(_: &FailedAttempt<'_>) {}

    pub(crate) fn succeeded(_: &str, _: u32, _: Duration) {}

    pub(crate) fn failed_call(_: &str, _: &Verdict, _: &dyn Fn() -> Option<String>) {}

    pub(crate) fn state_changed(_: &crate::breaker::Change) {}

    #[cfg(feature = "tokio")]
    pub(crate) fn exchange_silent(_: &crate::breaker::share::ExchangeError) {}

    pub(crate) fn nested(_: &str, _: u32) {}
}

#[cfg(feature = "tracing")]
pub(crate) use with_tracing::*;
#[cfg(not(feature = "tracing"))]
pub(crate) use without_tracing::*;
