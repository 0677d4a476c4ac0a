//! Tables for people: columns aligned by hand, readable without colour.

use crate::figure::Figure;
use crate::harness::Measured;

/// A table with a line of headings; the first column is text, the others are numbers on the right.
#[derive(Clone, Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// With these headings.
    #[must_use]
    pub fn new(headings: &[&str]) -> Self {
        Self { rows: vec![headings.iter().map(|heading| (*heading).to_owned()).collect()] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The lines, without spaces at their ends.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<_> = (0..columns).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        self.rows.iter().map(line).collect()
    }
}

/// All cases by set: median, spread, allocations.
#[must_use]
pub fn cases(measured: &[Measured]) -> Vec<String> {
    let mut table = Table::new(&["", "ns/call", "min", "max", "allocations/call"]);
    let mut last = None;
    for case in measured {
        if last != Some(case.set) {
            table.row([case.set.title().to_owned()]);
            last = Some(case.set);
        }
        let least = case.rounds.iter().copied().fold(f64::INFINITY, f64::min);
        let most = case.rounds.iter().copied().fold(0.0, f64::max);
        let times = [case.nanos(), least, most].map(|nanos| format!("{nanos:.1}"));
        let name = format!("    {}", case.who);
        table.row([name].into_iter().chain(times).chain([number(case.allocations)]));
    }
    table.lines()
}

/// Figures with what they are compared with, what they must reach and whether they do.
#[must_use]
pub fn figures(figures: &[Figure]) -> Vec<String> {
    let mut table = Table::new(&["", "value", "unit", "compared to", "ratio", "reach", ""]);
    for figure in figures {
        let verdict = match figure.ok() {
            Some(true) => "ok",
            Some(false) => "MISS",
            None => "",
        };
        table.row([
            figure.name.clone(),
            number(figure.value),
            figure.unit.to_owned(),
            figure.compared_to.clone().unwrap_or_default(),
            figure.ratio.map(|ratio| format!("{ratio:.2}x")).unwrap_or_default(),
            figure.reach.map(|reach| reach.to_string()).unwrap_or_default(),
            verdict.to_owned(),
        ]);
    }
    table.lines()
}

/// Whole numbers as such, others with one place after the point.
fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Reach;

    #[test]
    fn numbers_stand_on_the_right_and_a_miss_is_in_capitals() {
        let kept = Figure::new("open refusal", 41.25, "ns").reach(Reach::AtMost(50.0));
        let missed = Figure::new("allocations", 2.0, "per call").reach(Reach::AtMost(0.0));
        assert_eq!(
            figures(&[kept, missed]),
            [
                "              value      unit  compared to  ratio  reach",
                "open refusal   41.2        ns                      <= 50    ok",
                "allocations       2  per call                       <= 0  MISS",
            ]
        );
    }
}
