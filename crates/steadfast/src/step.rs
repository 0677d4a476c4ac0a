//! Steps with their code.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use steadfast_engine::{OnFailure, Recovery, Repeat, Step, StepId};
use steadfast_resilience::{Attempt, Classify, Verdict};
use steadfast_runtime::{
    Answered, BAD_PAYLOAD, Code, Condition, Done, Fault, Fits, Handler, Known, Later, List, Service, Work,
    blocking,
};
use steadfast_store::Payload;

use crate::context::{Context, Seen, bad};
use crate::failure::{LATER, fault};
use crate::place::{FlowId, Place};
use crate::steps::Steps;
use crate::workflow::Builder;

/// A step of a workflow, by which others read its output.
pub struct StepRef<Out> {
    id: StepId,
    name: &'static str,
    flow: FlowId,
    output: PhantomData<fn() -> Out>,
}

/// What a step is known by once it is part of its workflow.
pub(crate) mod added {
    use crate::place::Place;

    pub trait Added {
        fn of(place: &Place) -> Self;
    }
}

pub(crate) use added::Added;

impl<Out> Added for StepRef<Out> {
    fn of(place: &Place) -> Self {
        Self { id: place.id, name: place.name, flow: place.flow.id, output: PhantomData }
    }
}

impl<Out> StepRef<Out> {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }

    pub(crate) const fn id(self) -> StepId {
        self.id
    }

    pub(crate) const fn flow(self) -> FlowId {
        self.flow
    }
}

impl<Out> Clone for StepRef<Out> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Out> Copy for StepRef<Out> {}

impl<Out> fmt::Debug for StepRef<Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StepRef").field(&self.name).finish()
    }
}

/// A step that is being described. It is part of the workflow once it is [added](Self::add).
#[must_use = "a step is part of its workflow once it is added"]
pub struct StepBuilder<'f, In, Out, Ref = StepRef<Out>> {
    flow: &'f mut Builder<In>,
    place: Place,
    service: Service,
    step: Step,
    run: Arc<dyn Handler>,
    undo: Option<Arc<dyn Handler>>,
    undo_within: Duration,
    undo_reads_output: bool,
    undo_recovery: Option<Recovery>,
    condition: Option<Condition>,
    done: Option<Done>,
    pub(crate) list: Option<List>,
    /// The workflow of the task that it asks for.
    child: Option<Arc<steadfast_runtime::Workflow>>,
    output: PhantomData<fn() -> (Out, Ref)>,
}

/// Whether what an operator gives in the place of a value fits its type.
pub(crate) fn fits<T: DeserializeOwned>() -> Fits {
    Arc::new(|given| serde_json::from_slice::<T>(given).map(drop).map_err(|error| error.to_string()))
}

/// What a step gives whose service has called back: what that said, if it fits the type.
fn later<T: DeserializeOwned>() -> Later {
    Arc::new(|_: &Arc<Work>, said: &Payload| {
        let fits = serde_json::from_slice::<T>(said).map(drop);
        fits.map(|()| Arc::clone(said)).map_err(|error| bad("the output", &error).message)
    })
}

/// How long an undo may take where nothing is said.
const UNDO_WITHIN: Duration = Duration::from_secs(60);

