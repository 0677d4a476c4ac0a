//! A table of the file, asked for values of the type that its section promised.

use std::time::Duration;

use crate::duration;
use crate::tree::{Key, Node, Place, Value};
use crate::validate::number;

/// A table of the file, with the table that stands behind it where it says nothing.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    entries: &'a [(Key, Node)],
    behind: Option<&'a [(Key, Node)]>,
    /// Where it begins.
    pub at: Place,
}

impl<'a> Table<'a> {
    /// One that says nothing.
    pub const EMPTY: Self = Self { entries: &[], behind: None, at: Place::START };

    /// The table that a value is; what is none says nothing.
    #[must_use]
    pub fn of(node: &'a Node) -> Self {
        Self { entries: entries(node), behind: None, at: node.at }
    }

    /// With this one behind it.
    #[must_use]
    pub fn with_behind(self, behind: Table<'a>) -> Self {
        Self { behind: Some(behind.entries), ..self }
    }

    /// A key and its value.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&'a (Key, Node)> {
        let find = |entries: &'a [(Key, Node)]| entries.iter().find(|(known, _)| known.name == key);
        find(self.entries).or_else(|| find(self.behind?))
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&'a Node> {
        self.entry(key).map(|(_, node)| node)
    }

    /// Where a key stands, or the table when it does not.
    #[must_use]
    pub fn place(&self, key: &str) -> Place {
        self.entry(key).map_or(self.at, |(key, _)| key.at)
    }

    /// Where this table's own keys stand.
    #[must_use]
    pub fn places(&self) -> Vec<(String, Place)> {
        self.entries.iter().map(|(key, _)| (key.name.clone(), key.at)).collect()
    }

    /// A time.
    #[must_use]
    pub fn duration(&self, key: &str) -> Option<Duration> {
        self.get(key).and_then(time)
    }

    /// A whole number.
    #[must_use]
    pub fn count(&self, key: &str) -> Option<u32> {
        self.get(key).and_then(count)
    }

    /// A number.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<f64> {
        self.get(key).map(|node| number(&node.value)).filter(|number| !number.is_nan())
    }

    /// `true` or `false`.
    #[must_use]
    pub fn flag(&self, key: &str) -> Option<bool> {
        match self.get(key)?.value {
            Value::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// A text.
    #[must_use]
    pub fn word(&self, key: &str) -> Option<&'a str> {
        text(self.get(key)?)
    }

    /// A list; what is none is empty.
    #[must_use]
    pub fn list(&self, key: &str) -> &'a [Node] {
        match self.get(key).map(|node| &node.value) {
            Some(Value::List(items)) => items,
            _ => &[],
        }
    }

    /// The entries of a table in this one.
    #[must_use]
    pub fn named(&self, key: &str) -> &'a [(Key, Node)] {
        self.get(key).map_or(&[], entries)
    }
}

/// The entries of a table; what is none has none.
#[must_use]
pub fn entries(node: &Node) -> &[(Key, Node)] {
    match &node.value {
        Value::Map(entries) => entries,
        _ => &[],
    }
}

/// A text.
#[must_use]
pub fn text(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// A time.
#[must_use]
pub fn time(node: &Node) -> Option<Duration> {
    duration::parse_long(text(node)?).ok()
}

/// A whole number.
#[must_use]
pub fn count(node: &Node) -> Option<u32> {
    match node.value {
        Value::Int(number) => u32::try_from(number).ok(),
        _ => None,
    }
}
