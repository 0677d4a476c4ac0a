//! Labels: names with values by which people find tasks again. A store looks into them, since it finds tasks by them.
//!
//! They are kept at [`StepId::OF_LABELS`](steadfast_engine::StepId::OF_LABELS), a line for each: `name=value`. What is written
//! there is a change of what is there: a line without `=` takes a label away.

use std::collections::BTreeMap;

use crate::record::Payload;

/// The most labels of a task: they are for people.
pub const MAX_LABELS: usize = 20;
/// The longest name, and the longest value, in bytes.
pub const MAX_LABEL: usize = 200;

/// The labels of a task, or a change of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(BTreeMap<String, Option<String>>);

impl Labels {
    /// As they are stored; lines that make no sense are left out.
    #[must_use]
    pub fn read(stored: &[u8]) -> Self {
        let text = String::from_utf8_lossy(stored);
        let label = |line: &str| match line.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (line.to_owned(), None),
        };
        Self(text.lines().map(label).filter(|(name, _)| !name.is_empty()).collect())
    }

    /// With this one, or without it.
    ///
    /// # Errors
    /// What is wrong with its name or value, in words.
    pub fn with(mut self, name: &str, value: Option<&str>) -> Result<Self, String> {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | '/');
        if name.is_empty() || name.len() > MAX_LABEL || !name.chars().all(fits) {
            return Err(format!(
                "`{}` is no name of a label: use up to {MAX_LABEL} letters, digits, `-`, `_`, `.` and `/`",
                name.escape_debug()
            ));
        }
        let value = value.map(str::to_owned);
        if value.as_ref().is_some_and(|value| value.len() > MAX_LABEL || value.chars().any(char::is_control))
        {
            return Err(format!(
                "the value of label `{name}` is longer than {MAX_LABEL} bytes, or has more than one line"
            ));
        }
        self.0.insert(name.to_owned(), value);
        Ok(self)
    }

    /// Whether what is stored elsewhere makes sense as the labels of a task.
    ///
    /// # Errors
    /// What does not, in words.
    pub fn check(stored: &[u8]) -> Result<(), String> {
        let read = Self::read(stored);
        let checked =
            read.0.iter().try_fold(Self::default(), |all, (name, value)| all.with(name, value.as_deref()))?;
        match checked.count() {
            count if count > MAX_LABELS => {
                Err(format!("it has {count} labels, at most {MAX_LABELS} are allowed"))
            }
            _ => Ok(()),
        }
    }

    /// What they are after a change.
    #[must_use]
    pub fn changed(mut self, change: Self) -> Self {
        self.0.extend(change.0);
        self.0.retain(|_, value| value.is_some());
        self
    }

    /// One change after another, as one.
    #[must_use]
    pub fn followed_by(mut self, change: Self) -> Self {
        self.0.extend(change.0);
        self
    }

    /// As they are stored.
    #[must_use]
    pub fn pack(&self) -> Payload {
        let line = |(name, value): (&String, &Option<String>)| match value {
            Some(value) => format!("{name}={value}\n"),
            None => format!("{name}\n"),
        };
        Payload::from(self.0.iter().map(line).collect::<String>().into_bytes())
    }

    /// The value of this one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_deref()
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_deref()?)))
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.iter().count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(lines: &[(&str, Option<&str>)]) -> Labels {
        lines.iter().fold(Labels::default(), |labels, (name, value)| labels.with(name, *value).unwrap())
    }

    #[test]
    fn they_are_read_as_they_were_written() {
        for some in [
            labels(&[]),
            labels(&[("team", Some("shop")), ("a/b.c-d_e", Some("x = y"))]),
            labels(&[("empty", Some("")), ("away", None)]),
        ] {
            assert_eq!(Labels::read(&some.pack()), some);
        }
        assert_eq!(Labels::read(b"\n=x\na=1\n").count(), 1, "what makes no sense is left out");
    }

    #[test]
    fn a_change_sets_and_takes_away() {
        let had = labels(&[("team", Some("shop")), ("case", Some("7"))]);
        let now =
            had.changed(labels(&[("team", Some("bank")), ("case", None), ("none", None), ("new", Some(""))]));
        assert_eq!(now.iter().collect::<Vec<_>>(), [("new", ""), ("team", "bank")]);
        assert_eq!((now.get("team"), now.get("case"), now.count()), (Some("bank"), None, 2));
        let both = labels(&[("a", Some("1")), ("b", Some("1"))])
            .followed_by(labels(&[("b", None), ("c", Some("2"))]));
        assert_eq!(both, labels(&[("a", Some("1")), ("b", None), ("c", Some("2"))]));
    }

    #[test]
    fn what_cannot_be_told_apart_later_is_refused() {
        for name in ["", "a b", "a=b", "a\n", "ä", &"x".repeat(MAX_LABEL + 1)] {
            let why = Labels::default().with(name, Some("v")).unwrap_err();
            assert!(why.contains("is no name of a label"), "{why}");
        }
        for value in ["a\nb", "\u{7}", &"x".repeat(MAX_LABEL + 1)] {
            let why = Labels::default().with("team", Some(value)).unwrap_err();
            assert!(why.starts_with("the value of label `team`"), "{why}");
        }
        assert!(Labels::default().with(&"x".repeat(MAX_LABEL), Some(&"y".repeat(MAX_LABEL))).is_ok());
        let many = |count: usize| (0..count).map(|number| format!("l{number}=x\n")).collect::<String>();
        assert_eq!(Labels::check(many(MAX_LABELS).as_bytes()), Ok(()));
        let why = Labels::check(many(MAX_LABELS + 1).as_bytes()).unwrap_err();
        assert_eq!(why, "it has 21 labels, at most 20 are allowed");
        assert!(Labels::check(b"a b=c\n").unwrap_err().contains("is no name of a label"));
    }
}
