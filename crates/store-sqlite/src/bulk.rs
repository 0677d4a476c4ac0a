//! Many tasks of which an operator asks the same.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use steadfast_store::{AuditId, Bulk, Payload, PutBulk, TaskId};

use crate::codec::id;
use crate::task::task_id;
use crate::write::number;

fn bulk(row: &Row<'_>) -> rusqlite::Result<Bulk> {
    Ok(Bulk {
        id: AuditId::from_u128(u128::from_be_bytes(row.get(0)?)),
        version: row.get::<_, i64>(1)?.unsigned_abs(),
        tasks: row.get::<_, i64>(2)?.unsigned_abs(),
        under_way: row.get(3)?,
        body: Payload::from(row.get::<_, Vec<u8>>(4)?),
    })
}

pub(crate) fn all(transaction: &Connection, most: usize) -> rusqlite::Result<Vec<Bulk>> {
    let sql = "SELECT id, version, tasks, under_way, body FROM steadfast_bulks ORDER BY id DESC LIMIT ?";
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    transaction.prepare_cached(sql)?.query_map([most], bulk)?.collect()
}

/// The oldest first.
pub(crate) fn under_way(transaction: &Connection, most: usize) -> rusqlite::Result<Vec<Bulk>> {
    let sql = "SELECT id, version, tasks, under_way, body FROM steadfast_bulks WHERE under_way = 1 ORDER BY id LIMIT ?";
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    transaction.prepare_cached(sql)?.query_map([most], bulk)?.collect()
}

pub(crate) fn one(transaction: &Connection, of: AuditId) -> rusqlite::Result<Option<Bulk>> {
    let sql = "SELECT id, version, tasks, under_way, body FROM steadfast_bulks WHERE id = ?";
    transaction.prepare_cached(sql)?.query_row([id(of.as_u128())], bulk).optional()
}

/// Writes one, if its version stands, and adds tasks to it.
pub(crate) fn put(transaction: &Connection, new: &Bulk, more: &[TaskId]) -> rusqlite::Result<PutBulk> {
    let stands = one(transaction, new.id)?;
    if stands.as_ref().map_or(0, |stands| stands.version) != new.version {
        return Ok(PutBulk::Other(stands));
    }
    let before = stands.map_or(0, |stands| stands.tasks);
    let (key, version) = (id(new.id.as_u128()), new.version + 1);
    for (place, task) in (before..).zip(more) {
        let sql = "INSERT INTO steadfast_bulk_tasks (bulk, place, task) VALUES (?, ?, ?)";
        transaction.prepare_cached(sql)?.execute(params![key, number(place), id(task.as_u128())])?;
    }
    let tasks = before + u64::try_from(more.len()).unwrap_or(u64::MAX);
    let sql = "INSERT INTO steadfast_bulks (id, version, tasks, under_way, body) VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (id) DO UPDATE SET version = ?2, tasks = ?3, under_way = ?4, body = ?5";
    let row = params![key, number(version), number(tasks), new.under_way, &*new.body];
    transaction.prepare_cached(sql)?.execute(row)?;
    Ok(PutBulk::Done(version))
}

/// The tasks of one, from this place on.
pub(crate) fn tasks(
    transaction: &Connection,
    of: AuditId,
    from: u64,
    most: usize,
) -> rusqlite::Result<Vec<TaskId>> {
    let sql = "SELECT task FROM steadfast_bulk_tasks WHERE bulk = ? AND place >= ? ORDER BY place LIMIT ?";
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut find = transaction.prepare_cached(sql)?;
    find.query_map(params![id(of.as_u128()), number(from), most], |row| task_id(row, 0))?.collect()
}
