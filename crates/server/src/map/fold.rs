//! A task as its history says: its rows, and the attempts of its steps.
//!
//! The history begins with the first write after the submission. What a step was from the beginning is known if nothing was written
//! of it since; and an attempt whose beginning is not in the history began with the task, since nothing runs that was not written first.

use std::collections::BTreeMap;

use steadfast::{
    Cause, Entry, Head, Record, Status, StepId, StepState, StepStatus, Time, UndoState, rfc3339,
};
use steadfast_client::wire::state::{StepState as WireState, TaskState};
use steadfast_client::wire::step::{Attempt, StepChange};
use steadfast_client::wire::task::Change;

use super::{state, when};

/// The most attempts that are shown of a step: who needs more reads the history.
const MOST_ATTEMPTS: usize = 100;

/// What the history of a task comes to.
#[derive(Debug, Default)]
pub(crate) struct Fold {
    pub(crate) head: Option<Head>,
    pub(crate) revision: u64,
    pub(crate) ended_at: Option<Time>,
    steps: BTreeMap<usize, Record>,
    attempts: BTreeMap<usize, Vec<Attempt>>,
}

impl Fold {
    pub(crate) fn of(history: &[Entry], submitted_at: Time) -> Self {
        let mut fold = Self::default();
        history.iter().for_each(|entry| fold.add(entry, submitted_at));
        fold
    }

    fn add(&mut self, entry: &Entry, submitted_at: Time) {
        self.revision = self.revision.max(entry.revision);
        for (id, record) in entry.steps.iter().filter(|(id, _)| id.item().is_none()) {
            let before = self.steps.insert(id.ordinal(), record.clone()).unwrap_or_default();
            let attempts = self.attempts.entry(id.ordinal()).or_default();
            if let Some(first) = unseen(&before, record) {
                attempts.push(begun(first, false, submitted_at));
            }
            note(attempts, &before, record, entry.at);
        }
        if let Some(head) = &entry.head {
            // One that has failed may still come to another end, such as by a step that is skipped.
            let was = self.head.as_ref().map(|head| head.state);
            match head.state.is_at_rest() {
                true if was != Some(head.state) => self.ended_at = Some(entry.at),
                true => {}
                false => self.ended_at = None,
            }
            self.head = Some(head.clone());
        }
    }

    pub(crate) fn record(&self, step: usize) -> Option<&Record> {
        self.steps.get(&step)
    }

    /// The attempts of a step, oldest first; of many, the latest.
    pub(crate) fn attempts(&self, step: usize) -> Vec<Attempt> {
        let all = self.attempts.get(&step).map_or(&[][..], Vec::as_slice);
        all[all.len().saturating_sub(MOST_ATTEMPTS)..].to_vec()
    }
}

/// Notes what a write says of attempts: one has ended, one has begun, or both.
fn note(attempts: &mut Vec<Attempt>, before: &Record, now: &Record, at: Time) {
    let goes_on = runs(now) && attempts.last().is_some_and(|last| last.number == now.attempt);
    if let Some(open) = attempts.last_mut().filter(|open| open.ended_at.is_none() && !goes_on) {
        open.ended_at = Some(rfc3339(at));
        let failed = now.failures > before.failures || has_failed(now, open.undo);
        open.failure = now.last_failure.as_deref().filter(|_| failed).map(str::to_owned);
    }
    if runs(now) && !goes_on {
        attempts.push(begun(now.attempt, now.undo != UndoState::None, at));
    }
}

/// The number of an attempt that began with the task: there was none before, and this write is not its beginning.
fn unseen(before: &Record, now: &Record) -> Option<u32> {
    // What a service has taken on began before that was known.
    let begins = runs(now) && now.since().is_none();
    let seen = if begins { now.attempt.saturating_sub(1) } else { now.attempt };
    (before.attempt == 0 && seen >= 1).then_some(1)
}

pub(crate) fn begun(number: u32, undo: bool, at: Time) -> Attempt {
    Attempt { number, undo, began_at: rfc3339(at), ended_at: None, failure: None }
}

