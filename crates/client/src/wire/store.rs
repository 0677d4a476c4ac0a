//! The store of the server: copies of it, and whether it is sound.

use serde::{Deserialize, Serialize};

/// A copy of the store that is to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(example = json!({ "to": "/var/backups/steadfast-2026-11-17.db" })))]
pub struct NewBackup {
    /// The file that it goes to, on the server's machine. There must be none of this name.
    pub to: String,
}

/// A copy of the store that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Backup {
    /// The file that it is in, on the server's machine.
    pub to: String,
    /// How large it is.
    pub bytes: u64,
    /// How long it took.
    pub took_ms: u64,
}

/// What was found when the store was looked through.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Verified {
    /// Tasks that were looked at.
    pub looked_at: u64,
    /// What contradicts itself; of many, the first.
    pub findings: Vec<Finding>,
}

/// Something in the store that contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Finding {
    /// In which task; not there for what is about the file as such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Which sort of thing, by one word.
    pub kind: String,
    /// What, in words.
    pub words: String,
}
