//! What is logged: each failed attempt, the end of each call, state changes. Refusals are no lines of their own above
//! `debug`: during an outage that would be a line per call; the breaker's state change is the line.
//!
//! At a level that is off, an event or a span costs the comparison of two numbers.

#[cfg(feature = "tracing")]
mod call;
#[cfg(feature = "tracing")]
mod event;
#[cfg(not(feature = "tracing"))]
mod silent;
#[cfg(feature = "tracing")]
mod span;

use std::time::Duration;

#[cfg(feature = "tracing")]
pub(crate) use call::*;
#[cfg(feature = "tracing")]
pub(crate) use event::*;
#[cfg(not(feature = "tracing"))]
pub(crate) use silent::*;
#[cfg(feature = "tracing")]
pub(crate) use span::Spans;

use crate::classify::Verdict;
use crate::clock::{Clock, Moment};
use crate::key::CallKey;
use crate::retry::{Decision, Retry, Stop};

/// The call that an event is about.
#[cfg_attr(not(feature = "tracing"), expect(dead_code, reason = "read by the log alone"))]
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) pipeline: &'a str,
    /// Empty when the call was not named.
    pub(crate) operation: &'a str,
    /// The breaker that the call brought along.
    pub(crate) breaker: Option<&'a str>,
    /// The operation's id: the same in all attempts.
    pub(crate) key: CallKey,
    pub(crate) retry: Option<&'a Retry>,
    pub(crate) clock: &'a Clock,
    pub(crate) started: Moment,
    /// Whether something stands in when the service cannot be had.
    pub(crate) has_fallback: bool,
}

/// One failed attempt of a call. Times are from the beginning of the call.
#[cfg_attr(not(feature = "tracing"), expect(dead_code, reason = "read by the log alone"))]
pub(crate) struct FailedAttempt<'a> {
    pub(crate) number: u32,
    pub(crate) began: Duration,
    pub(crate) ended: Duration,
    pub(crate) failure: &'a Verdict,
    /// The failure in words.
    pub(crate) message: &'a dyn Fn() -> Option<String>,
    pub(crate) decision: &'a Decision,
}

/// The end of a call that no attempt of its own ended: it was refused, cancelled, or its time was over.
#[cfg_attr(not(feature = "tracing"), expect(dead_code, reason = "read by the log alone"))]
pub(crate) struct Ending<'a> {
    pub(crate) stop: Stop,
    /// How the last attempt failed; `None` when none was made.
    pub(crate) last: Option<&'a Verdict>,
    pub(crate) retries: u32,
    pub(crate) elapsed: Duration,
}
