//! Workflows with types.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use steadfast_engine::{Definition, Invalid, Step, StepId};
use steadfast_resilience::Classify;
use steadfast_runtime::{Code, Service, Work};

use crate::context::Context;
use crate::error::{Code as ErrorCode, Error};
use crate::group::Scope;
use crate::place::{Flow, Place};
use crate::step::{StepBuilder, StepRef, fits, with_context, with_context_blocking};

/// A workflow that takes `In` and gives `Out`. Clones are one and the same.
pub struct Workflow<In, Out = ()> {
    pub(crate) inner: Arc<steadfast_runtime::Workflow>,
    types: PhantomData<fn(In) -> Out>,
}

impl<In> Workflow<In> {
    /// Begins a workflow of this name.
    pub fn builder(name: &'static str) -> Builder<In> {
        Builder {
            name,
            flow: Flow::new(),
            mistakes: Vec::new(),
            version: 1,
            complete_within: None,
            steps: Vec::new(),
            code: Vec::new(),
            services: Vec::new(),
            scopes: Vec::new(),
            input: PhantomData,
        }
    }
}

impl Workflow<Value, Value> {
    /// A workflow whose input and result are any JSON: for programs that read workflows from elsewhere.
    #[must_use]
    pub fn untyped(workflow: Arc<steadfast_runtime::Workflow>) -> Self {
        Self { inner: workflow, types: PhantomData }
    }

    /// Whether an input fits what the workflow takes: for programs that are given inputs from elsewhere.
    ///
    /// # Errors
    /// Why it does not, in words.
    pub fn check_input(&self, input: &Value) -> Result<(), Error> {
        let json = serde_json::to_vec(input).unwrap_or_default();
        self.inner.check_input(&json).map_err(|why| {
            Error::new(
                ErrorCode::BadPayload,
                format!("the input does not fit workflow `{}`: {why}", self.name()),
            )
        })
    }
}

impl<In, Out> Workflow<In, Out> {
    /// What it says.
    #[must_use]
    pub fn definition(&self) -> &Definition {
        self.inner.definition()
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.definition().name()
    }

    /// The name of a step, as causes, events and histories know it; `None` for one that it does not have.
    #[must_use]
    pub fn step_name(&self, step: StepId) -> Option<&str> {
        self.definition().steps().get(step.ordinal()).map(Step::name)
    }
}

impl<In, Out> steadfast_runtime::Typed for Workflow<In, Out> {
    type Input = In;

    fn untyped(&self) -> &Arc<steadfast_runtime::Workflow> {
        &self.inner
    }
}

impl<In, Out> Clone for Workflow<In, Out> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), types: PhantomData }
    }
}

impl<In, Out> fmt::Debug for Workflow<In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workflow").field("definition", self.definition()).finish_non_exhaustive()
    }
}

/// A workflow that is being put together.
#[must_use = "a builder does nothing until `build` or `returns`"]
pub struct Builder<In> {
    name: &'static str,
    flow: Arc<Flow>,
    /// What is wrong with it that its definition cannot show, each in words.
    pub(crate) mistakes: Vec<String>,
    version: u32,
    complete_within: Option<Duration>,
    steps: Vec<Step>,
    code: Vec<Code>,
    services: Vec<Service>,
    /// Groups whose steps are being added, the outermost first.
    pub(crate) scopes: Vec<Scope<In>>,
    input: PhantomData<fn(In)>,
}

