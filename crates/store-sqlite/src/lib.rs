//! The embedded store: one SQLite file with one owner. What it has acknowledged survives the loss of power.
//!
//! What waits to be written goes into one transaction, begun as a writer (`BEGIN IMMEDIATE`), with one sync for all of it;
//! only then is anybody answered. Nothing waits for more to come. What fails in there is rolled back alone. Reads have a
//! connection of their own and do not wait for the disk.
//!
//! The file is in WAL mode with `synchronous = FULL`. `FILE.owner` is locked for as long as the store is open, beside the
//! file itself where a link leads to it: a second owner is refused, and who wins the lock knows that earlier owners are dead.
//!
//! [`Sqlite::open`] writes on a thread of its own; [`Sqlite::open_inline`] on the thread of whoever waits, for tests with
//! a paused clock. The futures need no runtime; what was asked is done even if its future is dropped.

mod answer;
mod arrival;
mod aside;
mod audit;
mod backup;
mod beside;
mod bulk;
mod calm;
mod circuit;
mod clock;
mod codec;
mod drive;
mod error;
mod hand_in;
mod held;
mod house;
mod job;
mod label;
mod list;
mod mail;
mod migration;
mod node;
mod open;
mod outbox;
mod parked;
mod queue;
mod reader;
mod reply;
mod retention;
mod schedule;
mod submission;
mod task;
mod text;
mod verify;
mod whole;
mod write;
mod writer;

use std::fmt;
use std::future::{Future, ready};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use steadfast_engine::Time;
use steadfast_store::{
    Audit, AuditId, AuditLog, Audited, Bulk, Bulks, Circuit, Circuits, Claimed, Entry, Error, Filter, Handed,
    Kept, Listed, Listing, Mail, Mailbox, Message, NodeId, Nodes, Outbox, OutboxId, OutboxKind, Outgoing,
    Overdue, Overdued, Parked, Payload, PayloadKey, Posted, Put, PutBulk, PutText, Schedule, Schedules, Sent,
    Settled, Stored, Submission, Submitted, TaskId, Tasks, Undelivered, WorkflowText, WorkflowTexts, Write,
    Written,
};

pub use hand_in::HandIn;
/// The very version that a connection of the caller's own must be of.
pub use rusqlite;

use crate::calm::Log;
use crate::clock::Clock;
use crate::drive::Drive;
use crate::held::Held;
use crate::reader::Reader;

pub use verify::verify_file;

/// About what an item of a batch takes beside its payloads, in bytes.
const ROWS: usize = 512;

/// A store in one file. Clones are one and the same. When the last one is dropped, what was asked is done and the file is
/// closed.
#[derive(Clone)]
pub struct Sqlite {
    inner: Arc<Inner>,
}

/// Its parts are dropped in this order: who closes the file last must be the one that may write it.
struct Inner {
    reader: Reader,
    keeper: OnceLock<Reader>,
    log: Log,
    path: PathBuf,
    drive: Drive,
    clock: Arc<Clock>,
    commits: Arc<AtomicU64>,
    /// How others have held the file.
    held: Arc<Held>,
}

impl Sqlite {
    /// From now on who asks for a small write makes it itself, while nobody else writes and the disk is quick: it takes two
    /// switches between threads less. For callers that may wait for the disk a moment, such as tasks of a runtime with more
    /// than one thread.
    pub fn write_at_once(&self) {
        self.inner.drive.write_at_once();
    }

    /// How many transactions were committed since the file was opened: fewer than calls, where many call at once.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.inner.commits.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sqlite").field("reader", &self.inner.reader).finish_non_exhaustive()
    }
}

/// About what messages take, in bytes.
fn size(messages: &[Outgoing]) -> usize {
    messages.iter().map(|message| ROWS + message.body.len()).sum()
}

/// What became of each. With room for all of them from the start: memory that grows takes the allocator's lock.
fn each<A, T>(batch: &[A], mut done: impl FnMut(&A) -> rusqlite::Result<T>) -> rusqlite::Result<Vec<T>> {
    let mut all = Vec::with_capacity(batch.len());
    for one in batch {
        all.push(done(one)?);
    }
    Ok(all)
}

