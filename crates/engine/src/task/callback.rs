//! The URLs at which the service of a step may answer later, and which answers count there.
//!
//! A URL stands for all attempts of a step under one key: a service cannot tell those apart. It is good for one answer; the attempt
//! after that has another one.

use super::{Record, StepState, Task, Token, UndoState};
use crate::definition::{Definition, StepId};
use crate::time::Time;

/// The URLs of a step, by what they are known by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Callback {
    /// The one that was handed out, and at which no answer was taken yet.
    pub open: Option<Token>,
    /// The one before.
    pub spent: Option<Spent>,
}

/// A URL that is good for nothing any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Spent {
    /// What it is known by.
    pub token: Token,
    /// A number made of the answer that was taken there; `None` if none was, and the step has gone on under another key.
    pub said: Option<u64>,
}

/// Why an answer by callback does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NotCounted {
    /// No such URL was handed out, or it is long gone.
    Unknown,
    /// The same was said there before, and has counted.
    Doubled,
    /// Something else was said there before, and has counted.
    Used,
    /// The step is over, or goes on under another key.
    Over,
    /// The attempt was given up, and it is not known yet whether another one follows: if so, the URL is that one's too.
    Between,
}

impl Callback {
    /// The open one is good for nothing any more; what was said there, if an answer was taken.
    pub(crate) fn spend(&mut self, said: Option<u64>) {
        if let Some(token) = self.open.take() {
            self.spent = Some(Spent { token, said });
        }
    }
}

impl Record {
    /// The URLs at which its service may answer later.
    #[must_use]
    pub fn callback(&self) -> Callback {
        self.more.as_ref().map_or_else(Callback::default, |more| more.callback)
    }
}

impl Task {
    /// Whether an attempt is under way that the service has taken on, so that it is the service that answers, and no process.
    #[must_use]
    pub fn awaits_callback(&self, definition: &Definition, id: StepId) -> bool {
        awaits(self.step(id)) && self.rules(definition, id).callback_within().is_some()
    }

    /// Whether an attempt is under way that its service may end by a callback.
    #[must_use]
    pub fn may_be_called_back(&self, definition: &Definition, id: StepId) -> bool {
        let may = |record: &Record| {
            record.state == StepState::Running
                && record.undo == UndoState::None
                && record.callback().open.is_some()
        };
        self.knows(definition, id) && may(self.step(id))
    }

    /// How many attempts are under way that services have taken on.
    #[must_use]
    pub fn awaited(&self, definition: &Definition) -> usize {
        self.rows().filter(|(id, record)| awaits(record) && self.awaits_callback(definition, *id)).count()
    }

    /// Whether an answer that came by callback at this time counts: of a step, at the URL that is known by this token, where this was
    /// said.
    ///
    /// # Errors
    /// Why it does not.
    pub fn takes_callback(
        &self,
        definition: &Definition,
        id: StepId,
        (token, said): (Token, u64),
        at: Time,
    ) -> Result<(), NotCounted> {
        if !self.knows(definition, id) {
            return Err(NotCounted::Unknown);
        }
        let (record, head) = (self.step(id), &self.head);
        let Callback { open, spent } = record.callback();
        if let Some(spent) = spent.filter(|spent| spent.token == token) {
            return Err(match spent.said {
                None => NotCounted::Over,
                Some(before) if before == said => NotCounted::Doubled,
                Some(_) => NotCounted::Used,
            });
        }
        if open != Some(token) {
            return Err(NotCounted::Unknown);
        }
        let forward = record.undo == UndoState::None && !head.state.is_at_rest();
        match record.state {
            StepState::Running if forward && record.complete_by.is_some_and(|time| at < time) => Ok(()),
            StepState::Running if forward => Err(NotCounted::Between),
            StepState::Pending | StepState::Ready | StepState::Parked | StepState::Waiting
                if forward && head.ending.is_none() =>
            {
                Err(NotCounted::Between)
            }
            _ => Err(NotCounted::Over),
        }
    }
}

/// Whether it runs and waits, as only what waits for a callback, or for another task, does.
fn awaits(record: &Record) -> bool {
    record.undo == UndoState::None && record.state == StepState::Running && record.since().is_some()
}
