//! What must hold once everything is at rest: rows read by SQL of the auditor's own, against the books of the services and
//! of those who submitted.

mod book;
mod rows;
mod rule;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use steadfast_engine::TaskState;

pub use book::{Books, Effect, Told};
pub use rows::{Row, Rows};

use crate::driver::DATABASE;

/// What an audit has seen, and what it has found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Submissions that were acknowledged.
    pub acknowledged: usize,
    /// Calls of services.
    pub calls: usize,
    /// Effects that they had.
    pub effects: usize,
    /// Tasks by how they ended.
    pub ended: BTreeMap<TaskState, usize>,
    /// What does not hold, in words. Empty if all is well.
    pub findings: Vec<String>,
}

/// Audits a run that has come to rest.
///
/// # Errors
/// What cannot be read at all.
pub fn audit(folder: &Path) -> Result<Report> {
    let rows = Rows::read(&folder.join(DATABASE))?;
    let books = Books::read(folder)?;
    check(&rows, &books)
}

/// Compares rows and books.
///
/// # Errors
/// A workflow that nobody knows.
pub fn check(rows: &Rows, books: &Books) -> Result<Report> {
    let mut report = Report {
        acknowledged: books.acks.len(),
        calls: books.calls,
        effects: books.effects.len(),
        findings: rows.damage.clone(),
        ..Report::default()
    };
    rule::acknowledged(rows, books, &mut report.findings);
    rule::ticks(rows, books, &mut report.findings);
    rule::known(rows, books, &mut report.findings);
    rule::told(rows, books, &mut report.findings);
    rule::replied(rows, books, &mut report.findings);
    rule::asked_for(rows, &mut report.findings);
    for row in rows.tasks.values() {
        *report.ended.entry(row.task.state()).or_insert(0) += 1;
        let findings = rule::task(row, books)?;
        report.findings.extend(findings.into_iter().map(|words| format!("task {}: {words}", row.name())));
    }
    Ok(report)
}
