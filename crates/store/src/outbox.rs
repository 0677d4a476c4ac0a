//! What goes out of the house: alerts for people, replies to whoever submitted.

use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::Time;

use crate::error::Error;
use crate::id::TaskId;
use crate::record::{Payload, check_size};
use crate::reply::Addressed;
use crate::{MAX_KEY, MAX_PAYLOAD};

/// How long the key of a message that was delivered is remembered: longer than any two nodes take to tell the same thing.
pub const KEYS_KEPT: Duration = Duration::from_secs(24 * 3_600);
/// How long a message is kept that could not be delivered: long enough for somebody to look for it.
pub const UNDELIVERABLE_KEPT: Duration = Duration::from_secs(30 * 24 * 3_600);
/// The most messages whose time is over that are forgotten at once: it is done beside other work.
pub const FORGOTTEN_AT_ONCE: usize = 100;

/// A message's place among all that went out: it only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutboxId(pub u64);

/// Who is to get a message. Each has its own order, and its own way of delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum OutboxKind {
    /// Those who run the system.
    Alert,
    /// Whoever submitted the task.
    Reply,
    /// A task: it is mail to it, posted with the write that it is part of. Nothing goes out.
    Mail,
}

/// A message that is to go out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The task that it is about, or to which it is mail. Messages of one kind about one task are delivered in their order.
    pub task: Option<TaskId>,
    /// Who is to get it.
    pub kind: OutboxKind,
    /// Under the same key it is stored once, whoever sends it again, until [`KEYS_KEPT`] after it was delivered.
    pub key: Option<Arc<str>>,
    /// What it says; the store does not look into it.
    pub body: Payload,
    /// Set for a reply, which is always part of a task's write: it is not handed out with the others, but to whoever has this address
    /// ([`Replies::take_replies`](crate::Replies::take_replies)).
    pub to: Option<Box<Addressed>>,
}

impl Outgoing {
    /// Whether it is within the limits that all stores have.
    ///
    /// # Errors
    /// What is too large, and by how much.
    pub fn check(&self) -> Result<(), Error> {
        check_size("a message", self.body.len(), MAX_PAYLOAD)?;
        if let Some(to) = &self.to {
            check_size("a reply address", to.address.len(), MAX_KEY)?;
        }
        check_size("a message's key", self.key.as_ref().map_or(0, |key| key.len()), MAX_KEY)
    }
}

/// What became of a message that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is stored.
    New(OutboxId),
    /// Its key was seen before, with this message. Nothing was stored.
    Seen(OutboxId),
}

/// A message that was not delivered yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undelivered {
    /// Its place.
    pub id: OutboxId,
    /// When it was stored.
    pub at: Time,
    /// The task that it is about.
    pub task: Option<TaskId>,
    /// Who is to get it.
    pub kind: OutboxKind,
    /// What it says.
    pub body: Payload,
    /// How often it was handed out, this time included: also when whoever had it then died over it.
    pub tries: u32,
}

/// Messages that somebody is to deliver now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handed {
    /// Those that are due, and nobody else's for as long as was asked.
    pub messages: Vec<Undelivered>,
    /// When there is something to look for again, as far as the store knows: these too, if nobody says what became of them.
    pub next: Option<Time>,
}

/// What became of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It has arrived.
    Delivered,
    /// It has not: it is tried again, not before then.
    Again(Time),
    /// It has not, and is not tried any more. It is kept for [`UNDELIVERABLE_KEPT`].
    GivenUp,
}