impl Tasks for Sqlite {
    fn submit(&self, batch: Vec<Submission>) -> impl Future<Output = Result<Vec<Submitted>, Error>> + Send {
        let checked = batch.iter().try_for_each(Submission::check);
        let bytes = batch.iter().map(|new| ROWS + new.input.len() + size(&new.messages)).sum();
        self.inner.drive.ask(checked, bytes, move |transaction, now| {
            each(&batch, |new| submission::submit(transaction, new, now))
        })
    }

    fn claim(&self, node: NodeId, most: usize) -> impl Future<Output = Result<Vec<Claimed>, Error>> + Send {
        let claim = move |transaction: &_, now| task::claim(transaction, node, most, now);
        let asked = self.inner.drive.ask(Ok(()), ROWS, claim);
        async move { asked.await.map(aside::told) }
    }

    fn write(&self, batch: Vec<Write>) -> impl Future<Output = Result<Vec<Written>, Error>> + Send {
        let checked = batch.iter().try_for_each(Write::check);
        let outputs = |write: &Write| write.outputs.iter().map(|(_, output)| output.len()).sum::<usize>();
        let bytes = batch.iter().map(|write| ROWS + outputs(write) + size(&write.messages)).sum();
        self.inner.drive.ask(checked, bytes, move |transaction, now| {
            each(&batch, |write| write::write(transaction, write, now))
        })
    }

    fn owned(&self, node: NodeId) -> impl Future<Output = Result<Vec<(TaskId, u64)>, Error>> + Send {
        self.inner.reader.read(|transaction| task::owned(transaction, node))
    }

    fn open_tasks(&self) -> impl Future<Output = Result<u64, Error>> + Send {
        self.inner.reader.read(task::open_tasks)
    }

    fn read(&self, tasks: Vec<TaskId>) -> impl Future<Output = Result<Vec<Option<Stored>>, Error>> + Send {
        let read = self.inner.reader.read(|transaction| task::read(transaction, &tasks));
        ready(read.into_inner().map(aside::told))
    }

    fn payloads(
        &self,
        keys: Vec<PayloadKey>,
    ) -> impl Future<Output = Result<Vec<Option<Payload>>, Error>> + Send {
        let read = |transaction: &_| keys.iter().map(|key| task::payload(transaction, *key)).collect();
        self.inner.reader.read(read)
    }

    fn history_behind(
        &self,
        task: TaskId,
        revision: u64,
    ) -> impl Future<Output = Result<Vec<Entry>, Error>> + Send {
        self.inner.reader.read(move |transaction| write::history_behind(transaction, task, revision))
    }
}

impl Mailbox for Sqlite {
    fn post(&self, batch: Vec<Message>) -> impl Future<Output = Result<Vec<Posted>, Error>> + Send {
        let checked = batch.iter().try_for_each(Message::check);
        let bytes = batch.iter().map(|message| ROWS + message.body.len()).sum();
        self.inner.drive.ask(checked, bytes, move |transaction, _| {
            batch.iter().map(|message| mail::post(transaction, message)).collect()
        })
    }

    fn unread(&self, node: NodeId, most: usize) -> impl Future<Output = Result<Vec<Mail>, Error>> + Send {
        self.inner.reader.read(|transaction| mail::unread_by(transaction, node, most))
    }

    fn unread_of(&self, tasks: Vec<TaskId>) -> impl Future<Output = Result<Vec<Mail>, Error>> + Send {
        self.inner.reader.read(|transaction| {
            let mail = tasks.iter().map(|task| mail::unread(transaction, *task));
            mail.collect::<rusqlite::Result<Vec<_>>>().map(|mail| mail.concat())
        })
    }
}

