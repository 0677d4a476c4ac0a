//! A task: in a list, as a whole, and what happened to it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::state::TaskState;
use super::step::{Step, StepChange};

/// How a task has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(example = json!({ "state": "completed", "result": { "receipt": 7 } })))]
pub struct Outcome {
    /// `completed`, `undone` or `failed`.
    pub state: TaskState,
    /// What it has given, if it has completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why it has not completed, if it has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A task in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Summary {
    /// Its id.
    pub id: String,
    /// Whose it is; empty where nobody said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its workflow.
    pub workflow: String,
    /// Which version of it.
    pub version: u32,
    /// The key that it was submitted under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Where it stands.
    pub state: TaskState,
    /// When it was submitted.
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub submitted_at: String,
    /// Why it does not move, or how it has ended.
    pub why: String,
    /// Its labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The task that has asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// Some of the tasks that were looked for, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Tasks {
    /// They.
    pub tasks: Vec<Summary>,
    /// Where to go on, with the same filters; not there if there are no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A task as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Task {
    /// What a list says of it, too.
    #[serde(flatten)]
    pub summary: Summary,
    /// How often it was written; the place of its last change in its history.
    pub revision: u64,
    /// What is not done by then is undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub deadline: Option<String>,
    /// Before this nothing begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub start_at: Option<String>,
    /// When it came to rest, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub ended_at: Option<String>,
    /// Whether it has passed its point of no return: it can only go forward.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub no_return: bool,
    /// Who holds it, if an operator does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<Paused>,
    /// Its steps, in the order of the workflow.
    pub steps: Vec<Step>,
    /// What it was submitted with, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// How it has ended, if it has. The result is there if payloads were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// An operator holds a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Paused {
    /// Who.
    pub by: String,
    /// Why.
    pub because: String,
    /// Since when.
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub since: String,
    /// What is left until its deadline, which stands still meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_ms: Option<u64>,
}

/// One write to a task: what of it changed. Events of a task's stream say the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Change {
    /// The place of this change in the task's history: it only grows. 0 is the submission.
    pub revision: u64,
    /// When.
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub at: String,
    /// Where the task stands from then on, if its own row changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<TaskState>,
    /// Its deadline from then on, if its own row changed and it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub deadline: Option<String>,
    /// Why it will not complete, if that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The steps and items that changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepChange>,
}

/// What happened to a task, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct History {
    /// The changes.
    pub changes: Vec<Change>,
    /// The revision behind which to go on (`after`); not there if these are all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}
