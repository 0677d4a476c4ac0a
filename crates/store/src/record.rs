//! What goes in and comes out.

use std::sync::Arc;

use steadfast_engine::{Head, Record, StepId, Task, Time};

use crate::error::{Error, Kind};
use crate::id::{AuditId, NodeId, TaskId};
use crate::outbox::Outgoing;
use crate::reply::{ArrivalId, ReplyPlace};
use crate::{MAX_ENVELOPE, MAX_KEY, MAX_PAYLOAD, MAX_SCHEDULE};

/// Bytes that the store does not look into.
pub type Payload = Arc<[u8]>;

/// A task to be stored.
#[derive(Clone, Debug)]
pub struct Submission {
    /// Made by whoever submits.
    pub id: TaskId,
    /// Whose tasks these are; empty when nobody says.
    pub namespace: Arc<str>,
    /// Which workflow.
    pub workflow: Arc<str>,
    /// Which version of it.
    pub version: u32,
    /// The shape of that version, as the program had it that submitted.
    pub shape: u64,
    /// Under the same key the same workflow of the same namespace runs once.
    pub key: Option<Arc<str>>,
    /// Among those that wait for the same service, a higher one goes first; 0 when nobody says.
    pub priority: i8,
    /// What it is to work on.
    pub input: Payload,
    /// All of its rows.
    pub task: Task,
    /// Who works on it from the beginning, if somebody does: submitting and claiming are one write.
    pub owner: Option<NodeId>,
    /// What is to be told of it: stored with it, or not at all. Empty for all but those that end as they begin.
    pub messages: Vec<Outgoing>,
    /// Outputs of steps that are over as it begins, and lists. Most have none.
    pub outputs: Vec<(StepId, Payload)>,
    /// What few submissions have.
    pub more: Option<Box<SubmissionMore>>,
}

/// What few submissions have: who is replied to, the row that it was handed in by, the task that has asked for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubmissionMore {
    /// To whom the task replies.
    pub reply: Option<ReplyPlace>,
    /// The row that it was handed in by: it goes in the same write, and without it nothing is stored.
    pub arrival: Option<ArrivalId>,
    /// The task that has asked for it. For as long as that is there, this one is not removed.
    pub parent: Option<TaskId>,
}

impl Submission {
    /// Whether it is within the limits that all stores have.
    ///
    /// # Errors
    /// What is too large, and by how much.
    pub fn check(&self) -> Result<(), Error> {
        check_size("an input", self.input.len(), MAX_PAYLOAD)?;
        check_size("a key", self.key.as_ref().map_or(0, |key| key.len()), MAX_KEY)?;
        self.outputs.iter().try_for_each(|(_, output)| check_size("an output", output.len(), MAX_PAYLOAD))?;
        if let Some(reply) = self.more.as_ref().and_then(|more| more.reply.as_ref()) {
            check_size("a reply address", reply.address.len(), MAX_KEY)?;
        }
        self.messages.iter().try_for_each(Outgoing::check)
    }
}

/// What became of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// It is stored; with an owner its epoch is 1, otherwise 0.
    New,
    /// The key was seen before, with the same input, byte for byte: this is the first task.
    Seen(TaskId),
    /// The key was seen before, with another input. Nothing was stored.
    OtherInput(TaskId),
    /// A task of this very id is there: this submission was stored before.
    Again,
    /// So many messages wait for those whom it would reply to, which is too many. Nothing was stored.
    QueueFull(u64),
    /// The row that it was handed in by is not there any more: somebody else has taken it. Nothing was stored.
    Gone,
}

/// A task as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stored {
    /// Its id.
    pub id: TaskId,
    /// Whose it is.
    pub namespace: Arc<str>,
    /// Which workflow.
    pub workflow: Arc<str>,
    /// Which version of it.
    pub version: u32,
    /// The shape of that version when it was submitted: rows of one shape make no sense to another.
    pub shape: u64,
    /// The key that it was submitted under.
    pub key: Option<Arc<str>>,
    /// Among those that wait for the same service, a higher one goes first.
    pub priority: i8,
    /// The task that has asked for it.
    pub parent: Option<TaskId>,
    /// Its rows.
    pub task: Task,
    /// How often it was claimed.
    pub epoch: u64,
    /// How often it was written.
    pub revision: u64,
    /// Who works on it.
    pub owner: Option<NodeId>,
    /// When it is to be claimed again, if nobody works on it.
    pub wake_at: Time,
    /// The service whose breaker it waits for, if nobody works on it for that reason.
    pub parked_on: Option<Arc<str>>,
    /// The last mail that came.
    pub mail_last: MailId,
    /// The last mail that was read.
    pub mail_read: MailId,
    /// When it was submitted.
    pub submitted_at: Time,
}

