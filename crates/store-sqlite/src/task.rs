//! Tasks: submitted, claimed, read, overdue.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use steadfast_engine::{Head, Record, StepId, Task, Time};
use steadfast_store::{Claimed, MailId, NodeId, Overdued, Payload, PayloadKey, Stored, TaskId};

use crate::aside::{self, ASIDE, Found};
use crate::codec::{id, millis, time, unpack_head, unpack_record};
use crate::write::ordinal;
use crate::{mail, node, reply};

/// The place of the input among a task's payloads.
pub(crate) const INPUT: i64 = -1;
/// The place of a task's deadline among its steps that are overdue.
const DEADLINE: i64 = -1;

pub(crate) fn task_id(row: &Row<'_>, column: usize) -> rusqlite::Result<TaskId> {
    row.get(column).map(|bytes| TaskId::from_u128(u128::from_be_bytes(bytes)))
}

/// Those whose time has come.
const DUE: &str = "SELECT id, wake_at_ms FROM steadfast_tasks
    WHERE owner IS NULL AND at_rest = 0 AND wake_at_ms <= ?1 ORDER BY wake_at_ms, id LIMIT ?2";
/// Those whose time has not come, and which have mail.
const MAILED: &str = "SELECT id, wake_at_ms FROM steadfast_tasks
    WHERE owner IS NULL AND at_rest = 0 AND mail_last > mail_read AND wake_at_ms > ?1 ORDER BY wake_at_ms, id LIMIT ?2";
/// Those at rest to which somebody has written, with their owner if they have one: that may be dead.
const ASKED: &str = "SELECT id, wake_at_ms, owner FROM steadfast_tasks
    WHERE at_rest = 1 AND mail_last > mail_read ORDER BY wake_at_ms, id LIMIT ?1";
/// Those of one owner.
const OWNED: &str = "SELECT id, wake_at_ms FROM steadfast_tasks
    WHERE owner = ?1 AND owner IS NOT NULL AND at_rest = 0 ORDER BY wake_at_ms, id LIMIT ?2";
/// The next owner: there are few, and a step over all of one's tasks costs one look.
const NEXT_OWNER: &str =
    "SELECT min(owner) FROM steadfast_tasks WHERE owner > ? AND owner IS NOT NULL AND at_rest = 0";

/// What is free for a node, longest waiting first: four ways to be so, each by an index of its own. It looks at no more
/// than it returns of each, however much is open. What the node owns is not free for it, also when its lease has ended.
fn free(transaction: &Connection, node: &[u8], most: i64, now: Time) -> rusqlite::Result<Vec<(i64, TaskId)>> {
    let waiting = |row: &Row<'_>| Ok((row.get(1)?, task_id(row, 0)?));
    let mut free = Vec::new();
    for sql in [DUE, MAILED] {
        let mut find = transaction.prepare_cached(sql)?;
        for found in find.query_map((millis(now), most), waiting)? {
            free.push(found?);
        }
    }
    let mut find = transaction.prepare_cached(ASKED)?;
    let mut asked = find.query([most])?;
    while let Some(row) = asked.next()? {
        let held = match row.get::<_, Option<Vec<u8>>>(2)? {
            Some(owner) => owner == node || node::is_alive(transaction, &owner, now)?,
            None => false,
        };
        if !held {
            free.push(waiting(row)?);
        }
    }
    let mut owner = Vec::new();
    let mut next = transaction.prepare_cached(NEXT_OWNER)?;
    while let Some(found) = next.query_row([&owner], |row| row.get::<_, Option<Vec<u8>>>(0))? {
        owner = found;
        if owner != node && !node::is_alive(transaction, &owner, now)? {
            let mut find = transaction.prepare_cached(OWNED)?;
            for found in find.query_map(params![owner, most], waiting)? {
                free.push(found?);
            }
        }
    }
    free.sort_unstable();
    free.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    Ok(free)
}

/// Claims what is free. What cannot be read is set aside, and others are claimed in its place.
pub(crate) fn claim(
    transaction: &Connection,
    node: NodeId,
    most: usize,
    now: Time,
) -> rusqlite::Result<Found<Claimed>> {
    claim_of(transaction, node, most, now, |room| {
        let free = free(transaction, &id(node.as_u128()), room, now)?;
        Ok(free.into_iter().map(|(_, task)| task).collect())
    })
}

/// Claims what is found to be free.
pub(crate) fn claim_of(
    transaction: &Connection,
    node: NodeId,
    most: usize,
    now: Time,
    mut free: impl FnMut(i64) -> rusqlite::Result<Vec<TaskId>>,
) -> rusqlite::Result<Found<Claimed>> {
    let (mut claimed, mut unreadable) = (Vec::new(), Vec::new());
    loop {
        let room = i64::try_from(most - claimed.len()).unwrap_or(i64::MAX);
        let known = unreadable.len();
        for task in free(room)? {
            match aside::read(task, take(transaction, node, task))? {
                Ok(taken) => claimed.extend(taken),
                Err(bad) => {
                    aside::put(transaction, &bad, now)?;
                    unreadable.push(bad);
                }
            }
        }
        // Each further round has set something aside: it ends.
        if unreadable.len() == known {
            return Ok((claimed, unreadable));
        }
    }
}

