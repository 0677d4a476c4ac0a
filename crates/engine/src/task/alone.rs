//! What can be told of a task's rows without its workflow.

use super::{Busy, Task};

impl Task {
    /// Whether the task's own row counts its steps as they are: as much as can be told by who does not know the workflow. See
    /// [`Task::check`] for the rest.
    ///
    /// # Errors
    /// The first thing that does not fit, in words.
    pub fn check_alone(&self) -> Result<(), String> {
        let count = |wanted| self.rows().filter(|(_, record)| record.busy() == wanted).count();
        let counts = [
            ("running", self.head.running, count(Busy::Running)),
            ("ready", self.head.ready, count(Busy::Ready)),
            ("resting", self.head.resting, count(Busy::Resting)),
        ];
        let differs = |(_, told, counted): &(&str, u32, usize)| usize::try_from(*told) != Ok(*counted);
        match counts.into_iter().find(differs) {
            Some((what, told, counted)) => Err(format!("the head says {told} {what}, the steps {counted}")),
            None => Ok(()),
        }
    }
}
