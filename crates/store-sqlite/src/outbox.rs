//! Messages that go out of the house.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use steadfast_engine::Time;
use steadfast_store::{
    FORGOTTEN_AT_ONCE, Handed, KEYS_KEPT, Message, OutboxId, OutboxKind, Outgoing, Payload, Sent, Settled,
    TaskId, UNDELIVERABLE_KEPT, Undelivered,
};

use crate::codec::{id, millis, time};
use crate::write::number;
use crate::{mail, reply};

/// Those that are due, longest due first, but for those behind one of the same task that is due later.
pub(crate) const DUE_OUT: &str = "SELECT number, at_ms, task, kind, body, tries FROM steadfast_outbox AS m
    WHERE state = 0 AND kind = ?1 AND until_ms <= ?2
        AND (task IS NULL OR NOT EXISTS (SELECT 1 FROM steadfast_outbox AS e INDEXED BY steadfast_outbox_by_task
            WHERE e.state = 0 AND e.task IS NOT NULL AND e.task = m.task AND e.kind = m.kind
                AND e.number < m.number AND e.until_ms > m.until_ms))
    ORDER BY until_ms, number LIMIT ?3";
/// When something is due again.
pub(crate) const NEXT_OUT: &str = "SELECT until_ms FROM steadfast_outbox
    WHERE state = 0 AND kind = ?1 AND until_ms > ?2 ORDER BY until_ms LIMIT 1";
/// What was kept for long enough.
pub(crate) const OVER: &str = "SELECT number FROM steadfast_outbox
    WHERE state > 0 AND until_ms <= ?1 ORDER BY until_ms LIMIT ?2";
/// What was given up, oldest first.
pub(crate) const GIVEN_UP: &str = "SELECT number, at_ms, task, kind, body, tries FROM steadfast_outbox
    WHERE state = 2 AND kind = ?1 ORDER BY number LIMIT ?2";

fn code(kind: OutboxKind) -> u8 {
    match kind {
        OutboxKind::Alert => 0,
        // A kind of a later contract would need a migration: the file refuses its number.
        OutboxKind::Reply => 1,
        _ => u8::MAX,
    }
}

fn kind(code: u8) -> OutboxKind {
    if code == 0 { OutboxKind::Alert } else { OutboxKind::Reply }
}

/// What a write tells: a reply waits for its address, the rest goes the way of all messages.
pub(crate) fn tell(transaction: &Connection, message: &Outgoing, now: Time) -> rusqlite::Result<()> {
    match (&message.to, message.task) {
        (_, Some(task)) if message.kind == OutboxKind::Mail => {
            mail::post(transaction, &Message::new(task, Payload::clone(&message.body))).map(drop)
        }
        (Some(to), Some(task)) => reply::send(transaction, task, to, message, now),
        _ => send(transaction, message, now).map(drop),
    }
}

/// Stores a message, unless its key is there.
pub(crate) fn send(transaction: &Connection, message: &Outgoing, now: Time) -> rusqlite::Result<Sent> {
    // Looked for first: a conflict would use a number up.
    if let Some(key) = &message.key {
        let mut find = transaction.prepare_cached("SELECT number FROM steadfast_outbox WHERE key = ?")?;
        let seen = find.query_row([&**key], |row| row.get::<_, i64>(0)).optional()?;
        if let Some(seen) = seen {
            return Ok(Sent::Seen(OutboxId(seen.unsigned_abs())));
        }
    }
    let sql = "INSERT INTO steadfast_outbox (at_ms, task, kind, key, until_ms, body)
               VALUES (?1, ?2, ?3, ?4, ?1, ?5)";
    transaction.prepare_cached(sql)?.execute(params![
        millis(now),
        message.task.map(|task| id(task.as_u128())),
        code(message.kind),
        message.key.as_deref(),
        &*message.body,
    ])?;
    Ok(Sent::New(OutboxId(transaction.last_insert_rowid().unsigned_abs())))
}

