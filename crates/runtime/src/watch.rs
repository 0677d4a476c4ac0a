//! Who waits for a task's end, and who listens to everything.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use steadfast_engine::{StepId, StepState, Task, TaskState};
use steadfast_store::{Store, TaskId};
use tokio::sync::{Notify, broadcast};

use crate::error::{Error, ErrorKind};
use crate::shared::{IdMap, IdSet, Shared};
use crate::workflow::{Known, Workflow};

/// How often a task's end is looked for that may come on another node.
const LOOK_FOR_END: Duration = Duration::from_secs(1);
/// How many events a listener may be behind.
const BEHIND: usize = 4_096;

/// Something that was written of a task.
#[derive(Clone, Debug)]
pub struct Told {
    /// Which task.
    pub task: TaskId,
    /// Of which workflow.
    pub workflow: Arc<str>,
    /// What is so from now on.
    pub what: What,
}

/// What is so from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// The task was stored.
    Submitted,
    /// The task's state.
    Task(TaskState),
    /// A step's state.
    Step {
        /// Its place.
        step: StepId,
        /// Its name.
        name: Arc<str>,
        /// Its state.
        state: StepState,
        /// The number of its last attempt.
        attempt: u32,
    },
}

/// A task that has come to rest.
#[derive(Clone, Debug)]
pub struct Rested {
    /// Its rows.
    pub task: Task,
    /// What is known of its input and outputs without asking the store.
    pub known: Known,
    /// Its workflow; `None` if this program does not know it in that version and shape.
    pub workflow: Option<Arc<Workflow>>,
}

/// Those who wait for the end of one task.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    pub(crate) notify: Notify,
    /// Set before they are told.
    pub(crate) rested: OnceLock<Rested>,
}

#[derive(Debug)]
pub(crate) struct Watchers {
    waiting: Mutex<IdMap<TaskId, Arc<Waiting>>>,
    /// Tasks that this node holds in memory: they are not at rest, and their end is told here.
    held: Mutex<IdSet<TaskId>>,
    /// `None` once nothing will be told any more.
    listeners: Mutex<Option<broadcast::Sender<Told>>>,
}

impl Default for Watchers {
    fn default() -> Self {
        let listeners = Mutex::new(Some(broadcast::channel(BEHIND).0));
        Self { waiting: Mutex::default(), held: Mutex::default(), listeners }
    }
}

impl Watchers {
    /// Is notified when the task comes to rest on this node.
    pub(crate) fn wait_for(&self, task: TaskId) -> Arc<Waiting> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(waiting.entry(task).or_default())
    }

    /// This node holds a task in memory, or does so no more. Its end is told after that.
    pub(crate) fn holds(&self, task: TaskId, holds: bool) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if holds {
            held.insert(task);
        } else {
            held.remove(&task);
        }
    }

    /// Whether a task is sure not to be at rest, and its end will be told here.
    pub(crate) fn is_held(&self, task: TaskId) -> bool {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).contains(&task)
    }

    pub(crate) fn hold_nothing(&self) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Nobody waits any more, unless others do.
    pub(crate) fn forget(&self, task: TaskId) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.get(&task).is_some_and(|notify| Arc::strong_count(notify) <= 2) {
            waiting.remove(&task);
        }
    }

    fn rests(&self, id: TaskId, workflow: &Arc<Workflow>, task: &Task, known: Option<&Known>) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        if let Some(waiting) = waiting {
            let known = known.cloned().unwrap_or_default();
            let workflow = Some(Arc::clone(workflow));
            let _ = waiting.rested.set(Rested { task: task.clone(), known, workflow });
            waiting.notify.notify_waiters();
        }
    }

    fn listeners(&self) -> MutexGuard<'_, Option<broadcast::Sender<Told>>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn listen(&self) -> broadcast::Receiver<Told> {
        match &*self.listeners() {
            Some(listeners) => listeners.subscribe(),
            // It hears at once that there is no more.
            None => broadcast::channel(1).1,
        }
    }

    /// Nothing will be told any more.
    pub(crate) fn close(&self) {
        *self.listeners() = None;
    }

    pub(crate) fn tell(&self, told: Told) {
        if let Some(listeners) = &*self.listeners() {
            let _ = listeners.send(told);
        }
    }

    fn has_listeners(&self) -> bool {
        self.listeners().as_ref().is_some_and(|listeners| listeners.receiver_count() > 0)
    }

    /// Tells what of a task was written: its state, and these steps.
    pub(crate) fn written(
        &self,
        id: TaskId,
        workflow: &Arc<Workflow>,
        (task, known): (&Task, Option<&Known>),
        changed: &[StepId],
        state_changed: bool,
    ) {
        if self.has_listeners() {
            let told = |what| Told { task: id, workflow: Arc::clone(workflow.name()), what };
            for step in changed {
                let record = task.step(*step);
                let name = Arc::from(name_of(workflow, task, *step));
                let what = What::Step { step: *step, name, state: record.state, attempt: record.attempt };
                self.tell(told(what));
            }
            if state_changed {
                self.tell(told(What::Task(task.state())));
            }
        }
        if task.state().is_at_rest() {
            self.rests(id, workflow, task, known);
        }
    }
}

impl<S: Store> Shared<S> {
    /// Waits until a task is at rest, wherever that happens. One that ends on this node is not read from the store.
    pub(crate) async fn rested(&self, task: TaskId) -> Result<Rested, Error> {
        let mut looks = false;
        loop {
            let waiting = self.watchers.wait_for(task);
            let mut notified = std::pin::pin!(waiting.notify.notified());
            notified.as_mut().enable();
            // What is held here is not at rest, as far as this node knows: the store is not asked at first.
            let stopped = self.inbox.is_closed();
            if looks || stopped || !self.watchers.is_held(task) {
                let read = self.store.read(vec![task]).await.map(|mut read| read.pop().flatten());
                let rests = !matches!(&read, Ok(Some(stored)) if !stored.task.state().is_at_rest());
                if rests || stopped {
                    self.watchers.forget(task);
                    let stored = read?.ok_or(ErrorKind::UnknownTask(task))?;
                    let workflow = self.workflow_of(&stored);
                    let rested = Rested { task: stored.task, known: Known::default(), workflow };
                    return if rests { Ok(rested) } else { Err(ErrorKind::ShuttingDown.into()) };
                }
            }
            looks = true;
            tokio::select! {
                () = notified => {}
                () = self.inbox.closed() => {}
                () = self.clock.sleep(LOOK_FOR_END) => {}
            }
            if let Some(rested) = waiting.rested.get() {
                return Ok(rested.clone());
            }
        }
    }
}

/// The name of a step, or of an item: that of its step with its place.
fn name_of(workflow: &Workflow, task: &Task, id: StepId) -> String {
    let name = task.rules(workflow.definition(), id).name();
    match task.head().fan_of(id).and_then(|fan| fan.place_of(id)) {
        Some(place) => format!("{name}[{place}]"),
        None => name.to_owned(),
    }
}