/// What was so as the task was submitted, as far as that can be told: its place in the history is 0.
pub(crate) fn submission(submitted_at: Time, status: &Status, history: &[Entry]) -> Change {
    let first = |place: usize| {
        let of = |entry: &Entry| {
            entry.steps.iter().find(|(id, _)| *id == at(place)).map(|(_, record)| record.clone())
        };
        history.iter().find_map(of)
    };
    let step = |(place, own): (usize, &StepStatus)| {
        let (state, attempt) = match first(place) {
            None => (own.state, own.attempt),
            Some(record) => (StepState::Running, unseen(&Record::default(), &record)?),
        };
        (state != StepState::Pending).then(|| StepChange {
            step: own.name.clone(),
            state: state::step(state),
            undo: state::undo(UndoState::None),
            attempt,
            failures: 0,
            complete_by: None,
            not_before: None,
            blocked_on: None,
            last_failure: None,
        })
    };
    let steps: Vec<_> = status.steps.iter().enumerate().filter_map(step).collect();
    let has_begun = steps.iter().any(|step| step.state == WireState::Running);
    let now = match history.is_empty() {
        true => state::task(status.state),
        false if has_begun => TaskState::Running,
        false => TaskState::Pending,
    };
    Change { revision: 0, at: rfc3339(submitted_at), state: Some(now), deadline: None, cause: None, steps }
}

fn at(place: usize) -> StepId {
    StepId::at(u16::try_from(place).unwrap_or(u16::MAX))
}

fn runs(record: &Record) -> bool {
    match record.undo {
        UndoState::None => record.state == StepState::Running,
        undo => undo == UndoState::Running,
    }
}

fn has_failed(record: &Record, undo: bool) -> bool {
    match undo {
        true => record.undo == UndoState::Failed,
        false => matches!(record.state, StepState::Failed | StepState::Unknown),
    }
}

/// What a write has changed, for the history and for streams. The head is the one that stood before it, or stands since.
pub(crate) fn change(entry: &Entry, head: Option<&Head>, names: &[String]) -> Change {
    let own = entry.head.as_ref();
    let head = own.or(head);
    let ending = own.and_then(|head| head.ending.as_ref());
    let step = |(id, record): &(StepId, Record)| step_change(*id, record, head, names);
    Change {
        revision: entry.revision,
        at: rfc3339(entry.at),
        state: own.map(|head| state::task(head.state)),
        deadline: when(own.and_then(|head| head.deadline)),
        cause: ending.map(|ending| cause(&ending.cause, names)),
        steps: entry.steps.iter().map(step).collect(),
    }
}

/// All changes behind a revision. The head is the one that stood before the history given, if that is not all of it.
pub(crate) fn changes(history: &[Entry], head: Option<&Head>, after: u64, names: &[String]) -> Vec<Change> {
    let mut head = head;
    let mut changes = Vec::new();
    for entry in history {
        if entry.revision > after {
            changes.push(change(entry, head, names));
        }
        head = entry.head.as_ref().or(head);
    }
    changes
}

fn step_change(id: StepId, record: &Record, head: Option<&Head>, names: &[String]) -> StepChange {
    StepChange {
        step: name_of(id, head, names),
        state: state::step(record.state),
        undo: state::undo(record.undo),
        attempt: record.attempt,
        failures: record.failures,
        complete_by: when(record.complete_by),
        not_before: when(record.not_before),
        blocked_on: record.blocked_on.as_ref().map(state::block),
        last_failure: record.last_failure.as_deref().map(str::to_owned),
    }
}

/// The name of a step, or of an item: that of its step with its place.
fn name_of(id: StepId, head: Option<&Head>, names: &[String]) -> String {
    let name = |step: usize| names.get(step).cloned().unwrap_or_else(|| format!("step {step}"));
    let Some(item) = id.item() else { return name(id.ordinal()) };
    match head.and_then(|head| head.fan_of(id)).and_then(|fan| Some((fan.step, fan.place_of(id)?))) {
        Some((step, place)) => format!("{}[{place}]", name(step.ordinal())),
        None => format!("item {item}"),
    }
}

