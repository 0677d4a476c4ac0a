//! What an operator asks of tasks.

use std::fmt;
use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use steadfast_engine::{Action, Ignored, StepId, Time};
use steadfast_runtime::{Node, Operation};
use steadfast_store::{AuditId, Audited, Labels, Payload, PayloadKey, TaskId};

use crate::any_store::AnyStore;
use crate::error::{Code, Error};
use crate::task::Task;

/// Somebody who repairs what could not be healed. Whatever is asked here goes to whoever owns the task, is done once or refused
/// with the reason, and is written to the audit log with who asked, when and why.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use steadfast::{Engine, Failure, OnFailure, Outcome, Service, Workflow};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let configured = Arc::new(AtomicBool::new(false));
/// let is_configured = Arc::clone(&configured);
/// let mut flow = Workflow::<u32>::builder("pay");
/// let charge = flow
///     .step("charge", &Service::standard("bank"), move |order| {
///         let configured = is_configured.load(Ordering::Relaxed);
///         async move { if configured { Ok(order.input) } else { Err(Failure::terminal("no-account", "none there")) } }
///     })
///     .on_failure(OnFailure::Error)
///     .nothing_to_undo()
///     .add();
/// let pay = flow.returns(charge)?;
/// let engine = Engine::builder("memory:").workflow(&pay).start().await?;
/// let task = engine.submit(&pay, &7).await?;
/// assert!(matches!(task.outcome().await?, Outcome::Failed(_)));
///
/// configured.store(true, Ordering::Relaxed);
/// let ana = engine.operator("ana");
/// ana.retry(task.id(), "charge").because("the account is open now").await?;
/// assert_eq!(task.outcome().await?, Outcome::Completed(7));
/// # engine.shut_down().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Operator {
    node: Arc<Node<AnyStore>>,
    by: Arc<str>,
}

/// Something that is asked of a task. Say [`because`](Self::because) why, and await that.
#[must_use = "nothing is asked until it says why and is awaited"]
pub struct Ask<'o, K> {
    operator: &'o Operator,
    task: TaskId,
    step: Option<String>,
    kind: K,
    brings: Result<Option<Payload>, Error>,
    id: Option<AuditId>,
}

/// What is asked for, with the reason. Await it: when that returns, it is done.
#[must_use = "nothing is asked until it is awaited"]
pub struct Asked<'o> {
    operator: &'o Operator,
    task: TaskId,
    step: Option<String>,
    make: Box<dyn FnOnce(StepId) -> Action + Send + 'o>,
    brings: Result<Option<Payload>, Error>,
    id: Option<AuditId>,
    why: String,
}

/// A step is made again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retry {
    edited: bool,
    did_not_happen: bool,
}

/// A step is skipped.
#[derive(Clone, Copy, Debug, Default)]
pub struct Skip {
    happened: bool,
}

/// The undo of a step is tried again.
#[derive(Clone, Copy, Debug, Default)]
pub struct RetryUndo {
    happened: bool,
}

/// Anything else.
#[derive(Clone, Copy, Debug)]
pub struct Plain(What);

#[derive(Clone, Copy, Debug)]
enum What {
    Whole(Action),
    TakeAsUndone,
}

impl Operator {
    pub(crate) fn new(node: Arc<Node<AnyStore>>, by: &str) -> Self {
        Self { node, by: Arc::from(by) }
    }

    pub(crate) fn node(&self) -> &Arc<Node<AnyStore>> {
        &self.node
    }

