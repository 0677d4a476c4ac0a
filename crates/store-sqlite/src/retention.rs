//! Tasks that are over: found by a reader, removed by the writer in small writes.

use std::collections::HashMap;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};
use steadfast_engine::Time;
use steadfast_store::{Cleaned, Expired, TaskId};

use crate::beside::instant;
use crate::codec::{id, time};
use crate::task::task_id;

/// The most tasks that one call looks at: about two milliseconds of a reader that nobody else waits for.
const LOOKED_AT: i64 = 1_024;
/// So long one write removes tasks, whatever they bring with them. With the sync of its commit it stays about ten milliseconds.
const MOST_TIME: Duration = Duration::from_millis(4);
/// The most messages that were delivered or given up among which those of removed tasks are looked for. What is beyond goes by
/// itself when its time is over.
const MESSAGES: i64 = 10_000;

/// By the primary key: ids begin with their time, so that what can be over comes first and no index is needed for it.
const OVER: &str =
    "SELECT id, state >= 5 AND mail_last <= mail_read, key IS NOT NULL, revision, submitted_at_ms, parent
    FROM steadfast_tasks WHERE id > ?1 AND id < ?2 ORDER BY id LIMIT ?3";
const ENDED: &str = "SELECT at_ms FROM steadfast_history WHERE task = ? ORDER BY revision DESC LIMIT 1";
/// A message about it that was not delivered.
const WAITS: &str = "SELECT 1 FROM steadfast_outbox INDEXED BY steadfast_outbox_by_task
    WHERE state = 0 AND task IS NOT NULL AND task = ?";
const TOLD: &str = "SELECT task, number FROM steadfast_outbox INDEXED BY steadfast_outbox_over
    WHERE state > 0 AND task IS NOT NULL LIMIT ?";
/// Nothing has happened to it since it was found, and nothing of it waits.
const REMOVE: &str = "DELETE FROM steadfast_tasks
    WHERE id = ?1 AND revision = ?2 AND state >= 5 AND mail_last <= mail_read
        AND NOT EXISTS (SELECT 1 FROM steadfast_outbox INDEXED BY steadfast_outbox_by_task
            WHERE state = 0 AND task IS NOT NULL AND task = ?1)";
const REST: [&str; 5] = [
    "DELETE FROM steadfast_steps WHERE task = ?",
    "DELETE FROM steadfast_payloads WHERE task = ?",
    "DELETE FROM steadfast_mail WHERE task = ?",
    "DELETE FROM steadfast_history WHERE task = ?",
    "DELETE FROM steadfast_labels WHERE task = ?",
];

/// What one look has found.
#[derive(Default)]
pub(crate) struct Found {
    tasks: Vec<Over>,
    cleaned: Cleaned,
}

/// A task that is over, with its messages that do not wait any more.
struct Over {
    id: TaskId,
    /// As how many were looked at up to here.
    nth: u64,
    revision: i64,
    messages: Vec<i64>,
}

/// Looks for tasks that are over, behind an id.
pub(crate) fn find(
    transaction: &Connection,
    expired: Expired,
    behind: Option<TaskId>,
    most: usize,
) -> rusqlite::Result<Found> {
    let from = id(behind.map_or(0, TaskId::as_u128));
    let until = id(TaskId::first_at(expired.before).as_u128());
    let mut found = Found::default();
    let mut find = transaction.prepare_cached(OVER)?;
    let mut rows = find.query(params![from, until, LOOKED_AT])?;
    while let Some(row) = rows.next()? {
        let task = task_id(row, 0)?;
        (found.cleaned.looked_at, found.cleaned.behind) = (found.cleaned.looked_at + 1, Some(task));
        if !row.get::<_, bool>(1)? {
            continue;
        }
        let ended = ended(transaction, task)?.unwrap_or_else(|| time(row.get(4).unwrap_or(i64::MAX)));
        let stays = has_parent(transaction, row.get(5)?)?.then_some(Duration::ZERO);
        if let Some(over_in) = expired.over_in(ended, row.get(2)?).or(stays) {
            let next = &mut found.cleaned.next_in;
            *next = next.iter().copied().chain([over_in]).min();
            continue;
        }
        if transaction.prepare_cached(WAITS)?.exists([id(task.as_u128())])? {
            continue;
        }
        found.tasks.push(Over {
            id: task,
            nth: found.cleaned.looked_at,
            revision: row.get(3)?,
            messages: Vec::new(),
        });
        if found.tasks.len() >= most {
            messages(transaction, &mut found.tasks)?;
            return Ok(found);
        }
    }
    if found.cleaned.looked_at < LOOKED_AT.unsigned_abs() {
        found.cleaned.behind = None;
    }
    messages(transaction, &mut found.tasks)?;
    Ok(found)
}