fn take(transaction: &Connection, node: NodeId, task: TaskId) -> rusqlite::Result<Option<Claimed>> {
    let Some(before) = stored(transaction, task)? else { return Ok(None) };
    let mail = mail::unread(transaction, task)?;
    node::own(transaction, task, id(node.as_u128()))?;
    let owner_died = before.owner.is_some();
    let stored = Stored { owner: Some(node), epoch: before.epoch + 1, parked_on: None, ..before };
    Ok(Some(Claimed { stored, owner_died, mail, reply: reply::kept(transaction, task)? }))
}

/// Tasks as they are. One that cannot be read is an error only to who asks for it alone.
pub(crate) fn read(transaction: &Connection, tasks: &[TaskId]) -> rusqlite::Result<Found<Option<Stored>>> {
    if let [task] = tasks {
        return Ok((vec![stored(transaction, *task)?], Vec::new()));
    }
    let (mut found, mut unreadable) = (Vec::new(), Vec::new());
    for task in tasks {
        let read = aside::read(*task, stored(transaction, *task))?;
        found.push(read.unwrap_or_else(|bad| {
            unreadable.push(bad);
            None
        }));
    }
    Ok((found, unreadable))
}

pub(crate) fn stored(transaction: &Connection, task: TaskId) -> rusqlite::Result<Option<Stored>> {
    let sql =
        "SELECT namespace, workflow, version, key, head, epoch, revision, owner, wake_at_ms, submitted_at_ms, shape,
               mail_last, mail_read, parked_on, priority, parent
               FROM steadfast_tasks WHERE id = ?";
    let mut find = transaction.prepare_cached(sql)?;
    let (steps, items) = steps(transaction, task)?;
    let read = |row: &Row<'_>| {
        let head: Head = unpack_head(&row.get::<_, Vec<u8>>(4)?)?;
        Ok(Stored {
            id: task,
            namespace: Arc::from(row.get::<_, String>(0)?),
            workflow: Arc::from(row.get::<_, String>(1)?),
            version: row.get(2)?,
            shape: row.get::<_, i64>(10)?.cast_unsigned(),
            key: row.get::<_, Option<String>>(3)?.map(Arc::from),
            priority: row.get(14)?,
            parent: row
                .get::<_, Option<[u8; 16]>>(15)?
                .map(|bytes| TaskId::from_u128(u128::from_be_bytes(bytes))),
            task: Task::from_rows(head, steps, items),
            epoch: row.get::<_, i64>(5)?.unsigned_abs(),
            revision: row.get::<_, i64>(6)?.unsigned_abs(),
            owner: row
                .get::<_, Option<[u8; 16]>>(7)?
                .map(|bytes| NodeId::from_u128(u128::from_be_bytes(bytes))),
            wake_at: time(row.get(8)?),
            parked_on: row.get::<_, Option<String>>(13)?.map(Arc::from),
            mail_last: MailId(row.get::<_, i64>(11)?.unsigned_abs()),
            mail_read: MailId(row.get::<_, i64>(12)?.unsigned_abs()),
            submitted_at: time(row.get(9)?),
        })
    };
    find.query_row([id(task.as_u128())], read).optional()
}

/// The rows of all steps, and those of items that have begun.
type Rows = (Vec<Record>, Vec<(StepId, Record)>);

fn steps(transaction: &Connection, task: TaskId) -> rusqlite::Result<Rows> {
    let sql = "SELECT record, ordinal FROM steadfast_steps WHERE task = ? ORDER BY ordinal";
    let mut find = transaction.prepare_cached(sql)?;
    let read =
        |row: &Row<'_>| Ok((StepId::at(row.get::<_, u16>(1)?), unpack_record(&row.get::<_, Vec<u8>>(0)?)?));
    let (mut steps, mut items) = (Vec::new(), Vec::new());
    for row in find.query_map([id(task.as_u128())], read)? {
        match row? {
            (step, record) if step.item().is_some() => items.push((step, record)),
            (_, record) => steps.push(record),
        }
    }
    Ok((steps, items))
}

pub(crate) fn payload(transaction: &Connection, key: PayloadKey) -> rusqlite::Result<Option<Payload>> {
    let mut find =
        transaction.prepare_cached("SELECT body FROM steadfast_payloads WHERE task = ? AND ordinal = ?")?;
    let place = key.step.map_or(INPUT, ordinal);
    find.query_row((id(key.task.as_u128()), place), |row| row.get::<_, Vec<u8>>(0).map(Payload::from))
        .optional()
}

