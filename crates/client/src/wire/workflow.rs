//! Workflows that the server knows.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Workflow {
    /// Its name.
    pub name: String,
    /// The version that new tasks are of.
    pub active: u32,
    /// All versions that it has, oldest first.
    pub versions: Vec<Version>,
}

/// A version of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Version {
    /// Its number.
    pub version: u32,
    /// Where it comes from: a file, the API, or the program itself.
    pub from: String,
    /// What it says, in the form of a workflow file. In a list it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Value>,
}

/// All workflows, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Workflows {
    /// They.
    pub workflows: Vec<Workflow>,
}

/// In which language a workflow is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// YAML.
    Yaml,
    /// JSON.
    Json,
}

impl Format {
    /// Its media type.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Yaml => "application/yaml",
            Self::Json => "application/json",
        }
    }
}

/// What became of a workflow that was handed in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Applied {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// What is so now, or would be.
    pub change: Change,
    /// Whether nothing was stored, since that was only asked.
    pub dry_run: bool,
    /// What may not be as it was meant, each in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// What applying a workflow has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(as = WorkflowChange))]
pub enum Change {
    /// There was no workflow of this name.
    New,
    /// There is a new version of it; running tasks stay on theirs.
    NewVersion,
    /// It is there already, word for word.
    Same,
}
