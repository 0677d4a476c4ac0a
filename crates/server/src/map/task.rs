//! Tasks.

use std::collections::BTreeMap;

use serde_json::Value;
use steadfast::{Held, On, Outcome, Paused, Status, StepStatus, Time, Why, rfc3339};
use steadfast_client::wire::state::{StepState, TaskState};
use steadfast_client::wire::step::{Items, Step};
use steadfast_client::wire::task::{self, Summary, Task};

use super::fold::{Fold, begun};
use super::{state, when};

pub(crate) fn summary(from: steadfast::Summary) -> Summary {
    Summary {
        id: from.id.to_string(),
        namespace: from.namespace.to_string(),
        workflow: from.workflow.to_string(),
        version: from.version,
        key: from.key.as_deref().map(str::to_owned),
        state: state::task(from.state),
        submitted_at: rfc3339(from.submitted_at),
        why: from.why,
        labels: from
            .labels
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect::<BTreeMap<_, _>>(),
        parent: from.parent.map(|parent| parent.to_string()),
    }
}

pub(crate) fn outcome(from: Outcome<Value>) -> task::Outcome {
    let (state, result, reason) = match from {
        Outcome::Completed(result) => (TaskState::Completed, Some(result), None),
        Outcome::Undone(why) => (TaskState::Undone, None, Some(why.to_string())),
        Outcome::Failed(why) => (TaskState::Failed, None, Some(why.to_string())),
    };
    task::Outcome { state, result, reason }
}

/// What is known of a task: from the list, how it stands, what it waits for, and what its history comes to.
pub(crate) struct Known {
    pub(crate) summary: steadfast::Summary,
    pub(crate) status: Status,
    pub(crate) why: Why,
    pub(crate) fold: Fold,
}

/// A task as a whole, without payloads.
pub(crate) fn whole(known: Known) -> Task {
    let Known { summary: from, status, why, fold } = known;
    let submitted_at = from.submitted_at;
    let mut summary = summary(from);
    status.why.clone_into(&mut summary.why);
    let head = fold.head.as_ref();
    let now = head.map_or(status.state, |head| head.state);
    summary.state = state::task(now);
    let ended = now.is_at_rest().then(|| {
        let reason = (summary.state != TaskState::Completed).then(|| summary.why.clone());
        task::Outcome { state: summary.state, result: None, reason }
    });
    let starts = why.held.iter().find(|held| matches!(held.on, On::Start)).and_then(|held| held.until);
    let step =
        |(place, step): (usize, &StepStatus)| whole_step(place, step, &fold, held(&why, place), submitted_at);
    Task {
        revision: fold.revision,
        deadline: when(why.deadline.or_else(|| head.and_then(|head| head.deadline))),
        start_at: when(starts),
        ended_at: when(fold.ended_at),
        no_return: head.is_some_and(|head| head.no_return),
        paused: head.and_then(steadfast::Head::paused).map(paused),
        steps: status.steps.iter().enumerate().map(step).collect(),
        input: None,
        outcome: ended,
        summary,
    }
}

/// What a step does or waits for.
fn held(why: &Why, place: usize) -> Option<&Held> {
    let is = |held: &&Held| held.step.is_some_and(|step| step.item().is_none() && step.ordinal() == place);
    why.held.iter().find(is)
}

fn paused(from: &Paused) -> task::Paused {
    let left = from.left.map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
    task::Paused {
        by: from.by.to_string(),
        because: from.why.to_string(),
        since: rfc3339(from.since),
        left_ms: left,
    }
}

fn whole_step(
    place: usize,
    status: &StepStatus,
    fold: &Fold,
    held: Option<&Held>,
    submitted_at: Time,
) -> Step {
    let own = fold.record(place);
    let record = own.cloned().unwrap_or_default();
    let (state, undo, attempt) = match own {
        Some(record) => (record.state, record.undo, record.attempt),
        // Nothing was written of it since the task was submitted.
        None => (status.state, status.undo, status.attempt),
    };
    let waits = own.is_none().then_some(held).flatten();
    let until = |runs: bool| {
        waits.filter(|held| matches!(held.on, On::Attempt { .. }) == runs).and_then(|held| held.until)
    };
    let mut attempts = fold.attempts(place);
    if own.is_none() && attempt > 0 {
        attempts.push(begun(attempt, false, submitted_at));
    }
    let failure = record.last_failure.as_deref().or(status.last_failure.as_deref());
    Step {
        name: status.name.clone(),
        state: state::step(state),
        undo: state::undo(undo),
        attempt,
        failures: record.failures,
        calls: record.calls,
        complete_by: when(record.complete_by.or_else(|| until(true))),
        not_before: when(record.not_before.or_else(|| until(false))),
        blocked_on: record
            .blocked_on
            .as_ref()
            .map(state::block)
            .or_else(|| waits.and_then(|held| blocked(&held.on))),
        last_failure: failure.map(str::to_owned),
        may_have_happened: record.may_have_happened && state::step(state) != StepState::Completed,
        // What an attempt says of itself is JSON; what cannot be read is shown as the text that it is.
        progress: status
            .progress
            .as_deref()
            .map(|text| serde_json::from_str(text).unwrap_or_else(|_| text.into())),
        items: status.items.map(|fan| Items {
            count: fan.count.into(),
            done: fan.done.into(),
            failed: fan.failed.into(),
            busy: fan.busy.into(),
            stuck: fan.stuck.into(),
        }),
        attempts,
        output: None,
        output_left_out: false,
    }
}

/// What a parked step waits for, by one word; not there for one that is not parked.
fn blocked(on: &On) -> Option<String> {
    let word = match on {
        On::Breaker { .. } => "breaker",
        On::Limit => "limit",
        On::NoHandler => "no_handler",
        On::Suspect => "suspect",
        _ => return None,
    };
    Some(word.to_owned())
}
