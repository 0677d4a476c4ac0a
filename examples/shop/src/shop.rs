//! The seam to whatever runs the workflow: an engine in this process, or a server.

use std::fmt;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;

use steadfast::{ReplyId, TaskId};

use crate::error::Error;
use crate::order::{Order, Status};

/// The name of the workflow.
pub const WORKFLOW: &str = "place-order";
/// The queue to which tasks reply.
pub const QUEUE: &str = "shop";

/// A future of the shop's.
pub type Later<'s, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 's>>;

/// Runs the workflow `place-order` and tells of it. All of it may be called at the same time.
pub trait Shop: Send + Sync {
    /// The file of the engine's store, in which the table `orders` is as well. The engine has been started there before
    /// anybody asks: `steadfast_inbox` exists.
    fn database(&self) -> &Path;

    /// Replies from the queue [`QUEUE`], at most so many, once there are any; none after a while is fine. Those that are not
    /// acknowledged come again.
    fn replies(&self, most: usize) -> Later<'_, Vec<ReplySeen>>;

    /// They were acted on, and need not come again.
    fn acknowledge(&self, replies: Vec<ReplyId>) -> Later<'_, ()>;

    /// Tasks in an operator's hands, each with the reason, the newest first. A few hundred are enough.
    fn failed(&self) -> Later<'_, Vec<FailedTask>>;

    /// Why a task does not move, in the engine's words.
    fn why(&self, task: TaskId) -> Later<'_, String>;

    /// Repairs a task. When it returns, that is stored and will be done.
    fn repair(&self, repair: Repair) -> Later<'_, ()>;

    /// Where else one can look: names and addresses, such as those of the API and of a dashboard.
    fn links(&self) -> Vec<Link> {
        Vec::new()
    }
}

/// A reply that came from the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplySeen {
    /// The same each time that it comes.
    pub id: ReplyId,
    /// What the task was submitted with: the order's number.
    pub correlation: String,
    /// What it says: `Received`, `Completed`, `Undone` or `Failed`; `None` is news that the shop does not care for.
    pub says: Option<Status>,
    /// Why, if it did not complete.
    pub words: String,
}

/// A task that an operator has to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedTask {
    /// Which one.
    pub task: TaskId,
    /// Why, in words.
    pub words: String,
}

/// What an operator does about a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// Which one.
    pub task: TaskId,
    /// The step that has failed.
    pub step: &'static str,
    /// How it is mended.
    pub how: Mend,
    /// Who does it.
    pub by: &'static str,
    /// Why.
    pub because: String,
}

/// How a step is mended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mend {
    /// It is made again, with this in the place of the task's input.
    Retry(Order),
    /// It is left out.
    Skip,
}

/// Somewhere to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// What is there.
    pub name: String,
    /// Where.
    pub url: String,
}

impl fmt::Debug for dyn Shop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shop").field("database", &self.database()).finish_non_exhaustive()
    }
}
