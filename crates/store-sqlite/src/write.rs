//! Guarded writes, and the history that they leave.

use rusqlite::{Connection, OptionalExtension as _, params};
use steadfast_engine::{Record, StepId, Time};
use steadfast_store::{Entry, Hold, Refusal, TaskId, Write, Written};

use crate::codec::{Change, id, millis, pack_change, pack_head, pack_record, state, time, unpack_change};
use crate::label;
use crate::{audit, outbox};

/// Carries one write out. The first statement has the guard: a refused write has done nothing.
pub(crate) fn write(transaction: &Connection, write: &Write, now: Time) -> rusqlite::Result<Written> {
    if !(changes_rows_only(transaction, write)? || changes_all(transaction, write, now)?) {
        return refusal(transaction, write).map(Written::Refused);
    }
    let (task, revision) = (id(write.task.as_u128()), write.guard.revision + 1);
    for (step, record) in &write.steps {
        put_step(transaction, task, *step, record)?;
    }
    for (step, output) in &write.outputs {
        let labels = match *step == StepId::OF_LABELS {
            true => Some(label::change(transaction, task, output)?),
            false => None,
        };
        let output = labels.as_ref().unwrap_or(output);
        let sql = "INSERT OR REPLACE INTO steadfast_payloads (task, ordinal, body) VALUES (?, ?, ?)";
        transaction.prepare_cached(sql)?.execute(params![task, ordinal(*step), &**output])?;
    }
    for message in &write.messages {
        outbox::tell(transaction, message, now)?;
    }
    for audit in &write.audits {
        audit::log(transaction, audit, now)?;
    }
    if write.has_entry() {
        put_entry(transaction, write, now)?;
    }
    Ok(Written::Done(revision))
}

fn put_entry(transaction: &Connection, write: &Write, now: Time) -> rusqlite::Result<()> {
    let packed = pack_change(write.head.as_ref(), &write.steps)?;
    let sql = "INSERT INTO steadfast_history (task, revision, at_ms, packed) VALUES (?, ?, ?, ?)";
    let (task, revision) = (id(write.task.as_u128()), number(write.guard.revision + 1));
    transaction.prepare_cached(sql)?.execute(params![task, revision, millis(now), packed]).map(drop)
}

/// The task's own row, where nothing changes that is in an index: so it is with most writes, at a third of the cost.
fn changes_rows_only(transaction: &Connection, write: &Write) -> rusqlite::Result<bool> {
    let head = write.head.as_ref();
    let ends = head.is_some_and(|head| head.state.is_at_rest());
    if ends || write.hold != Hold::Keep || write.mail_read.is_some() {
        return Ok(false);
    }
    let sql = "UPDATE steadfast_tasks
               SET revision = ?3 + 1, state = coalesce(?5, state), head = coalesce(?6, head)
               WHERE id = ?1 AND epoch = ?2 AND revision = ?3 AND mail_last <= ?4
                   AND (?5 IS NULL OR at_rest = 0 AND deadline_ms IS ?7 AND ending = ?8)";
    let changed = transaction.prepare_cached(sql)?.execute(params![
        id(write.task.as_u128()),
        number(write.guard.epoch),
        number(write.guard.revision),
        write.guard.mail.map_or(i64::MAX, |mail| number(mail.0)),
        head.map(|head| state(head.state)),
        head.map(pack_head).transpose()?,
        head.and_then(|head| head.deadline).map(millis),
        head.map(|head| head.ending.is_some()),
    ])?;
    Ok(changed == 1)
}

