//! Why a task does not move, or how it has ended: since when, until when, and what would change it.
//!
//! It is made when somebody asks, from the rows, the workflow and the times of the history. Nothing of it is stored.

mod held;
mod since;
mod words;

use std::sync::Arc;
use std::time::Duration;

pub use since::Since;

use super::{Cause, Task, TaskState};
use crate::definition::{Definition, StepId};
use crate::time::Time;
use held::Asking;

/// Why a task does not move, or how it has ended. In words it is one line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Why {
    /// When this was so.
    pub now: Time,
    /// Where the task stands.
    pub state: TaskState,
    /// Since when it stands there, as far as that is known. At rest: when it ended.
    pub since: Option<Time>,
    /// By when it must be done; `None` without a deadline, and for one that is over or is being undone.
    pub deadline: Option<Time>,
    /// Why it does not complete, if it does not.
    pub cause: Option<Cause>,
    /// What each open step, or its undo, does or waits for, in their order. A task that has not begun, or whose workflow is not
    /// known, has one for all of it. At rest there are those that an operator has to look at.
    pub held: Vec<Held>,
    /// The cause, with the names of steps and how they failed.
    cause_words: String,
}

/// What one step or its undo does or waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Held {
    /// Which step; `None` for the task as a whole.
    pub step: Option<StepId>,
    /// Its name; empty for the task as a whole.
    pub name: String,
    /// The service that it calls, if it calls one.
    pub service: Option<String>,
    /// Whether it is about the undo of the step.
    pub undo: bool,
    /// What it does or waits for.
    pub on: On,
    /// Since when, as far as that is known.
    pub since: Option<Time>,
    /// Until when at most. Where it waits for its circuit, its room or its turn: when that is looked at next.
    pub until: Option<Time>,
    /// What would change it.
    pub change: Change,
    /// How the last attempt failed, if one did.
    pub last_failure: Option<Arc<str>>,
}

/// What a step, its undo, or a task does or waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum On {
    /// The task: nobody has begun with it.
    Begin,
    /// The task: the time at which it is to start.
    Start,
    /// The task: an operator holds it.
    Paused {
        /// Who.
        by: Arc<str>,
        /// Why.
        why: Arc<str>,
    },
    /// The task: this program does not know its workflow in the version and shape that it has.
    Workflow {
        /// Its name.
        name: String,
        /// Its version.
        version: u32,
    },
    /// Its turn: these steps come before it and have not ended.
    Turn(Vec<StepId>),
    /// Its condition, or the time until which it waits, is being found out.
    Answer,
    /// Nobody works on the task just now: a node has to take it up.
    Node,
    /// An attempt runs.
    Attempt {
        /// Its number, over step and undo.
        number: u32,
        /// The round of a step that is repeated, from 1.
        round: Option<u32>,
        /// How often it has to be heard of.
        heartbeat: Option<Duration>,
    },
    /// A callback of its service, which has taken the work on.
    Callback {
        /// The attempt's number.
        number: u32,
        /// The round of a step that is repeated, from 1.
        round: Option<u32>,
    },
    /// Its items.
    Items {
        /// How many are done, or, of an undo, are undone or need not be.
        done: u16,
        /// How many have failed, or could not be undone.
        failed: u16,
        /// How many are under way.
        busy: u16,
        /// How many there are.
        count: u16,
    },
    /// The task that it has asked for.
    Child {
        /// That one's workflow.
        workflow: String,
        /// Its id, and how it stands, where that is known.
        task: Option<(Arc<str>, TaskState)>,
    },
    /// A place at its service.
    Place,
    /// A time, by its definition.
    Time,
    /// A signal.
    Signal {
        /// Its name.
        signal: String,
        /// Whether the step goes on without it when its time is over; otherwise it fails then.
        or_none: bool,
        /// Whether it has come and is being read.
        came: bool,
    },
    /// Its next attempt, after so many failures.
    NextAttempt {
        /// Failed attempts.
        failures: u32,
    },
    /// Its next round.
    NextRound {
        /// Rounds that are over.
        rounds: u32,
        /// The most that it may have.
        at_most: Option<u32>,
    },
    /// The circuit of its service.
    Breaker {
        /// How that stands, where it is known.
        circuit: Option<Circuit>,
    },
    /// Room at its service, which has said that it has none.
    Limit,
    /// Another step to end that processes died under as well: they run apart.
    Suspect,
    /// Somebody who knows how to carry it out.
    NoHandler,
    /// An operator: it was given up, and the task goes on only because another step was made again.
    GivenUp {
        /// Whether nobody knows if it happened.
        unknown: bool,
    },
    /// What runs to end: then the task ends or is undone. A step that has not begun does not begin any more.
    Drain(Vec<StepId>),
    /// The undo of these steps, which came after it.
    LaterUndo(Vec<StepId>),
    /// An operator: it could not be undone.
    Stuck {
        /// Nobody knows whether the step happened, and its undo is safe only if it did.
        unknown: bool,
    },
}

/// What would change it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Time alone: it is over at its `until`.
    Time,
    /// The attempt answers.
    Answer,
    /// The service calls back.
    Callback,
    /// Somebody sends this signal.
    Signal(String),
    /// The service has room.
    Room,
    /// The circuit closes, or lets a probe through.
    Circuit,
    /// These steps, or their undos, end.
    Steps(Vec<StepId>),
    /// Its items end.
    Items,
    /// The task that it has asked for ends.
    Child,
    /// Another step ends, of whichever task.
    Others,
    /// A node takes the task up.
    Node,
    /// A program is started that knows the workflow or the step.
    Program,
    /// Somebody decides.
    Operator,
}

