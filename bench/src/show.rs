//! What all benchmarks say about a run: how far it is, how busy the machine was, and whether it kept what it promised.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use crate::figure::Figure;

/// A line that is written over, for those who watch.
pub fn progress(round: usize, rounds: usize) {
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        let end = if round == rounds { "\n" } else { "" };
        let _ = write!(stderr, "\rround {round} of {rounds}{end}");
    }
}

/// Which part comes next, for those who watch.
pub fn part(name: &str) {
    if std::io::stderr().is_terminal() {
        eprintln!("{name}");
    }
}

/// The machine's load over the last minute, or a dash where it cannot be had.
#[must_use]
pub fn load() -> String {
    let line = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    line.split_whitespace().next().unwrap_or("-").to_owned()
}

/// Failure if a figure misses its reach.
#[must_use]
pub fn verdict(figures: &[Figure]) -> ExitCode {
    let kept = figures.iter().all(|figure| figure.ok() != Some(false));
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
