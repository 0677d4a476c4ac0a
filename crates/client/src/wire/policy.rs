//! The policies in force.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A policy: settings with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// What it says, as it would stand in a file.
    pub settings: Value,
}

/// All policies in force, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Policies {
    /// They.
    pub policies: Vec<Policy>,
}
