//! A task that was submitted.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use steadfast_engine::{Cause, Definition, Fan, Record, Since, StepId, StepState, TaskState, UndoState, Why};
use steadfast_runtime::{Node, Request, Rested};
use steadfast_store::{Entry, PayloadKey, Stored, TaskId};

use crate::any_store::AnyStore;
use crate::error::{Code, Error, too_large};
use crate::signal::Signal;
use crate::workflow::Workflow;

/// A task. It goes on whether or not anybody holds this.
pub struct Task<Out> {
    id: TaskId,
    node: Arc<Node<AnyStore>>,
    output: PhantomData<fn() -> Out>,
}

/// How a task has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<Out> {
    /// Everything was done.
    Completed(Out),
    /// Everything that was done is undone.
    Undone(Reason),
    /// It is in an operator's hands.
    Failed(Reason),
}

/// Why a task has not completed, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    cause: Cause,
    words: String,
}

impl Reason {
    /// The cause.
    #[must_use]
    pub fn cause(&self) -> &Cause {
        &self.cause
    }

    /// The name of the step that is the cause, if one is.
    #[must_use]
    pub fn step<'w, In, Out>(&self, workflow: &'w Workflow<In, Out>) -> Option<&'w str> {
        match self.cause {
            Cause::StepFailed(id) | Cause::OutcomeUnknown(id) | Cause::OwnerDied(id) => {
                workflow.step_name(id)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl<Out> Task<Out> {
    pub(crate) fn new(id: TaskId, node: Arc<Node<AnyStore>>) -> Self {
        Self { id, node, output: PhantomData }
    }

    /// Its id, by which it is found again.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.id
    }

    /// Has it undone, if it has not ended. When this returns, that is stored and will be done.
    ///
    /// # Errors
    /// The store's; it has ended.
    pub async fn cancel(&self, by: &str, why: &str) -> Result<(), Error> {
        check(by, why)?;
        Ok(self.node.ask(self.id, &Request::cancel(by, why)).await?)
    }

    /// Has it undone, also if it has completed, or has failed: undos that failed are tried again.
    ///
    /// # Errors
    /// The store's; it is undone already, or has passed its point of no return.
    pub async fn undo(&self, by: &str, why: &str) -> Result<(), Error> {
        check(by, why)?;
        Ok(self.node.undo(self.id, by, why).await?)
    }

    /// Sends it a signal: a step of it that waits for one of this name goes on, and what the signal says is its output. One
    /// that comes before that step has its turn is kept for it. Await it: when that returns, it is stored and will be acted
    /// on.
    ///
    /// It is refused if the task has ended, if no step of its workflow waits for such a signal, and if nothing waits for it
    /// any more.
    pub fn signal(&self, name: &str, says: &(impl Serialize + ?Sized)) -> Signal<'_> {
        Signal::new(&self.node, self.id, name, says)
    }

    /// Where it stands.
    ///
    /// # Errors
    /// The store's.
    pub async fn status(&self) -> Result<Status, Error> {
        let stored = self.node.read(self.id).await?;
        let why = self.node.why_of(&stored).await?;
        let workflow = known(&stored, &self.node);
        let mut status = Status::of(&stored, workflow.as_ref().map(|known| known.definition()), &why);
        // Also while it waits for its next attempt, which goes on from there.
        let under_way = |record: &Record| {
            let open = [StepState::Running, StepState::Waiting, StepState::Parked, StepState::Ready];
            open.contains(&record.state) && record.attempt > 0 && !record.is_undoing()
        };
        for (id, _) in stored.task.rows().filter(|(_, record)| under_way(record)) {
            let progress = self.node.progress(self.id, id).await?;
            let text = progress.map(|json| String::from_utf8_lossy(&json).into_owned());
            if let Some(step) = status.steps.get_mut(id.ordinal()) {
                step.progress = text;
            }
        }
        Ok(status)
    }

    /// Why it does not move, or how it has ended: what each open step, or its undo, does or waits for, since when, until when,
    /// and what would change it. In words it is what [`Status::why`] says. It reads the task's history: ask for it when somebody
    /// wants to know, not for each task all the time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use steadfast::resilience::clock::Clock;
    /// use steadfast::{Change, Engine, On, Workflow};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut flow = Workflow::<u32>::builder("pay");
    /// flow.signal::<String>("approval").timeout(Duration::from_secs(3_600)).add();
    /// let pay = flow.build()?;
    /// let engine = Engine::builder("memory:").clock(Clock::tokio()).workflow(&pay).start().await?;
    /// let task = engine.submit(&pay, &7).await?;
    /// Clock::tokio().sleep(Duration::from_secs(10)).await;
    ///
    /// let why = task.why().await?;
    /// let held = &why.held[0];
    /// assert_eq!((held.name.as_str(), &held.change), ("approval", &Change::Signal("approval".to_owned())));
    /// assert!(matches!(&held.on, On::Signal { signal, .. } if signal == "approval"));
    /// assert_eq!(held.until.unwrap().since(held.since.unwrap()), Duration::from_secs(3_600));
    /// assert_eq!(why.to_string(), task.status().await?.why);
    /// # engine.shut_down().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store's.
    pub async fn why(&self) -> Result<Why, Error> {
        Ok(self.node.why(self.id).await?)
    }

    /// What happened to it, oldest first.
    ///
    /// # Errors
    /// The store's.
    pub async fn history(&self) -> Result<Vec<Entry>, Error> {
        Ok(self.node.history(self.id).await?)
    }

    /// What happened to it since this revision, oldest first: for those who follow it.
    ///
    /// # Errors
    /// The store's.
    pub async fn history_behind(&self, revision: u64) -> Result<Vec<Entry>, Error> {
        Ok(self.node.history_behind(self.id, revision).await?)
    }
}