/// The task's own row, with all that can change in it.
fn changes_all(transaction: &Connection, write: &Write, now: Time) -> rusqlite::Result<bool> {
    let (wake_at, raised) = match write.hold {
        Hold::Keep => (None, 0),
        Hold::Release(wake_at) => (Some(wake_at), 0),
        Hold::Take => (Some(now), 1),
    };
    let head = write.head.as_ref();
    let sql = "UPDATE steadfast_tasks
               SET revision = ?3 + 1, state = coalesce(?5, state), head = coalesce(?6, head),
                   deadline_ms = iif(?5 IS NULL, deadline_ms, ?7), ending = coalesce(?8, ending),
                   at_rest = coalesce(?9, at_rest), mail_read = max(mail_read, ?10), epoch = ?2 + ?11,
                   owner = iif(?12 IS NULL, owner, NULL), wake_at_ms = coalesce(?12, wake_at_ms),
                   parked_on = iif(?12 IS NULL, parked_on, ?13)
               WHERE id = ?1 AND epoch = ?2 AND revision = ?3 AND mail_last <= ?4";
    let changed = transaction.prepare_cached(sql)?.execute(params![
        id(write.task.as_u128()),
        number(write.guard.epoch),
        number(write.guard.revision),
        write.guard.mail.map_or(i64::MAX, |mail| number(mail.0)),
        head.map(|head| state(head.state)),
        head.map(pack_head).transpose()?,
        head.and_then(|head| head.deadline).map(millis),
        head.map(|head| head.ending.is_some()),
        head.map(|head| head.state.is_at_rest()),
        write.mail_read.map_or(0, |mail| number(mail.0)),
        raised,
        wake_at.map(millis),
        write.parked_on.as_deref().filter(|_| matches!(write.hold, Hold::Release(_))),
    ])?;
    Ok(changed == 1)
}

/// What of its guard does not hold.
fn refusal(transaction: &Connection, write: &Write) -> rusqlite::Result<Refusal> {
    let sql = "SELECT epoch, revision FROM steadfast_tasks WHERE id = ?";
    let mut find = transaction.prepare_cached(sql)?;
    let found = find
        .query_row([id(write.task.as_u128())], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))
        .optional()?;
    Ok(match found {
        None => Refusal::Unknown,
        Some((epoch, _)) if epoch != number(write.guard.epoch) => Refusal::Epoch,
        Some((_, revision)) if revision != number(write.guard.revision) => Refusal::Revision,
        Some(_) => Refusal::Mail,
    })
}

pub(crate) fn insert_step(
    transaction: &Connection,
    task: [u8; 16],
    step: StepId,
    record: &Record,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO steadfast_steps (task, ordinal, attempt, complete_by_ms, record)
               VALUES (?, ?, ?, ?, ?)";
    let due = record.complete_by.map(millis);
    let mut insert = transaction.prepare_cached(sql)?;
    insert.execute(params![task, ordinal(step), record.attempt, due, pack_record(record)?]).map(drop)
}

/// Writes the row of a step, which is there since its task was submitted, or of an item, which is there since it began.
fn put_step(transaction: &Connection, task: [u8; 16], step: StepId, record: &Record) -> rusqlite::Result<()> {
    if step.item().is_some() {
        return put_item(transaction, task, step, record);
    }
    let sql = "UPDATE steadfast_steps SET attempt = ?3, complete_by_ms = ?4, record = ?5
               WHERE task = ?1 AND ordinal = ?2";
    let due = record.complete_by.map(millis);
    let mut put = transaction.prepare_cached(sql)?;
    match put.execute(params![task, ordinal(step), record.attempt, due, pack_record(record)?])? {
        1 => Ok(()),
        other => Err(rusqlite::Error::StatementChangedRows(other)),
    }
}

fn put_item(transaction: &Connection, task: [u8; 16], item: StepId, record: &Record) -> rusqlite::Result<()> {
    let sql = "INSERT INTO steadfast_steps (task, ordinal, attempt, complete_by_ms, record) VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (task, ordinal) DO UPDATE SET attempt = ?3, complete_by_ms = ?4, record = ?5";
    let due = record.complete_by.map(millis);
    let mut put = transaction.prepare_cached(sql)?;
    put.execute(params![task, ordinal(item), record.attempt, due, pack_record(record)?]).map(drop)
}

pub(crate) fn history_behind(
    transaction: &Connection,
    task: TaskId,
    revision: u64,
) -> rusqlite::Result<Vec<Entry>> {
    let sql = "SELECT revision, at_ms, packed FROM steadfast_history WHERE task = ? AND revision > ? ORDER BY revision";
    let mut find = transaction.prepare_cached(sql)?;
    let rows = find.query_map(params![id(task.as_u128()), number(revision)], |row| {
        let Change { head, steps } = unpack_change(&row.get::<_, Vec<u8>>(2)?)?;
        Ok(Entry { revision: row.get::<_, i64>(0)?.unsigned_abs(), at: time(row.get(1)?), head, steps })
    })?;
    rows.collect()
}

pub(crate) fn ordinal(step: StepId) -> i64 {
    i64::try_from(step.ordinal()).unwrap_or(i64::MAX)
}

/// A count as SQLite has numbers.
pub(crate) fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
