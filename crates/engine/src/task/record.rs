//! The row of one step.

use std::sync::Arc;

use super::{RecordMore, StepState, UndoState};
use crate::decide::MAX_OWNER_DEATHS;
use crate::definition::{OnFailure, Step};
use crate::event::Block;
use crate::time::Time;

/// The row of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Record {
    /// Where it stands.
    pub state: StepState,
    /// Where its undo stands.
    pub undo: UndoState,
    /// The last attempt's number, from 1, over step and undo: it only grows.
    pub attempt: u32,
    /// By when the attempt under way must have answered.
    pub complete_by: Option<Time>,
    /// Before this nothing happens to a step that waits.
    pub not_before: Option<Time>,
    /// What a parked step waits for.
    pub blocked_on: Option<Block>,
    /// Failed attempts of the step, or of the undo once that has begun.
    pub failures: u32,
    /// Calls made in them.
    pub calls: u32,
    /// How often a process died while it ran.
    pub owner_deaths: u32,
    /// Whether an attempt that did not succeed may have taken effect.
    pub may_have_happened: bool,
    /// How the last attempt failed.
    pub last_failure: Option<Arc<str>>,
    /// What only some steps have. It is not part of the packed form that all have.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub more: Option<Box<RecordMore>>,
}

/// What a step does as far as the task's counts go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Busy {
    No,
    Running,
    Ready,
    Resting,
}

impl Record {
    /// Whether it has ended so that the task goes on.
    pub(crate) fn is_settled(&self, step: &Step) -> bool {
        match self.state {
            StepState::Completed | StepState::Skipped => true,
            StepState::Failed => step.failure_means() == OnFailure::Continue,
            _ => false,
        }
    }

    /// Whether one more death of a process under it would put the task into an operator's hands. Such steps are to run one
    /// at a time, so that the others do not pay for the one that kills.
    #[must_use]
    pub fn is_suspect(&self) -> bool {
        self.owner_deaths + 1 >= MAX_OWNER_DEATHS
    }

    /// Whether its undo has begun, so that attempts are of the undo.
    #[must_use]
    pub fn is_undoing(&self) -> bool {
        self.undo != UndoState::None
    }

    pub(crate) fn is_running(&self) -> bool {
        self.busy() == Busy::Running
    }

    pub(crate) fn busy(&self) -> Busy {
        match (self.undo, self.state) {
            (UndoState::Running, _) | (UndoState::None, StepState::Running) => Busy::Running,
            (UndoState::Ready, _) | (UndoState::None, StepState::Ready) => Busy::Ready,
            (UndoState::Parked | UndoState::Waiting, _)
            | (UndoState::None, StepState::Parked | StepState::Waiting) => Busy::Resting,
            _ => Busy::No,
        }
    }

    pub(crate) fn is_parked(&self) -> bool {
        self.undo == UndoState::Parked || (self.undo == UndoState::None && self.state == StepState::Parked)
    }

    /// Puts it into another state, of itself or of its undo. What belonged to the one before is gone.
    pub(crate) fn turn(&mut self, to: Turn) {
        (self.complete_by, self.not_before, self.blocked_on) = (None, None, None);
        if self.more.is_some() {
            self.change_more(|more| more.since = None);
        }
        let undoing = self.is_undoing();
        match to {
            Turn::Ready if undoing => self.undo = UndoState::Ready,
            Turn::Ready => self.state = StepState::Ready,
            Turn::Parked(block, until) => {
                (self.blocked_on, self.not_before) = (Some(block), until);
                match undoing {
                    true => self.undo = UndoState::Parked,
                    false => self.state = StepState::Parked,
                }
            }
            Turn::Running(complete_by) => {
                self.complete_by = Some(complete_by);
                self.attempt = self.attempt.saturating_add(1);
                match undoing {
                    true => self.undo = UndoState::Running,
                    false => self.state = StepState::Running,
                }
            }
            Turn::Waiting(until) => {
                self.not_before = Some(until);
                match undoing {
                    true => self.undo = UndoState::Waiting,
                    false => self.state = StepState::Waiting,
                }
            }
            Turn::Waits { since, until } => {
                (self.state, self.not_before) = (StepState::Waiting, until);
                self.change_more(|more| more.since = Some(since));
            }
            Turn::Ended(state) => self.state = state,
            Turn::Undo(undo, state) => (self.undo, self.state) = (undo, state),
        }
    }
}

/// Another state of a step or its undo.
#[derive(Clone, Debug)]
pub(crate) enum Turn {
    Ready,
    Parked(Block, Option<Time>),
    Running(Time),
    Waiting(Time),
    /// A step that calls nothing waits.
    Waits {
        since: Time,
        until: Option<Time>,
    },
    /// The step itself has ended.
    Ended(StepState),
    /// The undo has begun, moved on or ended.
    Undo(UndoState, StepState),
}
