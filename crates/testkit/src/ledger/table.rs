//! A ledger as a table for people: what a failed assertion shows.

use std::fmt;
use std::time::Duration;

use super::{Entry, Ledger, MAX_ENTRIES};

/// How much of a key or a path is shown: the beginning of a key tells it from others, and lines stay short.
const SHOWN: usize = 24;

impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<_> = self.rows();
        let widths: [usize; COLUMNS] = std::array::from_fn(|column| {
            rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
        });
        write!(f, "ledger of {} {}", self.attempts(), if self.attempts() == 1 { "call" } else { "calls" })?;
        for row in &rows {
            let mut line = String::from("\n ");
            for (cell, width) in row.iter().zip(widths) {
                line.push_str(&format!(" {cell:<width$} "));
            }
            f.write_str(line.trim_end())?;
        }
        match self.left_out {
            0 => Ok(()),
            more => write!(f, "\n  ... and {more} more that are not shown: a ledger keeps {MAX_ENTRIES}"),
        }
    }
}

const COLUMNS: usize = 8;
const HEAD: [&str; COLUMNS] = ["call", "wait", "began", "took", "ended as", "attempt", "key", "request"];

impl Ledger {
    fn rows(&self) -> Vec<[String; COLUMNS]> {
        let waits = std::iter::once(None).chain(self.waits());
        let rows = self.entries.iter().zip(waits).map(|(entry, wait)| row(entry, wait));
        let head = (!self.entries.is_empty()).then(|| HEAD.map(str::to_owned));
        head.into_iter().chain(rows).collect()
    }
}

fn row(entry: &Entry, wait: Option<Duration>) -> [String; COLUMNS] {
    let or_dash = |shown: Option<String>| shown.unwrap_or_else(|| "-".to_owned());
    let request = format!("{} {}", entry.request().method(), entry.request().path());
    [
        entry.number().to_string(),
        or_dash(wait.map(time)),
        time(entry.began()),
        or_dash(entry.took().map(time)),
        entry.ending().to_string(),
        or_dash(entry.attempt().map(|attempt| attempt.to_string())),
        or_dash(entry.key().map(shortened)),
        shortened(&request),
    ]
}

/// Exact as far as it matters to a reader: virtual times are round, real ones are known to the microsecond at best.
fn time(time: Duration) -> String {
    format!("{:?}", Duration::from_micros(u64::try_from(time.as_micros()).unwrap_or(u64::MAX)))
}

fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('~');
    }
    shown
}
