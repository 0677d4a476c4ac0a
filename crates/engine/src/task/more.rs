//! What only some tasks and steps have: it costs the others nothing, neither in memory nor in a store.

use std::sync::Arc;
use std::time::Duration;

use super::{Callback, Fan, Head, Record, StepState, Task, TaskState};
use crate::definition::{Definition, StepId};
use crate::time::Time;

/// What only some tasks have: those that start later, those to which signals came, those that an operator holds, those with
/// lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct HeadMore {
    /// Before this nothing begins; `None` once it has begun.
    pub start_at: Option<Time>,
    /// Signals that came before their wait began, oldest first.
    pub kept: Vec<Kept>,
    /// The ids of signals that were taken or kept, so that none counts twice.
    pub seen: Vec<Arc<str>>,
    /// Who holds it.
    pub paused: Option<Paused>,
    /// The steps that are made for each item of a list, once that is known.
    pub fans: Vec<Fan>,
}

/// A task that an operator holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Paused {
    /// Who.
    pub by: Arc<str>,
    /// Why.
    pub why: Arc<str>,
    /// Since when.
    pub since: Time,
    /// What is left until its deadline, which stands still meanwhile.
    pub left: Option<Duration>,
    /// Where it stood, and stands again when it is resumed.
    pub was: TaskState,
}

/// A signal that came before its wait began.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Kept {
    /// Its name.
    pub signal: Arc<str>,
    /// What it says is stored at this place beyond the steps.
    pub at: StepId,
    /// The step that takes it, once one waits for it.
    pub step: Option<StepId>,
}

/// What only some steps have: those that wait by their definition, those that are repeated, those that an operator has touched,
/// those that are answered later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct RecordMore {
    /// Since when it waits.
    pub since: Option<Time>,
    /// Rounds that are over.
    pub rounds: u32,
    /// How often an operator has begun it anew, under another key.
    pub series: u32,
    /// Whether it has an input of its own.
    pub edited: bool,
    /// Whether an operator has ended it.
    pub by_hand: bool,
    /// Where its service may answer later.
    pub callback: Callback,
}

/// Why a signal is of no use to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NotTaken {
    /// No step of the workflow waits for a signal of this name.
    Unknown,
    /// Nothing waits for it any more, or as many came as are waited for.
    Over,
    /// It came before: it counts once.
    Doubled,
}

/// Changes what only some have; what says nothing any more is gone.
pub(super) fn change<M: Clone + Default + PartialEq>(more: &mut Option<Box<M>>, change: impl FnOnce(&mut M)) {
    let mut changed = more.as_deref().cloned().unwrap_or_default();
    change(&mut changed);
    *more = (changed != M::default()).then(|| Box::new(changed));
}

impl Head {
    /// Before this nothing begins; `None` for a task that has begun, or may at once.
    #[must_use]
    pub fn start_at(&self) -> Option<Time> {
        self.more.as_ref().and_then(|more| more.start_at)
    }

    /// Signals that came before their wait began, oldest first.
    #[must_use]
    pub fn kept(&self) -> &[Kept] {
        self.more.as_ref().map_or(&[], |more| &more.kept)
    }

    /// The operator who holds it, if one does.
    #[must_use]
    pub fn paused(&self) -> Option<&Paused> {
        self.more.as_ref().and_then(|more| more.paused.as_ref())
    }

    /// The signal that a step takes.
    pub(crate) fn kept_for(&self, step: StepId) -> Option<&Kept> {
        self.kept().iter().find(|kept| kept.step == Some(step))
    }

    pub(crate) fn change_more(&mut self, with: impl FnOnce(&mut HeadMore)) {
        change(&mut self.more, with);
    }
}

impl Record {
    /// Since when it waits for a time, a signal or a callback; `None` for any other wait.
    #[must_use]
    pub fn since(&self) -> Option<Time> {
        self.more.as_ref().and_then(|more| more.since)
    }

    /// Rounds of a repeated step that are over.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        self.more.as_ref().map_or(0, |more| more.rounds)
    }

    /// How often an operator has begun it anew, under another key.
    #[must_use]
    pub fn series(&self) -> u32 {
        self.more.as_ref().map_or(0, |more| more.series)
    }

    /// Whether it has an input of its own, in the place of the task's.
    #[must_use]
    pub fn is_edited(&self) -> bool {
        self.more.as_ref().is_some_and(|more| more.edited)
    }

    /// Whether an operator has ended it.
    #[must_use]
    pub fn is_by_hand(&self) -> bool {
        self.more.as_ref().is_some_and(|more| more.by_hand)
    }

    pub(crate) fn change_more(&mut self, with: impl FnOnce(&mut RecordMore)) {
        change(&mut self.more, with);
    }
}

impl Task {
    /// Whether a signal is of use to the task, now or later.
    ///
    /// # Errors
    /// Why it is not.
    pub fn takes(&self, definition: &Definition, signal: &str, id: Option<&str>) -> Result<(), NotTaken> {
        let mut waits = definition.waits_for(signal).peekable();
        if waits.peek().is_none() {
            return Err(NotTaken::Unknown);
        }
        let seen = self.head.more.as_ref().map_or(&[][..], |more| &more.seen);
        if id.is_some_and(|id| seen.iter().any(|seen| **seen == *id)) {
            return Err(NotTaken::Doubled);
        }
        let open = waits.filter(|id| matches!(self.step(*id).state, StepState::Pending | StepState::Waiting));
        let kept = self.head.kept().iter().filter(|kept| *kept.signal == *signal);
        if open.count() > kept.count() { Ok(()) } else { Err(NotTaken::Over) }
    }
}
