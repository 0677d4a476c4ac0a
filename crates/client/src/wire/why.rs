//! Why a task does not move, or how it has ended.

use serde::{Deserialize, Serialize};

use super::state::TaskState;

/// Why a task does not move, or how it has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Why {
    /// Which task.
    pub id: String,
    /// All of it in one line.
    pub words: String,
    /// When this was so.
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub now: String,
    /// Where the task stands.
    pub state: TaskState,
    /// Since when, as far as that is known. At rest: when it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub since: Option<String>,
    /// By when it must be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub deadline: Option<String>,
    /// Why it does not complete, if it does not: `step_failed`, `outcome_unknown`, `owner_died`, `deadline`, `cancelled`, `not_taken`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// What each open step, or its undo, does or waits for.
    pub held: Vec<Held>,
}

/// What one step or its undo does or waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Held {
    /// In words.
    pub words: String,
    /// The name of the step; not there for the task as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The service that it calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Whether it is about the undo of the step.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub undo: bool,
    /// What it does or waits for, by one word: `attempt`, `breaker`, `next_attempt`, `signal`, `time`, `turn`, `place`, `paused` and others.
    pub on: String,
    /// The signal that it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The task that it has asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<String>,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub since: Option<String>,
    /// Until when at most, or when it is looked at next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub until: Option<String>,
    /// What would change it, by one word: `time`, `answer`, `signal`, `room`, `circuit`, `steps`, `operator` and others.
    pub change: String,
    /// How the last attempt failed, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
    /// The circuit that it waits for, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circuit: Option<Circuit>,
}

/// A circuit that a step waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Circuit {
    /// `open`, `probing` or `closed`.
    pub state: String,
    /// Since when it has not been closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub since: Option<String>,
    /// When it lets a probe through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub probe_at: Option<String>,
    /// Who set it by hand and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forced_by: Option<super::breaker::ForcedBy>,
}
