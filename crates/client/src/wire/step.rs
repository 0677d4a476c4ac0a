//! A step of a task, with its attempts.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::state::{StepState, UndoState};

/// A step of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Step {
    /// Its name; its place where the server does not know the workflow.
    pub name: String,
    /// Where it stands.
    pub state: StepState,
    /// Where its undo stands.
    #[serde(default)]
    pub undo: UndoState,
    /// The number of its last attempt, over step and undo.
    pub attempt: u32,
    /// Failed attempts of the step, or of its undo once that has begun.
    pub failures: u32,
    /// Calls of its attempts that have failed or were not answered: what counts against the most calls.
    pub calls: u32,
    /// By when the attempt under way must have answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub complete_by: Option<String>,
    /// Before this nothing happens to a step that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub not_before: Option<String>,
    /// What a parked step waits for: `breaker`, `limit`, `no_handler`, `suspect`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_on: Option<String>,
    /// How its last attempt failed, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
    /// Whether an attempt that did not succeed may have taken effect.
    #[serde(default)]
    pub may_have_happened: bool,
    /// How far it has come, if an attempt has said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Value>,
    /// How far it has come with its items, if it is made for each item of a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Items>,
    /// Its attempts, oldest first; of many, the latest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
    /// What it has given, if that was asked for and there is something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Whether there is an output that was too large to be shown beside the others.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub output_left_out: bool,
}

/// One attempt of a step or of its undo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Attempt {
    /// Its number, over step and undo.
    pub number: u32,
    /// Whether it was one of the undo.
    pub undo: bool,
    /// When it began.
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub began_at: String,
    /// When it ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub ended_at: Option<String>,
    /// How it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// How far a step has come with its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Items {
    /// How many there are.
    pub count: u32,
    /// How many are done.
    pub done: u32,
    /// How many have failed.
    pub failed: u32,
    /// How many are under way.
    pub busy: u32,
    /// How many could not be undone.
    pub stuck: u32,
}

/// A step as it was from some write on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct StepChange {
    /// Its name; of an item, with its place: `pack[3]`.
    pub step: String,
    /// Where it stands.
    pub state: StepState,
    /// Where its undo stands.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub undo: UndoState,
    /// The number of its last attempt.
    pub attempt: u32,
    /// Failed attempts.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub failures: u32,
    /// By when the attempt under way must have answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub complete_by: Option<String>,
    /// Before this nothing happens to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub not_before: Option<String>,
    /// What it waits for, if it is parked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_on: Option<String>,
    /// How its last attempt failed, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
}