impl<In: DeserializeOwned + Send + Sync + 'static> Builder<In> {
    /// The version: raise it with every change of the steps. Tasks stay on the one that they began with: keep it registered
    /// for as long as there are such tasks. Default: 1.
    pub fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    /// How long a task may take; what is not done by then is undone. Default: without a limit.
    pub fn complete_within(mut self, time: Duration) -> Self {
        self.complete_within = Some(time);
        self
    }

    /// A step that calls a service. The code is called once for each try, and gets the same key each time.
    pub fn step<Out, F, Fut, E>(
        &mut self,
        name: &'static str,
        service: &Service,
        run: F,
    ) -> StepBuilder<'_, In, Out>
    where
        F: Fn(Context<In>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Out, E>> + Send + 'static,
        Out: Serialize + DeserializeOwned + Send + 'static,
        E: Classify + fmt::Display + 'static,
    {
        let (place, of) = (self.next(name), self.next(name));
        let run = move |work: &Arc<Work>, attempt| with_context(work, attempt, &of, &run);
        StepBuilder::new(self, place, service, Arc::new(run))
    }

    /// A step whose code blocks: it runs on a thread of tokio's blocking pool. Such code cannot be stopped. When its time is up,
    /// the step goes on without it; when it never returns, a runtime that is dropped waits for it for ever.
    pub fn blocking_step<Out, F, E>(
        &mut self,
        name: &'static str,
        service: &Service,
        run: F,
    ) -> StepBuilder<'_, In, Out>
    where
        F: Fn(Context<In>) -> Result<Out, E> + Send + Sync + 'static,
        Out: Serialize + DeserializeOwned + Send + 'static,
        E: Classify + fmt::Display + 'static,
    {
        let (place, of) = (self.next(name), self.next(name));
        let run = Arc::new(run);
        let run = move |work: &Arc<Work>, attempt| {
            let run = Arc::clone(&run);
            with_context_blocking(work, attempt, &of, move |cx| run(cx))
        };
        StepBuilder::new(self, place, service, Arc::new(run))
    }

    /// The place of the step that will be added next.
    pub(crate) fn next(&self, name: &'static str) -> Place {
        let id = StepId::at(u16::try_from(self.steps.len()).unwrap_or(u16::MAX));
        Place { flow: Arc::clone(&self.flow), id, name }
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    pub(crate) fn add(&mut self, step: Step, code: Code, service: Service, place: &Place) {
        let (step, code) = self.in_groups(step, code, place);
        self.steps.push(step);
        self.code.push(code);
        self.services.push(service);
    }

    /// Checks it. Its tasks give nothing back.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its place.
    pub fn build(self) -> Result<Workflow<In>, Error> {
        self.finish(None)
    }

    /// Checks it. Its tasks give the output of this step back.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its place.
    pub fn returns<Out>(mut self, step: StepRef<Out>) -> Result<Workflow<In, Out>, Error> {
        if step.flow() != self.flow.id {
            self.mistakes.push(format!(
                "workflow: it returns the output of `{}`, which is a step of another workflow: name one of this workflow",
                step.name()
            ));
        }
        self.finish(Some(step.id()))
    }

    fn finish<Out>(self, result: Option<StepId>) -> Result<Workflow<In, Out>, Error> {
        let mut builder = Definition::builder(self.name).version(self.version);
        if let Some(time) = self.complete_within {
            builder = builder.complete_within(time);
        }
        let definition = self.steps.into_iter().fold(builder, steadfast_engine::Builder::step).build();
        let definition = checked(self.name, definition, &self.mistakes)?;
        let inner = steadfast_runtime::Workflow::new(definition, self.code, self.services)
            .map_err(Error::workflow)?;
        let inner = inner.taking(fits::<In>());
        self.flow.is_built(&inner);
        Ok(Workflow { inner: Arc::new(inner.returning(result)), types: PhantomData })
    }
}

/// A definition, or everything that is wrong with it.
fn checked(
    name: &str,
    definition: Result<Definition, Invalid>,
    mistakes: &[String],
) -> Result<Definition, Error> {
    let told = match definition {
        Ok(definition) if mistakes.is_empty() => return Ok(definition),
        Ok(_) => format!("workflow `{name}` makes no sense:"),
        Err(invalid) => invalid.to_string(),
    };
    let mistakes = mistakes.iter().map(|mistake| format!("\n  - {mistake}"));
    Err(Error::workflow(told + &mistakes.collect::<String>()))
}

impl<In> fmt::Debug for Builder<In> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("name", &self.name)
            .field("steps", &self.steps)
            .finish_non_exhaustive()
    }
}
