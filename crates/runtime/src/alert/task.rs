//! What is told of tasks: part of the write that brings it about.

use std::sync::Arc;

use steadfast_engine::{End, Notice, StepId, Task};
use steadfast_store::{Outgoing, Store, TaskId};

use super::{Alert, AlertKind, AlertState};
use crate::shared::Shared;
use crate::workflow::Workflow;

/// The messages that go with a write, for what a plan says has to be told. The task is as it is after the write.
pub(crate) fn of_task<S: Store>(
    shared: &Shared<S>,
    id: TaskId,
    workflow: &Workflow,
    task: &Task,
    notices: &[Notice],
) -> Vec<Outgoing> {
    let message =
        |notice: &Notice| alert(shared, id, workflow, task, notice).map(|alert| alert.message(None));
    notices.iter().filter_map(message).collect()
}

fn alert<S: Store>(
    shared: &Shared<S>,
    id: TaskId,
    workflow: &Workflow,
    task: &Task,
    notice: &Notice,
) -> Option<Alert> {
    let definition = workflow.definition();
    let (name, now, node) = (definition.name(), shared.now(), shared.lease.node());
    let about = |kind, words: &str, advice: &str| Alert {
        task: Some(id),
        workflow: Some(Arc::clone(workflow.name())),
        ..Alert::new(kind, AlertState::Raised, now, node, words, advice)
    };
    match notice {
        Notice::TaskFailed { unknown } => {
            let why = task.in_words(definition, now);
            let words = format!("task {id} of `{name}` has failed, an operator decides: {why}");
            Some(about(AlertKind::TaskFailed, &words, &what_to_do(workflow, task, unknown)))
        }
        Notice::UndoStuck { step } => {
            let why = task.stuck_in_words(definition, *step)?;
            let words = format!("an undo of task {id} of `{name}` is stuck: {why}");
            let stuck = about(AlertKind::UndoStuck, &words, STUCK);
            let (service, step) = (workflow.service(*step).name(), definition.step(*step).name());
            Some(Alert { step: Some(Arc::from(step)), service: Some(Arc::from(service)), ..stuck })
        }
        _ => None,
    }
}

/// What to do about an undo that is stuck.
const STUCK: &str = "what the step did stands: mend its service and have the undo made again (`retry_undo`, or `resume` for all), or undo it there by \
     hand and say so (`take_as_undone`)";

fn what_to_do(workflow: &Workflow, task: &Task, unknown: &[StepId]) -> String {
    let name = |step: &StepId| format!("`{}`", workflow.definition().step(*step).name());
    let undo = task.head().ending.as_ref().is_some_and(|ending| ending.end == End::Undo);
    match unknown {
        [] if undo => STUCK.to_owned(),
        [] => "mend what it failed on; then have its steps made again (`resume`, or `retry` with another input), skipped, or the task undone"
            .to_owned(),
        steps => format!(
            "ask the services whether {} happened; then have the task undone, or settle it there by hand",
            steps.iter().map(name).collect::<Vec<_>>().join(", ")
        ),
    }
}
