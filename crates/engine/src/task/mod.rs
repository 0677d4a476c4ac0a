//! A task: one run of a workflow, as its rows are.

mod alone;
mod callback;
mod check;
mod fan;
mod more;
mod record;
mod state;
mod token;
mod why;

use std::sync::Arc;

pub use callback::{Callback, NotCounted, Spent};
pub use fan::Fan;
use fan::Items;
pub(crate) use fan::rules;
pub use more::{HeadMore, Kept, NotTaken, Paused, RecordMore};
pub use record::Record;
pub(crate) use record::{Busy, Turn};
pub use state::{StepState, TaskState, UndoState};
pub use token::Token;
pub use why::{Change, Circuit, CircuitState, Held, On, Since, Why};

use crate::definition::{Definition, StepId};
use crate::plan::Plan;
use crate::time::Time;

/// One run of a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Task {
    pub(crate) head: Head,
    pub(crate) steps: Vec<Record>,
    pub(crate) items: Items,
}

/// The task's own row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Head {
    /// Where it stands.
    pub state: TaskState,
    /// What is not done by then is undone.
    pub deadline: Option<Time>,
    /// Whether a point of no return was passed.
    pub no_return: bool,
    /// Why it is being undone, or given up; it stays when that is done.
    pub ending: Option<Ending>,
    /// Attempts under way.
    pub running: u32,
    /// Steps and undos that could run now.
    pub ready: u32,
    /// Steps and undos that wait for a time, or for their service.
    pub resting: u32,
    /// Steps that have not ended, or, once the undo has begun, undos that have not succeeded.
    pub open: u32,
    /// What only some tasks have. It is not part of the packed form that all have.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub more: Option<Box<HeadMore>>,
}

/// Why and how a task ends otherwise than by completing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ending {
    /// How.
    pub end: End,
    /// Why.
    pub cause: Cause,
    /// Whether what ran beside has ended, and the undo has begun.
    pub drained: bool,
}

/// How a task ends otherwise than by completing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum End {
    /// What was done is undone.
    Undo,
    /// An operator decides.
    Fail,
}

/// Why a task does not complete.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Cause {
    /// A step failed for good.
    StepFailed(StepId),
    /// Nobody knows whether a step happened, and it must not be made again.
    OutcomeUnknown(StepId),
    /// The process died three times while this step ran: it may be the killer.
    OwnerDied(StepId),
    /// The deadline passed.
    Deadline,
    /// Somebody asked for it.
    Cancelled {
        /// Who.
        by: Arc<str>,
        /// Why.
        why: Arc<str>,
    },
    /// It could not be taken: it was handed in where nobody could say no, and nothing of it was begun.
    NotTaken {
        /// Why, in words.
        why: Arc<str>,
    },
}

impl Task {
    /// A task that could not be taken: it has no steps, and rests in an operator's hands with the reason.
    #[must_use]
    pub fn not_taken(why: Arc<str>) -> Self {
        let ending = Ending { end: End::Fail, cause: Cause::NotTaken { why }, drained: true };
        let head = Head {
            state: TaskState::Failed,
            deadline: None,
            no_return: false,
            ending: Some(ending),
            running: 0,
            ready: 0,
            resting: 0,
            open: 0,
            more: None,
        };
        Self { head, steps: Vec::new(), items: Items::default() }
    }

    /// A task at its submission: everything is pending.
    #[must_use]
    pub fn new(definition: &Definition, now: Time) -> Self {
        let steps = vec![Record::default(); definition.steps().len()];
        let head = Head {
            state: TaskState::Pending,
            deadline: definition.complete_within().map(|time| now + time),
            no_return: false,
            ending: None,
            running: 0,
            ready: 0,
            resting: 0,
            open: u32::try_from(steps.len()).unwrap_or(u32::MAX),
            more: None,
        };
        Self { head, steps, items: Items::default() }
    }

    /// A task that starts at this time: nothing begins before, and its deadline counts from then.
    #[must_use]
    pub fn starting_at(definition: &Definition, now: Time, start_at: Time) -> Self {
        let mut task = Self::new(definition, now.max(start_at));
        if start_at > now {
            task.head.change_more(|more| more.start_at = Some(start_at));
        }
        task
    }

    /// A task as its rows say: the steps, by place, and items that have begun.
    #[must_use]
    pub fn from_rows(
        head: Head,
        steps: Vec<Record>,
        items: impl IntoIterator<Item = (StepId, Record)>,
    ) -> Self {
        let mut task = Self { head, steps, items: Items::default() };
        items.into_iter().for_each(|(id, record)| task.put_row(id, record));
        task
    }

    /// The task's own row.
    #[must_use]
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Where it stands.
    #[must_use]
    pub fn state(&self) -> TaskState {
        self.head.state
    }

    /// The rows of its steps, by place.
    #[must_use]
    pub fn steps(&self) -> &[Record] {
        &self.steps
    }

    /// The row of a step or an item.
    #[must_use]
    pub fn step(&self, id: StepId) -> &Record {
        match id.item() {
            Some(item) => self.items.row(item),
            None => &self.steps[id.ordinal()],
        }
    }

    /// Takes over what a plan writes. The plan must be of this very task.
    pub fn apply(&mut self, plan: &Plan) {
        self.put(plan.head(), plan.steps());
    }

    /// Takes over rows that were written. They must be of this very task.
    pub fn put(&mut self, head: Option<&Head>, steps: &[(StepId, Record)]) {
        if let Some(head) = head {
            self.head = head.clone();
        }
        steps.iter().for_each(|(id, record)| self.put_row(*id, record.clone()));
    }

    fn put_row(&mut self, id: StepId, record: Record) {
        match id.item() {
            Some(item) => self.items.put(item, record),
            None => self.steps[id.ordinal()] = record,
        }
    }

    /// The rows of its steps with their places, and of the items that run, could, or wait.
    pub fn rows(&self) -> impl Iterator<Item = (StepId, &Record)> {
        (0..).map(StepId).zip(&self.steps).chain(self.items.at_work())
    }

    /// The rows of all its steps and of the items that have begun, with their places.
    pub fn all_rows(&self) -> impl Iterator<Item = (StepId, &Record)> {
        (0..).map(StepId).zip(&self.steps).chain(self.items())
    }

    /// The rows of its items that have begun, with their places.
    pub fn items(&self) -> impl Iterator<Item = (StepId, &Record)> {
        self.items.begun()
    }
}
