//! To whom a task replies.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use steadfast_engine::StepId;
use steadfast_store::{MAX_KEY, TaskId};

/// To whom a task replies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReplyTo(Arc<str>);

/// A text that is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no reply address: use `queue:NAME` or `hook:NAME`, with at most {MAX_KEY} bytes in all")]
pub struct BadAddress(String);

const QUEUE: &str = "queue:";
const HOOK: &str = "hook:";
/// Not for others: it is the engine that writes it.
const TASK: &str = "task:";

impl ReplyTo {
    /// A queue of this name in the store, from which the submitter takes its replies.
    pub fn queue(name: impl fmt::Display) -> Self {
        Self(Arc::from(format!("{QUEUE}{name}")))
    }

    /// The function of this name that the engine was given.
    pub fn hook(name: impl fmt::Display) -> Self {
        Self(Arc::from(format!("{HOOK}{name}")))
    }

    /// The task that has asked for another one, and waits for its end.
    pub(crate) fn parent(task: TaskId, step: StepId) -> Self {
        Self(Arc::from(format!("{TASK}{task}/{}", step.ordinal())))
    }

    /// Whether it is a task that waits.
    pub(crate) fn is_parent(&self) -> bool {
        self.0.starts_with(TASK)
    }

    /// As it is stored.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn text(&self) -> &Arc<str> {
        &self.0
    }

    /// The name of the hook, if it is one.
    pub(crate) fn hook_name(&self) -> Option<&str> {
        self.0.strip_prefix(HOOK)
    }

    /// Whether it is one that messages can be sent to.
    pub(crate) fn check(&self) -> Result<(), BadAddress> {
        let name = self.0.strip_prefix(QUEUE).or_else(|| self.0.strip_prefix(HOOK));
        match name.is_some_and(|name| !name.is_empty()) && self.0.len() <= MAX_KEY {
            true => Ok(()),
            false => Err(BadAddress(self.0.chars().take(MAX_KEY).collect())),
        }
    }
}

/// The step that waits for a task, if that is what an address says.
pub(super) fn waiting_step(address: &str) -> Option<(TaskId, StepId)> {
    let (task, step) = address.strip_prefix(TASK)?.split_once('/')?;
    Some((task.parse().ok()?, StepId::at(step.parse().ok()?)))
}

impl fmt::Display for ReplyTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ReplyTo {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        let address = Self(Arc::from(text));
        address.check().map(|()| address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_its_sort() {
        assert_eq!("queue:orders".parse(), Ok(ReplyTo::queue("orders")));
        assert_eq!("hook:mail".parse(), Ok(ReplyTo::hook("mail")));
        let long = format!("queue:{}", "x".repeat(MAX_KEY));
        for bad in ["", "orders", "queue:", "hook:", "https://example.com", &long] {
            let error = bad.parse::<ReplyTo>().unwrap_err().to_string();
            assert!(error.contains("use `queue:NAME` or `hook:NAME`"), "{error}");
        }
    }
}