/// Who wants something and why is kept with the task for ever.
fn check(by: &str, why: &str) -> Result<(), Error> {
    const MOST: usize = 4 << 10;
    match by.len() + why.len() {
        bytes if bytes > MOST => Err(too_large("who asks, with the reason,", bytes, MOST)),
        _ => Ok(()),
    }
}

impl<Out: DeserializeOwned> Task<Out> {
    /// Waits for its end, wherever that comes.
    ///
    /// # Errors
    /// The store's; a result that does not fit its type.
    pub async fn outcome(&self) -> Result<Outcome<Out>, Error> {
        let rested = self.node.rested(self.id).await?;
        if rested.task.state() == TaskState::Completed {
            return self.completed(&rested).await.map(Outcome::Completed);
        }
        let stored = self.node.read(self.id).await?;
        let cause = stored.task.head().ending.as_ref().map_or(Cause::Deadline, |ending| ending.cause.clone());
        // Its words at rest tell no times: the history is not needed for them.
        let (nothing, now) = (Since::default(), self.node.now());
        let why = match known(&stored, &self.node) {
            Some(workflow) => stored.task.why(workflow.definition(), now, &nothing),
            None => stored.task.why_unknown(&stored.workflow, stored.version, now, &nothing),
        };
        let why = Reason { cause, words: why.to_string() };
        Ok(match rested.task.state() {
            TaskState::Undone => Outcome::Undone(why),
            _ => Outcome::Failed(why),
        })
    }

    async fn completed(&self, rested: &Rested) -> Result<Out, Error> {
        let Some(workflow) = &rested.workflow else {
            let message = format!(
                "task {} has completed, and this program does not know its workflow in the version and shape that it \
                 has: register it to read the result",
                self.id
            );
            return Err(Error::new(Code::UnknownWorkflow, message));
        };
        // The one that its own version names: another may have it elsewhere.
        let result = workflow.result();
        let known = result.and_then(|step| rested.known.output(step));
        let read = match result.filter(|_| known.is_none()) {
            Some(step) => self.node.payload(PayloadKey { task: self.id, step: Some(step) }).await?,
            None => None,
        };
        let output = known.or(read.as_deref()).unwrap_or(b"null");
        serde_json::from_slice(output).map_err(|error| {
            let message = format!(
                "the result of task {} does not fit its type: {error}; was the step that gives it skipped?",
                self.id
            );
            Error::new(Code::BadPayload, message).because(error)
        })
    }
}

impl<Out> Clone for Task<Out> {
    fn clone(&self) -> Self {
        Self::new(self.id, Arc::clone(&self.node))
    }
}

impl<Out> fmt::Debug for Task<Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Where a task stands.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Status {
    /// Its state.
    pub state: TaskState,
    /// Why it does not move, or how it has ended, in words: those of [`Task::why`].
    pub why: String,
    /// Its steps, in the order of the workflow.
    pub steps: Vec<StepStatus>,
}

/// Where a step stands.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StepStatus {
    /// Its name; its place where the workflow is not known here.
    pub name: String,
    /// Its state.
    pub state: StepState,
    /// Where its undo stands.
    pub undo: UndoState,
    /// The number of its last attempt.
    pub attempt: u32,
    /// How its last attempt failed, if one did.
    pub last_failure: Option<Arc<str>>,
    /// How far it has come, as JSON, if an attempt has said so; `None` once it has ended.
    pub progress: Option<String>,
    /// How far it has come with its items, if it is made for each item of a list and that is known.
    pub items: Option<Fan>,
}

/// The workflow of a task, if this program knows it in the version and shape that the task has.
fn known(stored: &Stored, node: &Node<AnyStore>) -> Option<Arc<steadfast_runtime::Workflow>> {
    let workflow = node.workflow(&stored.workflow, stored.version)?;
    Some(workflow).filter(|workflow| workflow.definition().shape() == stored.shape)
}

impl Status {
    fn of(stored: &Stored, known: Option<&Definition>, why: &Why) -> Self {
        let name = |id: StepId| match known {
            Some(definition) => definition.step(id).name().to_owned(),
            None => format!("step {}", id.ordinal()),
        };
        let fan = |id: StepId| stored.task.head().fan(id).copied();
        let steps = stored.task.rows().filter(|(id, _)| id.item().is_none());
        let steps = steps.map(|(id, record)| StepStatus {
            name: name(id),
            items: fan(id),
            state: record.state,
            undo: record.undo,
            attempt: record.attempt,
            last_failure: record.last_failure.clone(),
            progress: None,
        });
        Self { state: stored.task.state(), why: why.to_string(), steps: steps.collect() }
    }
}
