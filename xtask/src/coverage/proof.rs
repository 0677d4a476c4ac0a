//! The tests that exist, by the one name each has in docs/coverage.md: binary id, `::`, test name.
//! `cargo nextest list` prints the two with a space between. `steadfast-resilience::storm::storm_ends` is one.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::Value;

/// What is known of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Runs,
    /// It exists, and proves nothing: no run of CI includes it.
    Ignored,
    /// Two binaries have a test of this full name.
    Twice,
}

#[derive(Debug, Default)]
pub(crate) struct Tests(BTreeMap<String, Found>);

impl Tests {
    /// Reads the JSON of `cargo nextest list`.
    pub(crate) fn parse(json: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(json)?;
        let mut tests = Self::default();
        for (binary, suite) in value["rust-suites"].as_object().context("no `rust-suites`")? {
            let cases =
                suite["testcases"].as_object().with_context(|| format!("no `testcases` in {binary}"))?;
            for (name, case) in cases {
                tests.add(format!("{binary}::{name}"), case["ignored"] == true);
            }
        }
        Ok(tests)
    }

    fn add(&mut self, name: String, ignored: bool) {
        let found = if ignored { Found::Ignored } else { Found::Runs };
        self.0.entry(name).and_modify(|known| *known = Found::Twice).or_insert(found);
    }

    pub(crate) fn find(&self, name: &str) -> Option<Found> {
        self.0.get(name).copied()
    }

    /// Full names that end as `name` does: a moved test, or a name without its binary.
    pub(crate) fn alike(&self, name: &str) -> Option<&str> {
        let last = name.rsplit("::").next().unwrap_or(name);
        self.0.keys().map(String::as_str).find(|known| known.rsplit("::").next() == Some(last))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const TOY: &str = r#"{"rust-suites": {
        "toy": {"testcases": {"breaker::tests::opens": {"ignored": false},
                              "breaker::tests::sleeps": {"ignored": true},
                              "storm::ends": {"ignored": false}}},
        "toy::storm": {"testcases": {"ends": {"ignored": false}, "holds": {"ignored": false}}}}}"#;

    #[test]
    fn a_test_is_named_by_binary_and_path() {
        let tests = Tests::parse(TOY).unwrap();
        assert_eq!(tests.find("toy::breaker::tests::opens"), Some(Found::Runs));
        assert_eq!(tests.find("toy::storm::holds"), Some(Found::Runs));
        assert_eq!(tests.find("toy::breaker::tests::sleeps"), Some(Found::Ignored));
        assert_eq!(tests.find("toy::storm::ends"), Some(Found::Twice));
        assert_eq!(tests.find("breaker::tests::opens"), None);
    }

    #[test]
    fn a_moved_test_is_suggested() {
        let tests = Tests::parse(TOY).unwrap();
        assert_eq!(tests.alike("toy::other::opens"), Some("toy::breaker::tests::opens"));
        assert_eq!(tests.alike("toy::nothing"), None);
    }
}
