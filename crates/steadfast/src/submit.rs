//! Submissions.

use std::fmt;
use std::future::IntoFuture;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use steadfast_engine::{Definition, Time};
use steadfast_runtime::{Extra, New, Start, Trace};
use steadfast_store::{MAX_KEY, MAX_LABELS, MAX_PAYLOAD, Payload};

use crate::engine::Engine;
use crate::error::{Code, Error, empty_key, too_large};
use crate::operator::bad_label;
use crate::task::Task;
use crate::workflow::Workflow;

/// An input as it is stored.
pub(crate) fn packed<In: Serialize, Out>(workflow: &Workflow<In, Out>, input: &In) -> Result<Payload, Error> {
    serde_json::to_vec(input).map(Payload::from).map_err(|error| {
        let message = format!("the input of `{}` cannot be written as JSON: {error}", workflow.name());
        Error::new(Code::BadPayload, message).because(error)
    })
}

/// A workflow that this engine was not given.
pub(crate) fn unregistered(definition: &Definition) -> Error {
    let message = format!(
        "workflow `{}` version {} is not registered: give it to `Engine::builder(..).workflow(..)`",
        definition.name(),
        definition.version()
    );
    Error::new(Code::UnknownWorkflow, message)
}

/// A submission. Await it.
#[must_use = "nothing is submitted until it is awaited"]
pub struct Submit<'e, In, Out> {
    engine: &'e Engine,
    workflow: &'e Workflow<In, Out>,
    input: Result<Payload, Error>,
    key: Option<Arc<str>>,
    namespace: Arc<str>,
    priority: i8,
    start: Start,
    pub(crate) extra: Option<Box<Extra>>,
    types: PhantomData<fn(In) -> Out>,
}

impl Engine {
    /// Submits a task. Await it: when that returns, the task is stored and will be worked on, whatever happens.
    pub fn submit<'e, In: Serialize, Out>(
        &'e self,
        workflow: &'e Workflow<In, Out>,
        input: &In,
    ) -> Submit<'e, In, Out> {
        let input = packed(workflow, input);
        let (namespace, start) = (Arc::from(""), Start::Now);
        let types = PhantomData;
        Submit { engine: self, workflow, input, key: None, namespace, priority: 0, start, extra: None, types }
    }
}

impl<In, Out> Submit<'_, In, Out> {
    /// Under the same key the same workflow runs once: a second submission gives the first task back. The same key with
    /// another input is an error, and so is an empty one. Inputs are the same if they are as JSON, byte for byte: use a
    /// `BTreeMap`, since a `HashMap` is written in another order each time.
    pub fn key(mut self, key: impl fmt::Display) -> Self {
        self.key = Some(Arc::from(key.to_string()));
        self
    }

    /// Whose task it is: keys are unique within one of these, and at a service that is full each has the same share of the
    /// places. Default: the empty one.
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Arc::from(namespace);
        self
    }

    /// Among the tasks that wait for the same service, one with a higher priority goes first, whoever has waited longer;
    /// a lower one has its turn when no higher one waits. What runs is not interrupted. Default: 0.
    pub fn priority(mut self, priority: i8) -> Self {
        self.priority = priority;
        self
    }

    /// Gives it a label, by which it is found ([`Engine::tasks`]); said again, another one. Operators can change them. A task that
    /// is found under its key keeps those that it has.
    pub fn label(mut self, name: &str, value: &str) -> Self {
        let extra = self.extra.get_or_insert_default();
        match std::mem::take(&mut extra.labels).with(name, Some(value)) {
            Ok(labels) => extra.labels = labels,
            Err(words) => self.input = self.input.and(Err(bad_label(words))),
        }
        self
    }

    /// It belongs to this trace: calls of its steps go out in it, those of child tasks too. A task that is found under its key keeps the
    /// one that it has, or none.
    pub fn trace(mut self, trace: Trace) -> Self {
        self.extra.get_or_insert_default().trace = Some(Arc::new(trace));
        self
    }

    /// Starts at this time, a [`Time`] or a `SystemTime`; at once if it has passed. The task is stored now, and its
    /// `complete_within` counts from its start. A task that is found under its key keeps the time that it has.
    pub fn start_at(mut self, time: impl Into<Time>) -> Self {
        self.start = Start::At(time.into());
        self
    }

    /// Starts so long after it was submitted: see [`start_at`](Self::start_at).
    pub fn start_after(mut self, time: Duration) -> Self {
        self.start = Start::After(time);
        self
    }
}

impl<In, Out> Submit<'_, In, Out> {
    fn check(&self, input: &Payload) -> Result<(), Error> {
        if self.key.as_ref().is_some_and(|key| key.is_empty()) {
            return Err(empty_key());
        }
        let correlation = self.extra.as_ref().and_then(|extra| extra.correlation.as_ref());
        let labels = self.extra.as_ref().map_or(0, |extra| extra.labels.count());
        if labels > MAX_LABELS {
            return Err(bad_label(format!("it has {labels} labels, at most {MAX_LABELS} are allowed")));
        }
        let sizes = [
            ("the key", self.key.as_ref().map_or(0, |key| key.len()), MAX_KEY),
            ("the namespace", self.namespace.len(), MAX_KEY),
            ("the correlation id", correlation.map_or(0, |id| id.len()), MAX_KEY),
            ("the input, as JSON,", input.len(), MAX_PAYLOAD),
        ];
        match sizes.into_iter().find(|(_, bytes, most)| bytes > most) {
            Some((what, bytes, most)) => Err(too_large(what, bytes, most)),
            None => Ok(()),
        }
    }
}

impl<'e, In, Out> IntoFuture for Submit<'e, In, Out>
where
    In: 'e,
    Out: DeserializeOwned + Send + 'e,
{
    type Output = Result<Task<Out>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'e>>;

    fn into_future(mut self) -> Self::IntoFuture {
        let taken = std::mem::replace(&mut self.input, Ok(Payload::default()));
        let checked = taken.and_then(|input| self.check(&input).map(|()| input));
        let Submit { engine, workflow, key, namespace, priority, start, extra, .. } = self;
        Box::pin(async move {
            let inner = &workflow.inner;
            let definition = inner.definition();
            if engine.node.workflow(definition.name(), definition.version()).is_none() {
                return Err(unregistered(definition));
            }
            let new = New { workflow: Arc::clone(inner), namespace, key, priority, input: checked? };
            let submitted = match extra {
                None => engine.node.submit_for(new, start).await?,
                Some(extra) => engine.node.submit_with(new, start, *extra).await?,
            };
            Ok(Task::new(submitted.task, Arc::clone(&engine.node)))
        })
    }
}

impl<In, Out> fmt::Debug for Submit<'_, In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submit").field("workflow", &self.workflow.name()).field("key", &self.key).finish()
    }
}
