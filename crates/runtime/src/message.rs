//! What tasks are told by mail.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use steadfast_engine::{Action, Answer, Cause, Effect, Event, Failure, StepId, Time, Token};
use steadfast_store::{AuditId, Payload};

use crate::scheduler::Happening;

/// What somebody asks of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Request {
    /// It is to be undone.
    Cancel {
        /// Who wants it.
        by: Arc<str>,
        /// Why.
        why: Arc<str>,
    },
    /// An answer of an agent whose process does not own the task any more.
    Answer(Report),
    /// Something that it waits for, or will.
    Signal {
        /// Its name.
        name: Arc<str>,
        /// Whatever tells it from others of the task, so that one that is sent twice counts once.
        id: Option<Arc<str>>,
        /// What it says: the output of the step that waits for it.
        says: Arc<[u8]>,
    },
    /// What an operator asks.
    Operate(Operation),
    /// The task that a step has asked for has ended.
    ChildEnded {
        /// Which step.
        step: StepId,
    },
    /// A service answers that had taken work on.
    CalledBack(Later),
}

/// A service's answer, as it travels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Later {
    step: StepId,
    token: Token,
    digest: u64,
    at: Time,
    said: Said,
}

/// What an operator asks of a task, as it travels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Made by whoever asks: under the same id nothing is done twice.
    pub(crate) id: u128,
    /// What.
    pub(crate) action: Action,
    /// Who.
    pub(crate) by: Arc<str>,
    /// Why.
    pub(crate) why: Arc<str>,
    /// An input, or an output, as the action needs it.
    pub(crate) brings: Option<Arc<[u8]>>,
}

/// An agent's answer, as it travels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    step: StepId,
    attempt: u32,
    said: Said,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Said {
    Completed(Arc<[u8]>),
    Failed { kind: Arc<str>, calls: u32, effect: Effect, again: Option<Time> },
    NotMade { until: Option<Time> },
    NotYet,
    Unheard,
    Later { calls: u32 },
}

impl Said {
    fn of(answer: &Answer, output: Option<&Payload>) -> Self {
        match answer {
            Answer::Completed => Self::Completed(output.cloned().unwrap_or_default()),
            Answer::Failed(Failure { kind, calls, effect, again }) => {
                Self::Failed { kind: Arc::clone(kind), calls: *calls, effect: *effect, again: *again }
            }
            Answer::NotMade { until, .. } => Self::NotMade { until: *until },
            Answer::NotYet => Self::NotYet,
            Answer::Unheard => Self::Unheard,
            Answer::Later { calls } => Self::Later { calls: *calls },
        }
    }

    /// The answer, with what comes beside it.
    fn into_answer(self) -> (Answer, Option<Payload>) {
        match self {
            Self::Completed(output) => (Answer::Completed, Some(output)),
            Self::Failed { kind, calls, effect, again } => {
                (Answer::Failed(Failure { kind, calls, effect, again }), None)
            }
            Self::NotYet => (Answer::NotYet, None),
            Self::Unheard => (Answer::Unheard, None),
            Self::NotMade { until } => {
                (Answer::NotMade { block: steadfast_engine::Block::Breaker, until }, None)
            }
            Self::Later { calls } => (Answer::Later { calls }, None),
        }
    }
}

impl Request {
    pub(crate) fn answer(step: StepId, attempt: u32, answer: &Answer, output: Option<&Payload>) -> Self {
        Self::Answer(Report { step, attempt, said: Said::of(answer, output) })
    }

    pub(crate) fn called_back(
        (step, token): (StepId, Token),
        digest: u64,
        at: Time,
        answer: &Answer,
        output: Option<&Payload>,
    ) -> Self {
        Self::CalledBack(Later { step, token, digest, at, said: Said::of(answer, output) })
    }

    /// A wish to have a task undone that has not ended, which is in the audit log once it was acted on.
    #[must_use]
    pub fn cancel(by: &str, why: &str) -> Self {
        Self::Operate(Operation::new(Action::Cancel, by, why))
    }

    pub(crate) fn cancels(&self) -> bool {
        match self {
            Self::Cancel { .. } => true,
            Self::Operate(operation) => operation.action == Action::Cancel,
            Self::Answer(_) | Self::Signal { .. } | Self::ChildEnded { .. } | Self::CalledBack(_) => false,
        }
    }

    pub(crate) fn pack(&self) -> Payload {
        // Packing into memory fails for no value of these types.
        postcard::to_stdvec(self).map(Payload::from).unwrap_or_default()
    }

    pub(crate) fn unpack(body: &[u8]) -> Option<Self> {
        postcard::from_bytes(body).ok()
    }

    /// What happens by it, with what comes beside the event.
    pub(crate) fn into_happening(self) -> Happening {
        let (event, output, asked) = match self {
            Self::ChildEnded { step } => (Event::Woken { step }, None, None),
            Self::Signal { name, id, says } => (Event::Signalled { signal: name, id }, Some(says), None),
            Self::Cancel { by, why } => {
                (Event::Cancelled { cause: Cause::Cancelled { by, why } }, None, None)
            }
            Self::Operate(Operation { id, action, by, why, brings }) => {
                (Event::Asked { action, by, why }, brings, Some(AuditId::from_u128(id)))
            }
            Self::Answer(Report { step, attempt, said }) => {
                let (answer, output) = said.into_answer();
                (Event::Answered { step, attempt, answer }, output, None)
            }
            Self::CalledBack(Later { step, token, digest, at, said }) => {
                let (answer, output) = said.into_answer();
                (Event::CalledBack { step, token, said: digest, at, answer }, output, None)
            }
        };
        Happening { output, asked, ..Happening::of(event) }
    }
}
