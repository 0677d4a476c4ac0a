//! Reads the tables of a Markdown page that have one given header, row by row with line numbers.
//! It knows nothing of what the cells mean; `\|` is a bar inside a cell.

/// One row of a table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) cells: Vec<String>,
}

/// Rows, and what is wrong with the lines that are not.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
    /// Line and complaint.
    pub(crate) problems: Vec<(usize, String)>,
}

/// Every line that starts with a bar must be `header`, a ruler, or a row of as many cells.
pub(crate) fn read(page: &str, header: &[&str]) -> Table {
    let mut table = Table::default();
    let mut inside = false;
    for (index, text) in page.lines().enumerate() {
        let line = index + 1;
        if !text.starts_with('|') {
            inside = false;
            continue;
        }
        let cells = split(text);
        if cells == header {
            inside = true;
        } else if !inside {
            table.problems.push((line, format!("expected the header | {} |", header.join(" | "))));
            inside = true;
        } else if cells.len() != header.len() {
            let problem = format!("{} cells, expected {} ({})", cells.len(), header.len(), header.join(", "));
            table.problems.push((line, problem));
        } else if !is_ruler(&cells) {
            table.rows.push(Row { line, cells });
        }
    }
    table
}

fn is_ruler(cells: &[String]) -> bool {
    cells
        .iter()
        .all(|cell| !cell.is_empty() && cell.chars().all(|c| c == '-' || c == ':') && cell.contains("--"))
}

/// The cells between the outer bars, trimmed.
fn split(line: &str) -> Vec<String> {
    const BAR: &str = "\u{0}";
    let line = line.trim().replace(r"\|", BAR);
    let inner = line.strip_prefix('|').unwrap_or(&line);
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    inner.split('|').map(|cell| cell.trim().replace(BAR, "|")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: [&str; 2] = ["what", "why"];

    fn read_rows(page: &str) -> Vec<(usize, String, String)> {
        let table = read(page, &HEADER);
        assert_eq!(table.problems, []);
        table.rows.into_iter().map(|row| (row.line, row.cells[0].clone(), row.cells[1].clone())).collect()
    }

    #[test]
    fn rows_of_all_tables_come_with_their_lines() {
        let page =
            "# Page\n\n| what | why |\n|---|---|\n| a | b |\n\ntext\n| what | why |\n|--|:--|\n| - | d |\n";
        assert_eq!(read_rows(page), [(5, "a".into(), "b".into()), (10, "-".into(), "d".into())]);
    }

    #[test]
    fn an_escaped_bar_stays_in_its_cell() {
        let page = "| what | why |\n|---|---|\n| x \\|\\| y | z |\n";
        assert_eq!(read_rows(page), [(3, "x || y".into(), "z".into())]);
    }

    #[test]
    fn a_wrong_number_of_cells_is_a_problem_of_that_line() {
        let table = read("| what | why |\n|---|---|\n| a |\n| a | b | c |\n", &HEADER);
        let lines: Vec<_> = table.problems.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [3, 4]);
        assert_eq!(table.problems[0].1, "1 cells, expected 2 (what, why)");
    }

    #[test]
    fn another_header_is_a_problem_of_its_line() {
        let table = read("| what | who |\n|---|---|\n| a | b |\n", &HEADER);
        assert_eq!(table.problems, [(1, "expected the header | what | why |".to_owned())]);
    }
}