    /// Who it is.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.by
    }

    /// Has a step made again: anew if it has failed, at once if it waits for its next attempt. Its failures are forgotten.
    pub fn retry(&self, task: TaskId, step: &str) -> Ask<'_, Retry> {
        self.ask(task, Some(step), Retry::default())
    }

    /// Has a step skipped. What comes after it goes on, with the output that is given.
    pub fn skip(&self, task: TaskId, step: &str) -> Ask<'_, Skip> {
        self.ask(task, Some(step), Skip::default())
    }

    /// Holds a task: nothing of it begins until it is resumed. What runs may end, and its deadline stands still.
    pub fn pause(&self, task: TaskId) -> Ask<'_, Plain> {
        self.plain(task, Action::Pause)
    }

    /// Lets a task go on: one that is paused, and one that has failed. That one makes all steps again that have failed, or, if it
    /// was being undone, all undos.
    pub fn resume(&self, task: TaskId) -> Ask<'_, Plain> {
        self.plain(task, Action::Resume)
    }

    /// Has a task undone that has not ended.
    pub fn cancel(&self, task: TaskId) -> Ask<'_, Plain> {
        self.plain(task, Action::Cancel)
    }

    /// Has a task undone, also one that has completed, or has failed.
    pub fn undo(&self, task: TaskId) -> Ask<'_, Plain> {
        self.plain(task, Action::Undo)
    }

    /// Gives a task another deadline, or none. For one that is paused it counts from now, and stands still as well.
    pub fn deadline(&self, task: TaskId, at: Option<Time>) -> Ask<'_, Plain> {
        self.plain(task, Action::Deadline(at))
    }

    /// Gives a task a label, or another value for one that it has: tasks are found by them ([`Tasks::label`](crate::Tasks::label)).
    /// It is possible in every state, and nothing that the task works by.
    pub fn label(&self, task: TaskId, name: &str, value: &str) -> Ask<'_, Plain> {
        self.labels(task, name, Some(value))
    }

    /// Takes a label away from a task.
    pub fn unlabel(&self, task: TaskId, name: &str) -> Ask<'_, Plain> {
        self.labels(task, name, None)
    }

    fn labels(&self, task: TaskId, name: &str, value: Option<&str>) -> Ask<'_, Plain> {
        let mut ask = self.plain(task, Action::Label);
        let change = Labels::default().with(name, value);
        ask.brings = change.map(|change| Some(change.pack())).map_err(bad_label);
        ask
    }

    /// Has the undo of a step tried again that could not be made.
    pub fn retry_undo(&self, task: TaskId, step: &str) -> Ask<'_, RetryUndo> {
        self.ask(task, Some(step), RetryUndo::default())
    }

    /// Takes a step as undone whose undo could not be made: somebody did it by other means, or there was nothing to undo.
    pub fn take_as_undone(&self, task: TaskId, step: &str) -> Ask<'_, Plain> {
        self.ask(task, Some(step), Plain(What::TakeAsUndone))
    }

    /// A task of whatever workflow, such as one that an alert or a list names: why it waits, how far it is, what became of it.
    ///
    /// # Errors
    /// The store's; a task that does not exist.
    pub async fn task(&self, task: TaskId) -> Result<Task<Value>, Error> {
        self.node.read(task).await?;
        Ok(Task::new(task, Arc::clone(&self.node)))
    }

    /// The input that a task was submitted with.
    ///
    /// # Errors
    /// The store's; a task that does not exist.
    pub async fn input(&self, task: TaskId) -> Result<Value, Error> {
        self.node.read(task).await?;
        Ok(self.payload(task, None).await?.unwrap_or_default())
    }

    /// What a step has given, if it has given anything.
    ///
    /// # Errors
    /// The store's; a task or a step that does not exist.
    pub async fn output(&self, task: TaskId, step: &str) -> Result<Option<Value>, Error> {
        let step = self.step(task, step).await?;
        self.payload(task, Some(step)).await
    }

    async fn payload(&self, task: TaskId, step: Option<StepId>) -> Result<Option<Value>, Error> {
        let kept = self.node.payload(PayloadKey { task, step }).await?;
        kept.map(|kept| serde_json::from_slice(&kept)).transpose().map_err(|error| {
            Error::new(Code::BadPayload, format!("what is stored is no JSON: {error}")).because(error)
        })
    }

    /// What operators have done, newest first, at most so many: to one task or to all, before the given entry.
    ///
    /// # Errors
    /// The store's.
    pub async fn audits(
        &self,
        task: Option<TaskId>,
        before: Option<AuditId>,
        most: usize,
    ) -> Result<Vec<Audited>, Error> {
        Ok(self.node.audits(task, before, most).await?)
    }

    fn plain(&self, task: TaskId, action: Action) -> Ask<'_, Plain> {
        self.ask(task, None, Plain(What::Whole(action)))
    }

    fn ask<K>(&self, task: TaskId, step: Option<&str>, kind: K) -> Ask<'_, K> {
        Ask { operator: self, task, step: step.map(str::to_owned), kind, brings: Ok(None), id: None }
    }

    /// The step of this name.
    async fn step(&self, task: TaskId, name: &str) -> Result<StepId, Error> {
        let stored = self.node.read(task).await?;
        if stored.task.steps().is_empty() {
            return Err(Error::new(Code::Refused, format!("task {task}: {}", Ignored::NotTaken)));
        }
        let workflow = self.node.workflow_of(&stored)?;
        let definition = workflow.definition();
        definition.step_named(name).ok_or_else(|| {
            let names: Vec<_> = definition.steps().iter().map(|step| format!("`{}`", step.name())).collect();
            let message =
                format!("workflow `{}` has no step `{name}`: it has {}", stored.workflow, names.join(", "));
            Error::new(Code::Refused, message)
        })
    }
}

