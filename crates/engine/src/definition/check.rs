//! What makes no sense in a workflow, with the place and what to do.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use super::{Builder, MAX_AT_A_TIME, MAX_NAME, MAX_STEPS, OnFailure, Step, StepId, Wait};

/// The longest time that a step or task may have: beyond a year it is no limit but a mistake.
const MAX_TIME: Duration = Duration::from_secs(366 * 24 * 3600);

/// A workflow that makes no sense. It lists every problem, not only the first.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Invalid {
    workflow: String,
    problems: Vec<Problem>,
}

impl Invalid {
    /// Everything that is wrong.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "workflow `{}` makes no sense:", self.workflow.escape_debug())?;
        self.problems.iter().try_for_each(|problem| write!(f, "\n  - {problem}"))
    }
}

/// One thing that is wrong with a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where: `step charge`, or `workflow`.
    pub place: String,
    /// What is wrong, and what to do.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// What each step comes after, or everything that is wrong.
pub(super) fn check(workflow: &Builder) -> Result<Vec<Vec<StepId>>, Invalid> {
    let mut found = Found::default();
    found.name("workflow", &workflow.name);
    found.time("workflow", "complete_within", workflow.complete_within);
    if workflow.steps.is_empty() {
        found.add("workflow", "it has no steps: add one");
    }
    if workflow.steps.len() > MAX_STEPS {
        let message = format!("it has {} steps, at most {MAX_STEPS} are allowed", workflow.steps.len());
        found.add("workflow", message);
        return Err(found.of(&workflow.name));
    }
    for step in &workflow.steps {
        found.step(step);
        found.repeat(step, workflow.complete_within.is_some());
        found.each(step);
        found.child(step);
        found.callback(step);
    }
    let before = found.order(&workflow.steps);
    if found.problems.is_empty() {
        found.undo(&workflow.steps, &before);
    }
    if found.problems.is_empty() { Ok(before) } else { Err(found.of(&workflow.name)) }
}

/// What comes after each step, from what each comes after.
pub(super) fn dependents(before: &[Vec<StepId>]) -> Vec<Vec<StepId>> {
    let mut dependents = vec![Vec::new(); before.len()];
    for (place, earlier) in before.iter().enumerate() {
        let id = StepId(u16::try_from(place).unwrap_or(u16::MAX));
        earlier.iter().for_each(|earlier| dependents[earlier.ordinal()].push(id));
    }
    dependents
}

/// The places of the steps that come after a point of no return, at whatever distance.
pub(super) fn behind_no_return(steps: &[Step], dependents: &[Vec<StepId>]) -> Vec<usize> {
    let mut behind = vec![false; steps.len()];
    let mut next: Vec<usize> = (0..steps.len()).filter(|place| steps[*place].point_of_no_return).collect();
    while let Some(place) = next.pop() {
        for later in dependents.get(place).into_iter().flatten() {
            if !std::mem::replace(&mut behind[later.ordinal()], true) {
                next.push(later.ordinal());
            }
        }
    }
    (0..steps.len()).filter(|place| behind[*place]).collect()
}

/// What is wrong with a name, if anything is.
pub(crate) fn bad_name(name: &str) -> Option<String> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    if name.is_empty() {
        Some("it has no name".to_owned())
    } else if name.len() > MAX_NAME {
        Some(format!("its name has {} bytes, at most {MAX_NAME} are allowed", name.len()))
    } else if !name.chars().all(fits) {
        Some(format!("`{}` is no name: use letters, digits, `-`, `_` and `.`", name.escape_debug()))
    } else {
        None
    }
}

#[derive(Default)]
struct Found {
    problems: Vec<Problem>,
}

impl Found {
    fn add(&mut self, place: impl Into<String>, message: impl Into<String>) {
        self.problems.push(Problem { place: place.into(), message: message.into() });
    }

    fn of(self, workflow: &str) -> Invalid {
        let workflow = workflow.chars().take(MAX_NAME).collect();
        Invalid { workflow, problems: self.problems }
    }

    fn name(&mut self, place: &str, name: &str) {
        if let Some(message) = bad_name(name) {
            self.add(place, message);
        }
    }

