//! Which version a workflow is.

use std::collections::BTreeMap;

/// Which version a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbered {
    /// It means what this one means.
    Known(u32),
    /// It becomes this one.
    New {
        /// Its number.
        version: u32,
        /// Whether there was none before.
        first: bool,
    },
}

impl Numbered {
    pub(super) fn version(self) -> u32 {
        match self {
            Self::Known(version) | Self::New { version, .. } => version,
        }
    }
}

/// Which version a text is whose meaning has this digest, beside those that there are. One that names its version is that one; one
/// that does not is the newest, if it means the same, or the next. An old meaning that comes back is a new version: tasks go by
/// numbers, and the newest is in force.
///
/// # Errors
/// The version that it names means something else, or is not above those that there are.
pub(super) fn number(
    name: &str,
    named: Option<u32>,
    digest: &str,
    known: &BTreeMap<u32, String>,
) -> Result<Numbered, String> {
    let newest = known.last_key_value();
    let first = known.is_empty();
    let next = newest.map_or(1, |(version, _)| version.saturating_add(1));
    match (named, newest) {
        (Some(version), _) if known.get(&version).is_some_and(|own| own == digest) => {
            Ok(Numbered::Known(version))
        }
        (Some(version), _) if known.contains_key(&version) => Err(format!(
            "version {version} of `{name}` is known with another content, and running tasks are of it: raise `version` to {next}, or \
             leave it out"
        )),
        (Some(version), _) if version < next && !first => Err(format!(
            "version {version} of `{name}` is older than the one that is in force: raise it to {next}, or leave it out"
        )),
        (Some(version), _) => Ok(Numbered::New { version, first }),
        (None, Some((version, own))) if own == digest => Ok(Numbered::Known(*version)),
        (None, _) => Ok(Numbered::New { version: next, first }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(versions: &[(u32, &str)]) -> BTreeMap<u32, String> {
        versions.iter().map(|(version, digest)| (*version, (*digest).to_owned())).collect()
    }

    #[test]
    fn the_same_meaning_is_the_same_version_and_another_is_the_next() {
        let none = known(&[]);
        assert_eq!(number("a", None, "x", &none), Ok(Numbered::New { version: 1, first: true }));
        assert_eq!(number("a", Some(7), "x", &none), Ok(Numbered::New { version: 7, first: true }));
        let two = known(&[(1, "x"), (4, "y")]);
        assert_eq!(number("a", None, "y", &two), Ok(Numbered::Known(4)));
        assert_eq!(number("a", None, "z", &two), Ok(Numbered::New { version: 5, first: false }));
        assert_eq!(
            number("a", None, "x", &two),
            Ok(Numbered::New { version: 5, first: false }),
            "it comes back"
        );
        assert_eq!(number("a", Some(1), "x", &two), Ok(Numbered::Known(1)));
        assert_eq!(number("a", Some(9), "z", &two), Ok(Numbered::New { version: 9, first: false }));
    }

    #[test]
    fn a_version_never_means_two_things() {
        let two = known(&[(1, "x"), (4, "y")]);
        assert!(number("a", Some(4), "z", &two).unwrap_err().contains("raise `version` to 5"));
        assert!(number("a", Some(2), "z", &two).unwrap_err().contains("older than the one that is in force"));
    }
}
