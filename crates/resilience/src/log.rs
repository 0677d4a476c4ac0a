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
    pub(crate) operation: &'a str,
    /// The breaker that the call brought along.
    pub(crate) breaker: Option<&'a str>,
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

    /// The target of what happens to calls.
    const CALL: &str = "steadfast_resilience::call";
    /// The target of what happens to circuits.
    const CIRCUIT: &str = "steadfast_resilience::circuit";

    /// The target of what happens to policy files.
    #[cfg(feature = "policy")]
    const POLICY: &str = "steadfast_resilience::policy";

    fn millis(time: Duration) -> u64 {
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
    }

    fn named(operation: &str) -> Option<&str> {
        Some(operation).filter(|name| !name.is_empty())
    }

    /// A failure that will be tried again is a warning; one that a fallback is asked about too. A terminal error is an
    /// answer and no fault of anybody here. What is left is an error.
    pub(crate) fn failed_attempt(failed: &FailedAttempt<'_>) {
        let FailedAttempt { pipeline, attempt, failure, decision, .. } = failed;
        let (operation, breaker) = (named(failed.operation), failed.breaker);
        let (kind, class) = (failure.kind().as_str(), failure.class().as_str());
        let throttled = failure.class() == Class::Throttled;
        let elapsed_ms = millis(failed.elapsed);
        macro_rules! event {
            ($level:ident, $wait:expr, $($message:tt)+) => {
                tracing::event!(
                    target: CALL,
                    tracing::Level::$level,
                    pipeline,
                    operation,
                    breaker,
                    attempt,
                    kind,
                    class,
                    throttled,
                    error = (failed.message)(),
                    wait_ms = $wait,
                    elapsed_ms,
                    $($message)+
                )
            };
        }
        match decision {
            Decision::After(wait) => event!(WARN, millis(*wait), "attempt failed, will be tried again"),
            Decision::Stop(stop) if failed.has_fallback && fallback_may_stand_in(*stop, Some(failure)) => {
                event!(WARN, None::<u64>, "call failed, its fallback is asked: {stop}");
            }
            Decision::Stop(stop) if failure.class() == Class::Terminal => {
                event!(INFO, None::<u64>, "call failed: {stop}");
            }
            Decision::Stop(stop) => event!(ERROR, None::<u64>, "call failed: {stop}"),
        }
    }

    /// Does something of which nothing is logged.
    #[cfg(feature = "simulate")]
    pub(crate) fn silenced<T>(work: impl FnOnce() -> T) -> T {
        tracing::subscriber::with_default(tracing::subscriber::NoSubscriber::default(), work)
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn fallback_failed(pipeline: &str, operation: &str, error: &dyn Fn() -> String) {
        let operation = named(operation);
        tracing::error!(target: CALL, pipeline, operation, error = error(), "call failed, and so did its fallback");
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn succeeded(pipeline: &str, operation: &str, attempt: u32, elapsed: Duration) {
        let (operation, elapsed_ms) = (named(operation), millis(elapsed));
        tracing::info!(target: CALL, pipeline, operation, attempt, elapsed_ms, "call succeeded");
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn waits_for_breaker(pipeline: &str, operation: &str, wait: Duration) {
        let (operation, wait_ms) = (named(operation), millis(wait));
        tracing::debug!(target: CALL, pipeline, operation, wait_ms, "call waits for the circuit's next probe");
    }

    /// A call through a breaker alone, which nobody tries again.
    #[cold]
    #[inline(never)]
    pub(crate) fn failed_call(breaker: &str, failure: &Verdict, message: &dyn Fn() -> Option<String>) {
        let (kind, class) = (failure.kind().as_str(), failure.class().as_str());
        if failure.class() == Class::Terminal {
            tracing::info!(target: CALL, breaker, kind, class, error = message(), "call failed");
        } else {
            tracing::error!(target: CALL, breaker, kind, class, error = message(), "call failed");
        }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn call_succeeded(breaker: &str, elapsed: Duration) {
        tracing::info!(target: CALL, breaker, elapsed_ms = millis(elapsed), "call succeeded");
    }

    /// Opening is a warning, by hand too: calls are refused from here on.
    pub(crate) fn state_changed(change: &Change) {
        let (breaker, from, to) = (&*change.breaker, change.from.as_str(), change.to.as_str());
        if matches!(change.to, State::Open | State::ForcedOpen) {
            tracing::warn!(target: CIRCUIT, breaker, from, to, "{change}");
        } else {
            tracing::info!(target: CIRCUIT, breaker, from, to, "{change}");
        }
    }

    #[cfg(feature = "tokio")]
    pub(crate) fn exchange_silent(error: &crate::breaker::share::ExchangeError) {
        tracing::warn!(target: CIRCUIT, error = %error.0, "{error}");
    }

    /// At debug: during an outage there is one for each look.
    #[cfg(feature = "tokio")]
    pub(crate) fn health_checked(breaker: &str, health: &crate::breaker::Health) {
        tracing::debug!(target: CIRCUIT, breaker, up = health.is_up(), "a health check found the service {health}");
    }

    pub(crate) fn registry_full(registry: &str, max_keys: usize) {
        tracing::warn!(
            target: CIRCUIT,
            registry,
            max_keys,
            "the registry is full: new keys get breakers that are not kept, so nothing protects them; raise max_keys"
        );
    }

    #[cfg(feature = "policy")]
    pub(crate) fn policies_changed(changes: &crate::policy::Changes) {
        if !changes.is_empty() {
            tracing::info!(target: POLICY, count = changes.all().len(), "policies changed: {changes}");
        }
    }

    #[cfg(feature = "policy")]
    pub(crate) fn policies_refused(error: &crate::policy::Error) {
        tracing::error!(target: POLICY, "the changed policy file is refused, the old policies stay in force: {error}");
    }

    pub(crate) fn nested(pipeline: &str, calls: u32) {
        tracing::warn!(
            target: CALL,
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

    #[cfg(feature = "simulate")]
    pub(crate) fn silenced<T>(work: impl FnOnce() -> T) -> T {
        work()
    }

    pub(crate) fn fallback_failed(_: &str, _: &str, _: &dyn Fn() -> String) {}

    pub(crate) fn succeeded(_: &str, _: &str, _: u32, _: Duration) {}

    pub(crate) fn waits_for_breaker(_: &str, _: &str, _: Duration) {}

    pub(crate) fn call_succeeded(_: &str, _: Duration) {}

    pub(crate) fn registry_full(_: &str, _: usize) {}

    pub(crate) fn failed_call(_: &str, _: &Verdict, _: &dyn Fn() -> Option<String>) {}

    pub(crate) fn state_changed(_: &crate::breaker::Change) {}

    #[cfg(feature = "tokio")]
    pub(crate) fn exchange_silent(_: &crate::breaker::share::ExchangeError) {}

    #[cfg(feature = "tokio")]
    pub(crate) fn health_checked(_: &str, _: &crate::breaker::Health) {}

    #[cfg(feature = "policy")]
    pub(crate) fn policies_changed(_: &crate::policy::Changes) {}

    #[cfg(feature = "policy")]
    pub(crate) fn policies_refused(_: &crate::policy::Error) {}

    pub(crate) fn nested(_: &str, _: u32) {}
}

#[cfg(feature = "tracing")]
pub(crate) use with_tracing::*;
#[cfg(not(feature = "tracing"))]
pub(crate) use without_tracing::*;
