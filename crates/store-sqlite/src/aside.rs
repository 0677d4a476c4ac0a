//! Tasks that cannot be read: set aside, and told of, so that they do not stand in the way of the rest.
//!
//! Such a task is given to a node that never works, with a lease like any other. So it is in no batch, with mail neither,
//! and keeps its place and its mail; the lease's end, and each opening of the file, lets it be tried again. Whoever gets it
//! then is told that an owner died over it, which is the careful thing to say of a task that one may have.

use std::time::Duration;

use rusqlite::Connection;
use steadfast_engine::Time;
use steadfast_store::{NodeId, TaskId};

use crate::codec::id;
use crate::error::is_of_a_row;
use crate::node;

/// Who has what was set aside. No node makes such an id: they are UUIDs of a version.
pub(crate) const ASIDE: NodeId = NodeId::from_u128(u128::MAX);
/// When it is tried again: often enough for somebody who has repaired a row, seldom enough to be no load.
const AGAIN: Duration = Duration::from_secs(3_600);

/// A task of which a row cannot be read.
pub(crate) struct Unreadable {
    task: TaskId,
    error: rusqlite::Error,
}

/// What was found, beside what cannot be read.
pub(crate) type Found<T> = (Vec<T>, Vec<Unreadable>);

/// What was read of a task, or that it cannot be: an error only where all of the file is in trouble.
pub(crate) fn read<T>(task: TaskId, read: rusqlite::Result<T>) -> rusqlite::Result<Result<T, Unreadable>> {
    match read {
        Ok(found) => Ok(Ok(found)),
        Err(error) if is_of_a_row(&error) => Ok(Err(Unreadable { task, error })),
        Err(error) => Err(error),
    }
}

/// Sets a task aside. Its epoch is raised: whoever had it can write no more.
pub(crate) fn put(transaction: &Connection, unreadable: &Unreadable, now: Time) -> rusqlite::Result<()> {
    let aside = id(ASIDE.as_u128());
    // Not renewed for each: one bad row an hour would keep all others aside for ever.
    if !node::is_alive(transaction, &aside, now)? {
        node::renew(transaction, ASIDE, now + AGAIN)?;
    }
    node::own(transaction, unreadable.task, aside)
}

/// Tells of what cannot be read, once it is settled and nothing is locked; the rest is the answer.
pub(crate) fn told<T>((found, unreadable): Found<T>) -> Vec<T> {
    for Unreadable { task, error } in unreadable {
        tracing::error!(
            %task,
            error = &error as &dyn std::error::Error,
            "a task cannot be read and is left out, it was changed by hand or is damaged: restore its rows from a backup; \
             it is tried again within the hour, and when the file is opened"
        );
    }
    found
}
