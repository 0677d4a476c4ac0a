//! What Steadfast asks of a state store: the records, which writes are atomic, and who may write what.
//!
//! A store is cut into small traits, one for each job: [`Tasks`], [`Mailbox`], [`Outbox`], [`Schedules`], [`Listing`], [`Bulks`], [`AuditLog`], [`Overdue`], [`Nodes`],
//! [`Replies`], [`Intake`], [`Retention`], [`Backup`], [`Verify`], [`Transfer`], [`WorkflowTexts`]. All of them take
//! batches, and each call is one round trip and one durable transaction; within it every item succeeds or is refused
//! alone. When a call returns `Ok`, what it did survives the loss of power. When it returns an error, nobody knows
//! whether it was done: read the tasks again.
//!
//! Time is the store's own ([`Nodes::now`]) and never goes back.
//!
//! [`Memory`] is the reference: it keeps every promise but survival. With the feature `conformance` the suite that all
//! stores pass is in the module `conformance`.

mod audit;
mod bulk;
mod error;
#[cfg(feature = "failpoints")]
#[doc(hidden)]
pub mod failpoint;
mod house;
mod id;
mod label;
mod list;
mod memory;
mod outbox;
mod record;
mod reply;
mod text;
mod whole;
mod write;

#[cfg(feature = "conformance")]
#[expect(clippy::panic, reason = "a suite of tests: what a store does not keep must fail the test")]
pub mod conformance;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

pub use audit::{Audit, Audited, MAX_REASON};
pub use bulk::{Bulk, MAX_ADDED, PutBulk};
pub use error::{Error, Kind};
pub use house::{
    BackedUp, Backup, Cleaned, Expired, Finding, FindingKind, MAX_FINDINGS, Retention, Transfer, Verified,
    Verify,
};
pub use id::{AuditId, BadId, NodeId, TaskId};
pub use label::{Labels, MAX_LABEL, MAX_LABELS};
pub use list::{Filter, Listed};
pub use memory::Memory;
pub use outbox::{
    FORGOTTEN_AT_ONCE, Handed, KEYS_KEPT, OutboxId, OutboxKind, Outgoing, Sent, Settled, UNDELIVERABLE_KEPT,
    Undelivered,
};
pub use record::{
    Circuit, Claimed, Entry, Kept, Mail, MailId, Message, Overdued, Payload, PayloadKey, Posted, Put,
    Schedule, Stored, Submission, SubmissionMore, Submitted,
};
pub use reply::{
    Addressed, Arrival, ArrivalId, HandedReplies, Intake, Replies, Reply, ReplyId, ReplyPlace, ReplyQueue,
};
pub use text::{PutText, WorkflowText, WorkflowTexts};
pub use whole::{Brought, Letter, Whole, key_taken};
pub use write::{Guard, Hold, Refusal, Write, Written};

use steadfast_engine::Time;

/// A point at which a test can have the process die. Nothing at all without the feature `failpoints`.
#[cfg(feature = "failpoints")]
#[doc(hidden)]
#[macro_export]
macro_rules! failpoint {
    ($name:literal) => {
        $crate::failpoint::hit($name)
    };
    ($name:literal, if $passes:expr) => {
        if $passes {
            $crate::failpoint::hit($name)
        }
    };
}
/// A point at which a test can have the process die. Nothing at all without the feature `failpoints`.
#[cfg(not(feature = "failpoints"))]
#[doc(hidden)]
#[macro_export]
macro_rules! failpoint {
    ($name:literal) => {};
    ($name:literal, if $passes:expr) => {
        // Looked at, so that it is not unused; never evaluated.
        let _ = || $passes;
    };
}

/// The most bytes of one input, output or message.
pub const MAX_PAYLOAD: usize = 1 << 20;
/// What a message may have beside the payload that it brings: names, ids, numbers.
pub const MAX_ENVELOPE: usize = 1 << 10;
/// The longest key of a submission, in bytes.
pub const MAX_KEY: usize = 200;
/// The most bytes of a schedule, with the input of its runs: it is read and written each time that one begins.
pub const MAX_SCHEDULE: usize = 64 << 10;

