//! What operators have done.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Audit {
    /// Its id: what was asked under it is done once.
    pub id: String,
    /// When.
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub at: String,
    /// To which task; not there for what is about more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// To what else, such as `service payments`, `schedule books`; not there for what is about tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Who.
    pub by: String,
    /// Why; empty where that need not be said, and nobody did.
    pub because: String,
    /// What, by its name.
    pub action: String,
    /// Why it was not done; not there if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// What was before, what is so since, and what was given.
    #[serde(default)]
    pub detail: Value,
}

/// Some entries of the audit log, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Audits {
    /// They.
    pub audits: Vec<Audit>,
    /// Where to go on, with the same filters; not there if there are no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Which entries are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// About this task.
    pub task: Option<String>,
    /// By this person.
    pub by: Option<String>,
    /// Of this action.
    pub action: Option<String>,
}

impl AuditFilter {
    /// As it stands behind the `?` of an address.
    #[must_use]
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let all = [("task", &self.task), ("by", &self.by), ("action", &self.action)];
        all.into_iter().filter_map(|(name, text)| Some((name, text.clone()?))).collect()
    }
}
