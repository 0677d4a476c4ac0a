//! Submissions: a task with all of its rows, or what was there before.

use rusqlite::{Connection, OptionalExtension as _, params};
use steadfast_engine::{StepId, Time};
use steadfast_store::{Labels, PayloadKey, Submission, SubmissionMore, Submitted, TaskId};

use crate::codec::{id, millis, pack_head, state};
use crate::task::{INPUT, payload, task_id};
use crate::write::{insert_step, ordinal};
use crate::{arrival, label, outbox, reply};

/// Stores a task, unless it or its key is there.
pub(crate) fn submit(transaction: &Connection, new: &Submission, now: Time) -> rusqlite::Result<Submitted> {
    if let Some(more) = new.more.as_deref()
        && let Some(refused) = refused(transaction, new, more)?
    {
        return Ok(refused);
    }
    let task = id(new.id.as_u128());
    let head = new.task.head();
    let sql =
        "INSERT INTO steadfast_tasks (id, namespace, workflow, version, shape, key, state, at_rest, head,
                   deadline_ms, ending, epoch, revision, owner, wake_at_ms, submitted_at_ms, priority)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 0, ?13, ?15, ?14, ?16)
               ON CONFLICT DO NOTHING";
    let stored = transaction.prepare_cached(sql)?.execute(params![
        task,
        &*new.namespace,
        &*new.workflow,
        new.version,
        new.shape.cast_signed(),
        new.key.as_deref(),
        state(head.state),
        head.state.is_at_rest(),
        pack_head(head)?,
        head.deadline.map(millis),
        head.ending.is_some(),
        u8::from(new.owner.is_some()),
        new.owner.map(|owner| id(owner.as_u128())),
        millis(now),
        millis(head.start_at().map_or(now, |time| time.max(now))),
        new.priority,
    ])?;
    if stored == 0 {
        return settled(transaction, new);
    }
    for (step, record) in new.task.all_rows() {
        insert_step(transaction, task, step, record)?;
    }
    let sql = "INSERT INTO steadfast_payloads (task, ordinal, body) VALUES (?, ?, ?)";
    let mut insert = transaction.prepare_cached(sql)?;
    insert.execute(params![task, INPUT, &*new.input])?;
    for (step, output) in &new.outputs {
        insert.execute(params![task, ordinal(*step), &**output])?;
        if *step == StepId::OF_LABELS {
            label::index(transaction, task, &Labels::read(output))?;
        }
    }
    if let Some(more) = new.more.as_deref() {
        put_more(transaction, task, more)?;
    }
    for message in &new.messages {
        outbox::tell(transaction, message, now)?;
    }
    Ok(Submitted::New)
}

/// Why a submission is not even tried that has what few have.
fn refused(
    transaction: &Connection,
    new: &Submission,
    more: &SubmissionMore,
) -> rusqlite::Result<Option<Submitted>> {
    if let Some(arrival) = more.arrival
        && !arrival::is_there(transaction, arrival)?
    {
        return Ok(Some(Submitted::Gone));
    }
    let Some(reply) = &more.reply else { return Ok(None) };
    let waiting = reply::waiting(transaction, &reply.address)?;
    // One that is there is not stored again: nobody is told anything more for it.
    let there = waiting >= reply.most && seen(transaction, new).optional()?.is_some();
    Ok((waiting >= reply.most && !there).then_some(Submitted::QueueFull(waiting)))
}

fn put_more(transaction: &Connection, task: [u8; 16], more: &SubmissionMore) -> rusqlite::Result<()> {
    if let Some(reply) = &more.reply {
        let sql = "INSERT INTO steadfast_payloads (task, ordinal, body) VALUES (?, ?, ?)";
        let place = ordinal(StepId::OF_REPLIES);
        transaction.prepare_cached(sql)?.execute(params![task, place, &*reply.kept])?;
    }
    if let Some(parent) = more.parent {
        let sql = "UPDATE steadfast_tasks SET parent = ? WHERE id = ?";
        transaction.prepare_cached(sql)?.execute(params![id(parent.as_u128()), task])?;
    }
    more.arrival.map_or(Ok(()), |arrival| arrival::taken(transaction, arrival))
}

/// The same; a row that it was handed in by, and of which nothing more is to be made, is gone.
fn settled(transaction: &Connection, new: &Submission) -> rusqlite::Result<Submitted> {
    let seen = seen(transaction, new)?;
    let Some(arrival) = new.more.as_ref().and_then(|more| more.arrival) else { return Ok(seen) };
    if seen == Submitted::Again && !is_same(transaction, new)? {
        return Ok(Submitted::OtherInput(new.id));
    }
    if !matches!(seen, Submitted::OtherInput(_)) {
        arrival::taken(transaction, arrival)?;
    }
    Ok(seen)
}

/// Whether the task of this id is of this workflow and has this input.
fn is_same(transaction: &Connection, new: &Submission) -> rusqlite::Result<bool> {
    let sql = "SELECT workflow FROM steadfast_tasks WHERE id = ?";
    let mut find = transaction.prepare_cached(sql)?;
    let workflow: String = find.query_row([id(new.id.as_u128())], |row| row.get(0))?;
    let input = payload(transaction, PayloadKey { task: new.id, step: None })?;
    Ok(*workflow == *new.workflow && input.as_ref() == Some(&new.input))
}

/// What was there before a submission that was not stored.
fn seen(transaction: &Connection, new: &Submission) -> rusqlite::Result<Submitted> {
    let mut find = transaction.prepare_cached("SELECT 1 FROM steadfast_tasks WHERE id = ?")?;
    if find.exists([id(new.id.as_u128())])? {
        return Ok(Submitted::Again);
    }
    let first = first_of_key(transaction, new)?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    let input = payload(transaction, PayloadKey { task: first, step: None })?;
    let same = input.is_some_and(|input| input == new.input);
    Ok(if same { Submitted::Seen(first) } else { Submitted::OtherInput(first) })
}

fn first_of_key(transaction: &Connection, new: &Submission) -> rusqlite::Result<Option<TaskId>> {
    let Some(key) = &new.key else { return Ok(None) };
    let sql = "SELECT id FROM steadfast_tasks WHERE namespace = ? AND workflow = ? AND key = ?";
    let mut find = transaction.prepare_cached(sql)?;
    find.query_row((&*new.namespace, &*new.workflow, &**key), |row| task_id(row, 0)).optional()
}