fn cause(cause: &Cause, names: &[String]) -> String {
    let step = |id: &StepId| name_of(*id, None, names);
    match cause {
        Cause::StepFailed(id) => format!("step `{}` failed", step(id)),
        Cause::OutcomeUnknown(id) => format!("nobody knows whether step `{}` happened", step(id)),
        Cause::OwnerDied(id) => format!("the process died three times while step `{}` ran", step(id)),
        Cause::Deadline => "its deadline has passed".to_owned(),
        Cause::Cancelled { by, why } => format!("cancelled by {by}: {why}"),
        Cause::NotTaken { why } => format!("it could not be taken: {why}"),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use steadfast::TaskState;

    use super::*;

    fn entry(revision: u64, record: Record) -> Entry {
        Entry { revision, at: Time::from_millis(revision), head: None, steps: vec![(StepId::at(0), record)] }
    }

    #[test]
    fn attempts_are_read_from_the_history() {
        let running = |attempt, failures| Record {
            state: StepState::Running,
            attempt,
            failures,
            last_failure: (failures > 0).then(|| format!("no {failures}").into()),
            ..Record::default()
        };
        let undone = Record { undo: UndoState::Done, state: StepState::Undone, ..running(4, 0) };
        let history = [
            entry(1, Record::default()),
            entry(2, running(1, 0)),
            // The second begins in the write that ends the first.
            entry(3, running(2, 1)),
            entry(4, Record { state: StepState::Waiting, ..running(2, 2) }),
            entry(5, running(3, 2)),
            entry(6, Record { state: StepState::Completed, ..running(3, 2) }),
            entry(7, Record { undo: UndoState::Running, state: StepState::Undoing, ..running(4, 0) }),
            entry(8, undone),
        ];
        let fold = Fold::of(&history, Time::from_millis(0));
        let read: Vec<_> =
            fold.attempts(0).into_iter().map(|one| (one.number, one.undo, one.failure)).collect();
        let failed = |words: &str| Some(words.to_owned());
        assert_eq!(
            read,
            [(1, false, failed("no 1")), (2, false, failed("no 2")), (3, false, None), (4, true, None)]
        );
        let last = &fold.attempts(0)[3];
        assert_eq!(last.began_at, rfc3339(Time::from_millis(7)));
        assert_eq!(last.ended_at, Some(rfc3339(Time::from_millis(8))));
        assert_eq!((fold.revision, fold.record(0).unwrap().attempt), (8, 4));
    }

    #[test]
    fn an_attempt_that_began_with_the_task_is_known_by_its_end() {
        let ended = Record { state: StepState::Completed, attempt: 1, ..Record::default() };
        let read = Fold::of(&[entry(5, ended)], Time::from_millis(2)).attempts(0);
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].began_at, rfc3339(Time::from_millis(2)));
        assert_eq!(
            (read[0].ended_at.clone(), read[0].failure.clone()),
            (Some(rfc3339(Time::from_millis(5))), None)
        );
        // The second begins in the write that ends the first.
        let next = Record {
            state: StepState::Running,
            attempt: 2,
            failures: 1,
            last_failure: Some("no".into()),
            ..Record::default()
        };
        let read = Fold::of(&[entry(5, next)], Time::from_millis(2)).attempts(0);
        let read: Vec<_> = read.iter().map(|one| (one.number, one.failure.as_deref())).collect();
        assert_eq!(read, [(1, Some("no")), (2, None)]);
        // One whose beginning is in the history did not.
        let first = Record { state: StepState::Running, attempt: 1, ..Record::default() };
        let read = Fold::of(&[entry(5, first)], Time::from_millis(2)).attempts(0);
        assert_eq!((read.len(), read[0].began_at.clone()), (1, rfc3339(Time::from_millis(5))));
    }

    #[test]
    fn a_task_has_ended_when_it_came_to_the_end_that_it_is_at() {
        let head = |state| {
            let (deadline, no_return, ending, more) = (None, false, None, None);
            Some(Head { state, deadline, no_return, ending, running: 0, ready: 0, resting: 0, open: 0, more })
        };
        let entry = |revision, state| Entry {
            head: head(state),
            steps: Vec::new(),
            ..entry(revision, Record::default())
        };
        let (failed, done) = (TaskState::Failed, TaskState::Completed);
        let ended = |history: &[Entry]| Fold::of(history, Time::from_millis(0)).ended_at.map(Time::as_millis);
        assert_eq!(ended(&[entry(1, failed)]), Some(1));
        assert_eq!(ended(&[entry(1, failed), entry(2, failed)]), Some(1), "somebody has labelled it");
        assert_eq!(ended(&[entry(1, failed), entry(2, done)]), Some(2), "what failed was skipped");
        assert_eq!(ended(&[entry(1, failed), entry(2, TaskState::Running)]), None);
    }

    #[test]
    fn changes_behind_a_place_are_all_behind_it() {
        let history: Vec<_> = (1..=5).map(|revision| entry(revision, Record::default())).collect();
        let read: Vec<_> =
            changes(&history, None, 3, &["a".to_owned()]).iter().map(|one| one.revision).collect();
        assert_eq!(read, [4, 5]);
    }
}
