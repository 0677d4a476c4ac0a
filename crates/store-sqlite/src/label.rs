//! Labels: kept as a payload of their task, and in a table of their own by which tasks are found.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension as _, params};
use steadfast_engine::StepId;
use steadfast_store::{Labels, Payload};

use crate::write::ordinal;

/// What the labels of a task are after a change. They are found by that.
pub(crate) fn change(transaction: &Connection, task: [u8; 16], change: &[u8]) -> rusqlite::Result<Payload> {
    let sql = "SELECT body FROM steadfast_payloads WHERE task = ? AND ordinal = ?";
    let mut find = transaction.prepare_cached(sql)?;
    let place = ordinal(StepId::OF_LABELS);
    let had: Option<Vec<u8>> = find.query_row(params![task, place], |row| row.get(0)).optional()?;
    let labels = Labels::read(&had.unwrap_or_default()).changed(Labels::read(change));
    index(transaction, task, &labels)?;
    Ok(labels.pack())
}

/// Has a task found by these labels, and no others.
pub(crate) fn index(transaction: &Connection, task: [u8; 16], labels: &Labels) -> rusqlite::Result<()> {
    transaction.prepare_cached("DELETE FROM steadfast_labels WHERE task = ?")?.execute([task])?;
    let sql = "INSERT INTO steadfast_labels (task, name, value) VALUES (?, ?, ?)";
    let mut insert = transaction.prepare_cached(sql)?;
    labels.iter().try_for_each(|(name, value)| insert.execute(params![task, name, value]).map(drop))
}

/// Whether a task is found by its labels, and no others.
pub(crate) fn is_indexed(transaction: &Connection, task: [u8; 16], stored: &[u8]) -> rusqlite::Result<bool> {
    let sql = "SELECT name, value FROM steadfast_labels WHERE task = ?";
    let mut find = transaction.prepare_cached(sql)?;
    let found = find.query_map([task], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let found = found.collect::<rusqlite::Result<BTreeSet<(String, String)>>>()?;
    let labels = Labels::read(stored);
    Ok(found == labels.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

/// Whether a task has this one.
pub(crate) fn has(
    transaction: &Connection,
    task: [u8; 16],
    (name, value): (&str, &str),
) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM steadfast_labels WHERE task = ? AND name = ? AND value = ?";
    transaction.prepare_cached(sql)?.exists(params![task, name, value])
}