    fn time(&mut self, place: &str, setting: &str, time: Option<Duration>) {
        match time {
            Some(time) if time.is_zero() => {
                self.add(place, format!("{setting} is zero: give a time above 0"));
            }
            Some(time) if time > MAX_TIME => self.add(place, format!("{setting} is longer than a year")),
            _ => {}
        }
    }

    fn step(&mut self, step: &Step) {
        let place = place(step);
        self.name(&place, &step.name);
        match &step.waits {
            Some(wait) => self.wait(&place, step, wait),
            None => self.name(&format!("{place}, service"), &step.service),
        }
        self.time(&place, "heartbeat_within", step.heartbeat_within);
        self.time(&place, "complete_within", Some(step.complete_within));
        self.time(&place, "the undo's complete_within", step.undo.map(|undo| undo.complete_within));
        if step.max_calls == Some(0) {
            self.add(&place, "max_calls is 0: it would never be called");
        }
        for recovery in [Some(step.recovery), step.undo.map(|undo| undo.recovery)].into_iter().flatten() {
            if recovery.last == 0 || recovery.at_once >= recovery.last {
                self.add(&place, "recovery: `last` must be above `at_once`, or no wait is ever extended");
            }
        }
        if step.undo.is_some() && step.nothing_to_undo {
            self.add(&place, "it has an undo and nothing to undo: remove one of the two");
        }
        if step.undo_when_unknown && step.undo.is_none() {
            self.add(&place, "undo_when_unknown without an undo: add one");
        }
        if step.undo_when_unknown && step.undo.is_some_and(|undo| undo.reads_output) {
            self.add(
                &place,
                "undo_when_unknown, and the undo reads the output, which an unknown outcome does not have: \
                 undo by the step's key or input",
            );
        }
        if step.point_of_no_return && step.undo.is_some() {
            self.add(&place, "a point of no return is never undone: remove its undo");
        }
    }

    /// A step that calls nothing.
    fn wait(&mut self, place: &str, step: &Step, wait: &Wait) {
        match wait {
            Wait::Time(time) => self.time(place, "its wait", *time),
            Wait::Signal { signal, timeout, or_none } => {
                self.name(&format!("{place}, signal"), signal);
                self.time(place, "timeout", *timeout);
                if *or_none && timeout.is_none() {
                    self.add(place, "it goes on without its signal, and has no timeout: add one");
                }
            }
        }
        let calls = step.undo.is_some()
            || step.max_calls.is_some()
            || step.repeat.is_some()
            || step.each.is_some()
            || step.heartbeat_within.is_some()
            || !step.idempotent;
        if calls {
            self.add(
                place,
                "it waits and calls nothing: remove its undo, calls, rounds, items and heartbeats",
            );
        }
    }

    fn repeat(&mut self, step: &Step, has_deadline: bool) {
        let (Some(repeat), place) = (step.repeat, place(step)) else { return };
        if repeat.every > MAX_TIME {
            self.add(&place, "the time between two rounds is longer than a year");
        }
        match repeat.at_most {
            Some(0) => self.add(&place, "at_most is 0: it would never be called"),
            None if !has_deadline => self.add(
                &place,
                "it is repeated without an end: add at_most, or a complete_within to the workflow",
            ),
            _ => {}
        }
        if step.undo.is_some() || step.point_of_no_return {
            self.add(
                &place,
                "it is repeated, and each round is a call of its own that one undo does not take back: leave to a step \
                 behind it what has to be undone or cannot be",
            );
        }
    }

    fn each(&mut self, step: &Step) {
        let (Some(each), place) = (step.each, place(step)) else { return };
        if each.at_a_time == 0 || each.at_a_time > MAX_AT_A_TIME {
            self.add(&place, format!("at_a_time is {}: give 1 to {MAX_AT_A_TIME}", each.at_a_time));
        }
        if step.repeat.is_some() {
            self.add(&place, "it is made for each item and repeated: leave one of the two to another step");
        }
        if step.point_of_no_return {
            self.add(
                &place,
                "it is made for each item, and a part of them is no point of no return: add a step behind it that is one",
            );
        }
        if step.on_failure == Some(OnFailure::Continue) {
            self.add(
                &place,
                "it is made for each item, and goes on when it has failed: say how many failed items it tolerates",
            );
        }
    }

