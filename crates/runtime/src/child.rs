//! Steps that ask for another task [W1].
//!
//! The other task has an id that follows from who asks: whoever asks again finds the same one. It is asked for once, in the first
//! round; its end is mail to the parent, in the write that brings it about (`reply/task.rs`), and the parent looks again. An undo
//! asks that task to undo itself, and waits for that. Must never run a task twice, nor leave one behind that its parent does not
//! know of.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use steadfast_engine::{Action, CHILD_GONE, CHILD_UNFIT, CHILDREN, Ignored, StepId, TaskState, Time};
use steadfast_resilience::clock::Clock;
use steadfast_resilience::{IdempotencyKey, Kind, Pipeline, Retry, Verdict};
use steadfast_store::{AuditId, Message, Payload, PayloadKey, Posted, Store, Stored, TaskId};

use crate::error::{Error, ErrorKind};
use crate::extra::Extra;
use crate::handler::{Answered, Fault, Handler, Work};
use crate::message::{Operation, Request};
use crate::node::{New, Start};
use crate::reply::ReplyTo;
use crate::scheduler::Inbox;
use crate::service::Service;
use crate::shared::Shared;
use crate::watch::Rested;
use crate::workflow::{Fits, Workflow};

/// How long the end of the other task is waited for in place: most are short, and then their end costs nothing.
const IN_PLACE: Duration = Duration::from_millis(500);
/// A start that never comes: for a task that only stands in the way of a late one.
const NEVER: Time = Time::from_millis(u64::MAX / 4);
/// How often the engine itself is asked again.
const RETRIES: u32 = 1_000;
/// How many of them look at a time.
const MOST_LOOKING: usize = 10_000;

const UNDONE: Kind = Kind::new("child-undone");
/// The kind of a task that is not there any more: nobody knows how it has ended.
pub(crate) const GONE: Kind = Kind::new(CHILD_GONE);
pub(crate) const UNFIT: Kind = Kind::new(CHILD_UNFIT);
const NOT_UNDONE: Kind = Kind::new("child-not-undone");
const NOT_ASKED: Kind = Kind::new("child-not-asked");

/// What another task is to work on, from what is known.
pub type ChildInput = Arc<dyn Fn(&Work) -> Result<Payload, Fault> + Send + Sync>;

/// The code of a step that asks for a task of this workflow, and of its undo. What that gives has to fit.
#[must_use]
pub fn child(
    workflow: &Arc<Workflow>,
    input: &ChildInput,
    output: Fits,
) -> (Arc<dyn Handler>, Arc<dyn Handler>) {
    let looks = handler(workflow, input, look);
    let run = move |work: &Arc<Work>, attempt| -> Answered {
        let (looks, output) = (looks.call(work, attempt), Arc::clone(&output));
        Box::pin(async move {
            let given = looks.await?;
            // What has not ended yet gives nothing.
            let unfit = if given.is_empty() { None } else { output(&given).err() };
            unfit.map_or(Ok(given), |why| {
                let words = format!(
                    "the task has completed, and what it gave does not fit: {why}; skip this step with `happened` and an output that does"
                );
                Err(Fault::terminal(UNFIT, words))
            })
        })
    };
    (Arc::new(run), handler(workflow, input, take_back))
}

type Way = fn(Arc<dyn Tasks>, Child) -> Answered;

fn handler(workflow: &Arc<Workflow>, input: &ChildInput, way: Way) -> Arc<dyn Handler> {
    let (workflow, input) = (Arc::clone(workflow), Arc::clone(input));
    Arc::new(move |work: &Arc<Work>, _| -> Answered {
        let Some(parent) = work.parent.as_deref() else {
            let fault = Fault::terminal(NOT_ASKED, "it asks for no other task");
            return Box::pin(std::future::ready(Err(fault)));
        };
        let (parent, workflow) = (parent.clone(), Arc::clone(&workflow));
        let (input, work) = (Arc::clone(&input), Arc::clone(work));
        way(Arc::clone(&parent.tasks), Child { parent, workflow, work, input })
    })
}

fn look(tasks: Arc<dyn Tasks>, child: Child) -> Answered {
    Box::pin(async move { tasks.look(child).await })
}

fn take_back(tasks: Arc<dyn Tasks>, child: Child) -> Answered {
    Box::pin(async move { tasks.take_back(child).await })
}

/// The service of all steps that ask for another task.
#[must_use]
pub fn children() -> Service {
    static SERVICE: LazyLock<Service> = LazyLock::new(|| {
        let patient = Retry::exponential().max_retries(RETRIES);
        let pipeline =
            Pipeline::builder(CHILDREN).clock(Clock::tokio()).retry(patient).no_breaker().no_budget().build();
        Service::new(pipeline.unwrap_or_else(|_| Pipeline::standard(CHILDREN))).most_running(MOST_LOOKING)
    });
    SERVICE.clone()
}

