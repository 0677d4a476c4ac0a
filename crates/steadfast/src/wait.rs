//! Steps that wait for a time or a signal, and call nothing.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use steadfast_engine::{OnFailure, Step, Time};
use steadfast_runtime::{Code, Condition, Fits, Known, Service, Until};

use crate::context::Seen;
use crate::place::Place;
use crate::step::{Added as _, StepRef, fits, names};
use crate::steps::Steps;
use crate::workflow::Builder;

/// Marks a step that waits for a time.
#[derive(Clone, Copy, Debug)]
pub enum ForTime {}

/// Marks a step that waits for a signal.
#[derive(Clone, Copy, Debug)]
pub enum ForSignal {}

/// A step that waits for a signal, and is being described.
pub type SignalBuilder<'f, In, Out> = WaitBuilder<'f, In, Out, ForSignal>;

/// A step that waits and calls nothing, and is being described. It is part of the workflow once it is [added](Self::add).
#[must_use = "a step is part of its workflow once it is added"]
pub struct WaitBuilder<'f, In, Out, For = ForTime> {
    flow: &'f mut Builder<In>,
    place: Place,
    step: Step,
    until: Option<Until>,
    condition: Option<Condition>,
    fits: Option<Fits>,
    output: PhantomData<fn(For) -> Out>,
}

impl<In: DeserializeOwned + Send + Sync + 'static> Builder<In> {
    /// A step that waits for this long after its turn has come. While it waits for long, it is not held in memory.
    pub fn wait_for(&mut self, name: &'static str, time: Duration) -> WaitBuilder<'_, In, ()> {
        let place = self.next(name);
        WaitBuilder::new(self, place, Step::wait_for(name, time)).fitting(fits::<()>())
    }

    /// A step that waits until a time that is computed when its turn comes, from the input and the outputs of the steps before
    /// it: a [`Time`], or a `SystemTime`. One that has passed is no wait.
    pub fn wait_until<T: Into<Time>>(
        &mut self,
        name: &'static str,
        at: impl Fn(&Seen<In>) -> T + Send + Sync + 'static,
    ) -> WaitBuilder<'_, In, ()> {
        let (place, of) = (self.next(name), self.next(name));
        let until = move |known: &Known| {
            let seen = Seen::new(known.clone(), &of).map_err(|fault| fault.message)?;
            Ok(at(&seen).into())
        };
        let mut wait = WaitBuilder::new(self, place, Step::wait_until(name)).fitting(fits::<()>());
        wait.until = Some(Arc::new(until));
        wait
    }

    /// A step that waits for a signal of this name, which somebody sends to the task ([`Task::signal`](crate::Task::signal)).
    /// Its output is what the signal says. One that comes before the step has its turn is kept for it.
    pub fn signal<Out: DeserializeOwned>(&mut self, name: &'static str) -> SignalBuilder<'_, In, Out> {
        let place = self.next(name);
        WaitBuilder::new(self, place, Step::signal(name, name)).fitting(fits::<Out>())
    }

    /// A step of another name than that of the signal that it waits for: for a workflow that waits for a signal more than
    /// once. Those that come are used in their order.
    pub fn signal_step<Out: DeserializeOwned>(
        &mut self,
        name: &'static str,
        signal: &'static str,
    ) -> SignalBuilder<'_, In, Out> {
        let place = self.next(name);
        WaitBuilder::new(self, place, Step::signal(name, signal)).fitting(fits::<Out>())
    }
}

impl<'f, In, Out, For> WaitBuilder<'f, In, Out, For>
where
    In: DeserializeOwned + Send + Sync + 'static,
{
    fn new(flow: &'f mut Builder<In>, place: Place, step: Step) -> Self {
        Self { flow, place, step, until: None, condition: None, fits: None, output: PhantomData }
    }

    /// Whether an output that an operator gives fits.
    fn fitting(mut self, fits: Fits) -> Self {
        self.fits = Some(fits);
        self
    }

    /// Begins to wait once these have ended. Without it: at once.
    pub fn after(mut self, steps: impl Steps) -> Self {
        let names = names(self.flow, &self.place, steps);
        self.step = self.step.after(names);
        self
    }

    /// Waits only if this holds, and is skipped otherwise.
    pub fn when(mut self, condition: impl Fn(&Seen<In>) -> bool + Send + Sync + 'static) -> Self {
        self.condition = Some(crate::step::condition(&self.place, condition));
        self.step = self.step.conditional();
        self
    }

    /// What it means for the task when it fails: its signal did not come in time, or its time could not be computed. Default:
    /// what was done is undone.
    pub fn on_failure(mut self, then: OnFailure) -> Self {
        self.step = self.step.on_failure(then);
        self
    }

    /// Makes it part of the workflow.
    pub fn add(self) -> StepRef<Out> {
        let (condition, until, output) = (self.condition, self.until, self.fits);
        let code = Code { condition, until, output, ..Code::waits() };
        self.flow.add(self.step, code, Service::none(), &self.place);
        StepRef::of(&self.place)
    }
}

impl<'f, In, Out> WaitBuilder<'f, In, Out, ForSignal> {
    /// How long it waits; then it fails, and says for which signal and how long it waited. Default: for as long as the task
    /// may take. A signal that was stored first wins, however late it is found.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.step = self.step.timeout(time);
        self
    }

    /// When its time is over, it completes without a signal: `None`.
    pub fn or_none(self) -> SignalBuilder<'f, In, Option<Out>>
    where
        Out: DeserializeOwned,
    {
        let Self { flow, place, step, until, condition, .. } = self;
        let fits = Some(fits::<Option<Out>>());
        WaitBuilder { flow, place, step: step.or_none(), until, condition, fits, output: PhantomData }
    }
}

impl<In, Out, For> fmt::Debug for WaitBuilder<'_, In, Out, For> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitBuilder").field("step", &self.step).finish_non_exhaustive()
    }
}
