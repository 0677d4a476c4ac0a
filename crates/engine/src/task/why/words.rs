//! Why a task does not move, in one line. What is measured from now is in seconds.

use std::fmt;
use std::sync::Arc;

use super::super::{Cause, Task, TaskState};
use super::{Change, Circuit, CircuitState, Held, On, Why};
use crate::decide::in_words;
use crate::definition::StepId;
use crate::time::Time;

/// Of so many items it is told what they do: they are alike.
const ITEMS_TOLD: usize = 3;

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut told = Vec::new();
        match (&self.cause, self.state) {
            (Some(_), _) => told.push(self.cause_words.clone()),
            (None, TaskState::Completed) => told.push("it is done".to_owned()),
            _ => {}
        }
        // Steps that wait for others of the task have nothing to tell: those others do.
        let waits_for_others =
            |hold: &&Held| matches!(hold.on, On::Turn(_) | On::Drain(_) | On::LaterUndo(_));
        let telling = self.held.iter().filter(|hold| !waits_for_others(hold));
        let (items, steps): (Vec<_>, Vec<_>) = telling.partition(|hold| hold.is_of_item());
        told.extend(steps.into_iter().map(|hold| hold.in_words(self.now)));
        told.extend(items.iter().take(ITEMS_TOLD).map(|hold| hold.in_words(self.now)));
        if items.len() > ITEMS_TOLD {
            told.push(format!("and {} more items", items.len() - ITEMS_TOLD));
        }
        if self.held.iter().any(|hold| hold.undo && matches!(hold.on, On::Drain(_))) {
            told.push("what was done is undone once that has ended".to_owned());
        }
        if let Some(deadline) = self.deadline {
            told.push(match deadline > self.now {
                true => format!("its deadline is in {} s", deadline.since(self.now).as_secs()),
                false => "its deadline has come".to_owned(),
            });
        }
        f.write_str(&told.join("; "))
    }
}

pub(super) fn cause(cause: &Cause, task: &Task, name: impl Fn(StepId) -> String) -> String {
    let failure = |id: &StepId| task.step(*id).last_failure.as_deref().unwrap_or("it gave no reason");
    match cause {
        Cause::StepFailed(id) => format!("step `{}` failed: {}", name(*id), failure(id)),
        Cause::OutcomeUnknown(id) => {
            format!("nobody knows whether step `{}` happened: {}", name(*id), failure(id))
        }
        Cause::OwnerDied(id) => {
            format!("the process died three times while step `{}` ran: it may be the killer", name(*id))
        }
        Cause::Deadline => "its deadline has passed".to_owned(),
        Cause::Cancelled { by, why } => format!("cancelled by {by}: {why}"),
        Cause::NotTaken { why } => format!("it could not be taken: {why}"),
    }
}

impl Held {
    fn is_of_item(&self) -> bool {
        self.step.is_some_and(|step| step.item().is_some())
    }

    /// In words, with times as they are measured from this moment.
    #[must_use]
    pub fn in_words(&self, now: Time) -> String {
        let name = &self.name;
        match (&self.on, self.undo) {
            (On::Stuck { unknown: true }, _) => format!(
                "nobody knows whether `{name}` happened, and to undo what did not happen is not safe there"
            ),
            (On::Stuck { unknown: false }, _) => {
                let failure = self.last_failure.as_deref().unwrap_or("it gave no reason");
                format!("`{name}` could not be undone: {failure}")
            }
            (_, undo) => {
                let whose = match (self.step, undo) {
                    (None, _) => String::new(),
                    (Some(_), true) => format!("undo of `{name}`: "),
                    (Some(_), false) => format!("`{name}`: "),
                };
                let failed = self.last_failure.as_ref();
                let failed =
                    failed.map_or(String::new(), |failure| format!("; the last attempt failed: {failure}"));
                format!("{whose}{}{failed}", self.what(now))
            }
        }
    }

