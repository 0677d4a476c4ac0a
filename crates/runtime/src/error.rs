//! What can go wrong for whoever asks a node for something.

use std::sync::Arc;

use steadfast_engine::Ignored;
use steadfast_store::{AuditId, TaskId};

/// Something that could not be done.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{kind}")]
pub struct Error {
    kind: ErrorKind,
    #[source]
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// Which sort of thing went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The store could not be used. Whether a submission was stored is not known.
    #[error("{}", store_words(message, *kind))]
    Store {
        /// What the store said.
        message: String,
        /// Which sort of trouble it has.
        kind: steadfast_store::Kind,
        /// Whether the same may work later without anybody doing anything.
        transient: bool,
    },
    /// A workflow that this program did not register.
    #[error("workflow `{name}` version {version} is not registered here: give it to the engine's builder")]
    UnknownWorkflow {
        /// Its name.
        name: String,
        /// Its version.
        version: u32,
    },
    /// There is no such task.
    #[error("there is no task {0}")]
    UnknownTask(TaskId),
    /// Nothing was handed in under this id, or another task has the key.
    #[error(
        "no task has id {0}, and nothing was handed in under it: the transaction was not committed; or its key was used \
         before, and the task of then is found by that key"
    )]
    NotHandedIn(TaskId),
    /// The key was used before, for another input.
    #[error("the key was used for another input, by task {0}: use a key for one submission only")]
    OtherInput(TaskId),
    /// The task has ended.
    #[error("task {0} has ended")]
    Ended(TaskId),
    /// The task has passed its point of no return.
    #[error("task {0} has passed its point of no return: it can only go forward")]
    NoReturn(TaskId),
    /// No step of the workflow waits for such a signal.
    #[error("no step of workflow `{workflow}` waits for signal `{signal}`: send one that it waits for")]
    UnknownSignal {
        /// Its name.
        signal: String,
        /// The workflow.
        workflow: String,
    },
    /// Nothing of the task waits for the signal any more.
    #[error(
        "task {task} waits for signal `{signal}` no more: it came before, its time is over, or the task is ending"
    )]
    SignalOver {
        /// The task.
        task: TaskId,
        /// Its name.
        signal: String,
    },
    /// What an operator has asked for was not done.
    #[error("task {task}: {action} was refused: {why}")]
    Refused {
        /// The task.
        task: TaskId,
        /// What was asked.
        action: String,
        /// Why it was not done.
        why: String,
    },
    /// What an operator has asked for is stored, and nobody has acted on it yet.
    #[error(
        "task {task}: {action} is stored and will be acted on, but nobody has yet: see to it that a program runs that knows the workflow; the audit log will have it as {id}"
    )]
    NotActedOn {
        /// The task.
        task: TaskId,
        /// What was asked.
        action: String,
        /// What the audit log will have it as.
        id: AuditId,
    },
    /// There is no such bulk.
    #[error("there is no bulk {0}")]
    UnknownBulk(AuditId),
    /// A bulk that cannot be begun or stopped.
    #[error("bulk {id}: {state}")]
    BulkNotNow {
        /// Which one.
        id: AuditId,
        /// Why.
        state: String,
    },
    /// Too many replies wait for those who would be told.
    #[error(
        "{waiting} replies wait for `{address}`, which is the most allowed (`replies.most_waiting`): have them read and \
         acknowledged, then submit again"
    )]
    QueueFull {
        /// The address.
        address: String,
        /// How many.
        waiting: u64,
    },
    /// A reply address that nobody can reply to.
    #[error("{0}")]
    BadReply(String),
    /// What was handed in was taken by somebody else.
    #[error("it was taken by another node")]
    TakenElsewhere,
    /// No service was given such a URL.
    #[error(
        "no service was given this URL, or the task that it was of is gone: call the URL as it was given"
    )]
    UnknownCallback,
    /// Another answer was taken at this URL.
    #[error("task {0}: another answer was taken at this URL before: it is good for one")]
    CallbackUsed(TaskId),
    /// What a service answers later comes too late.
    #[error("task {task}: the answer comes too late and changes nothing: {why}")]
    CallbackOver {
        /// The task.
        task: TaskId,
        /// Why.
        why: String,
    },
    /// What a service answers later comes when no attempt is under way.
    #[error(
        "task {task}: the attempt was given up, and the next one has not begun: call again in {} s, or answer the next request with it",
        again_in.as_secs()
    )]
    CallbackEarly {
        /// The task.
        task: TaskId,
        /// When to call again.
        again_in: std::time::Duration,
    },
    /// Too many tasks are open.
    #[error("{open} tasks are open, which is the most allowed (`most_open`): wait, or raise the limit")]
    TooManyOpen {
        /// How many.
        open: u64,
    },
    /// The store did not answer for so long that this node gave all of its tasks up. Whether a submission was stored is not
    /// known.
    #[error("the store did not answer in time: ask again under the same key or id to be sure")]
    LeaseLost,
    /// A schedule that makes no sense.
    #[error("schedule `{name}`: {message}")]
    BadSchedule {
        /// What it is called.
        name: String,
        /// What is wrong, and what to do.
        message: String,
    },
    /// There is no such schedule.
    #[error("there is no schedule `{0}`: see the list of those that there are")]
    UnknownSchedule(String),
    /// A file that is no export of tasks, or one that this version cannot read.
    #[error("line {line} of the import: {why}")]
    BadImport {
        /// Which line, from 1.
        line: u64,
        /// What is wrong, and what to do.
        why: String,
    },
    /// An export could not be written, or an import could not be read.
    #[error("{0}")]
    Transfer(String),
    /// The node is being shut down.
    #[error("the engine is shutting down")]
    ShuttingDown,
}

/// What was asked for makes no sense, or the store has failed.
fn store_words(message: &str, kind: steadfast_store::Kind) -> String {
    match kind {
        steadfast_store::Kind::TooLarge
        | steadfast_store::Kind::Exists
        | steadfast_store::Kind::Unsupported
        | steadfast_store::Kind::Unfit => message.to_owned(),
        _ => format!("the store failed: {message}; ask again under the same key or id to be sure"),
    }
}

impl Error {
    /// Which sort of thing went wrong.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// Something that went wrong, with what caused it.
    pub(crate) fn because(kind: ErrorKind, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self { kind, source: Some(Arc::new(source)) }
    }

    /// Whether an operator's action was refused for this reason.
    pub(crate) fn is_refused(&self, because: Ignored) -> bool {
        matches!(&self.kind, ErrorKind::Refused { why, .. } if *why == because.to_string())
    }

    /// Whether the same may work later without anybody doing anything.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(
            self.kind,
            ErrorKind::Store { transient: true, .. }
                | ErrorKind::TooManyOpen { .. }
                | ErrorKind::QueueFull { .. }
                | ErrorKind::NotActedOn { .. }
                | ErrorKind::CallbackEarly { .. }
                | ErrorKind::LeaseLost
        )
    }
}

impl From<crate::reply::BadAddress> for ErrorKind {
    fn from(bad: crate::reply::BadAddress) -> Self {
        Self::BadReply(bad.to_string())
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self { kind, source: None }
    }
}

impl From<steadfast_store::Error> for Error {
    fn from(error: steadfast_store::Error) -> Self {
        Self::from(Arc::new(error))
    }
}

impl From<Arc<steadfast_store::Error>> for Error {
    fn from(error: Arc<steadfast_store::Error>) -> Self {
        let kind = ErrorKind::Store {
            message: error.to_string(),
            kind: error.kind(),
            transient: error.is_transient(),
        };
        Self { kind, source: Some(error) }
    }
}
