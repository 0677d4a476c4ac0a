//! Workflows that came as texts.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use steadfast_engine::Time;
use steadfast_store::{PutText, WorkflowText};

use crate::codec::{millis, time};

pub(crate) fn all(transaction: &Connection) -> rusqlite::Result<Vec<WorkflowText>> {
    let sql =
        "SELECT name, version, digest, format, text, at_ms FROM steadfast_workflows ORDER BY name, version";
    transaction.prepare_cached(sql)?.query_map([], read)?.collect()
}

/// Stores one, if there is none of its name and version.
pub(crate) fn put(transaction: &Connection, new: &WorkflowText, now: Time) -> rusqlite::Result<PutText> {
    let sql = "SELECT name, version, digest, format, text, at_ms FROM steadfast_workflows
               WHERE name = ? AND version = ?";
    let stands =
        transaction.prepare_cached(sql)?.query_row(params![&*new.name, new.version], read).optional()?;
    if let Some(stands) = stands {
        return Ok(PutText::Stands(stands));
    }
    let sql = "INSERT INTO steadfast_workflows (name, version, digest, format, text, at_ms) VALUES (?, ?, ?, ?, ?, ?)";
    let WorkflowText { name, version, digest, format, text, .. } = new;
    let row = params![&**name, version, &**digest, &**format, &**text, millis(now)];
    transaction.prepare_cached(sql)?.execute(row)?;
    Ok(PutText::Done)
}

fn read(row: &Row<'_>) -> rusqlite::Result<WorkflowText> {
    let text = |nth| row.get::<_, String>(nth).map(Arc::<str>::from);
    Ok(WorkflowText {
        name: text(0)?,
        version: row.get(1)?,
        digest: text(2)?,
        format: text(3)?,
        text: text(4)?,
        at: time(row.get(5)?),
    })
}
