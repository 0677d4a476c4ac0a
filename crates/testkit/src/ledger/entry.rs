//! One call in a ledger: what was asked, when, and how it ended.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::request::Request;

/// How a call ended, as the service saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ending {
    /// It has not ended yet.
    UnderWay,
    /// It was answered, with this status.
    Answered(u16),
    /// The answer broke off in its body.
    CutShort(u16),
    /// The connection was closed without an answer, as scripted.
    Dropped,
    /// The service was switched off when it came.
    Refused,
    /// The service was switched off, or stopped, while it was under way.
    Interrupted,
    /// The caller gave up: it dropped the call, or closed its connection.
    CallerLeft,
    /// A function of the script panicked, or the caller did.
    Panicked,
    /// The proxy could not get an answer from its upstream, and answered 502.
    NoUpstream,
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnderWay => f.pad("still under way"),
            Self::Answered(status) => f.pad(&format!("answered {status}")),
            Self::CutShort(status) => f.pad(&format!("answered {status}, cut short")),
            Self::Dropped => f.pad("connection dropped"),
            Self::Refused => f.pad("refused"),
            Self::Interrupted => f.pad("interrupted by the switch"),
            Self::CallerLeft => f.pad("the caller gave up"),
            Self::Panicked => f.pad("a panic ended it"),
            Self::NoUpstream => f.pad("answered 502, no upstream"),
        }
    }
}

/// One call.
#[derive(Clone, Debug)]
pub struct Entry {
    pub(super) number: u64,
    pub(super) began: Duration,
    pub(super) ended: Option<Duration>,
    pub(super) ending: Ending,
    pub(super) request: Arc<Request>,
    /// The order of beginnings and ends among all calls, because many of them can have the same time.
    pub(super) order: (u64, Option<u64>),
}

impl Entry {
    /// Counts from 0, in the order in which calls came.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// When it began, since the service was started.
    #[must_use]
    pub fn began(&self) -> Duration {
        self.began
    }

    /// When it ended, since the service was started.
    #[must_use]
    pub fn ended(&self) -> Option<Duration> {
        self.ended
    }

    /// How long it took.
    #[must_use]
    pub fn took(&self) -> Option<Duration> {
        self.ended.map(|ended| ended.saturating_sub(self.began))
    }

    /// How it ended.
    #[must_use]
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// What was asked: method, path, headers, body.
    #[must_use]
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// The idempotency key.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.request.key()
    }

    /// The attempt's number at the caller, counted from 0.
    #[must_use]
    pub fn attempt(&self) -> Option<u32> {
        self.request.attempt()
    }
}
