//! What reaches the service over time, one row of blocks for each variant.

use std::fmt::Write as _;
use std::ops::Range;

use steadfast_resilience::simulate::{Comparison, Report, Variant};

/// The columns of the drawing.
const WIDTH: usize = 60;
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// A full block is this multiple of the calls; more is a full block too, and the peak beside it tells.
const FULL: f64 = 2.0;

pub(super) fn draw(comparison: &Comparison) -> String {
    let Some(first) = comparison.report(Variant::AsWritten) else { return String::new() };
    let columns = columns(first.seconds().len());
    let offered: Vec<_> = first.seconds().iter().map(|second| second.offered).collect();
    let mean = mean(&offered);
    let width = columns.first().map_or(1, ExactSizeIterator::len);
    let mut text = format!(
        "requests/s that reach the service; a column is {width} s, a full block is {:.0} or more\n\n",
        mean * FULL
    );
    row(&mut text, "calls made", &offered, &columns, mean);
    for (variant, report) in comparison.reports() {
        let sent: Vec<_> = report.seconds().iter().map(|second| second.sent).collect();
        row(&mut text, variant.as_str(), &sent, &columns, mean);
    }
    let _ = writeln!(text, "  {:<12}{}", "", marks(first, &columns));
    text
}

fn row(text: &mut String, name: &str, counts: &[u32], columns: &[Range<usize>], calls: f64) {
    let block = |column: &Range<usize>| {
        let height = mean(&counts[column.clone()]) / (calls.max(f64::MIN_POSITIVE) * FULL);
        BLOCKS[eighths(height)]
    };
    let blocks: String = columns.iter().map(block).collect();
    let peak = counts.iter().max().copied().unwrap_or(0);
    let _ = writeln!(text, "  {name:<12}{blocks}  peak {peak}");
}

/// Where the outage is.
fn marks(report: &Report, columns: &[Range<usize>]) -> String {
    let outage = report.outage();
    let is_down = |column: &Range<usize>| column.start < outage.end && column.end > outage.start;
    let mut marks: String = columns.iter().map(|column| if is_down(column) { '=' } else { ' ' }).collect();
    marks.truncate(marks.trim_end().len());
    format!("{marks} down")
}

/// Equal parts of the run, as many as fit; the last one may be shorter.
fn columns(seconds: usize) -> Vec<Range<usize>> {
    let width = seconds.div_ceil(WIDTH).max(1);
    (0..seconds).step_by(width).map(|from| from..(from + width).min(seconds)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "seconds of a day, at most")]
fn mean(counts: &[u32]) -> f64 {
    counts.iter().map(|count| f64::from(*count)).sum::<f64>() / counts.len().max(1) as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 8")]
fn eighths(height: f64) -> usize {
    // What is not nothing is seen.
    let seen = if height > 0.0 { 1.0 } else { 0.0 };
    (height * 8.0).round().clamp(seen, 8.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_grow_with_the_load_and_end_at_the_top() {
        assert_eq!([0.0, 0.001, 0.5, 1.0, 7.0].map(eighths), [0, 1, 4, 8, 8]);
        assert_eq!(eighths(f64::NAN), 0);
    }

    #[test]
    fn columns_cover_every_second_once() {
        for seconds in [1, 59, 60, 61, 90, 600, 86_400] {
            let columns = columns(seconds);
            assert!(columns.len() <= WIDTH);
            assert_eq!(columns.iter().map(ExactSizeIterator::len).sum::<usize>(), seconds);
        }
    }
}