    fn what(&self, now: Time) -> String {
        let left = self.until.map(|time| time.since(now).as_secs());
        let secs = left.unwrap_or(0);
        let since = self.since.map(|since| format!(" for {} s so far", now.since(since).as_secs()));
        // Where it is known, also in the middle of a sentence.
        let since_or = |without: &str| since.clone().unwrap_or_else(|| without.to_owned());
        match &self.on {
            On::Begin => "nobody has begun with it yet".to_owned(),
            On::Start if self.until.is_some_and(|time| time > now) => {
                format!("it starts in {secs} s; to have it start sooner, cancel it and submit it anew")
            }
            On::Start => "its start time has come, and nobody has begun with it yet".to_owned(),
            On::Paused { by, why } => {
                format!("it is paused by {by}{}: {why}; it goes on when somebody resumes it", since_or(""))
            }
            On::Workflow { name, version } => format!(
                "it waits: this program does not know workflow `{name}` version {version} in the shape that the task has"
            ),
            On::Turn(_) => "it waits for steps before it".to_owned(),
            On::Answer => "its turn has come, and its condition or its time is being found out".to_owned(),
            On::Node => "nobody works on the task just now; a node that is there takes it up".to_owned(),
            On::Attempt { .. } if self.until.is_some_and(|time| time <= now) => {
                "an attempt has not answered in time; the supervisor sees to it".to_owned()
            }
            On::Attempt { .. } => self.attempt(secs, since.as_deref()),
            On::Callback { .. } if self.until.is_some_and(|time| time <= now) => {
                "its service has not called back in time; the supervisor sees to it".to_owned()
            }
            On::Callback { round, .. } => format!(
                "{}its service has taken it on and is to call back: it waits{}, and for {secs} s more at most",
                round.map_or(String::new(), |round| format!("round {round}: ")),
                since_or("")
            ),
            On::Items { done, failed, busy, count } => {
                let what = if self.undo { "undone" } else { "done" };
                let failed = if *failed > 0 { format!(", {failed} failed") } else { String::new() };
                format!(
                    "{done} of its {count} items are {what}{failed}, {busy} are under way{}",
                    since_or("")
                )
            }
            On::Child { workflow, task } => child_words(workflow, task.as_ref(), &since_or("")),
            On::Place => format!("it waits for a place at its service{}", since_or("")),
            On::Time => format!(
                "it waits for a time:{}, and for {secs} s more; only a cancel or the task's deadline ends that sooner",
                since_or("")
            ),
            On::Signal { signal, came: true, .. } => format!("signal `{signal}` has come, and is being read"),
            On::Signal { signal, or_none, .. } => signal_words(signal, *or_none, &since_or(""), left),
            On::NextAttempt { .. } => format!("the next attempt is in {secs} s{}", waits(since.as_deref())),
            On::NextRound { rounds, at_most } => {
                let most = at_most.map_or(String::new(), |most| format!(" of {most}"));
                let next = format!("the next one is in {secs} s{}", waits(since.as_deref()));
                format!("it was not done after round {rounds}{most}; {next}")
            }
            On::Breaker { circuit } => self.breaker(circuit.as_ref(), &since_or(""), now),
            On::Suspect => asked_again(
                "the process died under it twice, and under another that runs now: they run apart",
                left,
            ),
            On::NoHandler => asked_again("nobody here knows how to carry it out", left),
            On::Limit => asked_again(&format!("its service has no room{}", since_or("")), left),
            On::GivenUp { unknown } => {
                let how = if *unknown { "nobody knows whether it happened" } else { "it has failed" };
                format!("{how}, and the task fails again once nothing else goes on: retry it or skip it")
            }
            On::Drain(_) if self.undo => "it is undone once what runs has ended".to_owned(),
            On::Drain(_) => "it does not begin any more".to_owned(),
            On::LaterUndo(_) if self.change == Change::Operator => {
                "it waits for the undo of what came after it, and one of those is stuck".to_owned()
            }
            On::LaterUndo(_) => "it waits for the undo of what came after it".to_owned(),
            On::Stuck { .. } => "it could not be undone".to_owned(),
        }
    }

    fn attempt(&self, left: u64, since: Option<&str>) -> String {
        let On::Attempt { round, heartbeat, .. } = &self.on else { return String::new() };
        let round = round.map_or(String::new(), |round| format!("round {round}: "));
        let runs = match since {
            Some(since) => format!("an attempt runs{since}, and for {left} s more at most"),
            None => format!("an attempt runs, for {left} s at most"),
        };
        match heartbeat {
            Some(time) => {
                format!("{round}{runs}, and is given up when it is not heard of for {}", in_words(*time))
            }
            None => format!("{round}{runs}"),
        }
    }

    fn breaker(&self, circuit: Option<&Circuit>, since: &str, now: Time) -> String {
        let service = self.service.as_deref().unwrap_or_default();
        let waits = format!("it waits for circuit `{service}`{since}");
        let left = self.until.map(|time| time.since(now).as_secs());
        let Some(circuit) = circuit else { return asked_again(&waits, left) };
        let how = circuit.in_words(now);
        let then = match (&self.change, circuit.state) {
            (Change::Operator, _) => "it goes on when somebody lets the circuit close",
            (_, CircuitState::Closed) => "it goes on when its turn comes",
            _ => "it goes on when the circuit closes, or as a probe",
        };
        format!("{waits} ({how}); {then}")
    }
}

impl Circuit {
    fn in_words(&self, now: Time) -> String {
        let since =
            self.since.map_or(String::new(), |since| format!(" for {} s so far", now.since(since).as_secs()));
        let probe = self.probe_at.map(|at| at.since(now).as_secs());
        let state = match (self.state, &self.forced_by) {
            (CircuitState::Open, Some((who, why))) => format!("held open by {who}{since}: {why}"),
            (CircuitState::Open, None) => format!("open{since}"),
            (CircuitState::Probing, _) => format!("not closed{since}, and being probed"),
            (CircuitState::Closed, _) => "closed, and those that waited go on in growing steps".to_owned(),
        };
        match probe.filter(|_| self.state == CircuitState::Open) {
            Some(secs) => format!("{state}, a probe in {secs} s"),
            None => state,
        }
    }
}

fn waits(since: Option<&str>) -> String {
    since.map_or(String::new(), |since| format!(", it waits{since}"))
}

fn signal_words(signal: &str, or_none: bool, since: &str, left: Option<u64>) -> String {
    let waits = format!("it waits for signal `{signal}`:{since}");
    match left {
        None => format!("{waits}, without a timeout; send the signal, or cancel"),
        Some(left) => {
            let then = if or_none { "goes on without it" } else { "fails" };
            format!("{waits}, and for {left} s more, then it {then}; send the signal")
        }
    }
}

fn child_words(workflow: &str, task: Option<&(Arc<str>, TaskState)>, since: &str) -> String {
    match task {
        None => format!("it waits for the task of workflow `{workflow}` that it has asked for{since}"),
        Some((id, TaskState::Failed)) => format!(
            "it waits for task {id} of workflow `{workflow}`{since}, which has failed: it goes on when somebody has repaired \
             or undone that one"
        ),
        Some((id, _)) => {
            format!("it waits for task {id} of workflow `{workflow}`{since}: ask why of that one")
        }
    }
}

fn asked_again(what: &str, left: Option<u64>) -> String {
    match left {
        Some(left) => format!("{what}; asked again in {left} s"),
        None => format!("{what}; it goes on when that changes"),
    }
}
