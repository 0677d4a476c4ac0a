//! The engine: opened, given work, shut down.

use std::fmt;
use std::future::IntoFuture;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use steadfast_engine::{Definition, Time};
use steadfast_resilience::clock::Clock;
use steadfast_resilience::telemetry::alert::Rule;
use steadfast_runtime::{
    Alert, AlertError, BulkStatus, CircuitRecord, Extra, New, Node, Settings, Start, Stats, Told, Workflows,
};
use steadfast_store::{AuditId, MAX_KEY, MAX_LABELS, MAX_PAYLOAD, Payload, TaskId};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::any_store::AnyStore;
use crate::bulk::Bulk;
use crate::error::{Code, Error, empty_key, other_workflow, too_large};
use crate::operator::{Operator, bad_label};
use crate::signal::Signal;
use crate::task::Task;
use crate::tasks::Tasks;
use crate::workflow::Workflow;

/// The engine: scheduler, agents and supervisor over one store. Clones are one and the same.
#[derive(Clone)]
pub struct Engine {
    pub(crate) node: Arc<Node<AnyStore>>,
}

/// An engine that is being set up.
#[must_use = "nothing runs until `start`"]
pub struct Builder {
    address: String,
    workflows: Workflows,
    twice: Option<String>,
    settings: Settings,
    /// What is done to the settings in the end: alerts that were asked for stay, whichever settings come later.
    pub(crate) asked: Vec<Ask>,
    clock: Clock,
}

type Ask = Box<dyn FnOnce(&mut Settings) + Send>;

impl Engine {
    /// Begins to set an engine up over the store at this address: `sqlite:PATH`, such as `sqlite:orders.db` in the current
    /// folder or `sqlite:/var/lib/orders.db`, or `memory:` for tests, which forgets everything in the end.
    pub fn builder(address: impl Into<String>) -> Builder {
        Builder {
            address: address.into(),
            workflows: Workflows::default(),
            twice: None,
            settings: Settings::default(),
            asked: Vec::new(),
            clock: Clock::system(),
        }
    }

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

    /// A task that was submitted before, by this program or another.
    ///
    /// # Errors
    /// The store's; a task that does not exist, or is one of another workflow.
    pub async fn task<In, Out>(&self, workflow: &Workflow<In, Out>, id: TaskId) -> Result<Task<Out>, Error> {
        let stored = self.node.read(id).await?;
        if *stored.workflow != *workflow.name() {
            return Err(other_workflow(id, &stored.workflow));
        }
        Ok(Task::new(id, Arc::clone(&self.node)))
    }

    /// Sends a signal to a task, of whatever workflow: see [`Task::signal`].
    pub fn signal(&self, task: TaskId, name: &str, says: &(impl Serialize + ?Sized)) -> Signal<'_> {
        Signal::new(&self.node, task, name, says)
    }

    /// Everything that happens to tasks on this engine from now on.
    #[must_use]
    pub fn events(&self) -> Events {
        Events { told: self.node.listen() }
    }

    /// What is known of services' circuits: how they stand, until when they are open, who holds them, at which stage work goes back to
    /// them, and what happened to them lately. It is read from the store, and outlives the process. A circuit that never opened
    /// is not there. To hold one open or let it go: [`Service::pipeline`](crate::Service::pipeline), then its breaker's `force_open` and `reset`.
    ///
    /// # Errors
    /// The store's.
    pub async fn circuits(&self) -> Result<Vec<CircuitRecord>, Error> {
        Ok(self.node.circuits().await?)
    }

    /// What this person may ask of tasks: make a step again, skip it, pause, resume, undo, and more.
    #[must_use]
    pub fn operator(&self, who: &str) -> Operator {
        Operator::new(Arc::clone(&self.node), who)
    }

    /// Looks for tasks: by state, workflow, service, reason, age, label, text. Await it, or say more first.
    pub fn tasks(&self) -> Tasks {
        Tasks::new(Arc::clone(&self.node))
    }

    /// The bulk of this id; whether there is one shows when it is asked.
    #[must_use]
    pub fn bulk(&self, id: AuditId) -> Bulk {
        Bulk::new(Arc::clone(&self.node), id)
    }

    /// The newest bulks, at most so many, with what they ask and how far they have come.
    ///
    /// # Errors
    /// The store's.
    pub async fn bulks(&self, most: usize) -> Result<Vec<BulkStatus>, Error> {
        Ok(self.node.bulks(most).await?)
    }

    /// What it has counted.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.node.stats()
    }

    /// Stops in good order: nothing new begins, attempts under way may end within the grace of the settings, and the rest
    /// goes on when an engine is started again. Returns how many attempts were cut off.
    ///
    /// # Errors
    /// The store's; the engine has stopped all the same.
    pub async fn shut_down(self) -> Result<usize, Error> {
        Ok(self.node.shut_down().await?)
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("node", &self.node).finish()
    }
}