/// A task that a node has claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// As it is now, with its new epoch.
    pub stored: Stored,
    /// Whether an owner died over it: what ran in its process has an unknown outcome.
    pub owner_died: bool,
    /// Its unread mail, oldest first.
    pub mail: Vec<Mail>,
    /// What is kept at [`StepId::OF_REPLIES`]: to whom it replies.
    pub reply: Option<Payload>,
}

/// Mail's place among all mail of its task: it only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MailId(pub u64);

/// A message to a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// For which task.
    pub task: TaskId,
    /// What it says; the store does not look into it.
    pub body: Payload,
    /// Set for what an operator asks: a task at rest is claimed for it too, and what was asked before is not stored again.
    pub asked: Option<AuditId>,
}

impl Message {
    /// A message to a task that is not at rest.
    #[must_use]
    pub fn new(task: TaskId, body: Payload) -> Self {
        Self { task, body, asked: None }
    }

    /// Whether it is within the limits that all stores have.
    ///
    /// # Errors
    /// What is too large, and by how much.
    pub fn check(&self) -> Result<(), Error> {
        check_size("a message", self.body.len(), MAX_PAYLOAD + MAX_ENVELOPE)
    }
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    /// It is stored, and the task will act on it.
    Done(MailId),
    /// The task is at rest.
    AtRest,
    /// It was asked before, under the same id.
    Again,
    /// There is no such task.
    Unknown,
}

/// A message that waits to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// Its place.
    pub id: MailId,
    /// For which task.
    pub task: TaskId,
    /// What it says.
    pub body: Payload,
}

/// Something past its time. They are in order: longest overdue first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Overdued {
    /// Since when.
    pub since: Time,
    /// Whose.
    pub task: TaskId,
    /// The attempt that has not answered; `None` for the deadline of the task.
    pub attempt: Option<(StepId, u32)>,
}

/// What is known of a service's circuit, for all nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circuit {
    /// Which service.
    pub service: Arc<str>,
    /// How often it was written: whoever writes it names the one that it has read, 0 for one that is not there yet.
    pub version: u64,
    /// What is known; the store does not look into it.
    pub body: Payload,
}

/// What became of a circuit that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It is stored; this is its version now.
    Done(u64),
    /// Somebody has written it since it was read: this is what stands, or nothing does.
    Other(Option<Circuit>),
}

/// Recurring work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// What it is called: there is one of a name.
    pub name: Arc<str>,
    /// How often it was written: whoever writes it names the one that it has read, 0 for one that is not there yet.
    pub version: u64,
    /// When somebody has to look at it; `None` if nobody ever has to.
    pub wake_at: Option<Time>,
    /// What is to run, when, and what became of it so far; the store does not look into it.
    pub body: Payload,
}

impl Schedule {
    /// Whether it is within the limits that all stores have.
    ///
    /// # Errors
    /// What is too large, and by how much.
    pub fn check(&self) -> Result<(), Error> {
        check_size("the name of a schedule", self.name.len(), MAX_KEY)?;
        check_size("a schedule, with its input,", self.body.len(), MAX_SCHEDULE)
    }
}

/// What became of a schedule that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is stored; this is its version now.
    Done(u64),
    /// Somebody has written it since it was read: this is what stands, or nothing does.
    Other(Option<Schedule>),
}

/// Which payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PayloadKey {
    /// Of which task.
    pub task: TaskId,
    /// The output of this step, or what is kept at this place beyond the steps; `None` for the task's input.
    pub step: Option<StepId>,
}

/// One write to a task, in its history. A write of the hold alone has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The task's revision from then on.
    pub revision: u64,
    /// When, by the store's clock.
    pub at: Time,
    /// The task's own row, if it changed.
    pub head: Option<Head>,
    /// The rows of steps that changed.
    pub steps: Vec<(StepId, Record)>,
}

pub(crate) fn check_size(what: &str, bytes: usize, most: usize) -> Result<(), Error> {
    if bytes <= most {
        return Ok(());
    }
    Err(Error::new(Kind::TooLarge, format!("{what} has {bytes} bytes, at most {most} are allowed")))
}
