//! Replies: what a task tells those who submitted it [N1, N2].
//!
//! What is told, and how much was, is part of the write that makes it so (`task.rs`). Replies wait in the store, by address: those
//! of a queue for whoever polls it (`queue.rs`), those of a hook for the loop that calls it (`hook.rs`). How many wait is
//! watched (`watch.rs`). Must never change a task.

mod address;
mod hook;
mod queue;
mod settings;
mod task;
mod watch;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use steadfast_engine::Time;
use steadfast_store::{Payload, Reply as Stored, ReplyId, TaskId};

pub use address::{BadAddress, ReplyTo};
pub(crate) use hook::run;
pub(crate) use queue::Changes;
pub use queue::{QueueLevel, QueueStatus};
pub use settings::{ReplyError, ReplySettings};
pub(crate) use task::{Replying, Telling};
pub(crate) use watch::watch;

/// A message to whoever submitted a task.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reply {
    /// The same each time that it is delivered: one that comes twice is recognised by it.
    pub id: ReplyId,
    /// What whoever submitted knows the task by.
    pub correlation: Option<Arc<str>>,
    /// The task's workflow.
    pub workflow: Arc<str>,
    /// When it was so, by the store's clock.
    pub at: Time,
    /// How often it was handed out, this time included.
    pub tries: u32,
    /// What it says.
    pub says: Says,
}

/// What a reply says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Says {
    /// The task is stored and will be worked on.
    Received,
    /// An attempt has come this far.
    Progress {
        /// The step.
        step: String,
        /// What the attempt told, as JSON.
        progress: Payload,
    },
    /// Everything was done. After `Failed`: an operator has repaired it.
    Completed {
        /// The task's result, as JSON.
        result: Payload,
    },
    /// Everything that was done is undone.
    Undone {
        /// Why.
        reason: String,
    },
    /// It is in an operator's hands; it may complete or be undone later, and then you are told that too.
    Failed {
        /// Why.
        reason: String,
    },
    /// Something that a newer version has stored.
    Other,
}

/// What is stored of a reply. JSON, so that rows can be read and a later version can add to it.
#[derive(Debug, Serialize, Deserialize)]
struct Body {
    workflow: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    correlation: Option<Arc<str>>,
    says: Word,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// What a reply says, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Word {
    Received,
    Progress,
    Completed,
    Undone,
    Failed,
    #[serde(other)]
    Other,
}

impl Reply {
    /// The task that it is about.
    #[must_use]
    pub fn task(&self) -> TaskId {
        self.id.task
    }

    /// Its number among all replies of its task, from 1. One that is missing was a progress that a later one has replaced.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.id.number
    }

    /// A reply as it was stored.
    fn of(stored: Stored) -> Self {
        let Stored { id, at, tries, body, brings } = stored;
        let read: Result<Body, _> = serde_json::from_slice(&body);
        let body = read.unwrap_or_else(|error| {
            tracing::error!(reply = %id, %error, "a reply cannot be read: it was changed by hand, or is damaged");
            Body { workflow: Arc::from(""), correlation: None, says: Word::Other, step: None, reason: None }
        });
        let brings = brings.unwrap_or_else(|| Payload::from(&b"null"[..]));
        let reason = body.reason.unwrap_or_default();
        let says = match body.says {
            Word::Received => Says::Received,
            Word::Progress => Says::Progress { step: body.step.unwrap_or_default(), progress: brings },
            Word::Completed => Says::Completed { result: brings },
            Word::Undone => Says::Undone { reason },
            Word::Failed => Says::Failed { reason },
            Word::Other => Says::Other,
        };
        Self { id, correlation: body.correlation, workflow: body.workflow, at, tries, says }
    }
}