/// Tasks: submitted, claimed, written, read.
pub trait Tasks {
    /// Stores tasks, each with all of its rows and its input, before anything of it runs. A key that the same workflow of
    /// the same namespace has seen gives the first task back. Inputs are equal byte for byte: the same JSON with other
    /// spaces, or its names in another order, is another input. A task that is to start later is due from then on, and not
    /// before.
    fn submit(&self, batch: Vec<Submission>) -> impl Future<Output = Result<Vec<Submitted>, Error>> + Send;

    /// Gives a node tasks that nobody works on, at most so many, longest waiting first: those that are not at rest, whose
    /// owner is none or dead, and which are due or have mail; and those at rest that have mail. Each claim raises the task's epoch by one: what an
    /// earlier owner writes from then on is refused.
    ///
    /// A node never gets its own tasks, not when its lease has ended either: it works on them, and would rob itself of them
    /// for as long as its clock runs ahead. What it owns it learns by [`Tasks::owned`].
    ///
    /// A task that cannot be read, because its rows are damaged, does not stand in the way of the rest: the store tells of
    /// it in the log and sets it aside. It is not claimed and not overdue until it is tried again, within the hour; once it
    /// can be read, it is claimed as one whose owner died.
    fn claim(&self, node: NodeId, most: usize) -> impl Future<Output = Result<Vec<Claimed>, Error>> + Send;

    /// Carries writes out, each alone: its guard is checked first, and it is done as a whole or refused as a whole.
    /// Each that is done raises the task's revision by one, and is an entry of its history if it does more than let go of
    /// the task ([`Write::has_entry`]).
    fn write(&self, batch: Vec<Write>) -> impl Future<Output = Result<Vec<Written>, Error>> + Send;

    /// The tasks that a node owns and that are not at rest, or have mail, each with its epoch: for one that does not know what
    /// became of its claim.
    fn owned(&self, node: NodeId) -> impl Future<Output = Result<Vec<(TaskId, u64)>, Error>> + Send;

    /// How many tasks are not at rest.
    fn open_tasks(&self) -> impl Future<Output = Result<u64, Error>> + Send;

    /// Tasks as they are; `None` for one that does not exist. One that cannot be read is an error to who asks for it alone;
    /// among others it is `None`, and told of in the log.
    fn read(&self, tasks: Vec<TaskId>) -> impl Future<Output = Result<Vec<Option<Stored>>, Error>> + Send;

    /// What was stored of a task beside its rows; `None` where there is nothing.
    fn payloads(
        &self,
        keys: Vec<PayloadKey>,
    ) -> impl Future<Output = Result<Vec<Option<Payload>>, Error>> + Send;

    /// What happened to a task, oldest first. Folded over the task as it was submitted it gives the rows. Revisions are
    /// left out in it where only the hold changed.
    fn history(&self, task: TaskId) -> impl Future<Output = Result<Vec<Entry>, Error>> + Send {
        self.history_behind(task, 0)
    }

    /// What happened to a task since this revision, oldest first. It costs no more than what is read.
    fn history_behind(
        &self,
        task: TaskId,
        revision: u64,
    ) -> impl Future<Output = Result<Vec<Entry>, Error>> + Send;
}

/// What comes to a task from outside. Its owner acts on it in the write that consumes it.
pub trait Mailbox {
    /// Posts messages. One is refused if its task does not exist, or is at rest and the message does not say that it may be. One
    /// that an operator has asked for under the same id is not stored twice.
    fn post(&self, batch: Vec<Message>) -> impl Future<Output = Result<Vec<Posted>, Error>> + Send;

    /// Unread mail of the tasks that a node owns, oldest first within a task, at most so many.
    fn unread(&self, node: NodeId, most: usize) -> impl Future<Output = Result<Vec<Mail>, Error>> + Send;

    /// All unread mail of these tasks, oldest first within a task.
    fn unread_of(&self, tasks: Vec<TaskId>) -> impl Future<Output = Result<Vec<Mail>, Error>> + Send;
}

