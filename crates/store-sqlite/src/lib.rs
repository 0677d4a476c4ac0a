//! The embedded store: one SQLite file with one owner. What it has acknowledged survives the loss of power.
//!
//! Every batch is one transaction, begun as a writer (`BEGIN IMMEDIATE`); every write in it has a savepoint of its own, so
//! that a refused one rolls back alone. The file is in WAL mode with `synchronous = FULL`. `FILE.owner` is locked for as
//! long as the store is open: a second process is refused, and who wins the lock knows that earlier owners are dead.

mod codec;
mod error;
mod mail;
mod migration;
mod node;
mod open;
mod task;
mod write;

use std::fmt;
use std::fs::File;
use std::future::{Future, ready};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use steadfast_engine::Time;
use steadfast_store::{
    Claimed, Entry, Error, Mail, Mailbox, Message, NodeId, Nodes, Overdue, Overdued, Payload, PayloadKey,
    Posted, Stored, Submission, Submitted, TaskId, Tasks, Write, Written,
};

use crate::error::failed;

/// A store in one file. Clones are one and the same.
#[derive(Clone)]
pub struct Sqlite {
    inner: Arc<Inner>,
}

struct Inner {
    connection: Mutex<Connection>,
    clock: Box<dyn Fn() -> Time + Send + Sync>,
    /// The latest time that was told, in milliseconds: the next one is no earlier, written down or not.
    told: AtomicU64,
    /// Locked while the store is open.
    _owner: File,
}

impl Sqlite {
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.inner.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The machine's time, but never back.
    fn wall(&self) -> Time {
        let now = (self.inner.clock)();
        let told = self.inner.told.fetch_max(now.as_millis(), Ordering::Relaxed);
        now.max(Time::from_millis(told))
    }

    /// Reads in one transaction.
    fn read<T>(&self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T, Error> {
        let mut connection = self.connection();
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Deferred).map_err(failed)?;
        work(&transaction).map_err(failed)
    }

    /// Writes in one transaction; when this returns `Ok`, it is durable.
    fn write<T>(
        &self,
        work: impl FnOnce(&mut Transaction<'_>, Time) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let mut connection = self.connection();
        let mut transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let now = node::tick(&transaction, self.wall()).map_err(failed)?;
        let done = work(&mut transaction, now).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        Ok(done)
    }
}

impl fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.connection().path().map(ToOwned::to_owned);
        f.debug_struct("Sqlite").field("path", &path).finish_non_exhaustive()
    }
}

impl Tasks for Sqlite {
    fn submit(&self, batch: Vec<Submission>) -> impl Future<Output = Result<Vec<Submitted>, Error>> + Send {
        let checked = batch.iter().try_for_each(Submission::check);
        ready(checked.and_then(|()| {
            self.write(|transaction, now| {
                batch.iter().map(|new| task::submit(transaction, new, now)).collect()
            })
        }))
    }

    fn claim(&self, node: NodeId, most: usize) -> impl Future<Output = Result<Vec<Claimed>, Error>> + Send {
        ready(self.write(|transaction, now| task::claim(transaction, node, most, now)))
    }

    fn write(&self, batch: Vec<Write>) -> impl Future<Output = Result<Vec<Written>, Error>> + Send {
        let checked = batch.iter().try_for_each(Write::check);
        ready(checked.and_then(|()| {
            self.write(|transaction, now| {
                batch.iter().map(|write| write::write(transaction, write, now)).collect()
            })
        }))
    }

    fn owned(&self, node: NodeId) -> impl Future<Output = Result<Vec<TaskId>, Error>> + Send {
        ready(self.read(|transaction| task::owned(transaction, node)))
    }

    fn open_tasks(&self) -> impl Future<Output = Result<u64, Error>> + Send {
        ready(self.read(|transaction| task::open_tasks(transaction)))
    }

    fn read(&self, tasks: Vec<TaskId>) -> impl Future<Output = Result<Vec<Option<Stored>>, Error>> + Send {
        ready(self.read(|transaction| tasks.iter().map(|id| task::stored(transaction, *id)).collect()))
    }

    fn payloads(
        &self,
        keys: Vec<PayloadKey>,
    ) -> impl Future<Output = Result<Vec<Option<Payload>>, Error>> + Send {
        ready(self.read(|transaction| keys.iter().map(|key| task::payload(transaction, *key)).collect()))
    }

    fn history(&self, task: TaskId) -> impl Future<Output = Result<Vec<Entry>, Error>> + Send {
        ready(self.read(|transaction| write::history(transaction, task)))
    }
}

impl Mailbox for Sqlite {
    fn post(&self, batch: Vec<Message>) -> impl Future<Output = Result<Vec<Posted>, Error>> + Send {
        let checked = batch.iter().try_for_each(Message::check);
        ready(checked.and_then(|()| {
            self.write(|transaction, _| {
                batch.iter().map(|message| mail::post(transaction, message)).collect()
            })
        }))
    }

    fn unread(&self, node: NodeId, most: usize) -> impl Future<Output = Result<Vec<Mail>, Error>> + Send {
        ready(self.read(|transaction| mail::unread_of(transaction, node, most)))
    }
}

impl Overdue for Sqlite {
    fn overdue(
        &self,
        behind: Option<Overdued>,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Overdued>, Error>> + Send {
        let wall = self.wall();
        ready(self.read(|transaction| {
            let now = node::now(transaction, wall)?;
            task::overdue(transaction, behind, most, now)
        }))
    }
}

impl Nodes for Sqlite {
    fn now(&self) -> impl Future<Output = Result<Time, Error>> + Send {
        let wall = self.wall();
        ready(self.read(|transaction| node::now(transaction, wall)))
    }

    fn renew(&self, node: NodeId, lease: Duration) -> impl Future<Output = Result<Time, Error>> + Send {
        ready(self.write(|transaction, now| node::renew(transaction, node, now + lease)))
    }

    fn leave(&self, node: NodeId) -> impl Future<Output = Result<(), Error>> + Send {
        ready(self.write(|transaction, _| node::leave(transaction, node)))
    }
}
