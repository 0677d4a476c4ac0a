//! Nodes, and the store's clock.

use rusqlite::Connection;
use steadfast_engine::Time;
use steadfast_store::{NodeId, TaskId};

use crate::codec::{id, millis, time};

/// No time after this was written.
pub(crate) fn reserved(connection: &Connection) -> rusqlite::Result<Time> {
    connection.query_row("SELECT last_ms FROM steadfast_clock", [], |row| row.get(0)).map(time)
}

/// Writes down up to when times may be written.
pub(crate) fn reserve(transaction: &Connection, until: Time) -> rusqlite::Result<()> {
    let mut update =
        transaction.prepare_cached("UPDATE steadfast_clock SET last_ms = ?1 WHERE last_ms < ?1")?;
    update.execute([millis(until)]).map(drop)
}

pub(crate) fn renew(transaction: &Connection, node: NodeId, until: Time) -> rusqlite::Result<Time> {
    let sql = "INSERT INTO steadfast_nodes (id, until_ms) VALUES (?1, ?2)
               ON CONFLICT (id) DO UPDATE SET until_ms = excluded.until_ms";
    transaction.prepare_cached(sql)?.execute((id(node.as_u128()), millis(until)))?;
    Ok(until)
}

pub(crate) fn leave(transaction: &Connection, node: NodeId) -> rusqlite::Result<()> {
    let mut delete = transaction.prepare_cached("DELETE FROM steadfast_nodes WHERE id = ?")?;
    delete.execute([id(node.as_u128())]).map(drop)
}

pub(crate) fn forget_all(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM steadfast_nodes", []).map(drop)
}

/// Nobody could write between these times: leases that ran at the first are longer by what lies between.
pub(crate) fn prolong(transaction: &Connection, from: Time, to: Time) -> rusqlite::Result<()> {
    let sql = "UPDATE steadfast_nodes SET until_ms = until_ms + ?2 - ?1 WHERE until_ms > ?1";
    transaction.prepare_cached(sql)?.execute([millis(from), millis(to)]).map(drop)
}

/// Gives a task to a node.
pub(crate) fn own(transaction: &Connection, task: TaskId, node: [u8; 16]) -> rusqlite::Result<()> {
    let sql = "UPDATE steadfast_tasks SET owner = ?2, epoch = epoch + 1, parked_on = NULL WHERE id = ?1";
    transaction.prepare_cached(sql)?.execute((id(task.as_u128()), node)).map(drop)
}

/// Whether a node's lease has not ended.
pub(crate) fn is_alive(transaction: &Connection, node: &[u8], now: Time) -> rusqlite::Result<bool> {
    let mut find =
        transaction.prepare_cached("SELECT 1 FROM steadfast_nodes WHERE id = ? AND until_ms > ?")?;
    find.exists((node, millis(now)))
}
