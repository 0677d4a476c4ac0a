//! Looking for tasks.

use rusqlite::{Connection, params};
use steadfast_store::{Filter, Listed, TaskId};

use crate::aside::{self, Found};
use crate::codec::{id, millis, state};
use crate::label;
use crate::task::{stored, task_id};

/// So many are looked at in one call: some milliseconds, in which nobody else reads.
const LOOKED_AT: i64 = 4_096;

/// What the columns say of each.
macro_rules! matching {
    () => {
        "SELECT id, (?2 IS NULL OR namespace = ?2) AND (?3 IS NULL OR workflow = ?3) AND (?4 IS NULL OR key = ?4)
             AND (?5 IS NULL OR parked_on = ?5 AND owner IS NULL) AND (?6 IS NULL OR submitted_at_ms >= ?6)
             AND (?7 IS NULL OR submitted_at_ms < ?7) AND (?8 = 0 OR (?8 >> state) & 1)
             AND (?10 IS NULL) = (?11 IS NULL) AND (?12 IS NULL OR parent = ?12)"
    };
}

/// Those with a label, by its index.
const LABELLED: &str = concat!(
    matching!(),
    " FROM steadfast_labels CROSS JOIN steadfast_tasks ON id = task
      WHERE name = ?10 AND value = ?11 AND task < ?1 AND task >= ?13 ORDER BY task DESC LIMIT ?9"
);

/// Tasks behind an id that match, newest first, as far as one call looks.
pub(crate) fn list(
    transaction: &Connection,
    filter: &Filter,
    behind: Option<TaskId>,
    most: usize,
) -> rusqlite::Result<Found<Listed>> {
    // A task and those that it asks for have ids of the same millisecond.
    let (first, last) = filter.parent.map_or((0, u128::MAX), |parent| {
        let first = parent.as_u128() >> 80 << 80;
        (first, first + (1 << 80))
    });
    let from = id(behind.map_or(u128::MAX, TaskId::as_u128).min(last));
    // What the columns say is looked at here, the rest in the rows.
    let sql = match filter.labels.is_empty() {
        true => concat!(
            matching!(),
            " FROM steadfast_tasks WHERE id < ?1 AND id >= ?13 ORDER BY id DESC LIMIT ?9"
        ),
        false => LABELLED,
    };
    // The first label leads to the tasks, the others are looked at there.
    let mut labels = filter.labels.iter().map(|(name, value)| (&**name, &**value));
    let (name, value) = labels.next().unzip();
    let others: Vec<_> = labels.collect();
    let states = filter.states.iter().fold(0_i64, |states, one| states | 1 << state(*one));
    let mut find = transaction.prepare_cached(sql)?;
    let mut rows = find.query(params![
        from,
        filter.namespace.as_deref(),
        filter.workflow.as_deref(),
        filter.key.as_deref(),
        filter.parked_on.as_deref(),
        filter.from.map(millis),
        filter.before.map(millis),
        states,
        LOOKED_AT,
        name,
        value,
        filter.parent.map(|parent| id(parent.as_u128())),
        id(first),
    ])?;
    let (mut listed, mut unreadable, mut looked) = (Listed::default(), Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let task = task_id(row, 0)?;
        (listed.behind, looked) = (Some(task), looked + 1);
        // A key that is null makes the whole null.
        if !row.get::<_, Option<bool>>(1)?.unwrap_or(false) {
            continue;
        }
        let key = id(task.as_u128());
        if !others.iter().try_fold(true, |all, other| {
            Ok::<_, rusqlite::Error>(all && label::has(transaction, key, *other)?)
        })? {
            continue;
        }
        match aside::read(task, stored(transaction, task))? {
            Ok(found) => listed.tasks.extend(found.filter(|stored| filter.matches(stored))),
            Err(bad) => unreadable.push(bad),
        }
        if listed.tasks.len() >= most {
            return Ok((vec![listed], unreadable));
        }
    }
    if looked < LOOKED_AT {
        listed.behind = None;
    }
    Ok((vec![listed], unreadable))
}
