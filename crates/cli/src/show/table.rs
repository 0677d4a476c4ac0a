//! Tables: a head, rows, no lines between. Columns that have nothing in them are left out.

use comfy_table::{ColumnConstraint, ContentArrangement, presets};

use super::plain;

/// The space between two columns.
const GAP: u16 = 2;
/// A column that is no wider is never folded: an id has 36 characters, and is copied as a whole.
const KEPT: u16 = 36;
/// The fewest columns that a text is folded into: in fewer it cannot be read.
const LEAST: u16 = 20;

/// A table that is being filled.
#[derive(Debug)]
pub(crate) struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(head: [&'static str; N]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    /// One more row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) -> &mut Self {
        self.rows.push(cells.into_iter().map(|cell| plain(&cell)).collect());
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// As text. On a terminal long cells are folded; elsewhere each row is one line, for those who go through it line by line.
    pub(crate) fn text(&self, width: Option<u16>) -> String {
        let cell = |row: &Vec<String>, at: usize| row.get(at).cloned().unwrap_or_default();
        let is_used = |at: &usize| self.is_empty() || self.rows.iter().any(|row| !cell(row, *at).is_empty());
        let used: Vec<_> = (0..self.head.len()).filter(is_used).collect();
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(used.iter().map(|at| self.head[*at]));
        for row in &self.rows {
            table.add_row(used.iter().map(|at| cell(row, *at)));
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, GAP));
        }
        if let Some(width) = width {
            fold(&mut table, width);
        }
        table.trim_fmt()
    }
}

/// Has long columns folded into what short ones leave of a terminal. If that is too little, nothing is: the terminal breaks lines as
/// well as we could.
fn fold(table: &mut comfy_table::Table, width: u16) {
    let widths = table.column_max_content_widths();
    let (short, long): (Vec<_>, Vec<_>) = widths.into_iter().partition(|width| *width <= KEPT);
    let columns = u16::try_from(short.len() + long.len()).unwrap_or(u16::MAX);
    let kept = short.iter().sum::<u16>().saturating_add(columns.saturating_mul(GAP));
    let needed = u16::try_from(long.len()).unwrap_or(u16::MAX).saturating_mul(LEAST);
    if kept.saturating_add(needed) > width {
        return;
    }
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    let widths = table.column_max_content_widths();
    for (column, width) in table.column_iter_mut().zip(widths) {
        if width <= KEPT {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["ID", "KEY", "WHY"]);
        table.row(["1".to_owned(), String::new(), "the circuit of payments is open".to_owned()]);
        table.row(["22".to_owned(), String::new(), "it\u{1b}[31m runs".to_owned()]);
        table
    }

    #[test]
    fn empty_columns_are_left_out_and_rows_are_lines() {
        assert_eq!(
            table().text(None),
            "ID  WHY\n1   the circuit of payments is open\n22  it\u{fffd}[31m runs"
        );
    }

    #[test]
    fn on_a_terminal_long_cells_are_folded_and_ids_are_not() {
        let id = "0192f3a0-5b1c-7d2e-8f00-0123456789ab";
        let mut table = Table::new(["ID", "WHY"]);
        table.row([id.to_owned(), "the circuit of payments is open ".repeat(4)]);
        let folded = table.text(Some(80));
        assert!(folded.lines().all(|line| line.chars().count() <= 80), "{folded}");
        assert!(folded.lines().count() > 3 && folded.contains(id), "{folded}");
        assert_eq!(table.text(Some(50)).lines().count(), 2, "too narrow to be folded");
    }

    #[test]
    fn a_table_without_rows_has_its_head() {
        assert_eq!(Table::new(["SERVICE", "STATE"]).text(None), "SERVICE  STATE");
    }
}