/// Tasks that wait for a service whose breaker is open. Nobody holds them, and they cost nothing while they wait.
pub trait Parked {
    /// Gives a node tasks that are parked on a service, that nobody works on and whose deadline, if they have one, is not
    /// before `from`; at most so many: highest priority first, then nearest deadline, those without one last and oldest
    /// first. It is a claim like any other. When their time has come, or mail, they can be had by [`Tasks::claim`] too.
    fn claim_parked(
        &self,
        node: NodeId,
        service: Arc<str>,
        from: Time,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Claimed>, Error>> + Send;

    /// The services on which tasks are parked, with how many that nobody works on, by name.
    fn parked(&self) -> impl Future<Output = Result<Vec<(Arc<str>, u64)>, Error>> + Send;
}

/// What is known of services' circuits: it outlives the process, and all nodes go by it.
pub trait Circuits {
    /// All of them, by service.
    fn circuits(&self) -> impl Future<Output = Result<Vec<Circuit>, Error>> + Send;

    /// Writes circuits, each alone: only if its version is the one that stands. Each that is done raises it by one.
    fn keep(&self, batch: Vec<Circuit>) -> impl Future<Output = Result<Vec<Kept>, Error>> + Send;
}

/// Messages that go out of the house. They are delivered at least once: whoever gets one may get it again.
///
/// A message that belongs to a change of a task is part of that write ([`Write::messages`], [`Submission::messages`]): there
/// is never one without the other. What has arrived is deleted, so that the outbox is as large as what is still to be done.
/// Only the key of a message that had one is remembered for a day: otherwise a node that comes late with the same news
/// would send it again.
pub trait Outbox {
    /// Stores messages that belong to no task's write, each alone: one whose key was seen before is not stored.
    fn send(&self, batch: Vec<Outgoing>) -> impl Future<Output = Result<Vec<Sent>, Error>> + Send;

    /// Hands out messages of a kind that are due, at most so many, longest due first: nobody else gets them for this long,
    /// nor those that come after them for the same task. Whoever does not say in time what became of one
    /// ([`Outbox::settle`]) is taken to have failed, and it is handed out again.
    ///
    /// One that waits to be tried again holds back those that came after it for the same task, and no others; one that was
    /// given up holds back nobody.
    fn undelivered(
        &self,
        kind: OutboxKind,
        most: usize,
        hold: Duration,
    ) -> impl Future<Output = Result<Handed, Error>> + Send;

    /// Says what became of messages. What was said before of one that has arrived, or was given up, stays. Forgets beside it
    /// what was kept for long enough.
    fn settle(&self, batch: Vec<(OutboxId, Settled)>) -> impl Future<Output = Result<(), Error>> + Send;

    /// Messages of a kind that were given up, oldest first, at most so many.
    fn undeliverable(
        &self,
        kind: OutboxKind,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Undelivered>, Error>> + Send;
}

/// Recurring work. Who fires a run submits its task first and then moves the schedule on: a crash between the two is followed
/// by the same submission, under the same key.
pub trait Schedules {
    /// All of them, by name.
    fn schedules(&self) -> impl Future<Output = Result<Vec<Schedule>, Error>> + Send;

    /// The schedule of this name, if there is one.
    fn schedule(&self, name: Arc<str>) -> impl Future<Output = Result<Option<Schedule>, Error>> + Send;

    /// Those that somebody has to look at, soonest first, by name within one moment, at most so many; those whose time has
    /// not come too, so that one call says what to do and how long to wait.
    fn upcoming(&self, most: usize) -> impl Future<Output = Result<Vec<Schedule>, Error>> + Send;

    /// Writes schedules, each alone: only if its version is the one that stands. Each that is done raises it by one.
    fn put(&self, batch: Vec<Schedule>) -> impl Future<Output = Result<Vec<Put>, Error>> + Send;

