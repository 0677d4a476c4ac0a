//! What a reload changed.

use std::collections::BTreeMap;
use std::fmt;

/// One value that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The whole key: `service.payments.attempt_timeout`.
    pub key: String,
    /// What it was; `None` when it is new.
    pub from: Option<String>,
    /// What it is; `None` when it is gone, and the default counts again.
    pub to: Option<String>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, from, to } = self;
        match (from, to) {
            (Some(from), Some(to)) => write!(f, "{key}: {from} -> {to}"),
            (None, Some(to)) => write!(f, "{key}: {to} (new)"),
            (Some(from), None) => write!(f, "{key}: {from} (gone)"),
            (None, None) => f.write_str(key),
        }
    }
}

/// Everything that a reload changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    changes: Vec<Change>,
}

impl Changes {
    pub(super) fn between(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Self {
        let keys = before.keys().chain(after.keys().filter(|key| !before.contains_key(*key)));
        let change = |key: &String| Change {
            key: key.clone(),
            from: before.get(key).cloned(),
            to: after.get(key).cloned(),
        };
        let mut changes: Vec<_> = keys.map(change).filter(|change| change.from != change.to).collect();
        changes.sort_by(|one, other| one.key.cmp(&other.key));
        Self { changes }
    }

    /// Each value that differs, by key.
    #[must_use]
    pub fn all(&self) -> &[Change] {
        &self.changes
    }

    /// Whether nothing differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.changes.is_empty() {
            return f.write_str("nothing changed");
        }
        for (index, change) in self.changes.iter().enumerate() {
            write!(f, "{}{change}", if index > 0 { "; " } else { "" })?;
        }
        Ok(())
    }
}