impl<'f, In, Out, Ref> StepBuilder<'f, In, Out, Ref>
where
    In: DeserializeOwned + Send + Sync + 'static,
    Out: Serialize + DeserializeOwned + Send + 'static,
    Ref: Added,
{
    pub(crate) fn new(
        flow: &'f mut Builder<In>,
        place: Place,
        service: &Service,
        run: Arc<dyn Handler>,
    ) -> Self {
        Self {
            flow,
            step: Step::new(place.name, service.name()),
            place,
            service: service.clone(),
            run,
            undo: None,
            undo_within: UNDO_WITHIN,
            undo_reads_output: false,
            undo_recovery: None,
            condition: None,
            done: None,
            list: None,
            child: None,
            output: PhantomData,
        }
    }

    /// Begins once these have ended. Without it: at once. Steps whose outputs are of different types go into a tuple:
    /// `.after((flight, hotel))`.
    pub fn after(mut self, steps: impl Steps) -> Self {
        let names = names(self.flow, &self.place, steps);
        self.step = self.step.after(names);
        self
    }

    /// Runs only if this holds, and is skipped otherwise. What comes after a skipped step runs all the same, unless
    /// everything before it was skipped.
    pub fn when(mut self, condition: impl Fn(&Seen<In>) -> bool + Send + Sync + 'static) -> Self {
        self.condition = Some(crate::step::condition(&self.place, condition));
        self.step = self.step.conditional();
        self
    }

    /// Makes it again and again, so long after each round, until this holds of its output. Each round is a series of attempts
    /// of its own with a key of its own; the output of the last one is the step's. While it waits for long, it is not held in
    /// memory. Say [`at_most`](Self::at_most) how often, or give the workflow a `complete_within`.
    pub fn repeat_until(
        mut self,
        every: Duration,
        done: impl Fn(&Out) -> bool + Send + Sync + 'static,
    ) -> Self {
        let judge = move |output: &[u8]| {
            let output = serde_json::from_slice(output).map_err(|error| bad("the output", &error).message)?;
            Ok(done(&output))
        };
        self.done = Some(Arc::new(judge));
        let at_most = self.step.repeats().and_then(|repeat| repeat.at_most);
        self.step = self.step.repeat(Repeat { every, at_most });
        self
    }

    /// The most rounds of a step that is [repeated](Self::repeat_until). When the last one is not done, the step fails.
    pub fn at_most(mut self, rounds: u32) -> Self {
        match self.step.repeats() {
            Some(repeat) => self.step = self.step.repeat(Repeat { at_most: Some(rounds), ..repeat }),
            None => self.flow.mistakes.push(format!(
                "step `{}`: at_most says how often a step is repeated: say repeat_until before it",
                self.place.name
            )),
        }
        self
    }

    /// How often an attempt has to be heard of: its code calls [`heartbeat`](Context::heartbeat) or
    /// [`progress`](Context::progress). One that is not heard of for this long is stopped and given up before its complete-by,
    /// and then it is as if it had not answered. Default: only the complete-by counts.
    pub fn heartbeat_within(mut self, time: Duration) -> Self {
        self.step = self.step.heartbeat_within(time);
        self
    }

    /// How long an attempt may take, with its quick retries. Default: a minute.
    pub fn complete_within(mut self, time: Duration) -> Self {
        self.step = self.step.complete_within(time);
        self
    }

    /// What undoes it. It must do no harm when it is made twice under the same key.
    pub fn undo<F, Fut, E>(mut self, undo: F) -> Self
    where
        F: Fn(Context<In>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), E>> + Send + 'static,
        E: Classify + fmt::Display + 'static,
    {
        let place = self.place.clone();
        let undo = move |work: &Arc<Work>, attempt| with_context(work, attempt, &place, &undo);
        self.undo = Some(Arc::new(undo));
        self
    }

    /// What undoes it, from its output.
    pub fn undo_with_output<F, Fut, E>(mut self, undo: F) -> Self
    where
        F: Fn(Context<In>, Out) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), E>> + Send + 'static,
        E: Classify + fmt::Display + 'static,
    {
        let place = self.place.clone();
        let handler = move |work: &Arc<Work>, attempt: Attempt| match own_output(work) {
            Ok(output) => with_context(work, attempt, &place, |cx| undo(cx, output)),
            Err(fault) => failed(fault),
        };
        self.undo = Some(Arc::new(handler));
        self.undo_reads_output = true;
        self
    }

    /// What undoes it, with code that blocks: see [`blocking_step`](Builder::blocking_step).
    pub fn blocking_undo<F, E>(mut self, undo: F) -> Self
    where
        F: Fn(Context<In>) -> Result<(), E> + Send + Sync + 'static,
        E: Classify + fmt::Display + 'static,
    {
        let (place, undo) = (self.place.clone(), Arc::new(undo));
        let handler = move |work: &Arc<Work>, attempt: Attempt| {
            let undo = Arc::clone(&undo);
            with_context_blocking(work, attempt, &place, move |cx| undo(cx))
        };
        self.undo = Some(Arc::new(handler));
        self
    }

    /// What undoes it, from its output, with code that blocks: see [`blocking_step`](Builder::blocking_step).
    pub fn blocking_undo_with_output<F, E>(mut self, undo: F) -> Self
    where
        F: Fn(Context<In>, Out) -> Result<(), E> + Send + Sync + 'static,
        E: Classify + fmt::Display + 'static,
    {
        let (place, undo) = (self.place.clone(), Arc::new(undo));
        let handler = move |work: &Arc<Work>, attempt: Attempt| match own_output(work) {
            Ok(output) => {
                let undo = Arc::clone(&undo);
                with_context_blocking(work, attempt, &place, move |cx| undo(cx, output))
            }
            Err(fault) => failed(fault),
        };
        self.undo = Some(Arc::new(handler));
        self.undo_reads_output = true;
        self
    }

    /// How long an attempt to undo it may take. Default: a minute.
    pub fn undo_within(mut self, time: Duration) -> Self {
        self.undo_within = time;
        self
    }

    /// How an undo is taken up again that did not answer.
    pub fn undo_recovery(mut self, recovery: Recovery) -> Self {
        self.undo_recovery = Some(recovery);
        self
    }

    /// It changes nothing that would have to be undone.
    pub fn nothing_to_undo(mut self) -> Self {
        self.step = self.step.nothing_to_undo();
        self
    }

    /// Its undo is safe also if nobody knows whether the step happened.
    pub fn undo_when_unknown(mut self) -> Self {
        self.step = self.step.undo_when_unknown();
        self
    }

    /// It must not be made again once it may have happened, not even under the same key.
    pub fn not_idempotent(mut self) -> Self {
        self.step = self.step.not_idempotent();
        self
    }

    /// From here on the task only goes forward.
    pub fn point_of_no_return(mut self) -> Self {
        self.step = self.step.point_of_no_return();
        self
    }

    /// What it means for the task when it fails for good. Default: what was done is undone.
    pub fn on_failure(mut self, then: OnFailure) -> Self {
        self.step = self.step.on_failure(then);
        self
    }

    /// The most calls over all attempts, also those after a restart. Default: as the service's retry policy says.
    pub fn max_calls(mut self, calls: u32) -> Self {
        self.step = self.step.max_calls(calls);
        self
    }

    /// How it is taken up again when it did not answer by its complete-by.
    pub fn recovery(mut self, recovery: Recovery) -> Self {
        self.step = self.step.recovery(recovery);
        self
    }

    /// Makes it part of the workflow.
    pub fn add(self) -> Ref {
        let mut step = self.step;
        // One that asks for another task has its undo by itself.
        if self.undo.is_some() && self.child.is_none() {
            step = step.undo(self.undo_within);
            if self.undo_reads_output {
                step = step.undo_reads_output();
            }
            if let Some(recovery) = self.undo_recovery {
                step = step.undo_recovery(recovery);
            }
        }
        let (condition, done, list, child) = (self.condition, self.done, self.list, self.child);
        let later = step.callback_within().map(|_| later::<Out>());
        let output = Some(if list.is_some() { fits::<Vec<Option<Out>>>() } else { fits::<Out>() });
        let code =
            Code { condition, undo: self.undo, done, list, child, output, later, ..Code::new(self.run) };
        self.flow.add(step, code, self.service, &self.place);
        Ref::of(&self.place)
    }

    /// It asks for a task of this workflow.
    pub(crate) fn asking(
        mut self,
        workflow: &Arc<steadfast_runtime::Workflow>,
        step: Step,
        undo: Arc<dyn Handler>,
    ) -> Self {
        (self.child, self.step, self.undo) = (Some(Arc::clone(workflow)), step, Some(undo));
        self
    }

    /// Changes what the step says.
    pub(crate) fn with_step(mut self, change: impl FnOnce(Step) -> Step) -> Self {
        self.step = change(self.step);
        self
    }

    pub(crate) fn said(&self) -> &Step {
        &self.step
    }
}

