//! State changes as events: told in their order to every listener, outside of all locks.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::State;
use super::trip::Trip;
use crate::clock::Moment;
use crate::log;
use crate::sync::{Mutex, lock};
use crate::telemetry;

/// One state change.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Change {
    /// The breaker's name.
    pub breaker: Arc<str>,
    /// Counts this breaker's changes, from 1.
    pub sequence: u64,
    /// When.
    pub at: Moment,
    /// The state before.
    pub from: State,
    /// The state now.
    pub to: State,
    /// How long it stays open now; `None` when it is not open, or has no end.
    pub open_for: Option<Duration>,
    /// Why.
    pub cause: ChangeCause,
}

/// Why a state changed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ChangeCause {
    /// A rule was broken, or a probe failed.
    Tripped(Arc<Trip>),
    /// The open time is over.
    ProbeDue,
    /// A health check found the service up.
    FoundUp,
    /// Enough probes succeeded.
    Recovered,
    /// An operator asked for it.
    Operator(Override),
    /// Another instance said so.
    Elsewhere,
}

/// Who set a state by hand, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// Who did it.
    pub who: String,
    /// Why.
    pub why: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "circuit `{}`: {} -> {}", self.breaker, self.from, self.to)?;
        if let Some(time) = self.open_for {
            write!(f, " for {time:.1?}")?;
        }
        f.write_str(" (")?;
        match &self.cause {
            ChangeCause::Tripped(trip) => write!(f, "{trip})"),
            ChangeCause::ProbeDue => f.write_str("the open time is over)"),
            ChangeCause::FoundUp => f.write_str("a health check found the service up)"),
            ChangeCause::Recovered => f.write_str("probes succeeded)"),
            ChangeCause::Operator(by) => write!(f, "{}: {})", by.who, by.why),
            ChangeCause::Elsewhere => f.write_str("another instance said so)"),
        }
    }
}

/// Told of every state change.
pub type Listener = Arc<dyn Fn(&Change) + Send + Sync>;

/// Hands changes to listeners one at a time and in order, whoever made them.
#[derive(Default)]
pub(super) struct Announcer {
    listeners: Mutex<Vec<Listener>>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    changes: VecDeque<Change>,
    /// Somebody is telling: they will take what comes in meanwhile.
    telling: bool,
}

impl Announcer {
    pub(super) fn listen(&self, listener: Listener) {
        lock(&self.listeners).push(listener);
    }

    /// Queues a change. Called under the breaker's own lock, so that the order is that of the changes.
    pub(super) fn queue(&self, change: Change) {
        lock(&self.waiting).changes.push_back(change);
    }

    /// Tells what waits, unless somebody is already telling. Called without any lock.
    pub(super) fn tell(&self) {
        loop {
            let change = {
                let mut waiting = lock(&self.waiting);
                if waiting.telling {
                    return;
                }
                let Some(change) = waiting.changes.pop_front() else { return };
                waiting.telling = true;
                change
            };
            // A subscriber or listener that panics must not keep the others, or the caller, from going on.
            let _ = catch_unwind(AssertUnwindSafe(|| log::state_changed(&change)));
            let _ = catch_unwind(AssertUnwindSafe(|| telemetry::state_changed(&change)));
            let listeners = lock(&self.listeners).clone();
            for listener in listeners {
                let _ = catch_unwind(AssertUnwindSafe(|| listener(&change)));
            }
            lock(&self.waiting).telling = false;
        }
    }
}
