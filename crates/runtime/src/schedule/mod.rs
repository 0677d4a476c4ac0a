//! Recurring work: what is declared, listed and stopped, and the loop that begins its runs.
//!
//! A run is a submission under the key `schedule@instant`. Whoever fires it submits first and moves the schedule on after
//! that, by its version: a crash between the two, or another node at the same work, gives the first task back and begins
//! nothing twice. Which instants there are, and which of them are fired, says [`steadfast_engine::schedule`].

mod door;
mod fire;
mod record;
mod watch;
mod zone;

use std::sync::Arc;

use steadfast_engine::Time;
pub use steadfast_engine::schedule::{BadExpression, Missed, Overlap, Rules, When};
use steadfast_store::{Payload, TaskId};
use tokio::sync::Notify;

use crate::workflow::Workflow;
use record::Stated;
pub(crate) use watch::watch;
pub use zone::{TimeZone, UnknownZone};

/// Recurring work that somebody declares.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// What is run.
    pub workflow: Arc<Workflow>,
    /// Whose tasks these are; empty when nobody says.
    pub namespace: Arc<str>,
    /// What each run is to work on.
    pub input: Payload,
    /// When.
    pub rules: Rules,
    /// Whose wall clock it goes by.
    pub zone: TimeZone,
    /// What is done when the run before has not ended.
    pub overlap: Overlap,
}

/// What became of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declared {
    /// There was none of this name.
    New,
    /// It was declared so before: nothing has changed.
    Same,
    /// It has taken the place of another one.
    Changed,
}

/// A schedule as it stands.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Status {
    /// What it is called.
    pub name: Arc<str>,
    /// What it runs.
    pub workflow: Arc<str>,
    /// In which version.
    pub version: u32,
    /// Whose tasks these are.
    pub namespace: Arc<str>,
    /// When, as it was written.
    pub when: Arc<str>,
    /// Whose wall clock it goes by.
    pub zone: Arc<str>,
    /// What is done about runs that were missed.
    pub missed: Missed,
    /// What is done when the run before has not ended.
    pub overlap: Overlap,
    /// Since when it is paused, if it is.
    pub paused_since: Option<Time>,
    /// Its next instant; `None` if there are no more.
    pub next: Option<Time>,
    /// An instant whose run waits for the end of the one before.
    pub queued: Option<Time>,
    /// The last run that was begun.
    pub last: Option<LastRun>,
    /// Why the last run could not be begun, if it could not.
    pub last_error: Option<LastError>,
    /// How many runs were begun.
    pub runs: u64,
    /// How many were missed, and not made up for.
    pub skipped_missed: u64,
    /// How many were skipped since the one before had not ended.
    pub skipped_overlap: u64,
    stated: Stated,
}

/// A run that was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastRun {
    /// Its instant.
    pub instant: Time,
    /// Its task.
    pub task: TaskId,
    /// When it was begun.
    pub at: Time,
}

/// A run that could not be begun.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastError {
    /// Its instant.
    pub instant: Time,
    /// Why, in words.
    pub message: String,
}

impl Status {
    /// Its next instants, at most so many: from the next one on, also while it is paused. None if this program does not know
    /// its time zone.
    #[must_use]
    pub fn upcoming(&self, most: usize) -> Vec<Time> {
        let Ok((rules, zone)) = self.stated.meaning() else { return Vec::new() };
        let later = self.next.into_iter().flat_map(|next| rules.instants_after(&zone, next));
        self.next.into_iter().chain(later).take(most).collect()
    }
}

/// Wakes the loop.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    changed: Notify,
    time: Notify,
}

impl Bell {
    /// Schedules have changed.
    fn has_changed(&self) {
        self.changed.notify_one();
    }

    /// The store has told its time, which may have been set ahead.
    pub(crate) fn time_was_told(&self) {
        self.time.notify_one();
    }
}