impl<In, Out, Ref> fmt::Debug for StepBuilder<'_, In, Out, Ref> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepBuilder").field("step", &self.step).finish_non_exhaustive()
    }
}

/// The names of steps that another one comes after. One of another workflow is a mistake.
pub(crate) fn names<In>(flow: &mut Builder<In>, place: &Place, steps: impl Steps) -> Vec<String> {
    let mut names = Vec::new();
    steps.put_into(&mut names);
    let own = Some(place.flow.id);
    let (known, others): (Vec<_>, Vec<_>) =
        names.into_iter().partition(|named| named.flow.is_none() || named.flow == own);
    for other in others {
        flow.mistakes.push(format!(
            "step `{}`: it comes after `{}`, which is a step of another workflow: name one of this workflow",
            place.name, other.name
        ));
    }
    known.into_iter().map(|named| named.name).collect()
}

/// A condition, as the loops ask it.
pub(crate) fn condition<In: DeserializeOwned>(
    place: &Place,
    condition: impl Fn(&Seen<In>) -> bool + Send + Sync + 'static,
) -> Condition {
    let place = place.clone();
    Arc::new(move |known: &Known| {
        let seen = Seen::new(known.clone(), &place).map_err(|fault| fault.message)?;
        Ok(condition(&seen))
    })
}

