//! Steps that ask for another task, and wait for its end.

use std::time::Duration;

use super::{Recovery, Step};

/// The service of all steps that ask for another task: it is the engine itself.
pub const CHILDREN: &str = "steadfast.tasks";
/// How a step has failed whose other task is not there any more: nobody knows how that has ended.
pub const CHILD_GONE: &str = "child-gone";
/// How a step has failed whose other task has completed, with what no later step could read.
pub const CHILD_UNFIT: &str = "child-unfit";
/// How long one look at the other task may take.
const LOOK_WITHIN: Duration = Duration::from_secs(30);
/// It is the engine that does not answer: nothing is given up for that.
const PATIENT: Recovery = Recovery { at_once: 2, extended_wait: Duration::from_secs(30), last: u32::MAX };

impl Step {
    /// A step that asks for a task of this workflow, and waits for its end. It is undone when that task is. Behind a point of no
    /// return it is not undone, as nothing is there.
    pub fn child(name: impl Into<String>, workflow: impl Into<String>) -> Self {
        let mut step = Self::new(name, CHILDREN).complete_within(LOOK_WITHIN);
        step.child = Some(workflow.into());
        step.recovery(PATIENT).undo(LOOK_WITHIN).undo_recovery(PATIENT).undo_when_unknown()
    }

    /// The workflow of the task that it asks for, if it does.
    #[must_use]
    pub fn asks_for(&self) -> Option<&str> {
        self.child.as_deref()
    }

    /// A task that it asks for is not undone.
    pub(super) fn leave_child(&mut self) {
        (self.undo, self.undo_when_unknown) = (None, false);
    }
}
