//! Keeping house: what is over is removed, what is there is copied, checked, and moved from one store to another.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use steadfast_engine::Time;

use crate::error::Error;
use crate::id::TaskId;
use crate::whole::{Brought, Whole};

/// The most findings that are told of one file: who has more has lost the file, and needs no longer list.
pub const MAX_FINDINGS: usize = 1_000;

/// Tasks that are over.
pub trait Retention {
    /// Removes tasks that completed or were undone before a time, oldest id first, behind the given one, at most so many: each with
    /// its steps, payloads, mail, history, and its messages that do not wait any more. One that failed rests in an operator's hands,
    /// and is never removed; nor is one with unread mail or a message that waits. The audit log stays.
    ///
    /// It looks only at ids that were made before that time: nothing ends before it is submitted. One call is one small write, which
    /// ends early rather than keep others waiting: [`Cleaned::behind`] says where to go on.
    fn clean_up(
        &self,
        expired: Expired,
        behind: Option<TaskId>,
        most: usize,
    ) -> impl Future<Output = Result<Cleaned, Error>> + Send;
}

/// A copy of the store.
pub trait Backup {
    /// Copies all that was acknowledged before this call into a new file, while work goes on. The file appears under its name only
    /// once it is whole and durable. One that exists is not touched, and is an error (`Exists`); so is a store that has no file
    /// (`Unsupported`).
    fn back_up(&self, to: PathBuf) -> impl Future<Output = Result<BackedUp, Error>> + Send;
}

/// Whether what is stored contradicts itself. Nothing is changed.
pub trait Verify {
    /// Looks at the file as such, below tasks. It can take as long as reading all of it.
    fn verify_file(&self) -> impl Future<Output = Result<Vec<Finding>, Error>> + Send;

    /// Looks at tasks behind an id, oldest first, as many as one short look takes, and at what belongs to nobody among them. What
    /// one call looks at is of one moment.
    fn verify(&self, behind: Option<TaskId>) -> impl Future<Output = Result<Verified, Error>> + Send;
}

/// Tasks with everything that belongs to them, out of one store and into another.
pub trait Transfer {
    /// Tasks as a whole, each of one moment; `None` for one that does not exist. One that cannot be read is an error.
    fn whole(&self, tasks: Vec<TaskId>) -> impl Future<Output = Result<Vec<Option<Whole>>, Error>> + Send;

    /// Stores tasks as they [arrive](Whole::arriving), each as a whole or not at all. One that is there already is left as it is.
    fn bring(&self, batch: Vec<Whole>) -> impl Future<Output = Result<Vec<Brought>, Error>> + Send;
}

/// Which tasks are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expired {
    /// Those that ended before this.
    pub before: Time,
    /// Those that were submitted under a key and ended before this, which is no later.
    pub keys_before: Time,
}

impl Expired {
    /// How long it is until a task is over that ended then; `None` for one that is.
    #[must_use]
    pub fn over_in(&self, ended: Time, has_key: bool) -> Option<Duration> {
        let before = if has_key { self.keys_before.min(self.before) } else { self.before };
        (ended >= before).then(|| ended.since(before) + Duration::from_millis(1))
    }
}

/// What became of one clean-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Tasks that were looked at.
    pub looked_at: u64,
    /// Tasks that are gone.
    pub removed: u64,
    /// Behind which id to go on; `None` if all were looked at.
    pub behind: Option<TaskId>,
    /// How long it is until the first of those is over that have ended, and were left since their time has not come.
    pub next_in: Option<Duration>,
    /// For how long nobody else could write.
    pub took: Duration,
}

/// A copy that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackedUp {
    /// How large it is.
    pub bytes: u64,
    /// How long it took.
    pub took: Duration,
}

impl BackedUp {
    /// A copy of this size, which took so long.
    #[must_use]
    pub fn new(bytes: u64, took: Duration) -> Self {
        Self { bytes, took }
    }
}

/// Something that contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Which sort of thing.
    pub kind: FindingKind,
    /// The task that it is about.
    pub task: Option<TaskId>,
    /// What is wrong, in plain words.
    pub words: String,
}

/// Which sort of thing contradicts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FindingKind {
    /// The file itself.
    File,
    /// A row that cannot be read.
    Unreadable,
    /// A column by which a task is found says otherwise than its row.
    Column,
    /// The rows of a task are not what its history leads to.
    History,
    /// The rows of steps are not complete, or do not fit the task.
    Steps,
    /// Mail is missing, or was read before it came.
    Mail,
    /// What a task needs beside its rows is missing.
    Payload,
    /// Rows of a task that does not exist.
    Orphan,
    /// The rows cannot be those of a task of its workflow.
    Workflow,
}

impl Finding {
    /// Something that is wrong with a task.
    #[must_use]
    pub fn of_task(kind: FindingKind, task: TaskId, words: impl Into<String>) -> Self {
        Self { kind, task: Some(task), words: words.into() }
    }

    /// Something that is wrong with the file.
    #[must_use]
    pub fn of_file(words: impl Into<String>) -> Self {
        Self { kind: FindingKind::File, task: None, words: words.into() }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.task {
            Some(task) => write!(f, "task {task}: {}", self.words),
            None => f.write_str(&self.words),
        }
    }
}

/// What one look has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Tasks that were looked at.
    pub looked_at: u64,
    /// What contradicts itself.
    pub findings: Vec<Finding>,
    /// Behind which id to go on; `None` if all were looked at.
    pub behind: Option<TaskId>,
}
