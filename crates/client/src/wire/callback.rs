//! What services are told that call back. What they say has no type of its own: any JSON is an output.

use serde::{Deserialize, Serialize};

/// What became of an answer by callback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(example = json!({ "state": "taken" })))]
pub struct CalledBack {
    /// Whether it counts.
    pub state: Callback,
}

/// Whether an answer by callback counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum Callback {
    /// It does: the step has gone on by it.
    Taken,
    /// The same came before, and has counted then.
    Repeated,
    /// It is stored, and counts if nothing else had ended the attempt by the time that it came.
    Stored,
}