/// Who asks for another task.
#[derive(Clone)]
pub struct Parent {
    pub(crate) tasks: Arc<dyn Tasks>,
    pub(crate) task: TaskId,
    pub(crate) step: StepId,
    /// The id of the other task.
    pub(crate) child: TaskId,
    pub(crate) namespace: Arc<str>,
    pub(crate) priority: i8,
    /// Of an undo: whether it is sure that the other task has completed.
    pub(crate) sure: bool,
}

impl std::fmt::Debug for Parent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parent").field("task", &self.task).field("child", &self.child).finish_non_exhaustive()
    }
}

/// Another task as it is asked for.
pub(crate) struct Child {
    parent: Parent,
    workflow: Arc<Workflow>,
    work: Arc<Work>,
    input: ChildInput,
}

/// The id of the task that a step asks for, from the step's key: it sorts by the time of its parent.
pub(crate) fn child_id(parent: TaskId, key: IdempotencyKey) -> TaskId {
    const TIME_AND_VERSION: u128 = 0xFFFF_FFFF_FFFF_F000_C000_0000_0000_0000;
    let (parent, key) = (parent.as_u128(), key.member("child").as_u128());
    TaskId::from_u128(parent & TIME_AND_VERSION | key & !TIME_AND_VERSION)
}

/// What is done for steps that ask for other tasks. An empty answer: that task goes on.
pub(crate) trait Tasks: Send + Sync {
    /// Asks for the task, or looks how it has ended.
    fn look(&self, child: Child) -> Looked<'_>;

    /// Asks the task to undo itself, or looks whether it has.
    fn take_back(&self, child: Child) -> Looked<'_>;
}

type Looked<'a> = Pin<Box<dyn Future<Output = Result<Payload, Fault>> + Send + 'a>>;

impl<S: Store> Tasks for Shared<S> {
    fn look(&self, child: Child) -> Looked<'_> {
        Box::pin(async move {
            if child.work.round == 0 {
                self.ask_for(&child, Start::Now, (child.input)(&child.work)?).await?;
            }
            let Some(end) = self.end_of(&child).await? else { return Ok(Payload::default()) };
            // It may be of another version than would be asked for now.
            match (end.task.state(), &end.workflow) {
                (TaskState::Completed, Some(workflow)) => self.result(&child, workflow, &end).await,
                (TaskState::Undone, workflow) => {
                    let why = workflow.as_ref().map(|own| end.task.in_words(own.definition(), self.now()));
                    let why = why.unwrap_or_else(|| "its workflow is not known here".to_owned());
                    let words = format!("task {} was undone: {why}", child.parent.child);
                    Err(Fault::terminal(UNDONE, words))
                }
                // Somebody has to repair it, or to bring a program that knows it; then it is looked at again.
                _ => Ok(Payload::default()),
            }
        })
    }

    fn take_back(&self, child: Child) -> Looked<'_> {
        Box::pin(async move {
            let id = child.parent.child;
            match self.find(id).await? {
                None if child.parent.sure || child.work.round > 0 => return Err(gone(id)),
                // It may still be on its way. One that never begins stands in its place then.
                None => self.ask_for(&child, Start::At(NEVER), nothing()).await?,
                Some(stored) if stored.task.state() == TaskState::Undone => return Ok(nothing()),
                // It was asked before.
                Some(stored) if stored.task.state() == TaskState::Undoing => {
                    return self.undone(&child).await;
                }
                Some(_) => {}
            }
            if let Some(why) = self.ask_to_undo(&child).await? {
                let words = format!("task {id} cannot be undone: {why}");
                // It is about to fail: then it can be asked.
                let soon = why == Ignored::Ending.to_string();
                let verdict =
                    if soon { Verdict::transient(NOT_UNDONE) } else { Verdict::terminal(NOT_UNDONE) };
                return Err(Fault { verdict, message: words });
            }
            self.undone(&child).await
        })
    }
}

impl<S: Store> Shared<S> {
    async fn ask_for(&self, child: &Child, start: Start, input: Payload) -> Result<(), Fault> {
        let Parent { task, step, child: id, namespace, priority, .. } = &child.parent;
        let new = New {
            workflow: Arc::clone(&child.workflow),
            namespace: Arc::clone(namespace),
            key: None,
            priority: *priority,
            input,
        };
        let reply_to = Some(ReplyTo::parent(*task, *step));
        let trace = child.work.trace.clone();
        let extra = Extra { task: Some(*id), reply_to, trace, ..Extra::default() };
        steadfast_store::failpoint!("child.before_asked");
        self.submit_with(new, start, extra).await.map_err(|error| not_asked(&error))?;
        steadfast_store::failpoint!("child.after_asked");
        Ok(())
    }