impl Builder {
    /// A workflow whose tasks it works on.
    pub fn workflow<In, Out>(mut self, workflow: &Workflow<In, Out>) -> Self {
        if let Err(twice) = self.workflows.add(Arc::clone(&workflow.inner)) {
            self.twice.get_or_insert(twice);
        }
        self
    }

    /// How often, how long, how many.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Tells this function of every alert: a task has failed, an undo is stuck, a circuit has opened, a service does badly. May
    /// be called several times. Alerts are stored until they were taken: a function that fails, panics or takes longer than
    /// ten seconds is told again, with growing waits and the same [`Alert::id`], also after a restart. Each alert is a line of
    /// the log as well.
    ///
    /// ```
    /// # use steadfast::{Engine, EngineBuilder};
    /// # fn page(words: &str) -> Result<(), std::io::Error> { Ok(()) }
    /// # fn with_alerts(builder: EngineBuilder) -> EngineBuilder {
    /// builder.on_alert(|alert| async move {
    ///     page(&format!("{}. What to do: {}", alert.words, alert.advice))?;
    ///     Ok(())
    /// })
    /// # }
    /// ```
    pub fn on_alert<F, Fut>(mut self, hook: F) -> Self
    where
        F: Fn(Alert) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), AlertError>> + Send + 'static,
    {
        self.asked.push(Box::new(move |settings| settings.alerts.on_alert(hook)));
        self
    }

    /// When a service does badly: the rules for all services that have none of their own. Default: [`Rule::standard`]. An
    /// empty list switches them off.
    pub fn alert_rules(mut self, rules: impl IntoIterator<Item = Rule>) -> Self {
        let rules: Vec<_> = rules.into_iter().collect();
        self.asked.push(Box::new(move |settings| settings.alerts.rules = rules));
        self
    }

    /// When this service does badly.
    pub fn alert_rules_for(mut self, service: &str, rules: impl IntoIterator<Item = Rule>) -> Self {
        let (service, rules) = (service.to_owned(), rules.into_iter().collect::<Vec<_>>());
        self.asked.push(Box::new(move |settings| settings.alerts.rules_for(&service, rules)));
        self
    }

    /// Another clock for waits and time limits: [`Clock::tokio`] for tests in paused time. Give it to the pipelines of
    /// the services too.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Opens the store and begins to work: with what is left from before, too. Must be called inside of a tokio runtime.
    ///
    /// # Errors
    /// An address or a workflow that makes no sense; what the store says: somebody else has it open, a newer version
    /// made it, it cannot be written, the disk is full.
    pub async fn start(mut self) -> Result<Engine, Error> {
        self.asked.drain(..).for_each(|ask| ask(&mut self.settings));
        if let Some(twice) = self.twice {
            return Err(Error::new(Code::BadWorkflow, format!("{twice}: raise the version of one")));
        }
        self.workflows.check().map_err(|words| Error::new(Code::BadWorkflow, words))?;
        self.settings.check().map_err(|words| Error::new(Code::BadSettings, words))?;
        let store = AnyStore::open(&self.address, &self.clock)?;
        let node = Node::start(store, self.workflows, self.settings, self.clock).await?;
        Ok(Engine { node: Arc::new(node) })
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("address", &self.address).finish_non_exhaustive()
    }
}

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

/// What happens to tasks, one after the other.
#[derive(Debug)]
pub struct Events {
    told: Receiver<Told>,
}

impl Events {
    /// The next one; `None` once the engine has stopped. A listener that is thousands behind misses the oldest: the store
    /// has them all ([`Task::history`]).
    pub async fn next(&mut self) -> Option<Told> {
        loop {
            match self.told.recv().await {
                Ok(told) => return Some(told),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    }
}
