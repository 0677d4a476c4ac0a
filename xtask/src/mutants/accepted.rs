//! The survivors that docs/mutants.md accepts, each with a reason.
//! One row stands for one survivor: a second one of the same name needs a second row.

use anyhow::{Result, bail};

use super::outcome::{End, Outcomes};
use crate::table;

const HEADER: [&str; 2] = ["mutant", "reason"];

#[derive(Debug, Default)]
pub(crate) struct Accepted(Vec<String>);

impl Accepted {
    pub(crate) fn parse(page: &str) -> Result<Self> {
        let table = table::read(page, &HEADER);
        let mut problems = table.problems;
        let mut names = Vec::new();
        for row in table.rows {
            let [mutant, reason] = row.cells.as_slice() else { continue };
            if reason.is_empty() || reason == "-" {
                problems.push((row.line, "a survivor without a reason is not accepted".to_owned()));
            }
            names.push(mutant.trim_matches('`').to_owned());
        }
        if let Some((line, problem)) = problems.first() {
            bail!("docs/mutants.md:{line}: {problem}");
        }
        Ok(Self(names))
    }

    /// Survivors that no row stands for.
    pub(crate) fn open<'o>(&self, outcomes: &'o Outcomes) -> Vec<&'o str> {
        let mut rows = self.0.clone();
        let mut open = Vec::new();
        for name in outcomes.with_end(End::Missed) {
            match rows.iter().position(|row| row == name) {
                Some(row) => drop(rows.swap_remove(row)),
                None => open.push(name),
            }
        }
        open
    }

    /// Rows of mutants that this run tried and none of which survived.
    pub(crate) fn stale(&self, outcomes: &Outcomes) -> Vec<&str> {
        let missed = |row: &str| outcomes.with_end(End::Missed).any(|name| name == row);
        let tried = |row: &str| outcomes.0.iter().any(|(name, _)| name == row);
        self.0.iter().map(String::as_str).filter(|row| tried(row) && !missed(row)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::outcome;
    use super::*;

    fn accepted(rows: &str) -> Result<Accepted> {
        Accepted::parse(&format!("# Mutants\n\n| mutant | reason |\n|---|---|\n{rows}"))
    }

    #[test]
    fn a_survivor_needs_a_row_each() {
        let outcomes = outcome::tests::toy();
        let row = "| `src/a.rs: replace > with >= in f` | the same at the bound |\n";
        assert_eq!(accepted("").unwrap().open(&outcomes).len(), 2);
        assert_eq!(accepted(row).unwrap().open(&outcomes).len(), 1);
        assert_eq!(accepted(&row.repeat(2)).unwrap().open(&outcomes), [""; 0]);
    }

    #[test]
    fn a_row_without_a_reason_is_refused_with_its_line() {
        let error = accepted("| `src/a.rs: x` |  |\n").unwrap_err();
        assert_eq!(error.to_string(), "docs/mutants.md:5: a survivor without a reason is not accepted");
    }

    #[test]
    fn a_row_whose_mutant_is_caught_is_stale_and_one_not_tried_is_not() {
        let rows = "| `src/a.rs: replace f with ()` | was so |\n| `src/b.rs: replace h with ()` | not in this shard |\n\
                    | `src/a.rs: replace \\|\\| with && in g` | hangs |\n";
        let accepted = accepted(rows).unwrap();
        let stale = accepted.stale(&outcome::tests::toy()).join("; ");
        assert_eq!(stale, "src/a.rs: replace f with (); src/a.rs: replace || with && in g");
    }
}
