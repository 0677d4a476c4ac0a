//! Alerts: what somebody has to be told of, in words for people and in fields for programs [O1, T4].
//!
//! What belongs to a task is in the very write that brings it about (`task.rs`). What belongs to a service is told by its
//! breaker (`circuit.rs`) and by the rules that its pipeline is watched by (`watch.rs`). All of it goes through the outbox.
//! Must never deliver anything: that is the outbox's.

mod circuit;
mod id;
mod settings;
mod task;
mod watch;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use steadfast_engine::Time;
use steadfast_store::{MAX_KEY, NodeId, OutboxKind, Outgoing, Payload, TaskId};

pub use circuit::circuit;
pub(crate) use circuit::listen;
pub use id::AlertId;
pub(crate) use settings::Hook;
pub use settings::{AlertError, AlertSettings};
pub(crate) use task::of_task;
pub(crate) use watch::watch;

/// The most bytes of an alert's words: what a service said may be long, and a message that is too large would be refused.
const MOST_WORDS: usize = 4_096;

/// Something that somebody has to be told of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Alert {
    /// The same each time that it is delivered: one that comes twice is recognised by it.
    pub id: AlertId,
    /// What sort of thing it is.
    pub kind: AlertKind,
    /// Whether it has begun, or is over.
    pub state: AlertState,
    /// When it was so, by the store's clock.
    #[serde(rename = "at_ms")]
    pub at: Time,
    /// The node that saw it.
    pub node: Arc<str>,
    /// The task that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The task's workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Arc<str>>,
    /// The step that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Arc<str>>,
    /// The service that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Arc<str>>,
    /// What was measured: a share, a number of retries per call, or seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// What it must not reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// What has happened, in words for people.
    pub words: String,
    /// What to do next.
    pub advice: String,
}

/// What sort of thing an alert is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AlertKind {
    /// A task has failed and rests in an operator's hands.
    TaskFailed,
    /// A step cannot be undone. Its task fails once the others are undone, which is another alert.
    UndoStuck,
    /// A service's circuit has opened.
    CircuitOpened,
    /// It is closed again.
    CircuitClosed,
    /// Too many calls of a service fail.
    FailureRate,
    /// Its calls need too many retries.
    Retries,
    /// It throttles too much of what it is sent.
    Throttled,
    /// Its calls take too long to succeed.
    SlowSuccess,
    /// A queue of replies fills, since nobody reads it.
    ReplyQueue,
    /// A transaction of another program has held the store for long.
    StoreHeld,
    /// One that a newer version wrote.
    #[serde(other)]
    Other,
}

impl fmt::Display for AlertKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl AlertKind {
    /// All kinds that this version knows.
    pub const ALL: [Self; 10] = [
        Self::TaskFailed,
        Self::UndoStuck,
        Self::CircuitOpened,
        Self::CircuitClosed,
        Self::FailureRate,
        Self::Retries,
        Self::Throttled,
        Self::SlowSuccess,
        Self::ReplyQueue,
        Self::StoreHeld,
    ];

    /// In one word, for logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TaskFailed => "task-failed",
            Self::UndoStuck => "undo-stuck",
            Self::CircuitOpened => "circuit-opened",
            Self::CircuitClosed => "circuit-closed",
            Self::FailureRate => "failure-rate",
            Self::Retries => "retries",
            Self::Throttled => "throttled",
            Self::SlowSuccess => "slow-success",
            Self::ReplyQueue => "reply-queue",
            Self::StoreHeld => "store-held",
            Self::Other => "other",
        }
    }
}

/// Whether what an alert tells of has begun, or is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlertState {
    /// It is so.
    Raised,
    /// It is over.
    Cleared,
}

impl Alert {
    /// An alert about nothing in particular yet.
    pub(crate) fn new(
        kind: AlertKind,
        state: AlertState,
        at: Time,
        node: NodeId,
        words: &str,
        advice: &str,
    ) -> Self {
        Self {
            id: AlertId::fresh(),
            kind,
            state,
            at,
            node: Arc::from(node.to_string()),
            task: None,
            workflow: None,
            step: None,
            service: None,
            value: None,
            threshold: None,
            words: clipped(words),
            advice: clipped(advice),
        }
    }

