//! Whether a task's rows agree with each other and with its workflow: for whoever reads them back, and for tests.

use super::{Busy, End, StepState, Task, TaskState, UndoState};
use crate::definition::{Definition, OnFailure, StepId};

impl Task {
    /// Whether the rows can be those of a task of this workflow.
    ///
    /// # Errors
    /// The first thing that does not fit, in words.
    pub fn check(&self, definition: &Definition) -> Result<(), String> {
        if self.steps.len() != definition.steps().len() {
            return Err(format!("{} rows for {} steps", self.steps.len(), definition.steps().len()));
        }
        self.check_counts(definition)?;
        definition.ids().try_for_each(|id| self.check_step(definition, id))?;
        self.check_end(definition)
    }

    fn check_counts(&self, definition: &Definition) -> Result<(), String> {
        let busy = |wanted| self.steps.iter().filter(|record| record.busy() == wanted).count();
        let is_open = |id: &StepId| match self.undo_has_begun() {
            true => !matches!(self.step(*id).undo, UndoState::None | UndoState::Done),
            false => !self.is_settled(definition, *id),
        };
        let open = definition.ids().filter(is_open).count();
        for (what, told, counted) in [
            ("running", self.head.running, busy(Busy::Running)),
            ("ready", self.head.ready, busy(Busy::Ready)),
            ("resting", self.head.resting, busy(Busy::Resting)),
            ("open", self.head.open, open),
        ] {
            if usize::try_from(told) != Ok(counted) {
                return Err(format!("the head says {told} {what}, the steps {counted}"));
            }
        }
        Ok(())
    }

    fn undo_has_begun(&self) -> bool {
        self.head.ending.as_ref().is_some_and(|ending| ending.drained && ending.end == End::Undo)
    }

    fn is_settled(&self, definition: &Definition, id: StepId) -> bool {
        match self.step(id).state {
            StepState::Completed | StepState::Skipped => true,
            StepState::Failed => definition.step(id).failure_means() == OnFailure::Continue,
            _ => false,
        }
    }

    fn check_step(&self, definition: &Definition, id: StepId) -> Result<(), String> {
        let (record, name) = (self.step(id), definition.step(id).name());
        let wrong = |what: &str| Err(format!("step `{name}`: {what}"));
        if record.is_running() != record.complete_by.is_some() {
            return wrong("what runs, and nothing else, has a complete-by");
        }
        if record.is_running() && record.attempt == 0 {
            return wrong("it runs, and was never attempted");
        }
        if record.is_parked() != record.blocked_on.is_some() {
            return wrong("what is parked, and nothing else, says what for");
        }
        if record.not_before.is_some() && record.busy() != Busy::Resting {
            return wrong("it waits for a time, and does not wait");
        }
        if record.undo != UndoState::None && !self.undo_has_begun() {
            return wrong("its undo has begun, and the task's has not");
        }
        if record.undo != UndoState::None && definition.step(id).undo_settings().is_none() {
            return wrong("it is undone, and has no undo");
        }
        let begun = !matches!(record.state, StepState::Pending | StepState::Skipped);
        let locked = |earlier: &StepId| !self.is_settled(definition, *earlier);
        if begun
            && record.undo == UndoState::None
            && self.head.ending.is_none()
            && let Some(earlier) = definition.before(id).iter().find(|earlier| locked(earlier))
        {
            return wrong(&format!("it began before `{}` had ended", definition.step(*earlier).name()));
        }
        Ok(())
    }

    fn check_end(&self, definition: &Definition) -> Result<(), String> {
        let state = self.head.state;
        if self.head.no_return && self.undo_has_begun() {
            return Err("it is undone behind its point of no return".to_owned());
        }
        if matches!(state, TaskState::Undoing | TaskState::Undone | TaskState::Failed)
            != self.head.ending.is_some()
            && state != TaskState::Running
            && state != TaskState::Waiting
        {
            return Err(format!("it is {state:?}, and does not say why"));
        }
        match state {
            TaskState::Completed if self.head.open > 0 => {
                Err("it is completed, and steps are open".to_owned())
            }
            TaskState::Undone => definition.ids().try_for_each(|id| {
                let (step, record) = (definition.step(id), self.step(id));
                let left = record.state == StepState::Completed || record.may_have_happened;
                match left && step.undo_settings().is_some() && record.undo != UndoState::Done {
                    true => Err(format!("it is undone, and step `{}` is not", step.name())),
                    false => Ok(()),
                }
            }),
            TaskState::Failed if self.head.running > 0 => Err("it has failed, and attempts run".to_owned()),
            _ => Ok(()),
        }
    }
}
