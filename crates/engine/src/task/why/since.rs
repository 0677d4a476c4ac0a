//! Since when a task and its steps stand where they stand, from the history.

use super::super::{Head, Record, StepState, Task, TaskState, UndoState};
use crate::definition::StepId;
use crate::event::Block;
use crate::time::Time;

/// Since when a task and its steps stand where they stand. What is not known is left open; the default knows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Since {
    state: Option<Time>,
    ending: Option<Time>,
    steps: Vec<Option<Time>>,
}

/// What a step has to keep so that it is in the same hold still.
type Stands = (StepState, UndoState, Option<Block>, u32);

fn stands(record: &Record) -> Stands {
    (record.state, record.undo, record.blocked_on.clone(), record.attempt)
}

impl Since {
    /// From what was written, oldest first: when, the task's own row if it changed, and the rows of steps that changed. The task is
    /// as the last of these left it. What never changed is as it was submitted.
    pub fn of<'h>(
        task: &Task,
        submitted_at: Time,
        history: impl IntoIterator<Item = (Time, Option<&'h Head>, &'h [(StepId, Record)])>,
    ) -> Self {
        let mut heads: Vec<(Time, &Head)> = Vec::new();
        let mut steps: Vec<(Option<Stands>, Time)> = vec![(None, submitted_at); task.steps.len()];
        for (at, head, rows) in history {
            heads.extend(head.map(|head| (at, head)));
            for (id, record) in rows {
                let now = Some(stands(record));
                if let Some(step) = steps.get_mut(id.ordinal()).filter(|step| step.0 != now) {
                    *step = (now, at);
                }
            }
        }
        // Rows that disagree with the task are of another moment, and say nothing.
        let fits = |(record, (last, at)): (&Record, (Option<Stands>, Time))| {
            last.is_none_or(|last| last == stands(record)).then_some(at)
        };
        let steps = task.steps.iter().zip(steps).map(fits).collect();
        let ending =
            task.head.ending.as_ref().and_then(|_| first_of_run(&heads, |head| head.ending.is_some()));
        Self { state: state(task, submitted_at, &heads), ending, steps }
    }

    /// Of the task's state. At rest: when it ended.
    #[must_use]
    pub fn state(&self) -> Option<Time> {
        self.state
    }

    /// Of its end: since when it is known that it does not complete.
    pub(super) fn ending(&self) -> Option<Time> {
        self.ending
    }

    /// Of a step, or of its undo once that has begun.
    #[must_use]
    pub fn step(&self, id: StepId) -> Option<Time> {
        self.steps.get(id.ordinal()).copied().flatten()
    }
}

fn state(task: &Task, submitted_at: Time, heads: &[(Time, &Head)]) -> Option<Time> {
    let state = task.head.state;
    let Some(first) = heads.first() else { return Some(submitted_at) };
    let at = first_of_run(heads, |head| head.state == state)?;
    let from_the_first = heads.iter().all(|(_, head)| head.state == state);
    match state {
        TaskState::Pending => Some(submitted_at),
        // How it was submitted is not in the history: it may have been in this state before.
        TaskState::Running | TaskState::Waiting if from_the_first && at == first.0 => None,
        _ => Some(at),
    }
}

/// When the last run of rows began that all are so.
fn first_of_run(heads: &[(Time, &Head)], is_so: impl Fn(&Head) -> bool) -> Option<Time> {
    heads.iter().rev().take_while(|(_, head)| is_so(head)).last().map(|(at, _)| *at)
}
