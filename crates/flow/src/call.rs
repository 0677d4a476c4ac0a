//! The call that a step asks for, and who makes it.

use std::fmt;
use std::future::Future;
use std::ops::RangeInclusive;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use steadfast_resilience::{Attempt, IdempotencyKey};
use steadfast_runtime::{CallbackId, Fault, Trace};
use steadfast_store::TaskId;

/// What an agent gives: the service's answer, or how the call failed.
pub type Calling = Pin<Box<dyn Future<Output = Result<Reply, Fault>> + Send>>;

/// Makes one call to a service: this crate knows no HTTP client.
///
/// It is called inside of the service's pipeline, once for each try: it makes exactly one, and says by the fault's verdict what
/// a failure means and whether the service may have done something. A reply is a success: its status is one of
/// [`Call::expect`].
pub trait Agent: Send + Sync {
    /// Makes it.
    fn call(&self, call: Call) -> Calling;

    /// The URL that ends with this, at which a service may answer later; `None` where nobody would hear it.
    fn callback_url(&self, end: &CallbackId) -> Option<String> {
        let _ = end;
        None
    }
}

/// A call that a step, or its undo, asks for.
#[derive(Clone)]
pub struct Call {
    /// The service's name.
    pub service: Arc<str>,
    /// What it is called in policies and metrics: the step's name, and `NAME.undo` for its undo.
    pub operation: Arc<str>,
    /// The method: `POST`.
    pub method: String,
    /// The path. It begins with `/`; what came out of expressions is percent-encoded, so that a value cannot add a slash, a `?`
    /// or a dot segment.
    pub path: String,
    /// Names and values of the query, not encoded.
    pub query: Vec<(String, String)>,
    /// Names and values of headers. No value has a line break or another control character in it. One may have a
    /// `secret://name` of the file's, which the agent replaces; none comes out of an expression.
    pub headers: Vec<(String, String)>,
    /// The body, as JSON. Texts in it may be a `secret://name` of the file's.
    pub body: Option<Vec<u8>>,
    /// Statuses that are a success.
    pub expect: Expect,
    /// The same for each attempt of this step, and another for its undo and for each round.
    pub key: IdempotencyKey,
    /// The task.
    pub task: TaskId,
    /// The step's name.
    pub step: Arc<str>,
    /// Whether it undoes the step.
    pub undo: bool,
    /// The try that it is: how long it may take, and how many there were before.
    pub attempt: Attempt,
    /// The number of the attempt of the step; it only grows.
    pub number: u32,
    /// Where the service may answer later, for steps that wait for that.
    pub callback: Option<String>,
    /// The trace that the task belongs to.
    pub trace: Option<Arc<Trace>>,
}

/// Without headers and body: they are the business of the two who talk.
impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("service", &self.service)
            .field("operation", &self.operation)
            .field("method", &self.method)
            .field("path", &self.path)
            .field("task", &self.task)
            .field("step", &self.step)
            .field("undo", &self.undo)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// What a service has answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// Names, in lower case, and values of its headers.
    pub headers: Vec<(String, String)>,
    /// The body: JSON, a text, or null.
    pub body: Value,
}

/// Statuses that are a success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expect(Vec<RangeInclusive<u16>>);

impl Expect {
    /// These statuses and no others, such as `[200..=299, 404..=404]` for a thing that may be gone already. Without any,
    /// those of [`Expect::default`].
    pub fn of(statuses: impl IntoIterator<Item = RangeInclusive<u16>>) -> Self {
        let statuses: Vec<_> = statuses.into_iter().collect();
        if statuses.is_empty() { Self::default() } else { Self(statuses) }
    }

    /// Whether this status is a success.
    #[must_use]
    pub fn includes(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }
}

/// 200 to 299.
impl Default for Expect {
    fn default() -> Self {
        Self(vec![200..=299])
    }
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, range) in self.0.iter().enumerate() {
            let comma = if nth == 0 { "" } else { ", " };
            match (range.start(), range.end()) {
                (start, end) if start == end => write!(f, "{comma}{start}")?,
                (start, end) => write!(f, "{comma}{start} to {end}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_expected_is_a_success_and_nothing_else() {
        let plain = Expect::default();
        assert_eq!([199, 200, 299, 300].map(|status| plain.includes(status)), [false, true, true, false]);
        let gone = Expect::of([200..=204, 404..=404]);
        assert_eq!([204, 205, 404].map(|status| gone.includes(status)), [true, false, true]);
        assert_eq!(gone.to_string(), "200 to 204, 404");
    }
}
