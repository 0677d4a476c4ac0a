//! A sheet of characters, and lines that know where they meet.

use std::collections::BTreeMap;

pub(super) const UP: u8 = 1;
pub(super) const DOWN: u8 = 2;
pub(super) const LEFT: u8 = 4;
pub(super) const RIGHT: u8 = 8;

/// The lines of one origin: which ways they go from each cell.
#[derive(Debug, Default)]
pub(super) struct Wire(BTreeMap<(usize, usize), u8>);

impl Wire {
    pub(super) fn across(&mut self, row: usize, from: usize, to: usize) {
        for column in from..=to {
            let left = if column > from { LEFT } else { 0 };
            let right = if column < to { RIGHT } else { 0 };
            *self.0.entry((row, column)).or_default() |= left | right;
        }
    }

    /// Down a column, from one row into another, both of them included.
    pub(super) fn down(&mut self, column: usize, from: usize, to: usize) {
        for row in from..=to {
            *self.0.entry((row, column)).or_default() |= UP | DOWN;
        }
    }

    /// One way more from a cell.
    pub(super) fn way(&mut self, row: usize, column: usize, way: u8) {
        *self.0.entry((row, column)).or_default() |= way;
    }
}

/// The sheet.
#[derive(Debug, Default)]
pub(super) struct Canvas {
    rows: Vec<Vec<char>>,
    /// What stands on top of everything.
    marks: Vec<(usize, usize, char)>,
}

impl Canvas {
    pub(super) fn put(&mut self, row: usize, column: usize, letter: char) {
        if self.rows.len() <= row {
            self.rows.resize(row + 1, Vec::new());
        }
        let cells = &mut self.rows[row];
        if cells.len() <= column {
            cells.resize(column + 1, ' ');
        }
        cells[column] = letter;
    }

    /// Puts a character on top of whatever is painted there, also later.
    pub(super) fn mark(&mut self, row: usize, column: usize, letter: char) {
        self.marks.push((row, column, letter));
    }

    pub(super) fn text_at(&mut self, row: usize, column: usize, text: &str) {
        text.chars().enumerate().for_each(|(at, letter)| self.put(row, column + at, letter));
    }

    /// A line down a column, up to a row that is not part of it.
    pub(super) fn vertical(&mut self, column: usize, from: usize, to: usize) {
        (from..to).for_each(|row| self.put(row, column, '│'));
    }

    /// Puts wires on the sheet. Where those of two origins meet they cross: the one that goes down is on top.
    pub(super) fn wires(&mut self, wires: &[Wire]) {
        let mut cells: BTreeMap<(usize, usize), u8> = BTreeMap::new();
        for wire in wires {
            for (cell, ways) in &wire.0 {
                cells.entry(*cell).and_modify(|seen| *seen = UP | DOWN).or_insert(*ways);
            }
        }
        for ((row, column), ways) in cells {
            self.put(row, column, letter(ways));
        }
    }

    pub(super) fn text(mut self) -> String {
        for (row, column, letter) in std::mem::take(&mut self.marks) {
            self.put(row, column, letter);
        }
        let line = |cells: &Vec<char>| cells.iter().collect::<String>().trim_end().to_owned();
        self.rows.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

fn letter(ways: u8) -> char {
    const LETTERS: [char; 16] =
        [' ', '│', '│', '│', '─', '┘', '┐', '┤', '─', '└', '┌', '├', '─', '┴', '┬', '┼'];
    LETTERS[usize::from(ways & 15)]
}
