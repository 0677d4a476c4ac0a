//! What cargo-mutants found, from its outcomes.json: each mutant with what became of it.
//! A mutant's name here has no line and column, so that it stays the same while other lines change.

use anyhow::{Context, Result, bail};
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Caught,
    Missed,
    Timeout,
    /// It did not compile.
    Unviable,
}

#[derive(Debug, Default)]
pub(crate) struct Outcomes(pub(crate) Vec<(String, End)>);

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) caught: usize,
    pub(crate) missed: usize,
    pub(crate) timeout: usize,
    pub(crate) unviable: usize,
}

impl Count {
    /// All that compiled.
    pub(crate) fn viable(&self) -> usize {
        self.caught + self.missed + self.timeout
    }
}

impl Outcomes {
    pub(crate) fn parse(json: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(json)?;
        let list = value["outcomes"].as_array().context("no `outcomes`")?;
        // The baseline, which changes nothing, has no mutant.
        let mutants = list.iter().filter(|outcome| outcome["scenario"]["Mutant"].is_object());
        mutants.map(one).collect::<Result<_>>().map(Self)
    }

    /// How many compiled and were not caught.
    pub(crate) fn got_away(&self) -> usize {
        let count = self.count();
        count.missed + count.timeout
    }

    /// Puts what became of them in a second round in the place of all that got away in the first.
    pub(crate) fn settle(&mut self, second: Self) {
        self.0.retain(|(_, end)| matches!(end, End::Caught | End::Unviable));
        self.0.extend(second.0);
    }

    pub(crate) fn count(&self) -> Count {
        let of = |wanted| self.0.iter().filter(|(_, end)| *end == wanted).count();
        Count {
            caught: of(End::Caught),
            missed: of(End::Missed),
            timeout: of(End::Timeout),
            unviable: of(End::Unviable),
        }
    }

    pub(crate) fn with_end(&self, wanted: End) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(_, end)| *end == wanted).map(|(name, _)| name.as_str())
    }
}

fn one(outcome: &Value) -> Result<(String, End)> {
    let mutant = &outcome["scenario"]["Mutant"];
    let name = mutant["name"].as_str().context("a mutant without `name`")?;
    let file = mutant["file"].as_str().context("a mutant without `file`")?;
    let end = match outcome["summary"].as_str() {
        Some("CaughtMutant") => End::Caught,
        Some("MissedMutant") => End::Missed,
        Some("Timeout") => End::Timeout,
        Some("Unviable") => End::Unviable,
        other => bail!("unknown `summary` {other:?} of {name}"),
    };
    Ok((without_place(name, file), end))
}

/// `src/a.rs:9:10: replace x` becomes `src/a.rs: replace x`.
fn without_place(name: &str, file: &str) -> String {
    let change = name.strip_prefix(file).and_then(|rest| rest.split_once(": "));
    change.map_or_else(|| name.to_owned(), |(_, change)| format!("{file}: {change}"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn mutant(place: &str, change: &str, summary: &str) -> String {
        let file = "src/a.rs";
        let name = format!("{file}:{place}: {change}");
        format!(
            r#"{{"scenario": {{"Mutant": {{"name": "{name}", "file": "{file}"}}}}, "summary": "{summary}"}}"#
        )
    }

    pub(crate) fn toy() -> Outcomes {
        let list = [
            r#"{"scenario": "Baseline", "summary": "Success"}"#.to_owned(),
            mutant("1:5", "replace f with ()", "CaughtMutant"),
            mutant("2:5", "replace > with >= in f", "MissedMutant"),
            mutant("3:9", "replace > with >= in f", "MissedMutant"),
            mutant("4:5", "replace g -> T with T::default()", "Unviable"),
            mutant("5:5", "replace || with && in g", "Timeout"),
        ];
        Outcomes::parse(&format!(r#"{{"outcomes": [{}]}}"#, list.join(","))).unwrap()
    }

    #[test]
    fn outcomes_are_counted_without_the_baseline() {
        assert_eq!(toy().count(), Count { caught: 1, missed: 2, timeout: 1, unviable: 1 });
        assert_eq!(toy().count().viable(), 4);
    }

    #[test]
    fn a_second_round_settles_what_got_away() {
        let mut outcomes = toy();
        assert_eq!(outcomes.got_away(), 3);
        let second = [("one", End::Caught), ("two", End::Missed), ("three", End::Caught)];
        outcomes.settle(Outcomes(second.map(|(name, end)| (name.to_owned(), end)).into()));
        assert_eq!(outcomes.count(), Count { caught: 3, missed: 1, timeout: 0, unviable: 1 });
    }

    #[test]
    fn names_do_not_depend_on_lines() {
        let missed = toy();
        let missed: Vec<_> = missed.with_end(End::Missed).collect();
        assert_eq!(missed, ["src/a.rs: replace > with >= in f"; 2]);
    }

    #[test]
    fn an_unknown_summary_is_an_error() {
        let json = format!(r#"{{"outcomes": [{}]}}"#, mutant("1:1", "x", "Vanished"));
        assert!(Outcomes::parse(&json).unwrap_err().to_string().contains("Vanished"));
    }
}
