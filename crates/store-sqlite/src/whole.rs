//! Tasks with everything that belongs to them.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use steadfast_engine::{Record, StepId};
use steadfast_store::{AuditId, Brought, Labels, Letter, MailId, Payload, TaskId, Whole, key_taken};

use crate::codec::{id, millis, pack_change, pack_head, state};
use crate::label;
use crate::task::{INPUT, stored, task_id};
use crate::write::{history_behind, insert_step, number, ordinal};

/// A task as a whole, if it exists.
pub(crate) fn read(transaction: &Connection, task: TaskId) -> rusqlite::Result<Option<Whole>> {
    let Some(stored) = stored(transaction, task)? else { return Ok(None) };
    let (key, history) = (id(task.as_u128()), history_behind(transaction, task, 0)?);
    let sql = "SELECT ordinal, body FROM steadfast_payloads WHERE task = ? ORDER BY ordinal";
    let payload = |row: &Row<'_>| {
        let place = row.get::<_, i64>(0)?;
        let step = if place == INPUT { None } else { Some(StepId::at(row.get(0)?)) };
        Ok((step, Payload::from(row.get::<_, Vec<u8>>(1)?)))
    };
    let payloads: rusqlite::Result<_> = transaction.prepare_cached(sql)?.query_map([key], payload)?.collect();
    let sql = "SELECT number, body, asked FROM steadfast_mail WHERE task = ? ORDER BY number";
    let letter = |row: &Row<'_>| {
        let asked = row.get::<_, Option<[u8; 16]>>(2)?;
        Ok(Letter {
            id: MailId(row.get::<_, i64>(0)?.unsigned_abs()),
            body: Payload::from(row.get::<_, Vec<u8>>(1)?),
            asked: asked.map(|asked| AuditId::from_u128(u128::from_be_bytes(asked))),
        })
    };
    let mail: rusqlite::Result<_> = transaction.prepare_cached(sql)?.query_map([key], letter)?.collect();
    Ok(Some(Whole { stored, payloads: payloads?, history, mail: mail? }))
}

/// Stores a task that comes from elsewhere, unless it is there.
pub(crate) fn bring(transaction: &Connection, whole: &Whole) -> rusqlite::Result<Brought> {
    if let Some(there) = read(transaction, whole.stored.id)? {
        return Ok(whole.is_in(&there).map_or_else(Brought::Refused, |()| Brought::Seen));
    }
    if let Some(refused) = taken(transaction, whole)? {
        return Ok(refused);
    }
    insert_task(transaction, whole)?;
    insert_rest(transaction, whole)?;
    Ok(Brought::New)
}

/// What another task has that may be there once.
fn taken(transaction: &Connection, whole: &Whole) -> rusqlite::Result<Option<Brought>> {
    let stored = &whole.stored;
    if let Some(key) = &stored.key {
        let sql = "SELECT id FROM steadfast_tasks WHERE namespace = ? AND workflow = ? AND key = ?";
        let mut find = transaction.prepare_cached(sql)?;
        let by = find
            .query_row((&*stored.namespace, &*stored.workflow, &**key), |row| task_id(row, 0))
            .optional()?;
        if let Some(by) = by {
            return Ok(Some(key_taken(key, by)));
        }
    }
    for asked in whole.mail.iter().filter_map(|mail| mail.asked) {
        let mut find = transaction.prepare_cached("SELECT 1 FROM steadfast_mail WHERE asked = ?")?;
        if find.exists([id(asked.as_u128())])? {
            let words = format!("what was asked as {asked} was asked of another task");
            return Ok(Some(Brought::Refused(words)));
        }
    }
    Ok(None)
}

fn insert_task(transaction: &Connection, whole: &Whole) -> rusqlite::Result<()> {
    let (stored, head) = (&whole.stored, whole.stored.task.head());
    let sql = "INSERT INTO steadfast_tasks (id, namespace, workflow, version, shape, key, state, at_rest, head, deadline_ms,
                   ending, epoch, revision, owner, wake_at_ms, mail_last, mail_read, submitted_at_ms, priority, parent)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    transaction.prepare_cached(sql)?.execute(params![
        id(stored.id.as_u128()),
        &*stored.namespace,
        &*stored.workflow,
        stored.version,
        stored.shape.cast_signed(),
        stored.key.as_deref(),
        state(head.state),
        head.state.is_at_rest(),
        pack_head(head)?,
        head.deadline.map(millis),
        head.ending.is_some(),
        number(stored.epoch),
        number(stored.revision),
        stored.owner.map(|owner| id(owner.as_u128())),
        millis(stored.wake_at),
        number(stored.mail_last.0),
        number(stored.mail_read.0),
        millis(stored.submitted_at),
        stored.priority,
        stored.parent.map(|parent| id(parent.as_u128())),
    ])?;
    Ok(())
}

fn insert_rest(transaction: &Connection, whole: &Whole) -> rusqlite::Result<()> {
    let task = id(whole.stored.id.as_u128());
    let steps: Vec<(StepId, &Record)> = whole.stored.task.all_rows().collect();
    for (step, record) in steps {
        insert_step(transaction, task, step, record)?;
    }
    for (step, body) in &whole.payloads {
        let sql = "INSERT INTO steadfast_payloads (task, ordinal, body) VALUES (?, ?, ?)";
        transaction.prepare_cached(sql)?.execute(params![task, step.map_or(INPUT, ordinal), &**body])?;
        if *step == Some(StepId::OF_LABELS) {
            label::index(transaction, task, &Labels::read(body))?;
        }
    }
    for mail in &whole.mail {
        let sql = "INSERT INTO steadfast_mail (task, number, body, asked) VALUES (?, ?, ?, ?)";
        let asked = mail.asked.map(|asked| id(asked.as_u128()));
        transaction.prepare_cached(sql)?.execute(params![task, number(mail.id.0), &*mail.body, asked])?;
    }
    for entry in &whole.history {
        let sql = "INSERT INTO steadfast_history (task, revision, at_ms, packed) VALUES (?, ?, ?, ?)";
        let packed = pack_change(entry.head.as_ref(), &entry.steps)?;
        let (revision, at) = (number(entry.revision), millis(entry.at));
        transaction.prepare_cached(sql)?.execute(params![task, revision, at, packed])?;
    }
    Ok(())
}
