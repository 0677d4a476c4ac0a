//! What an operation is told about the attempt it makes.

use std::time::Duration;

use super::nesting::Nesting;
use crate::classify::Kind;
use crate::clock::Moment;
use crate::key::{CallKey, IdempotencyKey};

/// One attempt of an operation. `Copy`, so that it moves into an `async` block without ceremony.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    pub(crate) number: u32,
    pub(crate) hedge: u32,
    pub(crate) key: CallKey,
    pub(crate) deadline: Option<Moment>,
    pub(crate) time_left: Option<Duration>,
    pub(crate) server_timeout: Option<Duration>,
    pub(crate) previous: Option<Kind>,
    pub(crate) nesting: Nesting,
}

impl Attempt {
    /// Counts from 0: the first try is 0, the first retry 1.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Which request of this attempt it is: 0 but for those that a [`Hedge`](super::Hedge) makes beside the first.
    #[must_use]
    pub fn hedge(&self) -> u32 {
        self.hedge
    }

    /// The same in every attempt of this operation: send it to the service, so that a repeated request is carried out
    /// once.
    #[must_use]
    pub fn key(&self) -> IdempotencyKey {
        self.key.get()
    }

    /// When the whole operation must be done.
    #[must_use]
    pub fn deadline(&self) -> Option<Moment> {
        self.deadline
    }

    /// How long this attempt may take: its own limit, or what the deadline leaves. Blocking operations must keep it
    /// themselves.
    #[must_use]
    pub fn time_left(&self) -> Option<Duration> {
        self.time_left
    }

    /// The time limit to send with the request, for the service to honour: `server_timeout`, but not more than
    /// [`time_left`](Self::time_left).
    #[must_use]
    pub fn server_timeout(&self) -> Option<Duration> {
        match (self.server_timeout, self.time_left) {
            (Some(theirs), Some(ours)) => Some(theirs.min(ours)),
            (theirs, _) => theirs,
        }
    }

    /// How the attempt before this one failed.
    #[must_use]
    pub fn previous(&self) -> Option<Kind> {
        self.previous
    }

    /// The most calls that all layers of retries together can make of one, this one included.
    #[must_use]
    pub fn worst_case_calls(&self) -> u32 {
        self.nesting.calls
    }
}