/// A circuit that steps wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Circuit {
    /// How it stands.
    pub state: CircuitState,
    /// Since when it has not been closed, or was set by hand, as far as that is known.
    pub since: Option<Time>,
    /// When it lets a probe through; `None` for one that is held open without an end, or is not open.
    pub probe_at: Option<Time>,
    /// Who set it by hand and why, if somebody did.
    pub forced_by: Option<(String, String)>,
}

/// How a circuit stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CircuitState {
    /// It lets nobody through.
    Open,
    /// It lets a few through, to see whether the service is back.
    Probing,
    /// It is closed: those that waited are let go in growing steps.
    Closed,
}

impl Circuit {
    /// A circuit of which only this is known.
    #[must_use]
    pub fn new(state: CircuitState) -> Self {
        Self { state, since: None, probe_at: None, forced_by: None }
    }
}

impl Task {
    /// Why it does not move, or how it has ended. The definition must be its own.
    #[must_use]
    pub fn why(&self, definition: &Definition, now: Time, since: &Since) -> Why {
        let held = Asking { task: self, definition, since }.held();
        let name = |id: StepId| definition.step(id).name().to_owned();
        self.told(held, name, now, since)
    }

    /// The same where nobody here knows the workflow in the version and shape that the task has.
    #[must_use]
    pub fn why_unknown(&self, workflow: &str, version: u32, now: Time, since: &Since) -> Why {
        let on = On::Workflow { name: workflow.to_owned(), version };
        let hold = Held { since: since.state(), ..Held::of_task(on, Change::Program) };
        let held = if self.head.state.is_at_rest() { Vec::new() } else { vec![hold] };
        self.told(held, |id| format!("step {}", id.ordinal()), now, since)
    }

    /// [`Task::why`] in words, without the times that are known from the history alone.
    #[must_use]
    pub fn in_words(&self, definition: &Definition, now: Time) -> String {
        self.why(definition, now, &Since::default()).to_string()
    }

    /// Why it does not complete, in words; empty if nothing is in its way. The definition must be its own.
    #[must_use]
    pub fn cause_in_words(&self, definition: &Definition) -> String {
        let name = |id: StepId| definition.step(id).name().to_owned();
        let cause = self.head.ending.as_ref().map(|ending| words::cause(&ending.cause, self, name));
        cause.unwrap_or_default()
    }

    /// Why a step is not undone that should be; `None` if its undo is not stuck. The definition must be its own.
    #[must_use]
    pub fn stuck_in_words(&self, definition: &Definition, step: StepId) -> Option<String> {
        let hold = Asking { task: self, definition, since: &Since::default() }.undo(step)?;
        matches!(hold.on, On::Stuck { .. }).then(|| hold.in_words(Time::default()))
    }

    fn told(&self, held: Vec<Held>, name: impl Fn(StepId) -> String, now: Time, since: &Since) -> Why {
        let cause = self.head.ending.as_ref().map(|ending| ending.cause.clone());
        let cause_words = cause.as_ref().map(|cause| words::cause(cause, self, name)).unwrap_or_default();
        let (state, ends) = (self.head.state, cause.is_some());
        let deadline = self.head.deadline.filter(|_| !ends && !state.is_at_rest());
        Why { now, state, since: since.state(), deadline, cause, held, cause_words }
    }
}

impl Why {
    /// What would change a task as a whole that is at rest, or of which one thing alone is told. `None` where each of those says it,
    /// and for one that is done or undone.
    #[must_use]
    pub fn change(&self) -> Option<&Change> {
        match (&self.held[..], self.state) {
            (_, TaskState::Failed) => Some(&Change::Operator),
            ([hold], _) => Some(&hold.change),
            _ => None,
        }
    }

    /// Fills in how circuits stand that steps wait for, by their service.
    pub fn know_circuits(&mut self, mut circuit: impl FnMut(&str) -> Option<Circuit>) {
        for hold in &mut self.held {
            let (On::Breaker { circuit: known }, Some(service)) = (&mut hold.on, &hold.service) else {
                continue;
            };
            *known = circuit(service);
            let Some(circuit) = known else { continue };
            hold.until = circuit.probe_at.or(hold.until);
            let held = circuit.state == CircuitState::Open && circuit.probe_at.is_none();
            hold.change =
                if held && circuit.forced_by.is_some() { Change::Operator } else { Change::Circuit };
        }
    }

    /// Fills in the tasks that steps have asked for and wait for, with how they stand.
    pub fn know_children(&mut self, mut child: impl FnMut(StepId) -> Option<(Arc<str>, TaskState)>) {
        for hold in &mut self.held {
            if let (On::Child { task, .. }, Some(step)) = (&mut hold.on, hold.step) {
                *task = child(step);
                let failed = task.as_ref().is_some_and(|(_, state)| *state == TaskState::Failed);
                hold.change = if failed { Change::Operator } else { Change::Child };
            }
        }
    }

    /// Nobody works on the task: what would be asked for at once by whoever does, waits for that.
    pub fn nobody_works(&mut self) {
        for hold in self.held.iter_mut().filter(|hold| matches!(hold.on, On::Place | On::Answer)) {
            (hold.on, hold.change) = (On::Node, Change::Node);
        }
    }

    /// Whether a step waits for its circuit.
    #[must_use]
    pub fn waits_for_circuits(&self) -> bool {
        self.held.iter().any(|hold| matches!(hold.on, On::Breaker { .. }))
    }
}

impl Held {
    fn of_task(on: On, change: Change) -> Self {
        Self {
            step: None,
            name: String::new(),
            service: None,
            undo: false,
            on,
            since: None,
            until: None,
            change,
            last_failure: None,
        }
    }
}