    async fn find(&self, task: TaskId) -> Result<Option<Stored>, Fault> {
        let found = self.store.read(vec![task]).await.map_err(|error| not_asked(&error.into()))?;
        Ok(found.into_iter().next().flatten())
    }

    /// How the other task has ended, if it does so soon.
    async fn end_of(&self, child: &Child) -> Result<Option<Rested>, Fault> {
        let id = child.parent.child;
        let ended = tokio::select! {
            ended = self.rested(id) => Some(ended),
            () = self.clock.sleep(IN_PLACE) => None,
        };
        if ended.is_none() {
            self.watchers.forget(id);
        }
        match ended.transpose() {
            Err(error) if matches!(error.kind(), ErrorKind::UnknownTask(_)) => Err(gone(id)),
            Err(error) => Err(not_asked(&error)),
            Ok(ended) => Ok(ended),
        }
    }

    /// Whether the other task is undone, or will be soon.
    async fn undone(&self, child: &Child) -> Result<Payload, Fault> {
        match self.end_of(child).await? {
            Some(end) if end.task.state() == TaskState::Undone => Ok(nothing()),
            _ => Ok(Payload::default()),
        }
    }

    /// What the other task has given back.
    async fn result(&self, child: &Child, workflow: &Workflow, end: &Rested) -> Result<Payload, Fault> {
        let Some(step) = workflow.result() else { return Ok(nothing()) };
        if let Some(output) = end.known.kept(step) {
            return Ok(output);
        }
        let key = PayloadKey { task: child.parent.child, step: Some(step) };
        let read = self.store.payloads(vec![key]).await.map_err(|error| not_asked(&error.into()))?;
        Ok(read.into_iter().next().flatten().unwrap_or_else(nothing))
    }

    /// Asks the other task to undo itself; why it does not, if it said no.
    async fn ask_to_undo(&self, child: &Child) -> Result<Option<String>, Fault> {
        let Parent { task, child: id, .. } = child.parent;
        let failed = |error: steadfast_store::Error| not_asked(&error.into());
        let why = format!("task {task}, which has asked for it, is undone");
        let asked = undo_id(id, child.work.number);
        let operation = Operation::new(Action::Undo, &asks_as(task), &why).under(asked);
        let mut waiting = self.operators.wait_for(asked);
        let message = Message { asked: Some(asked), ..Message::new(id, Request::Operate(operation).pack()) };
        steadfast_store::failpoint!("child.before_undo");
        let posted = self.store.post(vec![message]).await.map_err(failed)?;
        steadfast_store::failpoint!("child.after_undo");
        self.tell(Inbox::Look);
        let told = match posted.first() {
            Some(Posted::Done(_)) => tokio::select! {
                told = waiting.answered() => told,
                () = self.clock.sleep(IN_PLACE) => None,
            },
            Some(Posted::Again) => None,
            _ => return Err(gone(id)),
        };
        let audit = match told {
            Some(audit) => Some(audit),
            None => self.store.audited(asked).await.map_err(failed)?.map(|audited| audited.audit),
        };
        let refused = audit.and_then(|audit| audit.refused);
        // It is being undone, or was: that is what was asked for.
        let is_fine = |why: &str| [Ignored::UndoBegun, Ignored::Ended].iter().any(|ok| ok.to_string() == why);
        Ok(refused.filter(|why| !is_fine(why)).map(|why| why.to_string()))
    }
}

/// What nothing is, as JSON.
fn nothing() -> Payload {
    Payload::from(&b"null"[..])
}

/// Under this id a task is asked to undo itself for its parent, once by each attempt.
fn undo_id(child: TaskId, attempt: u32) -> AuditId {
    let key = IdempotencyKey::from_u128(child.as_u128());
    AuditId::from_u128(child_id(child, key.member(&format!("undo {attempt}"))).as_u128())
}

/// The engine itself could not be asked. Under the same id it is asked again.
fn not_asked(error: &Error) -> Fault {
    let passes = error.is_transient()
        || matches!(
            error.kind(),
            ErrorKind::ShuttingDown | ErrorKind::Store { .. } | ErrorKind::TakenElsewhere
        );
    let verdict = if passes { Verdict::transient(NOT_ASKED) } else { Verdict::terminal(NOT_ASKED) };
    Fault { verdict, message: error.to_string() }
}

fn gone(id: TaskId) -> Fault {
    let words = format!(
        "task {id} is not there any more, and nobody knows how it has ended: look at its services, and settle it by hand"
    );
    Fault::terminal(GONE, words)
}

/// As whom a task asks of those that it has asked for.
pub(crate) fn asks_as(task: TaskId) -> String {
    format!("task {task}")
}
