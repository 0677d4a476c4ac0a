//! Events of calls: each failed attempt, and one at the end.

use std::time::Duration;

use super::{Call, Ending, FailedAttempt};
use crate::classify::{Class, Verdict};
use crate::error::fallback_may_stand_in;
use crate::retry::{Decision, Retry, Stop};

/// The target of what happens to calls.
pub(super) const CALL: &str = "steadfast_resilience::call";

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn named(operation: &str) -> Option<&str> {
    Some(operation).filter(|name| !name.is_empty())
}

impl<'a> Call<'a> {
    /// The policy's name, or that of the pipeline whose policy it is.
    fn policy(&self) -> &'a str {
        self.retry.and_then(Retry::name).unwrap_or(self.pipeline)
    }

    fn strategy(&self) -> &'static str {
        self.retry.map_or("none", Retry::strategy)
    }

    fn started_unix_ms(&self) -> u64 {
        self.clock.unix_millis(self.started)
    }
}

/// An event about a call: the fields that all of them have, those of its own, the words.
macro_rules! event {
    ($level:ident, $call:expr, { $($own:tt)* }, $($words:tt)+) => {
        tracing::event!(
            target: CALL,
            tracing::Level::$level,
            pipeline = $call.pipeline,
            operation = named($call.operation),
            operation_id = %$call.key.get(),
            started_unix_ms = $call.started_unix_ms(),
            strategy = $call.strategy(),
            policy = $call.policy(),
            breaker = $call.breaker,
            $($own)*
            $($words)+
        )
    };
}

/// A failure that will be tried again is a warning. The last one closes the call: see [`failed`].
pub(crate) fn failed_attempt(call: &Call<'_>, tried: &FailedAttempt<'_>) {
    let Decision::After(wait) = *tried.decision else {
        return failed(call, tried);
    };
    let (kind, class) = (tried.failure.kind().as_str(), tried.failure.class().as_str());
    event!(
        WARN,
        call,
        {
            attempt = tried.number,
            began_ms = millis(tried.began),
            ended_ms = millis(tried.ended),
            wait_ms = millis(wait),
            kind,
            class,
            throttled = tried.failure.class() == Class::Throttled,
            error = (tried.message)(),
        },
        "attempt failed, will be tried again"
    );
}

/// The call ends with this attempt. A failure that a fallback is asked about is a warning. A terminal error is an answer
/// and no fault of anybody here. What is left is an error.
fn failed(call: &Call<'_>, tried: &FailedAttempt<'_>) {
    let Decision::Stop(stop) = *tried.decision else { return };
    let failure = tried.failure;
    let (kind, class) = (failure.kind().as_str(), failure.class().as_str());
    macro_rules! last {
        ($level:ident, $words:literal) => {
            event!(
                $level,
                call,
                {
                    attempt = tried.number,
                    began_ms = millis(tried.began),
                    ended_ms = millis(tried.ended),
                    kind,
                    class,
                    throttled = failure.class() == Class::Throttled,
                    error = (tried.message)(),
                    retries = tried.number,
                    elapsed_ms = millis(tried.ended),
                },
                $words
            )
        };
    }
    if call.has_fallback && fallback_may_stand_in(stop, Some(failure)) {
        last!(WARN, "call failed, its fallback is asked: {stop}");
    } else if failure.class() == Class::Terminal {
        last!(INFO, "call failed: {stop}");
    } else {
        last!(ERROR, "call failed: {stop}");
    }
}

/// The call ends between attempts, or before the first.
#[cold]
#[inline(never)]
pub(crate) fn ended(call: &Call<'_>, end: &Ending<'_>) {
    let Ending { stop, last, retries, elapsed } = *end;
    let (kind, class) = (last.map(|last| last.kind().as_str()), last.map(|last| last.class().as_str()));
    macro_rules! end {
        ($level:ident, $words:literal) => {
            event!($level, call, { kind, class, retries, elapsed_ms = millis(elapsed), }, $words)
        };
    }
    match stop {
        Stop::Cancelled => end!(DEBUG, "call cancelled"),
        Stop::BreakerOpen | Stop::Limited if last.is_none() => end!(DEBUG, "call refused: {stop}"),
        _ if call.has_fallback && fallback_may_stand_in(stop, last) => {
            end!(WARN, "call failed, its fallback is asked: {stop}");
        }
        _ => end!(ERROR, "call failed: {stop}"),
    }
}

/// Whether somebody wants to know what is no news; one comparison.
#[inline]
pub(crate) fn tells_details() -> bool {
    tracing::level_enabled!(tracing::Level::DEBUG)
}

/// Whether the success of a call is told.
#[inline]
pub(crate) fn tells_success(retries: u32, asked: bool) -> bool {
    if retries > 0 || asked { tracing::level_enabled!(tracing::Level::INFO) } else { tells_details() }
}

/// A success after retries is news; others are told if asked, or to those who want all details.
#[cold]
#[inline(never)]
pub(crate) fn succeeded(call: &Call<'_>, retries: u32, elapsed: Duration, asked: bool) {
    let elapsed_ms = millis(elapsed);
    if retries > 0 || asked {
        event!(INFO, call, { attempt = retries, retries, elapsed_ms, }, "call succeeded");
    } else {
        event!(DEBUG, call, { attempt = retries, retries, elapsed_ms, }, "call succeeded");
    }
}

#[cold]
#[inline(never)]
pub(crate) fn fallback_failed(pipeline: &str, operation: &str, error: &dyn Fn() -> String) {
    let operation = named(operation);
    tracing::error!(target: CALL, pipeline, operation, error = error(), "call failed, and so did its fallback");
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

pub(crate) fn nested(pipeline: &str, calls: u32) {
    tracing::warn!(
        target: CALL,
        pipeline,
        calls,
        "retries inside of retries: one operation can become {calls} calls"
    );
}
