//! Replies to those who submitted, and what they hand in.

use std::fmt;
use std::future::Future;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::{StepId, Time};

use crate::error::Error;
use crate::id::{BadId, TaskId};
use crate::outbox::Settled;
use crate::record::Payload;

/// A reply, everywhere and for ever: the task, and the reply's number among all of that task, from 1. Each delivery carries the
/// same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplyId {
    /// Which task it is about.
    pub task: TaskId,
    /// Its number.
    pub number: u64,
}

impl fmt::Display for ReplyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.task, self.number)
    }
}

/// As it is shown, so that an id in a log can be looked for.
impl fmt::Debug for ReplyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ReplyId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let (task, number) = text.split_once('.').ok_or(BadId)?;
        Ok(Self { task: task.parse()?, number: number.parse().map_err(|_| BadId)? })
    }
}

/// Whom a message is for that is a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addressed {
    /// The address.
    pub address: Arc<str>,
    /// Its number among all replies of its task, from 1.
    pub number: u64,
    /// What is kept at this place of the task goes with it, as it is once the write is done.
    pub brings: Option<StepId>,
    /// Set for news that the next news make worthless: it takes the place of one of its sort that nobody has had yet, and is left
    /// out where so many messages wait for the address.
    pub unless: Option<u64>,
}

/// To whom a task replies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyPlace {
    /// The address.
    pub address: Arc<str>,
    /// What is kept at [`StepId::OF_REPLIES`].
    pub kept: Payload,
    /// The submission is refused where so many messages wait for the address.
    pub most: u64,
}

/// A reply that was handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The same each time.
    pub id: ReplyId,
    /// When it was stored.
    pub at: Time,
    /// How often it was handed out, this time included.
    pub tries: u32,
    /// What it says.
    pub body: Payload,
    /// What was kept of the task when it was stored, if it brings something.
    pub brings: Option<Payload>,
}

/// Replies that somebody has for a while.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandedReplies {
    /// They, at most one of a task.
    pub replies: Vec<Reply>,
    /// When there is something to look for again, as far as the store knows: these too, if nobody settles them.
    pub next: Option<Time>,
}

/// An address to which replies wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyQueue {
    /// The address.
    pub address: Arc<str>,
    /// How many.
    pub waiting: u64,
}

/// The place of a submission among all that were handed in: it only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArrivalId(pub u64);

/// A submission that was handed in. Nobody has looked at it: all of it may make no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its place.
    pub id: ArrivalId,
    /// The task's id, if whoever handed it in has chosen one; words where it is none.
    pub task: Result<Option<TaskId>, String>,
    /// Whose task it is.
    pub namespace: Arc<str>,
    /// Which workflow.
    pub workflow: Arc<str>,
    /// Which version of it; the newest that is known if nobody says.
    pub version: Option<u32>,
    /// Under the same key the same workflow of the same namespace runs once.
    pub key: Option<Arc<str>>,
    /// A higher one goes first.
    pub priority: i8,
    /// What it is to work on, as JSON.
    pub input: Payload,
    /// When it is to start, if that is later.
    pub start_at: Option<Time>,
    /// To whom it replies.
    pub reply_to: Option<Arc<str>>,
    /// What whoever handed it in knows it by.
    pub correlation: Option<Arc<str>>,
}

/// Replies to those who submitted, by their address. A task's replies are stored in its own writes, with its number each
/// ([`Outgoing::to`](crate::Outgoing::to)). They are delivered at least once; of a task, none before the one in front of it is acknowledged.
pub trait Replies {
    /// Hands out replies to an address that are due, at most so many, longest due first, of each task only the first: nobody else
    /// gets them for this long. Whoever does not settle one in time is taken to have died over it, and it is handed out again.
    fn take_replies(
        &self,
        address: Arc<str>,
        most: usize,
        hold: Duration,
    ) -> impl Future<Output = Result<HandedReplies, Error>> + Send;

    /// Says what became of replies that were handed out; how many of them it still had. What was delivered is deleted, and the
    /// next one of its task has its turn. One that was never handed out is left alone. None is ever given up.
    fn settle_replies(
        &self,
        batch: Vec<(ReplyId, Settled)>,
    ) -> impl Future<Output = Result<usize, Error>> + Send;

    /// All addresses to which replies wait, by name.
    fn reply_queues(&self) -> impl Future<Output = Result<Vec<ReplyQueue>, Error>> + Send;
}

/// Submissions that others have written into the store, in transactions of their own. A node takes them by
/// [`Tasks::submit`](crate::Tasks::submit) with [`SubmissionMore::arrival`](crate::SubmissionMore::arrival): the task is stored and the row is gone in one write.
pub trait Intake {
    /// Whether somebody else can write into the store, so that it is worth looking.
    fn has_outsiders(&self) -> bool;

    /// A number that is another one once somebody has written, perhaps this program: asked for many times in a second, so that it
    /// must cost next to nothing.
    fn version(&self) -> impl Future<Output = Result<u64, Error>> + Send;

    /// What was handed in and not taken, oldest first, at most so many, behind the given one.
    fn arrivals(
        &self,
        behind: Option<ArrivalId>,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Arrival>, Error>> + Send;

    /// For how long in all writes have waited because others held the store.
    fn held_up(&self) -> Duration;

    /// Whether others hold the store, or did a moment ago. Nobody can write then, so that nobody can have taken a lease or a task
    /// from anybody either: the store makes all leases longer by the time that it was held.
    fn is_held_up(&self) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_written() {
        let id = ReplyId { task: TaskId::from_u128(7), number: 3 };
        assert_eq!(id.to_string(), "00000000-0000-0000-0000-000000000007.3");
        assert_eq!(id.to_string().parse(), Ok(id));
        for bad in
            ["", "7.3", "00000000-0000-0000-0000-000000000007", "00000000-0000-0000-0000-000000000007.x"]
        {
            assert_eq!(bad.parse::<ReplyId>(), Err(BadId), "{bad}");
        }
    }
}
