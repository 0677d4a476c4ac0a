//! Steps that ask for another task.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use steadfast_engine::{OnFailure, Step};
use steadfast_runtime::{ChildInput, Fault, Work, child, children};
use steadfast_store::Payload;

use crate::context::Seen;
use crate::each::{EachBuilder, ItemsRef, item, made};
use crate::step::{Added, StepBuilder, StepRef, fits};
use crate::steps::Steps;
use crate::workflow::{Builder, Workflow};

/// A step that asks for another task, and is being described. It is part of the workflow once it is [added](Self::add).
#[must_use = "a step is part of its workflow once it is added"]
pub struct ChildBuilder<'f, In, Out, Ref = StepRef<Out>> {
    step: StepBuilder<'f, In, Out, Ref>,
}

/// A step that asks for another task for each item of a list, and is being described.
pub type ChildrenBuilder<'f, In, Out> = ChildBuilder<'f, In, Out, ItemsRef<Out>>;

impl<In: DeserializeOwned + Send + Sync + 'static> Builder<In> {
    /// A step that asks for a task of another workflow, and waits for its end: what that one gives back is the step's output.
    ///
    /// The other task is one of its own, with its steps, deadline and history, and the same namespace and priority. It is asked
    /// for once, also over crashes. While it goes on for long, this one is not held in memory. If it fails, it is in an operator's
    /// hands, and this one waits; if it is undone, this step has failed. When this task is undone, so is the other one: nobody
    /// has to write an undo. Its workflow need not be registered: it comes with this one.
    ///
    /// ```
    /// use steadfast::resilience::Pipeline;
    /// use steadfast::{Failure, Service, Workflow};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let bank = Service::new(Pipeline::builder("bank").build()?);
    /// let mut flow = Workflow::<u64>::builder("pay");
    /// let charge = flow.step("charge", &bank, |cx| async move { Ok::<_, Failure>(cx.input * 2) });
    /// let charge = charge.undo(|_cx| async { Ok::<_, Failure>(()) }).add();
    /// let pay = flow.returns(charge)?;
    ///
    /// let mut flow = Workflow::<Vec<u64>>::builder("order");
    /// let paid = flow.child("pay", &pay, |seen| seen.input.iter().sum()).add();
    /// let order = flow.returns(paid)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn child<T, Out, F>(
        &mut self,
        name: &'static str,
        workflow: &Workflow<T, Out>,
        input: F,
    ) -> ChildBuilder<'_, In, Out>
    where
        T: Serialize,
        Out: Serialize + DeserializeOwned + Send + 'static,
        F: Fn(&Seen<In>) -> T + Send + Sync + 'static,
    {
        let at = self.next(name);
        let input = move |work: &Work| {
            let seen = Seen::new(work.known.clone(), &at)?;
            packed(&input(&seen))
        };
        let input: ChildInput = Arc::new(input);
        ChildBuilder { step: self.asking(name, workflow, &input) }
    }

    /// A step that asks for a task of another workflow for each item of a list, [so many](ChildrenBuilder::at_a_time) at a time:
    /// each item is such a task's input. See [`child`](Self::child) and [`each`](Self::each).
    pub fn children<T, Out, L>(
        &mut self,
        name: &'static str,
        workflow: &Workflow<T, Out>,
        list: L,
    ) -> ChildrenBuilder<'_, In, Out>
    where
        T: Serialize + DeserializeOwned,
        Out: Serialize + DeserializeOwned + Send + 'static,
        L: Fn(&Seen<In>) -> Vec<T> + Send + Sync + 'static,
    {
        let at = self.next(name);
        // It is read as what it is, so that one that does not fit shows here.
        let input: ChildInput = Arc::new(|work: &Work| item::<T>(work).and_then(|item| packed(&item)));
        let step: EachBuilder<'_, In, Out> = self.asking(name, workflow, &input);
        ChildBuilder { step: step.with_list(move |known| made(&list, known, &at)) }
    }

    fn asking<T, Out, Ref>(
        &mut self,
        name: &'static str,
        workflow: &Workflow<T, Out>,
        input: &ChildInput,
    ) -> StepBuilder<'_, In, Out, Ref>
    where
        Out: Serialize + DeserializeOwned + Send + 'static,
        Ref: Added,
    {
        let (run, undo) = child(&workflow.inner, input, fits::<Out>());
        let place = self.next(name);
        let step = Step::child(name, workflow.name());
        StepBuilder::new(self, place, &children(), run).asking(&workflow.inner, step, undo)
    }
}

impl<In, Out, Ref> ChildBuilder<'_, In, Out, Ref>
where
    In: DeserializeOwned + Send + Sync + 'static,
    Out: Serialize + DeserializeOwned + Send + 'static,
    Ref: Added,
{
    /// Begins once these have ended: see [`StepBuilder::after`].
    pub fn after(self, steps: impl Steps) -> Self {
        Self { step: self.step.after(steps) }
    }

    /// Runs only if this holds, and is skipped otherwise: see [`StepBuilder::when`].
    pub fn when(self, condition: impl Fn(&Seen<In>) -> bool + Send + Sync + 'static) -> Self {
        Self { step: self.step.when(condition) }
    }

    /// What it means for this task when the other one was undone. Default: this one is undone, too.
    pub fn on_failure(self, then: OnFailure) -> Self {
        Self { step: self.step.on_failure(then) }
    }

    /// Makes it part of the workflow.
    pub fn add(self) -> Ref {
        self.step.add()
    }
}

impl<In, Out> ChildrenBuilder<'_, In, Out>
where
    In: DeserializeOwned + Send + Sync + 'static,
    Out: Serialize + DeserializeOwned + Send + 'static,
{
    /// How many of the tasks may be under way at a time: see [`EachBuilder::at_a_time`].
    pub fn at_a_time(self, tasks: u16) -> Self {
        Self { step: self.step.at_a_time(tasks) }
    }

    /// With how many tasks that were undone it still completes: see [`EachBuilder::tolerate`].
    pub fn tolerate(self, undone: u16) -> Self {
        Self { step: self.step.tolerate(undone) }
    }
}

impl<In, Out, Ref> fmt::Debug for ChildBuilder<'_, In, Out, Ref> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildBuilder").field("step", &self.step).finish()
    }
}

/// What a task is asked for with.
fn packed(input: &impl Serialize) -> Result<Payload, Fault> {
    let why = |error| format!("the input of the task cannot be written as JSON: {error}");
    let packed = serde_json::to_vec(input).map(Payload::from);
    packed.map_err(|error| Fault::terminal(steadfast_runtime::BAD_PAYLOAD, why(error)))
}
