//! The engine: opened, given work, shut down.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use steadfast_resilience::clock::Clock;
use steadfast_resilience::telemetry::alert::Rule;
use steadfast_runtime::{
    Alert, AlertError, BulkStatus, CircuitRecord, Node, Settings, Stats, Told, Workflows,
};
use steadfast_store::{AuditId, PutText, TaskId, WorkflowText, WorkflowTexts as _};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::any_store::AnyStore;
use crate::bulk::Bulk;
use crate::error::{Code, Error, other_workflow};
use crate::operator::Operator;
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

    /// Takes on one more workflow while it works. When this returns, tasks of it can be submitted; those that waited for it go on
    /// within a minute. One that it has already is left as it is.
    ///
    /// # Errors
    /// Another one of the same name and version, or a service of the same name with other limits; the engine has stopped.
    pub async fn add_workflow<In, Out>(&self, workflow: &Workflow<In, Out>) -> Result<(), Error> {
        let registered = self.node.register(Arc::clone(&workflow.inner)).await;
        registered.map_err(|words| Error::new(Code::BadWorkflow, words))
    }

    /// Whether [`add_workflow`](Self::add_workflow) would take it on. Nothing has changed then.
    ///
    /// # Errors
    /// Another one of the same name and version, or a service of the same name with other limits.
    pub fn check_workflow<In, Out>(&self, workflow: &Workflow<In, Out>) -> Result<(), Error> {
        let fits = self.node.would_register(&workflow.inner);
        fits.map_err(|words| Error::new(Code::BadWorkflow, words))
    }

    /// All workflows that it works on, in all versions, with any JSON as their input and result.
    #[must_use]
    pub fn workflows(&self) -> Vec<Workflow<Value, Value>> {
        self.node.workflows().into_iter().map(Workflow::untyped).collect()
    }

    /// The texts of workflows that were stored with [`put_text`](Self::put_text), by name and version.
    ///
    /// # Errors
    /// The store's.
    pub async fn workflow_texts(&self) -> Result<Vec<WorkflowText>, Error> {
        Ok(self.node.workflow_texts().await?)
    }

    /// Stores a version of a workflow as a text, for programs that read workflows from elsewhere: tasks stay on the version that they
    /// began with, and the next process has to know what that was. One that is there stays as it is, and is given back.
    ///
    /// # Errors
    /// The store's, a text that is too large.
    pub async fn put_text(&self, text: WorkflowText) -> Result<PutText, Error> {
        Ok(self.node.put_text(text).await?)
    }

    /// A task of whatever workflow, whose result is any JSON.
    ///
    /// # Errors
    /// The store's; a task that does not exist.
    pub async fn any_task(&self, id: TaskId) -> Result<Task<Value>, Error> {
        self.node.read(id).await?;
        Ok(Task::new(id, Arc::clone(&self.node)))
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
        self.check()?;
        self.open()?.start().await
    }

    /// Opens the store and does not work yet: for programs whose workflows are in it ([`Opened::workflow_texts`]).
    ///
    /// # Errors
    /// An address that makes no sense; what the store says.
    pub fn open(self) -> Result<Opened, Error> {
        let store = AnyStore::open(&self.address, &self.clock)?;
        Ok(Opened { builder: self, store })
    }

    /// Whether it makes sense, with everything that was asked for.
    fn check(&mut self) -> Result<(), Error> {
        self.asked.drain(..).for_each(|ask| ask(&mut self.settings));
        if let Some(twice) = &self.twice {
            return Err(Error::new(Code::BadWorkflow, format!("{twice}: raise the version of one")));
        }
        self.workflows.check().map_err(|words| Error::new(Code::BadWorkflow, words))?;
        self.settings.check().map_err(|words| Error::new(Code::BadSettings, words))
    }
}

/// A store that is open, and an engine that does not work yet.
#[must_use = "nothing runs until `start`"]
pub struct Opened {
    builder: Builder,
    store: AnyStore,
}

impl Opened {
    /// The texts of workflows that the store has, by name and version: see [`Engine::put_text`].
    ///
    /// # Errors
    /// The store's.
    pub async fn workflow_texts(&self) -> Result<Vec<WorkflowText>, Error> {
        Ok(self.store.workflow_texts().await?)
    }

    /// Stores the text of a workflow: see [`Engine::put_text`].
    ///
    /// # Errors
    /// The store's, a text that is too large.
    pub async fn put_text(&self, text: WorkflowText) -> Result<PutText, Error> {
        let put = self.store.put_texts(vec![text]).await?;
        Ok(put.into_iter().next().unwrap_or(PutText::Done))
    }

    /// A workflow whose tasks it works on.
    pub fn workflow<In, Out>(mut self, workflow: &Workflow<In, Out>) -> Self {
        self.builder = self.builder.workflow(workflow);
        self
    }

    /// Begins to work: with what is left from before, too. Must be called inside of a tokio runtime.
    ///
    /// # Errors
    /// A workflow or settings that make no sense; what the store says.
    pub async fn start(self) -> Result<Engine, Error> {
        self.begin().await
    }

    /// In a box: what it leads to, all loops of the engine, is compiled with this crate then, and not with each program that has it.
    fn begin(mut self) -> Pin<Box<dyn Future<Output = Result<Engine, Error>> + Send>> {
        Box::pin(async move {
            self.builder.check()?;
            let Builder { workflows, settings, clock, .. } = self.builder;
            let node = Node::start(self.store, workflows, settings, clock).await?;
            Ok(Engine { node: Arc::new(node) })
        })
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").field("address", &self.builder.address).finish_non_exhaustive()
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("address", &self.address).finish_non_exhaustive()
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
