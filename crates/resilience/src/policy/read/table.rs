//! A table of the file, asked for values of the type that the schema promised.

use std::time::Duration;

use crate::classify::Kind;
use crate::policy::duration;
use crate::policy::tree::{Key, Node, Place, Value};
use crate::policy::validate::number;
use crate::retry::On;

/// A table of the file, with the tables that stand behind it where it says nothing.
#[derive(Clone, Copy)]
pub(in crate::policy) struct Table<'a> {
    entries: &'a [(Key, Node)],
    behind: Option<&'a [(Key, Node)]>,
    pub(super) at: Place,
}

impl<'a> Table<'a> {
    pub(super) const EMPTY: Self = Self { entries: &[], behind: None, at: Place::START };

    pub(super) fn of(node: &'a Node) -> Self {
        Self { entries: entries(node), behind: None, at: node.at }
    }

    pub(super) fn with_behind(self, behind: Table<'a>) -> Self {
        Self { behind: Some(behind.entries), ..self }
    }

    pub(super) fn entry(&self, key: &str) -> Option<&'a (Key, Node)> {
        let find = |entries: &'a [(Key, Node)]| entries.iter().find(|(known, _)| known.name == key);
        find(self.entries).or_else(|| find(self.behind?))
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a Node> {
        self.entry(key).map(|(_, node)| node)
    }

    /// Where a key stands, or the table when it does not.
    pub(super) fn place(&self, key: &str) -> Place {
        self.entry(key).map_or(self.at, |(key, _)| key.at)
    }

    /// Where this table's own keys stand.
    pub(super) fn places(&self) -> Vec<(String, Place)> {
        self.entries.iter().map(|(key, _)| (key.name.clone(), key.at)).collect()
    }

    pub(super) fn duration(&self, key: &str) -> Option<Duration> {
        self.get(key).and_then(time)
    }

    pub(super) fn count(&self, key: &str) -> Option<u32> {
        self.get(key).and_then(count)
    }

    pub(super) fn number(&self, key: &str) -> Option<f64> {
        self.get(key).map(|node| number(&node.value)).filter(|number| !number.is_nan())
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        match self.get(key)?.value {
            Value::Bool(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn word(&self, key: &str) -> Option<&'a str> {
        text(self.get(key)?)
    }

    pub(super) fn list(&self, key: &str) -> &'a [Node] {
        match self.get(key).map(|node| &node.value) {
            Some(Value::List(items)) => items,
            _ => &[],
        }
    }

    pub(super) fn named(&self, key: &str) -> &'a [(Key, Node)] {
        self.get(key).map_or(&[], entries)
    }
}

pub(super) fn entries(node: &Node) -> &[(Key, Node)] {
    match &node.value {
        Value::Map(entries) => entries,
        _ => &[],
    }
}

pub(super) fn text(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

pub(super) fn time(node: &Node) -> Option<Duration> {
    duration::parse(text(node)?).ok()
}

pub(super) fn count(node: &Node) -> Option<u32> {
    match node.value {
        Value::Int(number) => u32::try_from(number).ok(),
        _ => None,
    }
}

/// A kind by name, or a code.
pub(super) fn on(node: &Node) -> Option<On> {
    match &node.value {
        Value::Int(code) => i32::try_from(*code).ok().map(On::Code),
        Value::Text(name) => Some(On::Kind(Kind::named(name))),
        _ => None,
    }
}