    /// The message that carries it; under one key it is stored once.
    pub(crate) fn message(&self, key: Option<String>) -> Outgoing {
        // JSON, so that rows can be read and a later version can add to it. Nothing of these types fails to be written.
        let body = serde_json::to_vec(self).map(Payload::from).unwrap_or_default();
        let key = key.filter(|key| key.len() <= MAX_KEY).map(Arc::from);
        Outgoing { task: self.task, kind: OutboxKind::Alert, key, body, to: None }
    }

    pub(crate) fn of_message(body: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(body)
    }

    /// Tells of it in the log: an error where work has come to rest that should not have, information once it is over.
    pub(crate) fn log(&self) {
        let Self { id, words, advice, .. } = self;
        let (kind, task) = (self.kind.as_str(), self.task.map(|task| task.to_string()));
        let (workflow, step, service) =
            (self.workflow.as_deref(), self.step.as_deref(), self.service.as_deref());
        macro_rules! log {
            ($level:ident) => {
                tracing::$level!(
                    target: "steadfast::alert", alert = %id, kind, task, workflow, step, service,
                    node = &*self.node, at_ms = self.at.as_millis(), advice, "{words}"
                )
            };
        }
        match (self.state, self.kind) {
            (AlertState::Cleared, _) => log!(info),
            (AlertState::Raised, AlertKind::TaskFailed | AlertKind::UndoStuck) => log!(error),
            (AlertState::Raised, _) => log!(warn),
        }
    }
}

/// So much of it as an alert may have.
fn clipped(words: &str) -> String {
    let end = (0..=MOST_WORDS.min(words.len())).rev().find(|end| words.is_char_boundary(*end));
    words[..end.unwrap_or(0)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was stored by any version can be read by the next one.
    #[test]
    fn an_alert_is_read_as_it_was_stored() {
        let stored = r#"{"id":"0192f3a0-5b1c-7d2e-8f00-0123456789ab","kind":"undo-stuck","state":"raised",
            "at_ms":1700000000000,"node":"n","task":"00000000-0000-0000-0000-000000000007","workflow":"w",
            "step":"charge","words":"it is stuck","advice":"look"}"#;
        let alert = Alert::of_message(stored.as_bytes()).unwrap();
        assert_eq!(alert.id.to_string(), "0192f3a0-5b1c-7d2e-8f00-0123456789ab");
        assert_eq!((alert.kind, alert.state), (AlertKind::UndoStuck, AlertState::Raised));
        assert_eq!(
            (alert.at, alert.task),
            (Time::from_millis(1_700_000_000_000), Some(TaskId::from_u128(7)))
        );
        assert_eq!((alert.step.as_deref(), alert.service.as_deref()), (Some("charge"), None));
        assert_eq!(Alert::of_message(&alert.message(None).body).unwrap(), alert);
        let newer = stored.replace("undo-stuck", "moon-phase").replace("\"words\"", "\"tide\":1,\"words\"");
        assert_eq!(Alert::of_message(newer.as_bytes()).unwrap().kind, AlertKind::Other);
    }

    #[test]
    fn a_kind_has_one_spelling() {
        for kind in [AlertKind::TaskFailed, AlertKind::CircuitOpened, AlertKind::SlowSuccess] {
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{}\"", kind.as_str()));
        }
    }

    #[test]
    fn words_are_clipped_between_letters() {
        let long = "ä".repeat(MOST_WORDS);
        assert_eq!(clipped(&long).len(), MOST_WORDS);
        assert_eq!(clipped(&format!("x{long}")).len(), MOST_WORDS - 1);
        assert_eq!(clipped("short"), "short");
    }

    #[test]
    fn a_key_that_is_too_long_is_none() {
        let node = NodeId::from_u128(1);
        let alert = Alert::new(AlertKind::Other, AlertState::Raised, Time::from_millis(1), node, "w", "a");
        assert_eq!(alert.message(Some("k".repeat(MAX_KEY + 1))).key, None);
        assert_eq!(alert.message(Some("k".to_owned())).key.as_deref(), Some("k"));
    }
}