impl Parked for Sqlite {
    fn claim_parked(
        &self,
        node: NodeId,
        service: Arc<str>,
        from: Time,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Claimed>, Error>> + Send {
        let claim = move |transaction: &_, now| parked::claim(transaction, node, &service, from, most, now);
        let asked = self.inner.drive.ask(Ok(()), ROWS, claim);
        async move { asked.await.map(aside::told) }
    }

    fn parked(&self) -> impl Future<Output = Result<Vec<(Arc<str>, u64)>, Error>> + Send {
        self.inner.reader.read(parked::services)
    }
}

impl Circuits for Sqlite {
    fn circuits(&self) -> impl Future<Output = Result<Vec<Circuit>, Error>> + Send {
        self.inner.reader.read(circuit::all)
    }

    fn keep(&self, batch: Vec<Circuit>) -> impl Future<Output = Result<Vec<Kept>, Error>> + Send {
        let bytes = batch.iter().map(|circuit| ROWS + circuit.body.len()).sum();
        self.inner.drive.ask(Ok(()), bytes, move |transaction, _| {
            batch.iter().map(|circuit| circuit::keep(transaction, circuit)).collect()
        })
    }
}

impl Outbox for Sqlite {
    fn send(&self, batch: Vec<Outgoing>) -> impl Future<Output = Result<Vec<Sent>, Error>> + Send {
        let checked = batch.iter().try_for_each(Outgoing::check);
        self.inner.drive.ask(checked, size(&batch), move |transaction, now| {
            batch.iter().map(|message| outbox::send(transaction, message, now)).collect()
        })
    }

    /// What is not there is found out without a write: it is looked for again and again.
    fn undelivered(
        &self,
        kind: OutboxKind,
        most: usize,
        hold: Duration,
    ) -> impl Future<Output = Result<Handed, Error>> + Send {
        let now = self.inner.clock.now();
        let looked = self.inner.reader.read(|transaction| outbox::look(transaction, kind, now)).into_inner();
        async move {
            match looked? {
                (false, next) => Ok(Handed { messages: Vec::new(), next }),
                (true, _) => {
                    let hand_out =
                        move |transaction: &_, now| outbox::hand_out(transaction, kind, most, now, hold);
                    self.inner.drive.ask(Ok(()), ROWS, hand_out).await
                }
            }
        }
    }

    fn settle(&self, batch: Vec<(OutboxId, Settled)>) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drive.ask(Ok(()), ROWS, move |transaction, now| {
            batch.iter().try_for_each(|settled| outbox::settle(transaction, *settled, now))?;
            outbox::forget(transaction, now)
        })
    }

    fn undeliverable(
        &self,
        kind: OutboxKind,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Undelivered>, Error>> + Send {
        self.inner.reader.read(|transaction| outbox::given_up(transaction, kind, most))
    }
}

impl Schedules for Sqlite {
    fn schedules(&self) -> impl Future<Output = Result<Vec<Schedule>, Error>> + Send {
        self.inner.reader.read(schedule::all)
    }

    fn schedule(&self, name: Arc<str>) -> impl Future<Output = Result<Option<Schedule>, Error>> + Send {
        self.inner.reader.read(|transaction| schedule::one(transaction, &name))
    }

    fn upcoming(&self, most: usize) -> impl Future<Output = Result<Vec<Schedule>, Error>> + Send {
        self.inner.reader.read(|transaction| schedule::upcoming(transaction, most))
    }

    fn put(&self, batch: Vec<Schedule>) -> impl Future<Output = Result<Vec<Put>, Error>> + Send {
        let checked = batch.iter().try_for_each(Schedule::check);
        let bytes = batch.iter().map(|schedule| ROWS + schedule.body.len()).sum();
        self.inner.drive.ask(checked, bytes, move |transaction, _| {
            batch.iter().map(|schedule| schedule::put(transaction, schedule)).collect()
        })
    }

    fn remove(&self, name: Arc<str>) -> impl Future<Output = Result<bool, Error>> + Send {
        self.inner.drive.ask(Ok(()), ROWS, move |transaction, _| schedule::remove(transaction, &name))
    }
}

impl WorkflowTexts for Sqlite {
    fn workflow_texts(&self) -> impl Future<Output = Result<Vec<WorkflowText>, Error>> + Send {
        self.inner.reader.read(text::all)
    }

