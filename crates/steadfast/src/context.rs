//! What the code of a step sees.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use steadfast_engine::StepId;
use steadfast_resilience::{Attempt, IdempotencyKey, Verdict};
use steadfast_runtime::{BAD_PAYLOAD, Fault, Known, Trace, Work};
use steadfast_store::TaskId;

use crate::failure::Failure;
use crate::place::{FlowId, Place};
use crate::step::StepRef;

/// What a task knows: its input, and the outputs of steps that come before.
#[derive(Clone, Debug)]
pub struct Seen<In> {
    /// What the task was submitted with.
    pub input: In,
    known: Known,
    place: Place,
}

impl<In: DeserializeOwned> Seen<In> {
    pub(crate) fn new(known: Known, place: &Place) -> Result<Self, Fault> {
        let input = serde_json::from_slice(known.input()).map_err(|error| bad("the input", &error))?;
        Ok(Self { input, known, place: place.clone() })
    }
}

impl<In> Seen<In> {
    /// The output of a step that comes before this one.
    ///
    /// # Errors
    /// It has none: it was skipped, or failed and was left behind. It does not come before this one, or is a step of another
    /// workflow.
    pub fn output<T: DeserializeOwned>(&self, step: StepRef<T>) -> Result<T, Failure> {
        self.must_be_own(step.flow(), step.name())?;
        let missing = || self.missing(step.id(), step.name());
        let bytes = self.known.output(step.id()).ok_or_else(missing)?;
        let what = || format!("the output of `{}`", step.name());
        serde_json::from_slice(bytes).map_err(|error| {
            let Fault { verdict, message } = bad(&what(), &error);
            Failure::terminal(BAD_PAYLOAD.as_str(), message).with_verdict(verdict)
        })
    }

    pub(crate) fn must_be_own(&self, flow: FlowId, name: &str) -> Result<(), Failure> {
        if flow == self.place.flow.id { Ok(()) } else { Err(self.other_workflow(name)) }
    }

    pub(crate) fn known(&self) -> &Known {
        &self.known
    }

    pub(crate) fn may_read(&self, step: StepId) -> bool {
        self.place.may_read(step)
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    pub(crate) fn missing(&self, step: StepId, name: &str) -> Failure {
        if self.place.may_read(step) {
            let words = format!("step `{name}` has no output: it was skipped, or failed and was left behind");
            return Failure::terminal("missing-output", words);
        }
        let own = self.place.name;
        let words = format!(
            "`{own}` reads the output of `{name}`, which does not come before it: add `.after({name})` to `{own}`"
        );
        Failure::terminal("missing-output", words)
    }

    fn other_workflow(&self, name: &str) -> Failure {
        let own = self.place.name;
        let words = format!(
            "`{own}` reads the output of `{name}`, which is a step of another workflow: read that of a step of this one"
        );
        Failure::terminal("other-workflow", words)
    }
}

/// A payload that does not fit its type: nothing was called.
pub(crate) fn bad(what: &str, error: &serde_json::Error) -> Fault {
    let verdict = Verdict::terminal(BAD_PAYLOAD).without_effect();
    Fault { verdict, message: format!("{what} does not fit its type: {error}") }
}

/// What the code of a step sees: everything of [`Seen`], and what this try is about.
#[derive(Clone, Debug)]
pub struct Context<In> {
    seen: Seen<In>,
    work: Arc<Work>,
    attempt: Attempt,
}

impl<In> Context<In> {
    pub(crate) fn new(seen: Seen<In>, work: &Arc<Work>, attempt: Attempt) -> Self {
        Self { seen, work: Arc::clone(work), attempt }
    }

    pub(crate) fn work(&self) -> &Work {
        &self.work
    }

    /// The task.
    #[must_use]
    pub fn task(&self) -> TaskId {
        self.work.task
    }

    /// The same for every try of this step, over restarts too, and another for its undo and for each round. Give it to the service, so that a
    /// repeated request is carried out once.
    #[must_use]
    pub fn key(&self) -> IdempotencyKey {
        self.work.key
    }

    /// The trace that the task belongs to, if it was submitted with one.
    #[must_use]
    pub fn trace(&self) -> Option<&Trace> {
        self.work.trace.as_deref()
    }

    /// The key that the step itself had, for an undo that finds what to undo by it. In the undo of an item, and for the name of its
    /// own step, it is the one that the item had.
    ///
    /// # Panics
    /// The workflow has no step of this name: by a key that nobody had, an undo would undo nothing and say that it has. A panic in
    /// the code of a step is a failure of the step.
    #[must_use]
    pub fn step_key(&self, step: &str) -> IdempotencyKey {
        let (place, name) = (self.seen.place(), step);
        assert!(
            place.flow.has(step),
            "`{}` asks for the key of step `{name}`, which its workflow does not have",
            place.name
        );
        self.work.key_of(step)
    }

    /// How long this try may still take.
    #[must_use]
    pub fn time_left(&self) -> Option<Duration> {
        self.attempt.time_left()
    }

    /// The number of the attempt, from 1: it only grows, over step and undo. An attempt is one dispatch of the step: the quick
    /// retries that are made in place do not count here, see [`try_number`](Self::try_number).
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.work.number
    }

    /// The number of this try within its attempt, from 1: the quick retries that the service's policy makes in place count
    /// here. A new attempt begins with 1 again.
    #[must_use]
    pub fn try_number(&self) -> u32 {
        self.attempt.number().saturating_add(1)
    }

    /// The round of a step that is [repeated](crate::StepBuilder::repeat_until), from 1. A retry is of the same round.
    #[must_use]
    pub fn round(&self) -> u32 {
        self.work.round.saturating_add(1)
    }

    /// Says that the attempt lives: see [`heartbeat_within`](crate::StepBuilder::heartbeat_within).
    pub fn heartbeat(&self) {
        self.work.pulse.heartbeat();
    }

    /// Says how far the attempt has come, which is a heartbeat too. It is seen in the task's status at once, and stored about
    /// once in a second and when the attempt ends, so that the next attempt can go on from there
    /// ([`last_progress`](Self::last_progress)).
    ///
    /// # Errors
    /// It cannot be written as JSON, or has more than 64 KiB.
    pub fn progress(&self, progress: &(impl Serialize + ?Sized)) -> Result<(), Failure> {
        let json = serde_json::to_vec(progress).map_err(|error| {
            Failure::terminal(
                BAD_PAYLOAD.as_str(),
                format!("the progress cannot be written as JSON: {error}"),
            )
        })?;
        let told = self.work.pulse.progress(json.into());
        told.map_err(|words| Failure::terminal("too-large", words))
    }

    /// How far this step had come by its last attempt, as it was stored: after a crash it may have been about a second
    /// further. `None` if nothing was.
    ///
    /// # Errors
    /// The store's; it does not fit the type.
    pub async fn last_progress<T: DeserializeOwned>(&self) -> Result<Option<T>, Failure> {
        let read = self.work.pulse.last_progress().await;
        let read = read.map_err(|error| Failure::refused("store", error))?;
        let unpacked = read.map(|json| serde_json::from_slice(&json)).transpose();
        unpacked.map_err(|error| {
            let Fault { verdict, message } = bad("the progress", &error);
            Failure::terminal(BAD_PAYLOAD.as_str(), message).with_verdict(verdict)
        })
    }

    /// Takes the input out.
    #[must_use]
    pub fn into_input(self) -> In {
        self.seen.input
    }
}

impl<In> Deref for Context<In> {
    type Target = Seen<In>;

    fn deref(&self) -> &Seen<In> {
        &self.seen
    }
}
