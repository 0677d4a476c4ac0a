//! Which tasks are looked for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::state::TaskState;

/// Which tasks are looked for: those for which all of it is so. What is not said does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(example = json!({ "states": ["failed"], "service": "payments" })))]
pub struct Filter {
    /// In one of these states.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<TaskState>,
    /// Of this workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// Of this namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Submitted under this key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// With a step at this service that has not ended, or has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Parked while the circuit of this service is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parked_on: Option<String>,
    /// With this in the reason why they do not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// With this in the id, the key, the reason or the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Submitted longer ago than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = "uint64"))]
    pub older_than_ms: Option<u64>,
    /// Submitted at this time or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub from: Option<String>,
    /// With all of these labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Asked for by this task.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(format = "uuid"))]
    pub parent: Option<String>,
}

impl Filter {
    /// As it stands behind the `?` of an address, name by name.
    #[must_use]
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let texts = [
            ("workflow", &self.workflow),
            ("namespace", &self.namespace),
            ("key", &self.key),
            ("service", &self.service),
            ("parked_on", &self.parked_on),
            ("reason", &self.reason),
            ("text", &self.text),
            ("from", &self.from),
            ("parent", &self.parent),
        ];
        let states = self.states.iter().map(|state| ("state", state.to_string()));
        let labels = self.labels.iter().map(|(name, value)| ("label", format!("{name}={value}")));
        let age = self.older_than_ms.map(|age| ("older_than", format!("{age}ms")));
        let texts = texts.into_iter().filter_map(|(name, text)| Some((name, text.clone()?)));
        states.chain(texts).chain(labels).chain(age).collect()
    }
}

/// Which part of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paging {
    /// At most so many.
    pub limit: Option<u32>,
    /// From here on: what the page before has said.
    pub cursor: Option<String>,
}

impl Paging {
    /// As it stands behind the `?` of an address.
    #[must_use]
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let limit = self.limit.map(|limit| ("limit", limit.to_string()));
        limit.into_iter().chain(self.cursor.clone().map(|cursor| ("cursor", cursor))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_written_name_by_name() {
        let filter = Filter {
            states: vec![TaskState::Failed, TaskState::Paused],
            labels: BTreeMap::from([("team".to_owned(), "shop".to_owned())]),
            older_than_ms: Some(90_000),
            ..Filter::default()
        };
        let pairs = filter.pairs();
        let text: Vec<_> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(text, ["state=failed", "state=paused", "label=team=shop", "older_than=90000ms"]);
    }

    #[test]
    fn a_field_that_nobody_knows_is_refused() {
        let why = serde_json::from_str::<Filter>(r#"{"state": "failed"}"#).unwrap_err().to_string();
        assert!(why.contains("unknown field `state`"), "{why}");
    }
}
