//! What tasks are told by mail.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use steadfast_engine::{Answer, Cause, Effect, Event, Failure, StepId, Time};
use steadfast_store::Payload;

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
}

impl Request {
    pub(crate) fn answer(step: StepId, attempt: u32, answer: &Answer, output: Option<&Payload>) -> Self {
        let said = match answer {
            Answer::Completed => Said::Completed(output.cloned().unwrap_or_default()),
            Answer::Failed(Failure { kind, calls, effect, again }) => {
                Said::Failed { kind: Arc::clone(kind), calls: *calls, effect: *effect, again: *again }
            }
            Answer::NotMade { until, .. } => Said::NotMade { until: *until },
            Answer::NotYet => Said::NotYet,
            Answer::Unheard => Said::Unheard,
        };
        Self::Answer(Report { step, attempt, said })
    }

    pub(crate) fn pack(&self) -> Payload {
        // Packing into memory fails for no value of these types.
        postcard::to_stdvec(self).map(Payload::from).unwrap_or_default()
    }

    pub(crate) fn unpack(body: &[u8]) -> Option<Self> {
        postcard::from_bytes(body).ok()
    }

    /// The event that it is, and the output that comes with it.
    pub(crate) fn into_event(self) -> (Event, Option<Payload>) {
        match self {
            Self::Signal { name, id, says } => (Event::Signalled { signal: name, id }, Some(says)),
            Self::Cancel { by, why } => (Event::Cancelled { cause: Cause::Cancelled { by, why } }, None),
            Self::Answer(Report { step, attempt, said }) => {
                let (answer, output) = match said {
                    Said::Completed(output) => (Answer::Completed, Some(output)),
                    Said::Failed { kind, calls, effect, again } => {
                        (Answer::Failed(Failure { kind, calls, effect, again }), None)
                    }
                    Said::NotYet => (Answer::NotYet, None),
                    Said::Unheard => (Answer::Unheard, None),
                    Said::NotMade { until } => {
                        (Answer::NotMade { block: steadfast_engine::Block::Breaker, until }, None)
                    }
                };
                (Event::Answered { step, attempt, answer }, output)
            }
        }
    }
}