    fn put_texts(
        &self,
        batch: Vec<WorkflowText>,
    ) -> impl Future<Output = Result<Vec<PutText>, Error>> + Send {
        let checked = batch.iter().try_for_each(WorkflowText::check);
        let bytes = batch.iter().map(|text| ROWS + text.text.len()).sum();
        self.inner.drive.ask(checked, bytes, move |transaction, now| {
            batch.iter().map(|new| text::put(transaction, new, now)).collect()
        })
    }
}

impl Listing for Sqlite {
    fn list(
        &self,
        filter: Filter,
        behind: Option<TaskId>,
        most: usize,
    ) -> impl Future<Output = Result<Listed, Error>> + Send {
        let read = self.inner.reader.read(|transaction| list::list(transaction, &filter, behind, most));
        ready(read.into_inner().map(|found| aside::told(found).pop().unwrap_or_default()))
    }
}

impl Bulks for Sqlite {
    fn bulks(&self, most: usize) -> impl Future<Output = Result<Vec<Bulk>, Error>> + Send {
        self.inner.reader.read(|transaction| bulk::all(transaction, most))
    }

    fn bulks_under_way(&self, most: usize) -> impl Future<Output = Result<Vec<Bulk>, Error>> + Send {
        self.inner.reader.read(|transaction| bulk::under_way(transaction, most))
    }

    fn bulk(&self, id: AuditId) -> impl Future<Output = Result<Option<Bulk>, Error>> + Send {
        self.inner.reader.read(|transaction| bulk::one(transaction, id))
    }

    fn put_bulk(&self, bulk: Bulk, more: Vec<TaskId>) -> impl Future<Output = Result<PutBulk, Error>> + Send {
        let (checked, bytes) = (bulk.check(&more), ROWS + bulk.body.len() + 32 * more.len());
        self.inner.drive.ask(checked, bytes, move |transaction, _| bulk::put(transaction, &bulk, &more))
    }

    fn bulk_tasks(
        &self,
        id: AuditId,
        from: u64,
        most: usize,
    ) -> impl Future<Output = Result<Vec<TaskId>, Error>> + Send {
        self.inner.reader.read(|transaction| bulk::tasks(transaction, id, from, most))
    }
}

impl AuditLog for Sqlite {
    fn log(&self, batch: Vec<Audit>) -> impl Future<Output = Result<(), Error>> + Send {
        let checked = batch.iter().try_for_each(Audit::check);
        let bytes = batch.iter().map(|entry| ROWS + entry.detail.len()).sum();
        self.inner.drive.ask(checked, bytes, move |transaction, now| {
            batch.iter().try_for_each(|entry| audit::log(transaction, entry, now))
        })
    }

    fn audited(&self, id: AuditId) -> impl Future<Output = Result<Option<Audited>, Error>> + Send {
        self.inner.reader.read(|transaction| audit::one(transaction, id))
    }

    fn audits(
        &self,
        task: Option<TaskId>,
        before: Option<AuditId>,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Audited>, Error>> + Send {
        self.inner.reader.read(|transaction| audit::entries(transaction, task, before, most))
    }
}

impl Overdue for Sqlite {
    fn overdue(
        &self,
        behind: Option<Overdued>,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Overdued>, Error>> + Send {
        let now = self.inner.clock.now();
        self.inner.reader.read(|transaction| task::overdue(transaction, behind, most, now))
    }
}

impl Nodes for Sqlite {
    fn now(&self) -> impl Future<Output = Result<Time, Error>> + Send {
        ready(Ok(self.inner.clock.now()))
    }

    fn renew(&self, node: NodeId, lease: Duration) -> impl Future<Output = Result<Time, Error>> + Send {
        let renew = move |transaction: &_, now: Time| node::renew(transaction, node, now + lease);
        self.inner.drive.ask(Ok(()), ROWS, renew)
    }

    fn leave(&self, node: NodeId) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drive.ask(Ok(()), ROWS, move |transaction, _| node::leave(transaction, node))
    }
}
