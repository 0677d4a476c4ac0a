//! A task in words: why it does not move, or how it has ended.

use super::{Cause, Record, StepState, Task, TaskState, UndoState};
use crate::decide::in_words;
use crate::definition::{Definition, Step, StepId, Wait};
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
            (None, TaskState::Pending) => return self.not_begun(now),
            (None, TaskState::Completed) => return "it is done".to_owned(),
            (None, _) => {
                let told = |(id, record)| open(definition.step(id), record, now);
                let open = |row: (StepId, _)| told(row).map(|what| format!("`{}`: {what}", name(row.0)));
                self.rows().filter_map(open).collect()
            }
        };
        told.join("; ")
    }

    fn not_begun(&self, now: Time) -> String {
        match self.head.start_at() {
            Some(at) if at > now => format!(
                "it starts in {} s; to have it start sooner, cancel it and submit it anew",
                at.since(now).as_secs()
            ),
            Some(_) => "its start time has come, and nobody has begun with it yet".to_owned(),
            None => "nobody has begun with it yet".to_owned(),
        }
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

/// What a step waits for that calls nothing: since when, until when, and what would change it.
fn waits(wait: &Wait, record: &Record, now: Time) -> String {
    let since = now.since(record.since().unwrap_or(now)).as_secs();
    let left = record.not_before.map(|time| time.since(now).as_secs());
    match (wait, left) {
        (Wait::Time(_), left) => format!(
            "it waits for a time: since {since} s, and for {} s more; only a cancel or the task's deadline ends that sooner",
            left.unwrap_or(0)
        ),
        (Wait::Signal { signal, .. }, None) => {
            format!(
                "it waits for signal `{signal}`: since {since} s, without a timeout; send the signal, or cancel"
            )
        }
        (Wait::Signal { signal, or_none, .. }, Some(left)) => {
            let then = if *or_none { "goes on without it" } else { "fails" };
            format!(
                "it waits for signal `{signal}`: since {since} s, and for {left} s more, then it {then}; send the signal"
            )
        }
    }
}

/// What a step does whose attempt runs.
fn runs(step: &Step, record: &Record, left: u64) -> String {
    let mut what = format!("an attempt runs, for {left} s at most");
    if record.rounds() > 0 {
        what = format!("round {}: {what}", record.rounds() + 1);
    }
    match step.heartbeat() {
        Some(time) => format!("{what}, and is given up when it is not heard of for {}", in_words(time)),
        None => what,
    }
}

/// When a step is called next that was called before.
fn called_next(step: &Step, record: &Record, left: u64) -> String {
    match (record.rounds(), step.repeats()) {
        (rounds @ 1.., Some(repeat)) if record.failures == 0 => {
            let most = repeat.at_most.map_or(String::new(), |most| format!(" of {most}"));
            format!("it was not done after round {rounds}{most}; the next one is in {left} s")
        }
        _ => format!("the next attempt is in {left} s"),
    }
}

/// What a step that has not ended does or waits for.
fn open(step: &Step, record: &Record, now: Time) -> Option<String> {
    let secs = |time: Option<Time>| time.map_or(0, |time| time.since(now).as_secs());
    let what = match record.state {
        StepState::Running => runs(step, record, secs(record.complete_by)),
        StepState::Ready => "it waits for a place at its service".to_owned(),
        StepState::Waiting => match step.wait() {
            Some(wait) => waits(wait, record, now),
            None => called_next(step, record, secs(record.not_before)),
        },
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
