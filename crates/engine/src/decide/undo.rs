//! The undo of a task: what was done, in reverse order.

use std::sync::Arc;

use super::Followed;
use super::draft::Draft;
use crate::definition::StepId;
use crate::event::Failure;
use crate::plan::{Dispatch, Ignored};
use crate::task::{Cause, End, Ending, StepState, TaskState, Turn, UndoState};
use crate::time::Time;

impl Draft<'_> {
    /// A task at rest is to be undone after all.
    pub(super) fn undo_asked(&mut self, cause: &Cause) -> Followed {
        match self.head().state {
            TaskState::Completed | TaskState::Failed => {}
            TaskState::Undone => return Err(Ignored::Ended),
            _ => return self.cancelled(cause),
        }
        if self.head().no_return {
            return Err(Ignored::NoReturn);
        }
        let head = self.head_mut();
        head.state = TaskState::Undoing;
        head.ending = Some(Ending { end: End::Undo, cause: cause.clone(), drained: true });
        self.plan_undo();
        Ok(())
    }

    /// Marks what has to be undone, and begins with what nothing came after.
    pub(super) fn plan_undo(&mut self) {
        let mut open = 0;
        for id in self.definition.ids() {
            self.close(id);
            if self.mark(id) {
                open += 1;
            }
        }
        self.head_mut().open = open;
        for id in self.definition.ids() {
            self.try_undo(id);
        }
        self.finish_undo();
    }

    /// Whether a step has to be undone: what completed, and what may have happened.
    fn mark(&mut self, id: StepId) -> bool {
        if self.definition.step(id).fans_out().is_some() {
            return self.mark_items(id);
        }
        let (step, record) = (self.definition.step(id), self.record(id));
        match (record.undo, record.state) {
            (UndoState::Done, _) => return false,
            // Tried before, without success: once more.
            (UndoState::Failed, StepState::UndoFailed) => {
                let state = if record.may_have_happened { StepState::Unknown } else { StepState::Completed };
                self.arm(id, state);
                return true;
            }
            _ => {}
        }
        let happened = record.state == StepState::Completed;
        if step.undo_settings().is_none() || !(happened || record.may_have_happened) {
            return false;
        }
        if happened || step.is_undone_when_unknown() {
            let state = record.state;
            self.arm(id, state);
        } else {
            // It may have happened, and to undo what did not happen is not safe.
            self.turn(id, Turn::Undo(UndoState::Failed, StepState::Unknown));
        }
        true
    }

    /// The undo of a step is to be made, and its failures are counted from here.
    pub(super) fn arm(&mut self, id: StepId, state: StepState) {
        self.turn(id, Turn::Undo(UndoState::Pending, state));
        self.change(id, |record| {
            (record.failures, record.calls, record.owner_deaths) = (0, 0, 0);
            // How a step failed that may have happened all the same is what people want to know in the end.
            record.last_failure.take_if(|_| state == StepState::Completed);
        });
    }

    /// Begins the undo of a step if everything that came after it is undone, at whatever distance.
    pub(super) fn try_undo(&mut self, id: StepId) {
        if self.record(id).undo == UndoState::Pending && self.is_free(id) {
            if self.definition.step(id).fans_out().is_some() {
                return self.undo_items(id);
            }
            self.turn(id, Turn::Undo(UndoState::Pending, StepState::Undoing));
            self.make_ready(id);
        }
    }

    /// Whether nothing that came after a step is still to be undone.
    fn is_free(&self, id: StepId) -> bool {
        let mut seen = vec![false; self.definition.steps().len()];
        let mut next = vec![id];
        while let Some(id) = next.pop() {
            for later in self.definition.dependents(id) {
                match self.record(*later).undo {
                    // Undone, with all that came after it.
                    UndoState::Done => {}
                    // Nothing to undo here; but behind it there may be.
                    UndoState::None => {
                        if !std::mem::replace(&mut seen[later.ordinal()], true) {
                            next.push(*later);
                        }
                    }
                    _ => return false,
                }
            }
        }
        true
    }

    pub(super) fn begin_undo(&mut self, id: StepId) -> Followed {
        let within =
            self.rules(id).undo_settings().map_or_else(Default::default, |undo| undo.complete_within);
        let complete_by = self.now + within;
        self.turn(id, Turn::Running(complete_by));
        let (attempt, series) = (self.record(id).attempt, self.record(id).series());
        // Only a step that asks for another task has both, an undo and rounds.
        let (round, calls_left) = (self.record(id).rounds(), None);
        self.dispatch(Dispatch { step: id, undo: true, attempt, round, series, complete_by, calls_left });
        Ok(())
    }

    pub(super) fn undone(&mut self, id: StepId) {
        self.turn(id, Turn::Undo(UndoState::Done, StepState::Undone));
        if id.item().is_some() {
            return self.item_undone(id);
        }
        let head = self.head_mut();
        head.open = head.open.saturating_sub(1);
        let mut next = vec![id];
        let mut seen = vec![false; self.definition.steps().len()];
        // What came before it may have its turn, also behind steps that have nothing to undo.
        while let Some(id) = next.pop() {
            for earlier in self.definition.before(id) {
                if std::mem::replace(&mut seen[earlier.ordinal()], true) {
                    continue;
                }
                match self.record(*earlier).undo {
                    UndoState::None => next.push(*earlier),
                    _ => self.try_undo(*earlier),
                }
            }
        }
        self.finish_undo();
    }

    pub(super) fn undo_failed(&mut self, id: StepId, failure: &Failure) {
        self.change(id, |record| {
            record.failures = record.failures.saturating_add(1);
            record.calls = record.calls.saturating_add(failure.calls);
            record.last_failure = Some(failure.kind.clone());
        });
        match failure.again {
            Some(at) => self.undo_later(id, at),
            None => self.give_undo_up(id),
        }
    }

    pub(super) fn undo_silent(&mut self, id: StepId, why: &str) {
        let failures = self.change(id, |record| {
            record.failures = record.failures.saturating_add(1);
            record.last_failure = Some(Arc::from(why));
            record.failures
        });
        let recovery = self.rules(id).undo_settings().map(|undo| undo.recovery).unwrap_or_default();
        if failures >= recovery.last {
            self.give_undo_up(id);
        } else if failures > recovery.at_once {
            self.undo_later(id, self.now + recovery.extended_wait);
        } else {
            self.make_ready(id);
        }
    }

    fn undo_later(&mut self, id: StepId, until: Time) {
        match until > self.now {
            true => self.turn(id, Turn::Waiting(until)),
            false => self.make_ready(id),
        }
    }

    /// An undo that keeps failing is an operator's. What does not wait for it goes on.
    pub(super) fn give_undo_up(&mut self, id: StepId) {
        self.turn(id, Turn::Undo(UndoState::Failed, StepState::UndoFailed));
        if id.item().is_some() {
            return self.item_undone(id);
        }
        self.finish_undo();
    }

    /// Ends the task once nothing can go on: undone as a whole, or in an operator's hands.
    pub(super) fn finish_undo(&mut self) {
        let head = self.head_mut();
        let idle = head.running == 0 && head.ready == 0 && head.resting == 0;
        head.state = match head.open {
            0 if idle => TaskState::Undone,
            _ if idle => TaskState::Failed,
            // Some steps can end at once, before the others have begun.
            _ => TaskState::Undoing,
        };
    }
}