impl<K> Ask<'_, K> {
    /// Under an id of your own, a UUID: whoever asks again under it, after an error that leaves it open, has it done once.
    pub fn under(mut self, id: AuditId) -> Self {
        self.id = Some(id);
        self
    }

    fn bring(&mut self, what: &str, value: &(impl Serialize + ?Sized)) {
        self.brings = serde_json::to_vec(value).map(|json| Some(Payload::from(json))).map_err(|error| {
            let message = format!("{what} cannot be written as JSON: {error}");
            Error::new(Code::BadPayload, message).because(error)
        });
    }
}

impl Ask<'_, Retry> {
    /// With this input, which the step, and its undo, sees in the place of the task's. It has a new key for its service, which
    /// would otherwise only repeat what it answered before.
    pub fn input(mut self, input: &(impl Serialize + ?Sized)) -> Self {
        self.bring("the input", input);
        self.kind.edited = true;
        self
    }

    /// Somebody has looked: no attempt so far has taken effect. Needed where that is not known, for a step that is not idempotent
    /// and for one that gets another input.
    pub fn did_not_happen(mut self) -> Self {
        self.kind.did_not_happen = true;
        self
    }
}

impl Ask<'_, Skip> {
    /// With this output, for the steps that read it.
    pub fn output(mut self, output: &(impl Serialize + ?Sized)) -> Self {
        self.bring("the output", output);
        self
    }

    /// It was done by other means: it counts as completed, and is undone with the others if it comes to that.
    pub fn happened(mut self) -> Self {
        self.kind.happened = true;
        self
    }
}

impl Ask<'_, RetryUndo> {
    /// Somebody has looked: the step did happen. Needed where nobody knows.
    pub fn happened(mut self) -> Self {
        self.kind.happened = true;
        self
    }
}

/// A label that makes no sense.
pub(crate) fn bad_label(words: String) -> Error {
    Error::new(Code::BadPayload, words)
}

/// What of a step is asked for.
trait OfStep: Send + 'static {
    fn action(self, step: StepId) -> Action;
}

impl OfStep for Retry {
    fn action(self, step: StepId) -> Action {
        Action::Retry { step, edited: self.edited, did_not_happen: self.did_not_happen }
    }
}

impl OfStep for Skip {
    fn action(self, step: StepId) -> Action {
        Action::Skip { step, happened: self.happened }
    }
}

impl OfStep for RetryUndo {
    fn action(self, step: StepId) -> Action {
        Action::RetryUndo { step, happened: self.happened }
    }
}

impl OfStep for Plain {
    fn action(self, step: StepId) -> Action {
        match self.0 {
            What::Whole(action) => action,
            What::TakeAsUndone => Action::TakeAsUndone { step },
        }
    }
}

#[expect(private_bounds, reason = "there are no other kinds")]
impl<'o, K: OfStep> Ask<'o, K> {
    /// Says why. It is kept for ever.
    pub fn because(self, why: impl Into<String>) -> Asked<'o> {
        let Self { operator, task, step, kind, brings, id } = self;
        let make = Box::new(move |step| kind.action(step));
        Asked { operator, task, step, make, brings, id, why: why.into() }
    }
}

impl<'o> IntoFuture for Asked<'o> {
    type Output = Result<(), Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'o>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { operator, task, step, make, brings, id, why } = self;
        Box::pin(async move {
            let step = match step {
                Some(name) => operator.step(task, &name).await?,
                // It is about the whole task.
                None => StepId::at(0),
            };
            let operation = Operation::new(make(step), &operator.by, &why).bringing(brings?);
            let operation = match id {
                Some(id) => operation.under(id),
                None => operation,
            };
            operator.node.operate(task, operation).await?;
            Ok(())
        })
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operator").field("by", &self.by).finish_non_exhaustive()
    }
}

impl<K: fmt::Debug> fmt::Debug for Ask<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (task, step) = (&self.task, &self.step);
        f.debug_struct("Ask")
            .field("task", task)
            .field("step", step)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Asked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (task, step) = (&self.task, &self.step);
        f.debug_struct("Asked")
            .field("task", task)
            .field("step", step)
            .field("why", &self.why)
            .finish_non_exhaustive()
    }
}
