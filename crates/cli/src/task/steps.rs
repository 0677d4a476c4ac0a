//! How far the steps of a task have come, kept up by what happens to it. Pure.

use std::collections::BTreeMap;

use steadfast_client::wire::state::{StepState, TaskState, UndoState};
use steadfast_client::wire::step::StepChange;
use steadfast_client::wire::task::{Change, Task};

/// How far the steps of a task have come.
#[derive(Debug)]
pub(super) struct Steps {
    state: TaskState,
    steps: BTreeMap<String, (StepState, UndoState, u32)>,
    /// In the order of the workflow.
    order: Vec<String>,
    revision: u64,
}

impl Steps {
    pub(super) fn new(task: &Task) -> Self {
        let order: Vec<_> = task.steps.iter().map(|step| step.name.clone()).collect();
        let steps = task
            .steps
            .iter()
            .map(|step| (step.name.clone(), (step.state, step.undo, step.attempt)))
            .collect();
        Self { state: task.summary.state, steps, order, revision: task.revision }
    }

    /// Something changed. What is known already changes nothing.
    pub(super) fn apply(&mut self, change: &Change) {
        if change.revision <= self.revision {
            return;
        }
        self.revision = change.revision;
        self.state = change.state.unwrap_or(self.state);
        for StepChange { step, state, undo, attempt, .. } in &change.steps {
            // Items of a list are counted with their step.
            if let Some(known) = self.steps.get_mut(step) {
                *known = (*state, *undo, *attempt);
            }
        }
    }

    /// The place up to which it is known what happened.
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn count(&self) -> u64 {
        self.order.len() as u64
    }

    /// How many steps need nothing more: done on the way there, or undone on the way back.
    pub(super) fn done(&self) -> u64 {
        let way_back = matches!(self.state, TaskState::Undoing | TaskState::Undone);
        let is_done = |(state, undo, _): &&(StepState, UndoState, u32)| match way_back {
            true => matches!(undo, UndoState::None | UndoState::Done),
            false => matches!(state, StepState::Completed | StepState::Skipped),
        };
        self.steps.values().filter(is_done).count() as u64
    }

    /// What goes on, in a few words.
    pub(super) fn words(&self) -> String {
        let now: Vec<_> = self.order.iter().filter_map(|name| self.open(name)).collect();
        let now = now.join(", ");
        match self.state {
            TaskState::Undoing => format!("undoing: {now}"),
            TaskState::Paused => "paused".to_owned(),
            TaskState::Pending => "not begun".to_owned(),
            _ => now,
        }
    }

    fn open(&self, name: &str) -> Option<String> {
        let (state, undo, attempt) = self.steps.get(name)?;
        let again = if *attempt > 1 { format!(" (attempt {attempt})") } else { String::new() };
        match (undo, state) {
            (UndoState::Ready | UndoState::Running, _) => Some(format!("{name}{again}")),
            (UndoState::Parked | UndoState::Waiting | UndoState::Failed, _) => {
                Some(format!("{name} {undo}{again}"))
            }
            (UndoState::None, StepState::Running) => Some(format!("{name}{again}")),
            (
                UndoState::None,
                StepState::Parked | StepState::Waiting | StepState::Unknown | StepState::Failed,
            ) => Some(format!("{name} {state}{again}")),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn steps() -> Steps {
        let step =
            |name| json!({ "name": name, "state": "pending", "attempt": 0, "failures": 0, "calls": 0 });
        let task: Task = serde_json::from_value(json!({
            "id": "1", "workflow": "w", "version": 1, "state": "running", "submitted_at": "", "why": "",
            "revision": 1, "steps": [step("reserve"), step("charge")],
        }))
        .unwrap();
        Steps::new(&task)
    }

    fn change(revision: u64, state: &str, step: &str, of: &str, undo: &str, attempt: u32) -> Change {
        let step = json!({ "step": step, "state": of, "undo": undo, "attempt": attempt });
        serde_json::from_value(json!({ "revision": revision, "at": "", "state": state, "steps": [step] }))
            .unwrap()
    }

    #[test]
    fn steps_are_counted_on_the_way_there_and_on_the_way_back() {
        let mut steps = steps();
        assert_eq!((steps.done(), steps.count(), steps.words().as_str()), (0, 2, ""));
        steps.apply(&change(2, "running", "reserve", "completed", "none", 1));
        steps.apply(&change(3, "running", "charge", "running", "none", 2));
        assert_eq!((steps.done(), steps.words().as_str()), (1, "charge (attempt 2)"));
        steps.apply(&change(4, "waiting", "charge", "parked", "none", 2));
        assert_eq!(steps.words(), "charge parked (attempt 2)");
        steps.apply(&change(5, "undoing", "reserve", "undoing", "running", 2));
        assert_eq!(
            (steps.done(), steps.words().as_str()),
            (1, "undoing: reserve (attempt 2), charge parked (attempt 2)")
        );
    }

    #[test]
    fn what_is_known_already_and_items_change_nothing() {
        let mut steps = steps();
        steps.apply(&change(1, "failed", "reserve", "failed", "none", 1));
        steps.apply(&change(2, "running", "reserve[3]", "completed", "none", 1));
        assert_eq!((steps.done(), steps.count(), steps.revision()), (0, 2, 2));
    }
}
