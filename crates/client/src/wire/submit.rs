//! Handing work in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::problem::Problem;
use super::task::Outcome;

/// A task to be submitted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(example = json!({
    "workflow": "place-order",
    "input": { "sku": "a chair", "quantity": 1 },
    "key": "order-7",
    "labels": { "team": "shop" }
})))]
pub struct Submit {
    /// Which workflow.
    pub workflow: String,
    /// Which version of it; the newest where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = "uint32"))]
    pub version: Option<u32>,
    /// What it is to work on; `null` where nothing is said.
    #[serde(default)]
    pub input: Value,
    /// Under the same key the same workflow runs once: a second submission gives the first task back. The header
    /// `Idempotency-Key` says the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Whose task it is: keys are unique within one of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Among those that wait for the same service, a higher one goes first; 0 where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i8>,
    /// Names with values by which it is found.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// It starts at this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub start_at: Option<String>,
    /// It starts so long after it was submitted. Not both of these two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = "uint64"))]
    pub start_after_ms: Option<u64>,
    /// Who is told what becomes of it: `queue:NAME` or `hook:NAME`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// What the submitter knows it by: it comes back in every reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<String>,
}

impl Submit {
    /// A task of this workflow with this input.
    #[must_use]
    pub fn new(workflow: impl Into<String>, input: Value) -> Self {
        Self { workflow: workflow.into(), input, ..Self::default() }
    }

    /// Under this key.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// With this label.
    #[must_use]
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(name.into(), value.into());
        self
    }
}

/// A task that was submitted. It is stored and will be worked on, whatever happens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(example = json!({ "id": "0192f3a0-5b1c-7d2e-8f00-0123456789ab" })))]
pub struct Submitted {
    /// Its id.
    pub id: String,
    /// How it has ended, if that was waited for and came in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// Tasks to be submitted together. Each is stored or refused for itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Batch {
    /// They, at most 1000.
    pub tasks: Vec<Submit>,
}

/// What became of each task of a batch, in its order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Batched {
    /// One for each.
    pub tasks: Vec<BatchedTask>,
    /// How many of them are stored.
    pub stored: u64,
    /// How many were refused.
    pub refused: u64,
}

/// What became of one task of a batch: an id, or a problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct BatchedTask {
    /// The id of the task, if it is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Why it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// A signal to a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(example = json!({ "name": "approval", "says": { "by": "ana" }, "id": "mail-311" })))]
pub struct Signal {
    /// Its name: a step of the workflow waits for one of this name, or will.
    pub name: String,
    /// What it says; it is the output of the step.
    #[serde(default)]
    pub says: Value,
    /// Whatever tells it from other signals: sent twice under one id, it counts once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}
