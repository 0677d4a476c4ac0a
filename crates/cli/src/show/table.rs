//! Tables: a head, rows, no lines between. Columns that have nothing in them are left out.

use comfy_table::{ContentArrangement, presets};

use super::plain;

/// The space between two columns.
const GAP: u16 = 2;

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
        let is_used = |at: &usize| self.rows.iter().any(|row| !cell(row, *at).is_empty());
        let used: Vec<_> = (0..self.head.len()).filter(is_used).collect();
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING);
        match width {
            Some(width) => table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width),
            None => table.set_content_arrangement(ContentArrangement::Disabled),
        };
        table.set_header(used.iter().map(|at| self.head[*at]));
        for row in &self.rows {
            table.add_row(used.iter().map(|at| cell(row, *at)));
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, GAP));
        }
        table.trim_fmt()
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
    fn on_a_narrow_terminal_long_cells_are_folded() {
        let text = table().text(Some(24));
        assert!(text.lines().all(|line| line.chars().count() <= 24), "{text}");
        assert!(text.lines().count() > 3, "{text}");
    }
}