/// Whether the task is there that has asked for one: it may want to have that undone. Once it is gone, the other may be over at any
/// time.
fn has_parent(transaction: &Connection, parent: Option<[u8; 16]>) -> rusqlite::Result<bool> {
    let Some(parent) = parent else { return Ok(false) };
    transaction.prepare_cached("SELECT 1 FROM steadfast_tasks WHERE id = ?")?.exists([parent])
}

fn ended(transaction: &Connection, task: TaskId) -> rusqlite::Result<Option<Time>> {
    let mut find = transaction.prepare_cached(ENDED)?;
    find.query_row([id(task.as_u128())], |row| row.get(0).map(time)).optional()
}

/// The messages of these tasks that do not wait any more. No index has them by task: there are few, and they are not for long.
fn messages(transaction: &Connection, tasks: &mut [Over]) -> rusqlite::Result<()> {
    if tasks.is_empty() {
        return Ok(());
    }
    let mut of_tasks = HashMap::<TaskId, Vec<i64>>::new();
    let mut find = transaction.prepare_cached(TOLD)?;
    let mut rows = find.query([MESSAGES])?;
    while let Some(row) = rows.next()? {
        of_tasks.entry(task_id(row, 0)?).or_default().push(row.get(1)?);
    }
    for over in tasks {
        over.messages = of_tasks.remove(&over.id).unwrap_or_default();
    }
    Ok(())
}

impl Found {
    /// Whether there is nothing to write.
    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    pub(crate) fn cleaned(&self) -> Cleaned {
        self.cleaned
    }

    /// Removes what was found, for as long as one write may take.
    pub(crate) fn remove(&self, transaction: &Connection) -> rusqlite::Result<Cleaned> {
        let (began, mut cleaned) = (instant(), self.cleaned);
        for (place, over) in self.tasks.iter().enumerate() {
            if place > 0 && began.elapsed() > MOST_TIME {
                // The rest is found again, behind the last that was removed here.
                let last = self.tasks.get(place - 1);
                cleaned.behind = last.map(|over| over.id);
                cleaned.looked_at = last.map_or(0, |over| over.nth);
                break;
            }
            cleaned.removed += u64::from(over.remove(transaction)?);
        }
        Ok(Cleaned { took: began.elapsed(), ..cleaned })
    }
}

impl Over {
    fn remove(&self, transaction: &Connection) -> rusqlite::Result<bool> {
        let task = id(self.id.as_u128());
        if transaction.prepare_cached(REMOVE)?.execute(params![task, self.revision])? == 0 {
            return Ok(false);
        }
        for sql in REST {
            transaction.prepare_cached(sql)?.execute([task])?;
        }
        for number in &self.messages {
            let sql = "DELETE FROM steadfast_outbox WHERE number = ? AND state > 0";
            transaction.prepare_cached(sql)?.execute([number])?;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_is_found_by_the_primary_key_and_no_index_of_its_own() {
        let connection = Connection::open_in_memory().unwrap();
        for (_, sql) in crate::migration::MIGRATIONS {
            connection.execute_batch(sql).unwrap();
        }
        for (sql, by) in [
            (OVER, "SEARCH steadfast_tasks USING PRIMARY KEY (id>? AND id<?)"),
            (ENDED, "SEARCH steadfast_history USING PRIMARY KEY (task=?)"),
        ] {
            let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let mut rows = explain.raw_query();
            let plan: String = rows.next().unwrap().unwrap().get(3).unwrap();
            assert_eq!(plan, by);
        }
    }
}