fn read(row: &Row<'_>) -> rusqlite::Result<Undelivered> {
    Ok(Undelivered {
        id: OutboxId(row.get::<_, i64>(0)?.unsigned_abs()),
        at: time(row.get(1)?),
        task: row.get::<_, Option<[u8; 16]>>(2)?.map(|id| TaskId::from_u128(u128::from_be_bytes(id))),
        kind: kind(row.get(3)?),
        body: Payload::from(row.get::<_, Vec<u8>>(4)?),
        tries: row.get(5)?,
    })
}

/// Whether something is due, and when there is something again: asked for often, and without a write.
pub(crate) fn look(
    transaction: &Connection,
    kind: OutboxKind,
    now: Time,
) -> rusqlite::Result<(bool, Option<Time>)> {
    let due = transaction.prepare_cached(DUE_OUT)?.exists(params![code(kind), millis(now), 1])?;
    Ok((due, next(transaction, kind, now)?))
}

fn next(transaction: &Connection, kind: OutboxKind, now: Time) -> rusqlite::Result<Option<Time>> {
    let mut find = transaction.prepare_cached(NEXT_OUT)?;
    find.query_row(params![code(kind), millis(now)], |row| row.get(0).map(time)).optional()
}

pub(crate) fn hand_out(
    transaction: &Connection,
    kind: OutboxKind,
    most: usize,
    now: Time,
    hold: Duration,
) -> rusqlite::Result<Handed> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut find = transaction.prepare_cached(DUE_OUT)?;
    let due = find.query_map(params![code(kind), millis(now), most], read)?;
    let mut messages: Vec<_> = due.collect::<rusqlite::Result<_>>()?;
    let sql = "UPDATE steadfast_outbox SET until_ms = ?2, tries = tries + 1, held = 1 WHERE number = ?1";
    let mut hold_it = transaction.prepare_cached(sql)?;
    for message in &mut messages {
        hold_it.execute(params![number(message.id.0), millis(now + hold)])?;
        message.tries += 1;
    }
    Ok(Handed { messages, next: next(transaction, kind, now)? })
}

pub(crate) fn settle(
    transaction: &Connection,
    (message, settled): (OutboxId, Settled),
    now: Time,
) -> rusqlite::Result<()> {
    let message = number(message.0);
    let (state, until) = match settled {
        Settled::Again(not_before) => (0, not_before),
        Settled::GivenUp => (2, now + UNDELIVERABLE_KEPT),
        Settled::Delivered => {
            let sql = "DELETE FROM steadfast_outbox WHERE number = ? AND state = 0 AND key IS NULL";
            transaction.prepare_cached(sql)?.execute([message])?;
            let sql = "UPDATE steadfast_outbox SET state = 1, until_ms = ?2, held = 0, body = x''
                       WHERE number = ?1 AND state = 0";
            let mut keep_key = transaction.prepare_cached(sql)?;
            return keep_key.execute(params![message, millis(now + KEYS_KEPT)]).map(drop);
        }
    };
    let sql =
        "UPDATE steadfast_outbox SET state = ?2, until_ms = ?3, held = 0 WHERE number = ?1 AND state = 0";
    transaction.prepare_cached(sql)?.execute(params![message, state, millis(until)]).map(drop)
}

/// Forgets what was kept for long enough.
pub(crate) fn forget(transaction: &Connection, now: Time) -> rusqlite::Result<()> {
    let sql = format!("DELETE FROM steadfast_outbox WHERE number IN ({OVER})");
    let most = i64::try_from(FORGOTTEN_AT_ONCE).unwrap_or(i64::MAX);
    transaction.prepare_cached(&sql)?.execute(params![millis(now), most]).map(drop)
}

pub(crate) fn given_up(
    transaction: &Connection,
    kind: OutboxKind,
    most: usize,
) -> rusqlite::Result<Vec<Undelivered>> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    transaction.prepare_cached(GIVEN_UP)?.query_map(params![code(kind), most], read)?.collect()
}

/// Those who had something to deliver are dead: it is due at once.
pub(crate) fn free_all(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "UPDATE steadfast_outbox SET until_ms = at_ms, held = 0 WHERE state = 0 AND held = 1";
    connection.execute(sql, []).map(drop)
}
