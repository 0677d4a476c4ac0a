//! What is kept of a bulk.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use steadfast_engine::{Action, Definition, Time};
use steadfast_store::{Bulk, NodeId, Payload};

/// What is asked of each task. Steps go by their names: tasks may be of several workflows and versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Wanted {
    /// Something that is about the whole task.
    Whole(Action),
    /// A step is made again.
    Retry {
        /// Which step.
        step: String,
        /// Whether it is known that no attempt before has taken effect.
        did_not_happen: bool,
    },
    /// A step is skipped.
    Skip {
        /// Which step.
        step: String,
        /// Whether it was done by other means.
        happened: bool,
    },
    /// An undo is tried again.
    RetryUndo {
        /// Of which step.
        step: String,
        /// Whether it is known that the step happened.
        happened: bool,
    },
    /// A step counts as undone.
    TakeAsUndone {
        /// Which step.
        step: String,
    },
}

impl Wanted {
    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Whole(action) => action.name(),
            Self::Retry { .. } => "retry",
            Self::Skip { .. } => "skip",
            Self::RetryUndo { .. } => "retry-undo",
            Self::TakeAsUndone { .. } => "take-as-undone",
        }
    }

    pub(super) fn step(&self) -> Option<&str> {
        match self {
            Self::Whole(_) => None,
            Self::Retry { step, .. }
            | Self::Skip { step, .. }
            | Self::RetryUndo { step, .. }
            | Self::TakeAsUndone { step } => Some(step),
        }
    }

    /// What that is for a task of this workflow; `None` if it has no such step.
    pub(super) fn of(&self, definition: &Definition) -> Option<Action> {
        let named = |step: &str| definition.step_named(step);
        Some(match self {
            Self::Whole(action) => *action,
            Self::Retry { step, did_not_happen } => {
                Action::Retry { step: named(step)?, edited: false, did_not_happen: *did_not_happen }
            }
            Self::Skip { step, happened } => Action::Skip { step: named(step)?, happened: *happened },
            Self::RetryUndo { step, happened } => {
                Action::RetryUndo { step: named(step)?, happened: *happened }
            }
            Self::TakeAsUndone { step } => Action::TakeAsUndone { step: named(step)? },
        })
    }
}

/// How far a bulk has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum BulkState {
    /// Its tasks are being looked for.
    Preparing,
    /// Its tasks are known, and nothing was asked of them.
    Prepared,
    /// It is under way.
    Running,
    /// Somebody has stopped it: it can go on.
    Stopped,
    /// All of its tasks were asked.
    Over,
}

/// What is known of a bulk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BulkRecord {
    /// What is asked of each task.
    pub wanted: Wanted,
    /// Who asks.
    pub by: String,
    /// Why.
    pub why: String,
    /// Which tasks were looked for, in words.
    pub looked_for: String,
    /// Tasks a second, at most.
    pub rate: f64,
    /// How far it has come.
    pub state: BulkState,
    /// How many tasks were asked, and what became of that is known.
    pub next: u64,
    /// Of how many of them it was done.
    pub done: u64,
    /// How many refused it, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Which node is at it, and until when it is taken to be.
    pub(super) driver: Option<(u128, Time)>,
}

impl BulkRecord {
    pub(super) fn pack(&self) -> Payload {
        // Writing into memory fails for no value of these types.
        serde_json::to_vec(self).map(Payload::from).unwrap_or_default()
    }

    /// A bulk with this as what it says.
    pub(super) fn written_to(&self, bulk: &Bulk) -> Bulk {
        Bulk { under_way: self.state == BulkState::Running, body: self.pack(), ..*bulk }
    }

    pub(super) fn unpack(body: &[u8]) -> Option<Self> {
        serde_json::from_slice(body).ok()
    }

    /// Whether another node is at it.
    pub(super) fn is_held(&self, by_another_than: NodeId, now: Time) -> bool {
        self.driver.is_some_and(|(node, until)| node != by_another_than.as_u128() && until > now)
    }

    /// Until when a node is taken to be at it, if it is under way.
    pub(super) fn held_until(&self) -> Option<Time> {
        self.driver.filter(|_| self.state == BulkState::Running).map(|(_, until)| until)
    }

    /// One more task was asked, with this end.
    pub(super) fn count(&mut self, refused: Option<String>) {
        self.next += 1;
        match refused {
            None => self.done += 1,
            Some(why) => *self.refused.entry(why).or_default() += 1,
        }
    }
}