    /// Removes the schedule of this name; whether there was one. Tasks that it has begun go on. A new one of this name goes on
    /// with the count of versions: whoever still holds the old one cannot write it over the new one.
    fn remove(&self, name: Arc<str>) -> impl Future<Output = Result<bool, Error>> + Send;
}

/// Looking for tasks, for people: none of what a node does by itself needs it.
pub trait Listing {
    /// Tasks that match, newest id first, at most so many, behind the given one. One call looks at no more than takes some
    /// milliseconds: [`Listed::behind`] says where to look on.
    fn list(
        &self,
        filter: Filter,
        behind: Option<TaskId>,
        most: usize,
    ) -> impl Future<Output = Result<Listed, Error>> + Send;
}

/// Many tasks of which an operator asks the same. Which ones is fixed before anything is asked of them.
pub trait Bulks {
    /// The newest of them, at most so many.
    fn bulks(&self, most: usize) -> impl Future<Output = Result<Vec<Bulk>, Error>> + Send;

    /// Those that are under way, at most so many, the oldest first.
    fn bulks_under_way(&self, most: usize) -> impl Future<Output = Result<Vec<Bulk>, Error>> + Send;

    /// The one of this id, if there is one.
    fn bulk(&self, id: AuditId) -> impl Future<Output = Result<Option<Bulk>, Error>> + Send;

    /// Writes one, only if its version is the one that stands, and adds tasks behind those that it has. What it says of their
    /// number has no meaning: the store counts.
    fn put_bulk(&self, bulk: Bulk, more: Vec<TaskId>) -> impl Future<Output = Result<PutBulk, Error>> + Send;

    /// The tasks of one in their order, from this place on, at most so many.
    fn bulk_tasks(
        &self,
        id: AuditId,
        from: u64,
        most: usize,
    ) -> impl Future<Output = Result<Vec<TaskId>, Error>> + Send;
}

/// What operators have done. An entry that is about one task is part of the write that did it ([`Write::audits`]).
pub trait AuditLog {
    /// Stores entries that belong to no task's write, each alone; one whose id is there is not stored again.
    fn log(&self, batch: Vec<Audit>) -> impl Future<Output = Result<(), Error>> + Send;

    /// The entry of this id, once it is there.
    fn audited(&self, id: AuditId) -> impl Future<Output = Result<Option<Audited>, Error>> + Send;

    /// Entries, newest first, at most so many: of one task or of all, older than the given one.
    fn audits(
        &self,
        task: Option<TaskId>,
        before: Option<AuditId>,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Audited>, Error>> + Send;
}

/// What is past its time, for the supervisor. Its cost follows what is overdue, not what is well.
pub trait Overdue {
    /// Attempts past their complete-by and tasks past their deadline, longest overdue first, at most so many; only those
    /// behind the given one, so that what nobody here can recover does not stand in the way of the rest.
    fn overdue(
        &self,
        behind: Option<Overdued>,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Overdued>, Error>> + Send;
}

/// Nodes and their leases, by the store's clock.
pub trait Nodes {
    /// The time.
    fn now(&self) -> impl Future<Output = Result<Time, Error>> + Send;

    /// Takes or renews a node's lease for this long; returns its end. A node whose lease has ended is dead: its tasks can
    /// be claimed by others. It may come back, and has lost what was claimed.
    fn renew(&self, node: NodeId, lease: Duration) -> impl Future<Output = Result<Time, Error>> + Send;

    /// Gives a node's lease up, and all of its tasks to others. Whoever comes back does so under an id of its own.
    fn leave(&self, node: NodeId) -> impl Future<Output = Result<(), Error>> + Send;
}

/// A whole store.
pub trait Store:
    Tasks
    + Mailbox
    + Parked
    + Circuits
    + Outbox
    + Schedules
    + Listing
    + Bulks
    + AuditLog
    + Overdue
    + Nodes
    + Replies
    + Intake
    + Retention
    + Backup
    + Verify
    + Transfer
    + WorkflowTexts
    + Send
    + Sync
    + 'static
{
}

impl<S> Store for S where
    S: Tasks
        + Mailbox
        + Parked
        + Circuits
        + Outbox
        + Schedules
        + Listing
        + Bulks
        + AuditLog
        + Overdue
        + Nodes
        + Replies
        + Intake
        + Retention
        + Backup
        + Verify
        + Transfer
        + WorkflowTexts
        + Send
        + Sync
        + 'static
{
}
