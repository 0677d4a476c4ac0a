//! Guarded writes, and the history that they leave.

use rusqlite::{Connection, OptionalExtension as _, params};
use steadfast_engine::{Head, Record, StepId, Time};
use steadfast_store::{Entry, Hold, Refusal, TaskId, Write, Written};

use crate::codec::{Change, id, millis, pack, state, time, unpack};

/// Carries one write out: its guard is checked first, so that a refused one has done nothing.
pub(crate) fn write(savepoint: &Connection, write: &Write, now: Time) -> rusqlite::Result<Written> {
    let task = id(write.task.as_u128());
    let refusal = guard(savepoint, write)?;
    if let Some(refusal) = refusal {
        return Ok(Written::Refused(refusal));
    }
    let revision = write.guard.revision + 1;
    let mut update = savepoint.prepare_cached(
        "UPDATE steadfast_tasks SET revision = ?2, mail_read = max(mail_read, ?3) WHERE id = ?1",
    )?;
    let read = write.mail_read.map_or(0, |mail| i64::try_from(mail.0).unwrap_or(i64::MAX));
    update.execute((task, number(revision), read))?;
    drop(update);
    if let Some(head) = &write.head {
        put_head(savepoint, task, head)?;
    }
    for (step, record) in &write.steps {
        put_step(savepoint, task, *step, record)?;
    }
    for (step, output) in &write.outputs {
        let sql = "INSERT OR REPLACE INTO steadfast_payloads (task, ordinal, body) VALUES (?, ?, ?)";
        savepoint.prepare_cached(sql)?.execute(params![task, ordinal(*step), &**output])?;
    }
    hold(savepoint, task, write.hold, now)?;
    let packed = pack(&Change { head: write.head.clone(), steps: write.steps.clone() })?;
    let sql = "INSERT INTO steadfast_history (task, revision, at_ms, packed) VALUES (?, ?, ?, ?)";
    savepoint.prepare_cached(sql)?.execute(params![task, number(revision), millis(now), packed])?;
    Ok(Written::Done(revision))
}

/// What of its guard does not hold, if something does not.
fn guard(transaction: &Connection, write: &Write) -> rusqlite::Result<Option<Refusal>> {
    let sql = "SELECT epoch, revision, mail_last FROM steadfast_tasks WHERE id = ?";
    let mut find = transaction.prepare_cached(sql)?;
    let found = find
        .query_row([id(write.task.as_u128())], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
        })
        .optional()?;
    let Some((epoch, revision, mail)) = found else { return Ok(Some(Refusal::Unknown)) };
    Ok(match () {
        () if epoch != number(write.guard.epoch) => Some(Refusal::Epoch),
        () if revision != number(write.guard.revision) => Some(Refusal::Revision),
        () if write.guard.mail.is_some_and(|seen| mail.unsigned_abs() > seen.0) => Some(Refusal::Mail),
        () => None,
    })
}

fn hold(transaction: &Connection, task: [u8; 16], hold: Hold, now: Time) -> rusqlite::Result<()> {
    let (wake_at, raised) = match hold {
        Hold::Keep => return Ok(()),
        Hold::Release(wake_at) => (wake_at, 0),
        Hold::Take => (now, 1),
    };
    let sql = "UPDATE steadfast_tasks SET owner = NULL, wake_at_ms = ?2, epoch = epoch + ?3 WHERE id = ?1";
    transaction.prepare_cached(sql)?.execute((task, millis(wake_at), raised)).map(drop)
}

fn put_head(transaction: &Connection, task: [u8; 16], head: &Head) -> rusqlite::Result<()> {
    let sql = "UPDATE steadfast_tasks SET state = ?2, head = ?3, deadline_ms = ?4, ending = ?5 WHERE id = ?1";
    let mut update = transaction.prepare_cached(sql)?;
    let deadline = head.deadline.map(millis);
    update.execute(params![task, state(head.state), pack(head)?, deadline, head.ending.is_some()]).map(drop)
}

pub(crate) fn put_step(
    transaction: &Connection,
    task: [u8; 16],
    step: StepId,
    record: &Record,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO steadfast_steps (task, ordinal, attempt, complete_by_ms, record)
               VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (task, ordinal) DO UPDATE SET attempt = excluded.attempt,
                   complete_by_ms = excluded.complete_by_ms, record = excluded.record";
    let due = record.complete_by.map(millis);
    let mut put = transaction.prepare_cached(sql)?;
    put.execute(params![task, ordinal(step), record.attempt, due, pack(record)?]).map(drop)
}

pub(crate) fn history(transaction: &Connection, task: TaskId) -> rusqlite::Result<Vec<Entry>> {
    let sql = "SELECT revision, at_ms, packed FROM steadfast_history WHERE task = ? ORDER BY revision";
    let mut find = transaction.prepare_cached(sql)?;
    let rows = find.query_map([id(task.as_u128())], |row| {
        let Change { head, steps } = unpack(&row.get::<_, Vec<u8>>(2)?)?;
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
