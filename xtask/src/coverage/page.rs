//! The rows of docs/coverage.md: an id, what it asks for, the proofs named and a state.
//! Lines that cannot be read as a row are kept as problems with their line numbers.

use std::fmt::Write as _;

use crate::table;

const HEADER: [&str; 4] = ["id", "what", "tests", "state"];

/// How far an id has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nobody works on it yet.
    Planned,
    /// In the works; not proven.
    Building,
    /// Done, with proof.
    Built,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) line: usize,
    pub(crate) id: String,
    /// Names of tests and doc pages.
    pub(crate) proofs: Vec<String>,
    pub(crate) state: State,
}

#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) rows: Vec<Row>,
    pub(crate) problems: Vec<(usize, String)>,
}

impl Page {
    /// "3 built, 2 building, 40 planned".
    pub(crate) fn tally(&self) -> String {
        let mut tally = String::new();
        for (state, name) in
            [(State::Built, "built"), (State::Building, "building"), (State::Planned, "planned")]
        {
            let count = self.rows.iter().filter(|row| row.state == state).count();
            let comma = if tally.is_empty() { "" } else { ", " };
            // Writing to a String cannot fail.
            let _ = write!(tally, "{comma}{count} {name}");
        }
        tally
    }
}

pub(crate) fn parse(text: &str) -> Page {
    let table = table::read(text, &HEADER);
    let mut page = Page { rows: Vec::new(), problems: table.problems };
    for row in table.rows {
        match parse_row(&row) {
            Ok(row) => page.rows.push(row),
            Err(problem) => page.problems.push((row.line, problem)),
        }
    }
    page
}

fn parse_row(row: &table::Row) -> Result<Row, String> {
    let [id, what, tests, state] = row.cells.as_slice() else {
        return Err("a row has four cells".to_owned());
    };
    if !is_id(id) {
        return Err(format!("`{id}` is no id: expected a capital letter and a number, such as R4"));
    }
    if what.is_empty() {
        return Err(format!("{id}: the cell `what` is empty"));
    }
    let state = match state.as_str() {
        "planned" => State::Planned,
        "building" => State::Building,
        "built" => State::Built,
        other => return Err(format!("{id}: unknown state `{other}`; expected planned, building or built")),
    };
    let proofs = parse_proofs(tests).map_err(|problem| format!("{id}: {problem}"))?;
    Ok(Row { line: row.line, id: id.clone(), proofs, state })
}

/// `-` for none, or names in backticks with commas between.
fn parse_proofs(cell: &str) -> Result<Vec<String>, String> {
    if cell == "-" {
        return Ok(Vec::new());
    }
    let bare = |name: &str| {
        let inner = name.trim().strip_prefix('`')?.strip_suffix('`')?;
        let fine = !inner.is_empty() && !inner.contains(['`', ' ']);
        fine.then(|| inner.to_owned())
    };
    let name = |name| {
        bare(name).ok_or_else(|| format!("cannot read `tests` at \"{name}\": expected - or `name`, `name`"))
    };
    cell.split(',').map(name).collect()
}

/// A capital letter and a number.
pub(crate) fn is_id(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|first| first.is_ascii_uppercase())
        && text.len() > 1
        && chars.all(|digit| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_rows(rows: &str) -> Page {
        parse(&format!("| id | what | tests | state |\n|---|---|---|---|\n{rows}\n"))
    }

    fn problem(row: &str) -> String {
        let page = parse_rows(row);
        assert_eq!(page.rows, []);
        let [(3, problem)] = page.problems.as_slice() else { panic!("{:?}", page.problems) };
        problem.clone()
    }

    #[test]
    fn rows_are_read_with_their_proofs() {
        let page = parse_rows("| R1 | classes | `a::b`, `a::c` | built |\n| P2 | reload | - | planned |");
        assert_eq!(page.problems, []);
        assert_eq!(page.rows[0].proofs, ["a::b", "a::c"]);
        assert_eq!(page.rows[0].state, State::Built);
        assert_eq!((page.rows[1].line, page.rows[1].id.as_str()), (4, "P2"));
        assert_eq!(page.rows[1].proofs, [""; 0]);
        assert_eq!(page.tally(), "1 built, 0 building, 1 planned");
    }

    #[test]
    fn bad_rows_are_problems_that_name_what_is_wrong() {
        assert!(problem("| r1 | x | - | planned |").starts_with("`r1` is no id"));
        assert!(problem("| R1 |  | - | planned |").contains("`what` is empty"));
        assert!(problem("| R1 | x | - | done |").contains("unknown state `done`"));
        assert!(problem("| R1 | x | a::b | built |").contains("cannot read `tests`"));
        assert!(problem("| R1 | x | `a::b` `a::c` | built |").contains("cannot read `tests`"));
        assert!(problem("| R1 | x |  | built |").contains("cannot read `tests`"));
        assert!(problem("| R1 | x | - |").starts_with("3 cells, expected 4"));
    }

    #[test]
    fn an_id_is_a_capital_and_a_number() {
        assert!(is_id("R1") && is_id("B18"));
        assert!(!is_id("R") && !is_id("r1") && !is_id("RR1") && !is_id("R1a") && !is_id(""));
    }
}