/// Calls code with its context.
pub(crate) fn with_context<In, Out, F, Fut, E>(
    work: &Arc<Work>,
    attempt: Attempt,
    place: &Place,
    code: F,
) -> Answered
where
    In: DeserializeOwned,
    F: FnOnce(Context<In>) -> Fut,
    Fut: Future<Output = Result<Out, E>> + Send + 'static,
    Out: Serialize,
    E: Classify + fmt::Display,
{
    match Seen::new(work.known.clone(), place) {
        Ok(seen) => {
            let called = code(Context::new(seen, work, attempt));
            let may_wait = work.callback.is_some();
            Box::pin(async move { packed(called.await, may_wait) })
        }
        Err(fault) => failed(fault),
    }
}

/// Calls code that blocks, where that is allowed.
pub(crate) fn with_context_blocking<In, Out, F, E>(
    work: &Arc<Work>,
    attempt: Attempt,
    place: &Place,
    code: F,
) -> Answered
where
    In: DeserializeOwned + Send + 'static,
    F: FnOnce(Context<In>) -> Result<Out, E> + Send + 'static,
    Out: Serialize,
    E: Classify + fmt::Display,
{
    match Seen::new(work.known.clone(), place) {
        Ok(seen) => {
            let (cx, may_wait) = (Context::new(seen, work, attempt), work.callback.is_some());
            blocking(move || packed(code(cx), may_wait))
        }
        Err(fault) => failed(fault),
    }
}

/// The output of the step that is to be undone.
fn own_output<Out: DeserializeOwned>(work: &Work) -> Result<Out, Fault> {
    let bytes = work.known.output(work.step).unwrap_or_default();
    serde_json::from_slice(bytes).map_err(|error| bad("the output", &error))
}

pub(crate) fn failed(fault: Fault) -> Answered {
    Box::pin(std::future::ready(Err(fault)))
}

fn packed<Out, E>(done: Result<Out, E>, may_wait: bool) -> Result<Payload, Fault>
where
    Out: Serialize,
    E: Classify + fmt::Display,
{
    let output = match done {
        Ok(output) => output,
        // An output without a byte is no JSON: it comes later.
        Err(error) if may_wait && error.classify().kind() == LATER => return Ok(Payload::from([])),
        Err(error) => return Err(fault(&error)),
    };
    // It happened, and its output cannot be kept: that nobody must take for "nothing was done".
    serde_json::to_vec(&output)
        .map(Payload::from)
        .map_err(|error| Fault { verdict: Verdict::lasting(BAD_PAYLOAD), ..bad("the output", &error) })
}
