//! What follows from an event: rows to write, then things to do.

use std::fmt;

use crate::definition::StepId;
use crate::task::{Head, Record};
use crate::time::Time;

/// What follows from an event. The rows are written first, all of them or none; only then is anything dispatched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub(crate) head: Option<Head>,
    pub(crate) steps: Vec<(StepId, Record)>,
    pub(crate) asks: Vec<Ask>,
    pub(crate) dispatches: Vec<Dispatch>,
    pub(crate) keeps: Option<StepId>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) ignored: Option<Ignored>,
}

impl Plan {
    /// Nothing follows, for a reason that lies outside of the task.
    #[must_use]
    pub fn refused(because: Ignored) -> Self {
        Self { ignored: Some(because), ..Self::default() }
    }

    /// The task's own row, if it changes.
    #[must_use]
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// The rows of the steps that change, each once.
    #[must_use]
    pub fn steps(&self) -> &[(StepId, Record)] {
        &self.steps
    }

    /// What has to be known before the task can go on. Answers come back as events.
    #[must_use]
    pub fn asks(&self) -> &[Ask] {
        &self.asks
    }

    /// Attempts to send once the rows are durable.
    #[must_use]
    pub fn dispatches(&self) -> &[Dispatch] {
        &self.dispatches
    }

    /// Where what came beside the event is to be stored: it is the output of a step, or belongs to a place beyond the steps.
    #[must_use]
    pub fn keeps(&self) -> Option<StepId> {
        self.keeps
    }

    /// What somebody has to be told of: in the same write as the rows that say so, so that neither is without the other.
    #[must_use]
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Why nothing follows, if nothing does.
    #[must_use]
    pub fn ignored(&self) -> Option<Ignored> {
        self.ignored
    }

    /// Whether there is something to write.
    #[must_use]
    pub fn changes_anything(&self) -> bool {
        self.head.is_some() || !self.steps.is_empty()
    }
}

/// What has to be known before a task can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Whether the step's condition holds.
    Condition(StepId),
    /// Whether the step's service has room.
    Permit(StepId),
    /// Until when the step waits.
    Until(StepId),
    /// For which items the step is made.
    List(StepId),
    /// What the signal says that was kept for the step.
    Signal {
        /// Which step.
        step: StepId,
        /// The place beyond the steps at which that is stored.
        kept_at: StepId,
    },
}

/// An attempt to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// Which step.
    pub step: StepId,
    /// Whether it is to be undone.
    pub undo: bool,
    /// The attempt's number, which only grows.
    pub attempt: u32,
    /// From here on an answer changes nothing.
    pub complete_by: Time,
    /// The round of a step that is repeated, from 0: each has a key of its own.
    pub round: u32,
    /// The series of attempts, from 0: one that an operator has begun anew has a key of its own.
    pub series: u32,
    /// How many calls the agent may still make; `None` when only the retry policy says.
    pub calls_left: Option<u32>,
}

/// Something that an operator has to be told of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The task has failed and rests in an operator's hands. Why is in its own row, as the cause of its ending.
    TaskFailed {
        /// Steps of which nobody knows whether they happened.
        unknown: Vec<StepId>,
    },
    /// A step cannot be undone: its undo failed for good, or nobody knows whether there is something to undo. Other undos may
    /// still go on.
    UndoStuck {
        /// Which step.
        step: StepId,
    },
}

/// Why an event changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Ignored {
    /// The attempt was given up: its answer is late, doubled, or of an older one.
    Late,
    /// The time for it has not come.
    NotDue,
    /// The step is not in a state in which this can happen.
    NotNow,
    /// The task has ended.
    Ended,
    /// The task is being undone or given up already.
    Ending,
    /// The point of no return has been passed.
    NoReturn,
    /// An operator holds the task.
    Paused,
    /// There is nothing to resume, or to make again: it goes on by itself.
    GoesOn,
    /// The undo of the task has begun.
    UndoBegun,
    /// The deadline has passed, or would have.
    DeadlinePassed,
    /// There is no such step.
    NoSuchStep,
    /// It is not the step's turn yet.
    NotItsTurn,
    /// An attempt of the step is under way.
    StepRuns,
    /// The step has ended, and the task has gone on from there.
    StepEnded,
    /// The step may have happened, and the operator has not said whether it has.
    MayHaveHappened,
    /// No undo of the step has failed.
    UndoNotStuck,
    /// The task that the step has asked for goes on.
    ChildGoesOn,
    /// The task was never taken: it has no steps.
    NotTaken,
    /// The task that has asked for this one goes on from what it gave.
    OfParent,
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Late => "the attempt was given up before",
            Self::NotDue => "its time has not come",
            Self::NotNow => "nothing waits for it",
            Self::Ended => "the task has ended",
            Self::Ending => {
                "the task is ending, and what runs beside has not answered yet: ask again when it has"
            }
            Self::NoReturn => "the task has passed its point of no return",
            Self::Paused => "the task is paused: resume it first",
            Self::GoesOn => "there is nothing to do: it goes on by itself",
            Self::UndoBegun => "the undo of the task has begun: repair the undo, there is no way forward",
            Self::DeadlinePassed => "the deadline has passed: give the task a later one first",
            Self::NoSuchStep => "there is no such step",
            Self::NotItsTurn => "it is not the step's turn yet",
            Self::StepRuns => "an attempt of the step is under way: wait until it has answered",
            Self::StepEnded => "the step has ended, and the task has gone on from there",
            Self::MayHaveHappened => {
                "nobody knows whether the step happened: look at its service, and say whether it did"
            }
            Self::UndoNotStuck => "no undo of this step has failed",
            Self::ChildGoesOn => {
                "the task that the step has asked for has not ended: repair it, or have it undone, first"
            }
            Self::OfParent => "another task has asked for it and goes on from what it gave: undo that one, which undoes this one",
            Self::NotTaken => {
                "it could not be taken, and nothing of it was begun: submit it anew, and close it by undo"
            }
        })
    }
}
