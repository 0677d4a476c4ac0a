//! Recurring work.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use steadfast_store::{Payload, Put, Schedule};

use crate::codec::{millis, time};
use crate::write::number;

pub(crate) fn all(transaction: &Connection) -> rusqlite::Result<Vec<Schedule>> {
    let sql = "SELECT name, version, wake_at_ms, body FROM steadfast_schedules
               WHERE body IS NOT NULL ORDER BY name";
    transaction.prepare_cached(sql)?.query_map([], read)?.collect()
}

pub(crate) fn one(transaction: &Connection, name: &str) -> rusqlite::Result<Option<Schedule>> {
    let sql = "SELECT name, version, wake_at_ms, body FROM steadfast_schedules
               WHERE name = ? AND body IS NOT NULL";
    transaction.prepare_cached(sql)?.query_row([name], read).optional()
}

pub(crate) fn upcoming(transaction: &Connection, most: usize) -> rusqlite::Result<Vec<Schedule>> {
    let sql = "SELECT name, version, wake_at_ms, body FROM steadfast_schedules
               WHERE wake_at_ms IS NOT NULL ORDER BY wake_at_ms, name LIMIT ?";
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    transaction.prepare_cached(sql)?.query_map([most], read)?.collect()
}

/// Writes one, if nobody has since it was read.
pub(crate) fn put(transaction: &Connection, schedule: &Schedule) -> rusqlite::Result<Put> {
    let sql = match schedule.version {
        0 => {
            "INSERT INTO steadfast_schedules (name, version, wake_at_ms, body) VALUES (?1, ?2 + 1, ?3, ?4)
             ON CONFLICT (name) DO UPDATE
             SET version = version + 1, wake_at_ms = excluded.wake_at_ms, body = excluded.body WHERE body IS NULL
             RETURNING version"
        }
        _ => {
            "UPDATE steadfast_schedules SET version = ?2 + 1, wake_at_ms = ?3, body = ?4
             WHERE name = ?1 AND version = ?2 AND body IS NOT NULL RETURNING version"
        }
    };
    let Schedule { name, version, wake_at, body } = schedule;
    let row = params![&**name, number(*version), wake_at.map(millis), &**body];
    let version = |row: &Row<'_>| row.get::<_, i64>(0).map(i64::unsigned_abs);
    match transaction.prepare_cached(sql)?.query_row(row, version).optional()? {
        Some(version) => Ok(Put::Done(version)),
        None => one(transaction, name).map(Put::Other),
    }
}

pub(crate) fn remove(transaction: &Connection, name: &str) -> rusqlite::Result<bool> {
    let sql =
        "UPDATE steadfast_schedules SET wake_at_ms = NULL, body = NULL WHERE name = ? AND body IS NOT NULL";
    transaction.prepare_cached(sql)?.execute([name]).map(|rows| rows == 1)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Schedule> {
    Ok(Schedule {
        name: Arc::from(row.get::<_, String>(0)?),
        version: row.get::<_, i64>(1)?.unsigned_abs(),
        wake_at: row.get::<_, Option<i64>>(2)?.map(time),
        body: Payload::from(row.get::<_, Vec<u8>>(3)?),
    })
}
