//! The same asked of many tasks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::filter::Filter;

/// A bulk to be prepared: its tasks are found and fixed, and nothing is asked of them before it is begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(example = json!({
    "filter": { "states": ["failed"], "service": "payments" },
    "action": "resume",
    "rate": 50.0,
    "by": "ana@shop",
    "because": "the bank is back, ticket 311"
})))]
pub struct NewBulk {
    /// Which tasks.
    pub filter: Filter,
    /// What is asked of each.
    pub action: Action,
    /// Tasks a second, at most; 100 where nothing is said. It begins with two, and doubles twice a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// The most tasks, the newest first; all where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = "uint64"))]
    pub most: Option<u64>,
    /// Who asks.
    pub by: String,
    /// Why.
    pub because: String,
}

/// What can be asked of many tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum Action {
    /// Nothing of them begins until they are resumed.
    Pause,
    /// Those that are paused, or have failed, go on.
    Resume,
    /// Those that have not ended are undone.
    Cancel,
    /// They are undone, also those that have completed or failed.
    Undo,
    /// They have another deadline, or none.
    Deadline {
        /// By when; `null` for no deadline.
        #[serde(deserialize_with = "super::said")]
        #[cfg_attr(feature = "schema", schema(format = DateTime, required = true))]
        at: Option<String>,
    },
    /// A step is made again.
    Retry {
        /// Which step.
        step: String,
        /// Somebody has looked: no attempt so far has taken effect.
        #[serde(default, skip_serializing_if = "super::is_default")]
        did_not_happen: bool,
    },
    /// A step is skipped, without an output.
    Skip {
        /// Which step.
        step: String,
        /// It was done by other means.
        #[serde(default, skip_serializing_if = "super::is_default")]
        happened: bool,
    },
    /// The undo of a step is tried again.
    RetryUndo {
        /// Of which step.
        step: String,
        /// Somebody has looked: the step did happen.
        #[serde(default, skip_serializing_if = "super::is_default")]
        happened: bool,
    },
    /// A step whose undo could not be made counts as undone.
    TakeAsUndone {
        /// Which step.
        step: String,
    },
}

/// How far a bulk has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum BulkState {
    /// Its tasks are being looked for.
    Preparing,
    /// Its tasks are known, and nothing was asked of them.
    Prepared,
    /// It is under way.
    Running,
    /// Somebody has stopped it: it can go on.
    Stopped,
    /// All of its tasks were asked.
    Over,
}

/// A bulk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Bulk {
    /// Its id.
    pub id: String,
    /// How far it has come.
    pub state: BulkState,
    /// What is asked, by its name.
    pub action: String,
    /// What it is asked for, in words: which step, until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Who asks.
    pub by: String,
    /// Why.
    pub because: String,
    /// Which tasks were looked for, in words.
    pub looked_for: String,
    /// Tasks a second, at most.
    pub rate: f64,
    /// How many tasks it has.
    pub tasks: u64,
    /// How many were asked.
    pub asked: u64,
    /// Of how many of them it was done.
    pub done: u64,
    /// How many refused, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, u64>,
}

/// A bulk that was prepared, to be looked at before it is begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Prepared {
    /// The bulk.
    pub bulk: Bulk,
    /// The ids of its first tasks.
    pub first: Vec<String>,
}

/// The newest bulks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Bulks {
    /// They, newest first.
    pub bulks: Vec<Bulk>,
}

/// Some tasks of a bulk, in the order in which they are asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct BulkTasks {
    /// Their ids.
    pub tasks: Vec<String>,
    /// Where to go on; not there if there are no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_is_a_word_or_a_word_with_more() {
        for (json, action) in [
            (r#""resume""#, Action::Resume),
            (
                r#"{"retry":{"step":"charge"}}"#,
                Action::Retry { step: "charge".to_owned(), did_not_happen: false },
            ),
            (r#"{"deadline":{"at":null}}"#, Action::Deadline { at: None }),
        ] {
            assert_eq!(serde_json::from_str::<Action>(json).unwrap(), action);
            assert_eq!(serde_json::to_string(&action).unwrap(), json);
        }
        for bad in [r#""retry""#, r#"{"deadline":{}}"#, r#"{"retry":{"step":"a","x":1}}"#, r#""explode""#] {
            assert!(serde_json::from_str::<Action>(bad).is_err(), "{bad}");
        }
    }
}
