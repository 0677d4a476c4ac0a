//! A task in words: why it does not move, or how it has ended.

use super::{Cause, Record, StepState, Task, TaskState, UndoState};
use crate::definition::{Definition, StepId};
use crate::event::Block;
use crate::time::Time;

impl Task {
    /// Why it does not move, or how it has ended. The definition must be its own.
    #[must_use]
    pub fn in_words(&self, definition: &Definition, now: Time) -> String {
        let name = |id: StepId| definition.step(id).name();
        let told: Vec<_> = match (&self.head.ending, self.head.state) {
            (Some(ending), _) => {
                let stuck = self.rows().filter_map(|(id, record)| stuck(name(id), record));
                [self.cause(definition, &ending.cause)].into_iter().chain(stuck).collect()
            }
            (None, TaskState::Pending) => return "nobody has begun with it yet".to_owned(),
            (None, TaskState::Completed) => return "it is done".to_owned(),
            (None, _) => {
                let open = |(id, record)| open(record, now).map(|what| format!("`{}`: {what}", name(id)));
                self.rows().filter_map(open).collect()
            }
        };
        told.join("; ")
    }

    /// Why a step is not undone that should be; `None` if its undo is not stuck. The definition must be its own.
    #[must_use]
    pub fn stuck_in_words(&self, definition: &Definition, step: StepId) -> Option<String> {
        stuck(definition.step(step).name(), self.step(step))
    }

    fn cause(&self, definition: &Definition, cause: &Cause) -> String {
        let name = |id: &StepId| definition.step(*id).name();
        let failure = |id: &StepId| self.step(*id).last_failure.as_deref().unwrap_or("it gave no reason");
        match cause {
            Cause::StepFailed(id) => format!("step `{}` failed: {}", name(id), failure(id)),
            Cause::OutcomeUnknown(id) => {
                format!("nobody knows whether step `{}` happened: {}", name(id), failure(id))
            }
            Cause::OwnerDied(id) => {
                format!("the process died three times while step `{}` ran: it may be the killer", name(id))
            }
            Cause::Deadline => "its deadline has passed".to_owned(),
            Cause::Cancelled { by, why } => format!("cancelled by {by}: {why}"),
        }
    }
}

/// Why a step is not undone that should be.
fn stuck(name: &str, record: &Record) -> Option<String> {
    match (record.undo, record.state) {
        (UndoState::Failed, StepState::Unknown) => Some(format!(
            "nobody knows whether `{name}` happened, and to undo what did not happen is not safe there"
        )),
        (UndoState::Failed, _) => {
            let failure = record.last_failure.as_deref().unwrap_or("it gave no reason");
            Some(format!("`{name}` could not be undone: {failure}"))
        }
        _ => None,
    }
}

/// What a step that has not ended does or waits for.
fn open(record: &Record, now: Time) -> Option<String> {
    let secs = |time: Option<Time>| time.map_or(0, |time| time.since(now).as_secs());
    let what = match record.state {
        StepState::Running => format!("an attempt runs, for {} s at most", secs(record.complete_by)),
        StepState::Ready => "it waits for a place at its service".to_owned(),
        StepState::Waiting => format!("the next attempt is in {} s", secs(record.not_before)),
        StepState::Parked => {
            let block = match record.blocked_on {
                Some(Block::Breaker) => "its circuit breaker is open",
                Some(Block::Suspect) => {
                    "the process died under it twice, and under another that runs now: they run apart"
                }
                Some(Block::NoHandler) => "nobody here knows how to carry it out",
                Some(Block::Limit) | None => "its service has no room",
            };
            match record.not_before {
                Some(_) => format!("{block}; asked again in {} s", secs(record.not_before)),
                None => format!("{block}; it goes on when that changes"),
            }
        }
        _ => return None,
    };
    Some(match &record.last_failure {
        Some(failure) => format!("{what}; the last one failed: {failure}"),
        None => what,
    })
}
