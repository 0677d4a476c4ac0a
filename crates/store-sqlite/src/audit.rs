//! The audit log.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use steadfast_engine::Time;
use steadfast_store::{Audit, AuditId, Audited, Payload, TaskId};

use crate::codec::{id, millis, time};

/// Stores an entry, unless one of its id is there.
pub(crate) fn log(transaction: &Connection, audit: &Audit, now: Time) -> rusqlite::Result<()> {
    let sql = "INSERT INTO steadfast_audit (id, at_ms, task, by, why, action, refused, detail)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING";
    let mut insert = transaction.prepare_cached(sql)?;
    insert
        .execute(params![
            id(audit.id.as_u128()),
            millis(now),
            audit.task.map(|task| id(task.as_u128())),
            &*audit.by,
            &*audit.why,
            &*audit.action,
            audit.refused.as_deref(),
            &*audit.detail,
        ])
        .map(drop)
}

const COLUMNS: &str = "id, at_ms, task, by, why, action, refused, detail";

fn entry(row: &Row<'_>) -> rusqlite::Result<Audited> {
    let text = |column| row.get::<_, String>(column).map(Arc::<str>::from);
    let audit = Audit {
        id: AuditId::from_u128(u128::from_be_bytes(row.get(0)?)),
        task: row.get::<_, Option<[u8; 16]>>(2)?.map(|bytes| TaskId::from_u128(u128::from_be_bytes(bytes))),
        by: text(3)?,
        why: text(4)?,
        action: text(5)?,
        refused: row.get::<_, Option<String>>(6)?.map(Arc::from),
        detail: Payload::from(row.get::<_, Vec<u8>>(7)?),
    };
    Ok(Audited { at: time(row.get(1)?), audit })
}

pub(crate) fn one(transaction: &Connection, of: AuditId) -> rusqlite::Result<Option<Audited>> {
    let sql = format!("SELECT {COLUMNS} FROM steadfast_audit WHERE id = ?");
    transaction.prepare_cached(&sql)?.query_row([id(of.as_u128())], entry).optional()
}

/// Entries, newest first: of one task or of all, before the given one.
pub(crate) fn entries(
    transaction: &Connection,
    task: Option<TaskId>,
    before: Option<AuditId>,
    most: usize,
) -> rusqlite::Result<Vec<Audited>> {
    let from = match before {
        Some(_) => "(at_ms, id) < (SELECT at_ms, id FROM steadfast_audit WHERE id = ?2)",
        None => "?2 IS NULL",
    };
    let before = before.map(|before| id(before.as_u128()));
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let of_task = "task = ?1 AND task IS NOT NULL AND";
    let of_task = if task.is_some() { of_task } else { "?1 IS NULL AND" };
    let sql = format!(
        "SELECT {COLUMNS} FROM steadfast_audit WHERE {of_task} {from} ORDER BY at_ms DESC, id DESC LIMIT ?3"
    );
    let task = task.map(|task| id(task.as_u128()));
    transaction.prepare_cached(&sql)?.query_map(params![task, before, most], entry)?.collect()
}

/// Whether something was asked for under this id before.
pub(crate) fn was_asked(transaction: &Connection, of: AuditId) -> rusqlite::Result<bool> {
    let asked = id(of.as_u128());
    let mut done = transaction.prepare_cached("SELECT 1 FROM steadfast_audit WHERE id = ?")?;
    let mut posted =
        transaction.prepare_cached("SELECT 1 FROM steadfast_mail WHERE asked = ? AND asked IS NOT NULL")?;
    Ok(done.exists([asked])? || posted.exists([asked])?)
}
