//! What must hold of docs/coverage.md: every proof exists, every state fits its proofs, every id has one row.
//! A pure function of the page and the facts, so that tests can show it fails when it should.

use std::collections::{BTreeMap, BTreeSet};

use super::page::{Page, Row, State};
use super::proof::{Found, Tests};

/// What the page is checked against.
pub(crate) struct Facts<'a> {
    pub(crate) tests: &'a Tests,
    pub(crate) doc_exists: &'a dyn Fn(&str) -> bool,
    /// The ids that are required, where the list is at hand.
    pub(crate) spec: Option<&'a BTreeSet<String>>,
}

/// All problems, by line. Line 1 stands for the page as a whole.
pub(crate) fn check(page: &Page, facts: &Facts<'_>) -> Vec<(usize, String)> {
    let mut problems = page.problems.clone();
    for row in &page.rows {
        problems.extend(
            row_problems(row, facts).into_iter().map(|problem| (row.line, format!("{}: {problem}", row.id))),
        );
    }
    problems.extend(doubled(&page.rows));
    if let Some(spec) = facts.spec {
        problems.extend(against_spec(&page.rows, spec));
    }
    problems.sort();
    problems
}

fn row_problems(row: &Row, facts: &Facts<'_>) -> Vec<String> {
    let mut problems: Vec<_> =
        row.proofs.iter().filter_map(|proof| proof_problem(row, proof, facts)).collect();
    match (row.state, row.proofs.is_empty()) {
        (State::Built, true) => problems.push("state `built` needs at least one test".to_owned()),
        (State::Planned | State::Building, false) => {
            problems.push("names a test but is not `built`; expected - until it is".to_owned());
        }
        (State::Built, false) | (State::Planned | State::Building, true) => {}
    }
    problems
}

fn proof_problem(row: &Row, proof: &str, facts: &Facts<'_>) -> Option<String> {
    if proof.starts_with("docs/") {
        return doc_problem(row, proof, facts);
    }
    match facts.tests.find(proof) {
        Some(Found::Runs) => None,
        Some(Found::Ignored) => Some(format!("the test `{proof}` is ignored, so it proves nothing")),
        Some(Found::Twice) => Some(format!("two binaries have a test `{proof}`; rename one")),
        None => Some(match facts.tests.alike(proof) {
            Some(alike) => format!("no test `{proof}`; did you mean `{alike}`?"),
            None => format!("no test `{proof}`; `cargo nextest list` shows those that exist"),
        }),
    }
}

/// Guidance is proven by its page; what the code does is proven by a test.
fn doc_problem(row: &Row, doc: &str, facts: &Facts<'_>) -> Option<String> {
    if !row.id.starts_with('G') {
        return Some(format!("`{doc}` is a page; only G ids are proven by a page"));
    }
    let fine = doc.starts_with("docs/guide/") && doc.ends_with(".md") && (facts.doc_exists)(doc);
    (!fine).then(|| format!("no page `{doc}`; expected docs/guide/NAME.md"))
}

fn doubled(rows: &[Row]) -> Vec<(usize, String)> {
    let mut first = BTreeMap::new();
    let mut problems = Vec::new();
    for row in rows {
        match first.get(&row.id) {
            Some(line) => problems.push((row.line, format!("{}: has a row already, on line {line}", row.id))),
            None => drop(first.insert(&row.id, row.line)),
        }
    }
    problems
}

fn against_spec(rows: &[Row], spec: &BTreeSet<String>) -> Vec<(usize, String)> {
    let listed: BTreeSet<_> = rows.iter().map(|row| row.id.as_str()).collect();
    let missing = spec.iter().filter(|id| !listed.contains(id.as_str()));
    let unknown = rows.iter().filter(|row| !spec.contains(&row.id));
    let missing = missing.map(|id| (1, format!("{id}: SPEC.md has it, no row here has")));
    missing.chain(unknown.map(|row| (row.line, format!("{}: SPEC.md has no such id", row.id)))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{page, proof};
    use super::*;

    /// Problems of a page with these rows; `docs/guide/choose.md` is the one page that exists.
    fn problems(rows: &str, spec: Option<&[&str]>) -> Vec<String> {
        let page = page::parse(&format!("| id | what | tests | state |\n|---|---|---|---|\n{rows}\n"));
        let tests = Tests::parse(proof::tests::TOY).unwrap();
        let spec = spec.map(|ids| ids.iter().map(|id| (*id).to_owned()).collect());
        let doc_exists = |doc: &str| doc == "docs/guide/choose.md";
        let facts = Facts { tests: &tests, doc_exists: &doc_exists, spec: spec.as_ref() };
        check(&page, &facts).into_iter().map(|(line, problem)| format!("{line}: {problem}")).collect()
    }

    #[test]
    fn a_page_whose_tests_exist_has_no_problem() {
        let rows = "| B1 | proxy | `toy::breaker::tests::opens`, `toy::storm::holds` | built |\n\
                    | B2 | window | - | building |\n| G1 | when not | `docs/guide/choose.md` | built |";
        assert_eq!(problems(rows, Some(&["B1", "B2", "G1"])), [""; 0]);
    }

    #[test]
    fn a_row_that_names_a_missing_test_fails() {
        let found = problems("| B1 | proxy | `toy::breaker::tests::gone` | built |", None);
        assert_eq!(
            found,
            ["3: B1: no test `toy::breaker::tests::gone`; `cargo nextest list` shows those that exist"]
        );
    }

    #[test]
    fn a_moved_test_fails_with_its_new_name() {
        let found = problems("| B1 | proxy | `toy::tests::opens` | built |", None);
        assert_eq!(found, ["3: B1: no test `toy::tests::opens`; did you mean `toy::breaker::tests::opens`?"]);
    }

    #[test]
    fn ignored_and_ambiguous_tests_prove_nothing() {
        let rows =
            "| B1 | x | `toy::breaker::tests::sleeps` | built |\n| B2 | x | `toy::storm::ends` | built |";
        let found = problems(rows, None);
        assert!(found[0].contains("is ignored"), "{found:?}");
        assert!(found[1].contains("two binaries"), "{found:?}");
    }

    #[test]
    fn state_and_tests_must_agree() {
        let rows = "| B1 | x | - | built |\n| B2 | x | `toy::storm::holds` | planned |";
        let found = problems(rows, None);
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("3: B1: state `built` needs"), "{found:?}");
        assert!(found[1].starts_with("4: B2: names a test but"), "{found:?}");
    }

    #[test]
    fn pages_prove_only_guidance_and_must_exist() {
        let rows = "| B1 | x | `docs/guide/choose.md` | built |\n| G1 | x | `docs/guide/gone.md` | built |\n\
                    | G2 | x | `docs/choose.md` | built |";
        let found = problems(rows, None);
        assert!(found[0].contains("only G ids"), "{found:?}");
        assert!(found[1].contains("no page `docs/guide/gone.md`"), "{found:?}");
        assert!(found[2].contains("no page `docs/choose.md`"), "{found:?}");
    }

    #[test]
    fn every_id_has_exactly_one_row() {
        let rows = "| B1 | x | - | planned |\n| B1 | y | - | planned |\n| B9 | z | - | planned |";
        let found = problems(rows, Some(&["B1", "B2"]));
        assert_eq!(
            found,
            [
                "1: B2: SPEC.md has it, no row here has",
                "4: B1: has a row already, on line 3",
                "5: B9: SPEC.md has no such id",
            ]
        );
    }
}
