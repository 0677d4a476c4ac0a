//! Looking for tasks.

use std::fmt;
use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::{Since, TaskState, Time};
use steadfast_runtime::{Find, Node};
use steadfast_store::{Labels, Stored, TaskId};

use crate::any_store::AnyStore;
use crate::error::Error;

/// How many are found where nothing is said.
const MOST: usize = 100;

/// Tasks that are looked for, all of them if nothing more is said. Await it for the first [`Page`].
///
/// ```
/// use steadfast::{Engine, Failure, OnFailure, Service, TaskState, Workflow};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut flow = Workflow::<u32>::builder("pay");
/// flow.step("charge", &Service::standard("bank"), |_| async { Err::<(), _>(Failure::terminal("declined", "no funds")) })
///     .on_failure(OnFailure::Error)
///     .nothing_to_undo()
///     .add();
/// let pay = flow.build()?;
/// let engine = Engine::builder("memory:").workflow(&pay).start().await?;
/// for order in 0..3 {
///     engine.submit(&pay, &order).key(format!("order-{order}")).await?.outcome().await?;
/// }
/// let failed = engine.tasks().state(TaskState::Failed).service("bank").reason("no funds").await?;
/// assert_eq!(failed.tasks.len(), 3);
/// assert_eq!(failed.tasks[0].key.as_deref(), Some("order-2"));
/// assert_eq!(failed.tasks[0].why, "step `charge` failed: declined: no funds");
/// assert_eq!(engine.tasks().text("order-1").await?.tasks.len(), 1);
/// # engine.shut_down().await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is looked for until it is awaited"]
#[derive(Clone)]
pub struct Tasks {
    node: Arc<Node<AnyStore>>,
    find: Find,
    age: Option<Duration>,
    behind: Option<TaskId>,
    most: Option<usize>,
}

/// Some of the tasks that were looked for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Page {
    /// They, newest first.
    pub tasks: Vec<Summary>,
    /// Behind which to look on ([`Tasks::behind`]); `None` if there are no more.
    pub behind: Option<TaskId>,
}

/// A task in a list.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Summary {
    /// Its id.
    pub id: TaskId,
    /// Whose it is; empty where nobody said.
    pub namespace: Arc<str>,
    /// Its workflow.
    pub workflow: Arc<str>,
    /// Which version of it.
    pub version: u32,
    /// The key that it was submitted under.
    pub key: Option<Arc<str>>,
    /// Where it stands.
    pub state: TaskState,
    /// When it was submitted.
    pub submitted_at: Time,
    /// Why it does not move, or how it has ended; without the times that only its history tells.
    pub why: String,
    /// Its labels.
    pub labels: Labels,
    /// The task that has asked for it ([`WorkflowBuilder::child`](crate::WorkflowBuilder::child)).
    pub parent: Option<TaskId>,
}

impl Tasks {
    pub(crate) fn new(node: Arc<Node<AnyStore>>) -> Self {
        Self { node, find: Find::default(), age: None, behind: None, most: None }
    }

    /// In this state. Said more than once: in any of these.
    pub fn state(mut self, state: TaskState) -> Self {
        self.find.filter.states.push(state);
        self
    }

    /// Of this workflow.
    pub fn workflow(mut self, name: &str) -> Self {
        self.find.filter.workflow = Some(Arc::from(name));
        self
    }

    /// Of this namespace.
    pub fn namespace(mut self, name: &str) -> Self {
        self.find.filter.namespace = Some(Arc::from(name));
        self
    }

    /// Submitted under this key.
    pub fn key(mut self, key: impl fmt::Display) -> Self {
        self.find.filter.key = Some(Arc::from(key.to_string()));
        self
    }

    /// With this label. Said more than once: with all of these.
    pub fn label(mut self, name: &str, value: &str) -> Self {
        self.find.filter.labels.push((Arc::from(name), Arc::from(value)));
        self
    }

    /// Asked for by this task, as its children.
    pub fn parent(mut self, task: TaskId) -> Self {
        self.find.filter.parent = Some(task);
        self
    }

    /// With a step at this service that has not ended, or has failed; or with an undo there that has to be made.
    pub fn service(mut self, name: &str) -> Self {
        self.find.service = Some(name.to_owned());
        self
    }

    /// Parked while the circuit of this service is open.
    pub fn parked_on(mut self, service: &str) -> Self {
        self.find.filter.parked_on = Some(Arc::from(service));
        self
    }

    /// With this in the reason why they do not complete, or in how an attempt of an open step failed last. Letters may be large or
    /// small.
    pub fn reason(mut self, text: &str) -> Self {
        self.find.reason = Some(text.to_owned());
        self
    }

    /// With this in the id, the key, the reason or the input.
    pub fn text(mut self, text: &str) -> Self {
        self.find.text = Some(text.to_owned());
        self
    }

    /// Submitted longer ago than this.
    pub fn older_than(mut self, age: Duration) -> Self {
        self.age = Some(age);
        self
    }

    /// Submitted at this time or later.
    pub fn from(mut self, time: Time) -> Self {
        self.find.filter.from = Some(time);
        self
    }

    /// The most of them at a time; 100 where nothing is said. For a bulk or an export: the most of all, the newest first; all where
    /// nothing is said.
    pub fn most(mut self, tasks: usize) -> Self {
        self.most = Some(tasks.max(1));
        self
    }

    /// Behind this one: [`Page::behind`] of the page before.
    pub fn behind(mut self, task: TaskId) -> Self {
        self.behind = Some(task);
        self
    }

    /// What is looked for, as of now.
    pub(crate) fn into_find(mut self) -> Find {
        self.find.most = self.most;
        if let Some(age) = self.age {
            let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
            let before = self.node.now().as_millis().saturating_sub(age);
            self.find.filter.before = Some(Time::from_millis(before));
        }
        self.find
    }

    fn summary(&self, stored: Stored, labels: Labels) -> Summary {
        let (nothing, now) = (Since::default(), self.node.now());
        let why = match self.node.workflow_of(&stored) {
            Ok(workflow) => stored.task.why(workflow.definition(), now, &nothing),
            Err(_) => stored.task.why_unknown(&stored.workflow, stored.version, now, &nothing),
        };
        Summary {
            id: stored.id,
            namespace: stored.namespace,
            workflow: stored.workflow,
            version: stored.version,
            key: stored.key,
            state: stored.task.state(),
            submitted_at: stored.submitted_at,
            why: why.to_string(),
            labels,
            parent: stored.parent,
        }
    }
}

impl IntoFuture for Tasks {
    type Output = Result<Page, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let find = self.clone().into_find();
            let found = self.node.find(&find, self.behind, self.most.unwrap_or(MOST)).await?;
            let labels = self.node.labels(found.tasks.iter().map(|stored| stored.id).collect()).await?;
            let tasks = found.tasks.into_iter().zip(labels);
            let tasks = tasks.map(|(stored, labels)| self.summary(stored, labels)).collect();
            Ok(Page { tasks, behind: found.behind })
        })
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks").field("find", &self.find).finish_non_exhaustive()
    }
}