    /// A step that asks for another task.
    fn child(&mut self, step: &Step) {
        let (Some(workflow), place) = (&step.child, place(step)) else { return };
        self.name(&format!("{place}, workflow"), workflow);
        if step.heartbeat_within.is_some() || step.max_calls.is_some() || !step.idempotent {
            self.add(
                &place,
                "it asks for another task, and that is all that it does: leave its calls and heartbeats as they are",
            );
        }
    }

    /// A step whose service may answer later.
    fn callback(&mut self, step: &Step) {
        let (Some(within), place) = (step.callback, place(step)) else { return };
        self.time(&place, "the callback's within", Some(within));
        if step.child.is_some() || step.waits.is_some() {
            self.add(&place, "it calls no service, and nobody would call back: remove its callback");
        }
    }

    /// What each step comes after, as far as it makes sense.
    fn order(&mut self, steps: &[Step]) -> Vec<Vec<StepId>> {
        let mut places: HashMap<&str, StepId> = HashMap::with_capacity(steps.len());
        for (number, step) in steps.iter().enumerate() {
            let id = StepId(u16::try_from(number).unwrap_or(u16::MAX));
            if places.insert(&step.name, id).is_some() {
                self.add(place(step), "another step has the same name");
            }
        }
        let mut before = Vec::with_capacity(steps.len());
        for step in steps {
            let mut earlier: Vec<StepId> = Vec::with_capacity(step.after.len());
            for name in &step.after {
                match places.get(name.as_str()) {
                    Some(id) if earlier.contains(id) => {
                        self.add(place(step), format!("it names `{name}` twice in `after`"));
                    }
                    Some(id) => earlier.push(*id),
                    None => self.add(
                        place(step),
                        format!("it comes after `{}`, which is no step", name.escape_debug()),
                    ),
                }
            }
            before.push(earlier);
        }
        self.circle(steps, &before);
        before
    }

    /// Takes away steps that come after nothing until none is left; what stays goes round in a circle.
    fn circle(&mut self, steps: &[Step], before: &[Vec<StepId>]) {
        let mut waits: Vec<usize> = before.iter().map(Vec::len).collect();
        let mut free: Vec<usize> = (0..steps.len()).filter(|place| waits[*place] == 0).collect();
        let dependents = dependents(before);
        while let Some(place) = free.pop() {
            for later in dependents[place].iter().map(|id| id.ordinal()) {
                waits[later] -= 1;
                if waits[later] == 0 {
                    free.push(later);
                }
            }
        }
        let Some(start) = (0..steps.len()).find(|place| waits[*place] > 0) else { return };
        // Going back from one that is stuck, something comes twice: there is the circle.
        let mut way = vec![start];
        let from = loop {
            let last = way[way.len() - 1];
            let stuck = before[last].iter().map(|id| id.ordinal()).find(|place| waits[*place] > 0);
            let Some(stuck) = stuck else { return };
            if let Some(from) = way.iter().position(|known| *known == stuck) {
                break from;
            }
            way.push(stuck);
        };
        let names: Vec<_> = way[from..].iter().rev().map(|place| steps[*place].name.as_str()).collect();
        let message =
            format!("steps wait for each other in a circle: {} -> {}", names.join(" -> "), names[0]);
        self.add("workflow", message);
    }

    /// Whether everything that may have to be undone can be.
    fn undo(&mut self, steps: &[Step], before: &[Vec<StepId>]) {
        let behind = behind_no_return(steps, &dependents(before));
        for (number, step) in steps.iter().enumerate() {
            if behind.contains(&number) {
                if step.on_failure == Some(OnFailure::Undo) {
                    self.add(place(step), "it comes after a point of no return, where nothing is undone: choose error or continue");
                }
                if step.undo.is_some() && step.child.is_none() {
                    self.add(
                        place(step),
                        "it comes after a point of no return, where nothing is undone: remove its undo",
                    );
                }
            } else if step.undo.is_none() && !step.nothing_to_undo && !step.point_of_no_return {
                self.add(
                    place(step),
                    "it has no undo, so that the task could not be undone as a whole: add an undo, or say that there is nothing to undo",
                );
            }
        }
    }
}

fn place(step: &Step) -> String {
    let name: String = step.name.chars().take(MAX_NAME).collect();
    format!("step `{}`", name.escape_debug())
}