/// What is past its time. What is well is behind the end of both indexes, and is not looked at; what was set aside is no
/// use to anybody.
const OVERDUE: &str = "SELECT task, ordinal, attempt, since FROM (
                   SELECT s.task AS task, s.ordinal AS ordinal, s.attempt AS attempt, s.complete_by_ms AS since
                       FROM steadfast_steps s JOIN steadfast_tasks t ON t.id = s.task
                       WHERE s.complete_by_ms BETWEEN ?3 AND ?1 AND t.at_rest = 0 AND t.owner IS NOT ?6
                   UNION ALL
                   SELECT id, -1, 0, deadline_ms FROM steadfast_tasks
                       WHERE deadline_ms BETWEEN ?3 AND ?1 AND ending = 0 AND at_rest = 0 AND owner IS NOT ?6
               ) WHERE (since, task, ordinal) > (?3, ?4, ?5) ORDER BY since, task, ordinal LIMIT ?2";

/// What is past its time, behind the given one.
pub(crate) fn overdue(
    transaction: &Connection,
    behind: Option<Overdued>,
    most: usize,
    now: Time,
) -> rusqlite::Result<Vec<Overdued>> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let (since, task, place) = match behind {
        None => (i64::MIN, [0; 16], 0),
        Some(behind) => {
            let place = behind.attempt.map_or(DEADLINE, |(step, _)| ordinal(step));
            (millis(behind.since), id(behind.task.as_u128()), place)
        }
    };
    let mut find = transaction.prepare_cached(OVERDUE)?;
    let rows =
        find.query_map(params![millis(now), most, since, task, place, id(ASIDE.as_u128())], |row| {
            let attempt = match row.get::<_, i64>(1)? {
                DEADLINE => None,
                _ => Some((StepId::at(row.get(1)?), row.get(2)?)),
            };
            Ok(Overdued { task: task_id(row, 0)?, attempt, since: time(row.get(3)?) })
        })?;
    rows.collect()
}

pub(crate) fn owned(transaction: &Connection, node: NodeId) -> rusqlite::Result<Vec<(TaskId, u64)>> {
    let sql = "SELECT id, epoch FROM (
                   SELECT id, epoch FROM steadfast_tasks WHERE owner = ?1 AND owner IS NOT NULL AND at_rest = 0
                   UNION ALL
                   SELECT id, epoch FROM steadfast_tasks WHERE at_rest = 1 AND mail_last > mail_read AND owner = ?1)
               ORDER BY id";
    let owned = |row: &Row<'_>| Ok((task_id(row, 0)?, row.get::<_, i64>(1)?.unsigned_abs()));
    transaction.prepare_cached(sql)?.query_map([id(node.as_u128())], owned)?.collect()
}

pub(crate) fn open_tasks(transaction: &Connection) -> rusqlite::Result<u64> {
    // Each is in exactly one of two small indexes.
    let sql = "SELECT (SELECT count(*) FROM steadfast_tasks WHERE owner IS NULL AND at_rest = 0)
                    + (SELECT count(*) FROM steadfast_tasks WHERE owner IS NOT NULL AND at_rest = 0)";
    transaction.prepare_cached(sql)?.query_row([], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbox::{DUE_OUT, GIVEN_UP, NEXT_OUT, OVER};
    use crate::parked::{NEXT_SERVICE, PARKED};

    /// S5: what the scheduler and the supervisor ask again and again goes by indexes that hold only what is open, or due.
    #[test]
    fn what_is_asked_again_and_again_looks_at_nothing_that_is_well() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(include_str!("../migrations/0001.sql")).unwrap();
        connection.execute_batch(include_str!("../migrations/0002.sql")).unwrap();
        connection.execute_batch(include_str!("../migrations/0003.sql")).unwrap();
        for (sql, indexes) in [
            (DUE, &["steadfast_tasks_free"][..]),
            (MAILED, &["steadfast_tasks_mailed"]),
            (OWNED, &["steadfast_tasks_owned"]),
            (NEXT_OWNER, &["steadfast_tasks_owned"]),
            (OVERDUE, &["steadfast_steps_due", "steadfast_tasks_late"]),
            (PARKED, &["steadfast_tasks_parked"]),
            (NEXT_SERVICE, &["steadfast_tasks_parked"]),
            (DUE_OUT, &["steadfast_outbox_due", "steadfast_outbox_by_task"]),
            (NEXT_OUT, &["steadfast_outbox_due"]),
            (OVER, &["steadfast_outbox_over"]),
            (GIVEN_UP, &["steadfast_outbox_given_up"]),
        ] {
            let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let unset = vec![rusqlite::types::Null; explain.parameter_count()];
            let plan =
                explain.query_map(rusqlite::params_from_iter(unset), |row| row.get::<_, String>(3)).unwrap();
            let plan: Vec<_> = plan.map(Result::unwrap).collect();
            for index in indexes {
                assert!(plan.iter().any(|line| line.contains(index)), "{index}: {plan:#?}");
            }
            let scans = |line: &&String| line.starts_with("SCAN steadfast") && !line.contains("USING");
            assert_eq!(plan.iter().find(scans), None, "{plan:#?}");
        }
    }
}
