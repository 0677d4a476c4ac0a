//! What an operator asks of a task. Who asks and why is kept for ever.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that is asked of a task as a whole: pause, resume, cancel, undo.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(example = json!({ "by": "ana@shop", "because": "ticket 311" })))]
pub struct Ask {
    /// Who asks.
    pub by: String,
    /// Why.
    pub because: String,
    /// A UUID of the asker's own: what is asked again under it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = "uuid"))]
    pub id: Option<String>,
}

impl Ask {
    /// Asked by this person for this reason.
    #[must_use]
    pub fn new(by: impl Into<String>, because: impl Into<String>) -> Self {
        Self { by: by.into(), because: because.into(), id: None }
    }
}

/// A step is made again: anew if it has failed, at once if it waits for its next attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(example = json!({
    "by": "ana@shop", "because": "the account is open now", "step": "charge"
})))]
pub struct Retry {
    /// Who asks.
    pub by: String,
    /// Why.
    pub because: String,
    /// A UUID of the asker's own: what is asked again under it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = "uuid"))]
    pub id: Option<String>,
    /// Which step.
    pub step: String,
    /// Another input, which the step and its undo see in the place of the task's. The step then has a new key for its service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Somebody has looked: no attempt so far has taken effect.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub did_not_happen: bool,
}

/// A step is skipped: what comes after it goes on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(example = json!({
    "by": "ana@shop", "because": "paid in cash", "step": "charge", "output": { "receipt": 7 }, "happened": true
})))]
pub struct Skip {
    /// Who asks.
    pub by: String,
    /// Why.
    pub because: String,
    /// A UUID of the asker's own: what is asked again under it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = "uuid"))]
    pub id: Option<String>,
    /// Which step.
    pub step: String,
    /// What later steps read as its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// It was done by other means: it counts as completed, and is undone with the others if it comes to that.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub happened: bool,
}

/// The undo of a step is tried again that could not be made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RetryUndo {
    /// Who asks.
    pub by: String,
    /// Why.
    pub because: String,
    /// A UUID of the asker's own: what is asked again under it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = "uuid"))]
    pub id: Option<String>,
    /// Of which step.
    pub step: String,
    /// Somebody has looked: the step did happen. Needed where nobody knows.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub happened: bool,
}

/// A step whose undo could not be made counts as undone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TakeAsUndone {
    /// Who asks.
    pub by: String,
    /// Why.
    pub because: String,
    /// A UUID of the asker's own: what is asked again under it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = "uuid"))]
    pub id: Option<String>,
    /// Which step.
    pub step: String,
}

/// A task gets another deadline, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Deadline {
    /// Who asks.
    pub by: String,
    /// Why.
    pub because: String,
    /// A UUID of the asker's own: what is asked again under it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = "uuid"))]
    pub id: Option<String>,
    /// By when; `null` for no deadline. It has to be said, so that nobody takes one away by forgetting it.
    #[serde(deserialize_with = "super::said")]
    #[cfg_attr(feature = "schema", schema(format = DateTime, required = true))]
    pub at: Option<String>,
}

/// A task gets labels, or loses some.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(example = json!({
    "by": "ana@shop", "because": "we look into it", "labels": { "case": "311", "new": null }
})))]
pub struct Label {
    /// Who asks.
    pub by: String,
    /// Why.
    pub because: String,
    /// A UUID of the asker's own: what is asked again under it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = "uuid"))]
    pub id: Option<String>,
    /// Names with values; a name with `null` is taken away. At least one, at most 20.
    pub labels: BTreeMap<String, Option<String>>,
}

/// What was asked is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Done {
    /// The id of its entry in the audit log; of several, the first one's.
    pub id: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_not_taken_away_by_forgetting_it() {
        let asked = r#"{"by": "ana", "because": "x"}"#;
        let why = serde_json::from_str::<Deadline>(asked).unwrap_err().to_string();
        assert!(why.contains("missing field `at`"), "{why}");
        let none: Deadline = serde_json::from_str(r#"{"by": "ana", "because": "x", "at": null}"#).unwrap();
        assert_eq!(none.at, None);
    }
}
