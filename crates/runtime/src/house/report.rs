//! What became of it.

use std::fmt;

use steadfast_store::{Finding, MAX_FINDINGS, Verified};

/// The most lines of a file that are told of: who has more has another file than was meant.
const MAX_LINES: usize = 1_000;

/// What a clean-up has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CleanedUp {
    /// Tasks that were looked at: all that are old enough to be over.
    pub looked_at: u64,
    /// Tasks that are gone.
    pub removed: u64,
}

/// What a look at the whole store has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Tasks that were looked at.
    pub looked_at: u64,
    /// What contradicts itself; the first thousand.
    pub findings: Vec<Finding>,
}

impl VerifyReport {
    /// Whether nothing was found.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    /// One more part.
    pub fn add(&mut self, part: Verified) {
        self.looked_at += part.looked_at;
        self.findings.extend(part.findings);
        self.findings.truncate(MAX_FINDINGS);
    }
}

/// For people: a line for each finding.
impl fmt::Display for VerifyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tasks, {} findings", self.looked_at, self.findings.len())?;
        self.findings.iter().try_for_each(|finding| write!(f, "\n{finding}"))
    }
}

/// What an import has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// Tasks that are new here.
    pub new: u64,
    /// Tasks that were here already.
    pub seen: u64,
    /// Lines of which nothing was stored.
    pub refused: u64,
    /// The first thousand of them.
    pub bad_lines: Vec<BadLine>,
}

/// A line of which nothing was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BadLine {
    /// Which one, from 1.
    pub line: u64,
    /// Why.
    pub reason: String,
}

impl Imported {
    pub(super) fn refuse(&mut self, line: u64, reason: String) {
        self.refused += 1;
        if self.bad_lines.len() < MAX_LINES {
            self.bad_lines.push(BadLine { line, reason });
        }
    }
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}
