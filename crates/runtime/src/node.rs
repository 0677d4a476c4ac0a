//! One process at work on one store.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use steadfast_engine::{Action, Ignored, NotTaken, StepId, Time};
use steadfast_resilience::clock::Clock;
use steadfast_store::{
    Entry, Kind, MAX_KEY, MAX_PAYLOAD, Message, NodeId, Payload, PayloadKey, Posted, Store, Stored, TaskId,
};
use tokio::sync::{Notify, broadcast, mpsc, oneshot};
use tokio::task::{AbortHandle, JoinHandle};

use crate::alert;
use crate::bulk;
use crate::callback::Callers;
use crate::circuits::{self, Board, CircuitRecord, Circuits};
use crate::clock::StoreClock;
use crate::error::{Error, ErrorKind};
use crate::house;
use crate::intake;
use crate::lease::{self, Lease};
use crate::message::{Operation, Request};
use crate::operate::Operators;
use crate::outbox::{self, Outbox};
use crate::reply;
use crate::schedule::{self, Bell};
use crate::scheduler::{Inbox, Scheduler};
use crate::settings::Settings;
use crate::shared::Shared;
use crate::stats::{Counters, Stats};
use crate::supervisor;
use crate::watch::{Rested, Told, Watchers};
use crate::workflow::{Workflow, Workflows};

/// How long the last alerts of a node that is shut down may take beside their hooks.
const LAST_ALERTS: Duration = Duration::from_secs(5);

/// A node: scheduler, agents, supervisor, schedules and lease. It stops when it is dropped, at once; [`Node::shut_down`] stops it in
/// good order.
pub struct Node<S: Store> {
    pub(crate) shared: Arc<Shared<S>>,
    loops: Vec<JoinHandle<()>>,
    /// Those that tell: they end last, since the others have things to tell until then. Empty once they were waited for.
    telling: Mutex<Vec<JoinHandle<()>>>,
}

/// A task to submit.
#[derive(Debug)]
pub struct New {
    /// Which workflow; it must be one that the node was started with.
    pub workflow: Arc<Workflow>,
    /// Whose task it is; empty when nobody says.
    pub namespace: Arc<str>,
    /// Under the same key the same workflow runs once.
    pub key: Option<Arc<str>>,
    /// Among those that wait for the same service, a higher one goes first; 0 when nobody says.
    pub priority: i8,
    /// What it is to work on.
    pub input: Payload,
}

/// When a task starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// As soon as it can.
    #[default]
    Now,
    /// At this time, by the store's clock; at once if it has passed.
    At(Time),
    /// So long after it was submitted.
    After(Duration),
}

/// What became of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// The task.
    pub task: TaskId,
    /// Whether it is new; otherwise its key was used before, with the same input.
    pub is_new: bool,
}

impl<S: Store> Node<S> {
    /// Starts to work. Must be called inside of a tokio runtime.
    ///
    /// # Errors
    /// What the store said to the first lease.
    pub async fn start(
        store: S,
        workflows: Workflows,
        settings: Settings,
        clock: Clock,
    ) -> Result<Self, steadfast_store::Error> {
        let (inbox, messages) = mpsc::unbounded_channel();
        let time = StoreClock::new(clock.clone(), store.now().await?);
        let lease = Lease::new(clock.clone());
        let shared = Arc::new(Shared {
            store,
            settings,
            workflows: ArcSwap::from_pointee(workflows),
            registering: tokio::sync::Mutex::default(),
            clock,
            time,
            lease,
            counters: Counters::default(),
            watchers: Watchers::default(),
            board: Arc::new(Board::new(inbox.clone())),
            operators: Operators::default(),
            callers: Callers::default(),
            bulks: Notify::new(),
            outbox: Outbox::default(),
            inbox,
            progress: Mutex::default(),
            bell: Bell::default(),
            replies: reply::Changes::default(),
        });
        lease::renew(&shared).await?;
        let open = shared.store.open_tasks().await?;
        let parked = shared.store.parked().await?;
        let circuits = Circuits::new(&shared);
        circuits.round().await;
        let scheduler = Scheduler::new(Arc::clone(&shared), open, &parked);
        let circuits = tokio::spawn(circuits.keep_going());
        let lease = tokio::spawn(lease::keep(Arc::clone(&shared)));
        let supervisor = tokio::spawn(supervisor::watch(Arc::clone(&shared)));
        let schedules = tokio::spawn(schedule::watch(Arc::clone(&shared)));
        let bulks = tokio::spawn(bulk::watch(Arc::clone(&shared)));
        let intake = tokio::spawn(intake::watch(Arc::clone(&shared)));
        let house = tokio::spawn(house::watch(Arc::clone(&shared)));
        let loops = [&lease, &supervisor, &circuits, &schedules, &bulks, &intake, &house];
        let loops = loops.map(JoinHandle::abort_handle);
        let ends = Ends { shared: Arc::clone(&shared), loops };
        let scheduler = tokio::spawn(async move {
            // Without a scheduler the lease must end as well, so that others have the tasks.
            let _ends = ends;
            scheduler.run(messages).await;
        });
        let services: Vec<_> = shared.workflows.load().services().into_iter().cloned().collect();
        alert::listen(&shared, &services, &[]);
        let outbox = tokio::spawn(outbox::run(Arc::clone(&shared)));
        let watch = tokio::spawn(alert::watch(Arc::clone(&shared)));
        let replies = tokio::spawn(reply::run(Arc::clone(&shared)));
        let queues = tokio::spawn(reply::watch(Arc::clone(&shared)));
        let loops = vec![scheduler, lease, supervisor, circuits, schedules, bulks, intake, house];
        Ok(Self { shared, loops, telling: Mutex::new(vec![outbox, watch, replies, queues]) })
    }

    /// Who this node is. One that has lost its lease becomes another.
    #[must_use]
    pub fn id(&self) -> NodeId {
        self.shared.lease.node()
    }

    /// What it has counted.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.counters.stats()
    }

    /// The workflow of this name and version.
    #[must_use]
    pub fn workflow(&self, name: &str, version: u32) -> Option<Arc<Workflow>> {
        self.shared.workflow(name, version)
    }

    /// What the store knows of services' circuits: it outlives nodes.
    ///
    /// # Errors
    /// The store's.
    pub async fn circuits(&self) -> Result<Vec<CircuitRecord>, Error> {
        Ok(circuits::read(&self.shared).await?)
    }

    /// The clock that it waits by.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.shared.clock
    }

    /// The store's time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.shared.now()
    }

    /// Submits a task. When this returns, it is stored and will be worked on.
    ///
    /// # Errors
    /// The store's, a key that was used for another input, too many open tasks.
    pub async fn submit(&self, new: New) -> Result<Submitted, Error> {
        self.submit_for(new, Start::Now).await
    }

    /// Submits a task that starts later. When this returns, it is stored and will be worked on when its time has come, by
    /// whichever node looks first.
    ///
    /// # Errors
    /// As for [`Node::submit`].
    pub async fn submit_for(&self, new: New, start: Start) -> Result<Submitted, Error> {
        self.shared.submit(new, start).await
    }

    /// Asks something of a task that is under way. When this returns, it is stored and will be acted on.
    ///
    /// # Errors
    /// The store's; a task that does not exist, has ended, or has passed its point of no return; a signal that it does not
    /// wait for.
    pub async fn ask(&self, task: TaskId, request: &Request) -> Result<(), Error> {
        match request {
            // Behind the point of no return there is nothing to ask for. One that passes it just now goes on all the same.
            request if request.cancels() && self.read(task).await?.task.head().no_return => {
                return Err(ErrorKind::NoReturn(task).into());
            }
            Request::Signal { name, id, says } if !self.takes(task, name, id.as_deref(), says).await? => {
                return Ok(());
            }
            _ => {}
        }
        let posted = self.shared.store.post(vec![Message::new(task, request.pack())]).await?;
        self.shared.tell(Inbox::Look);
        match posted.first() {
            Some(Posted::Done(_) | Posted::Again) => Ok(()),
            Some(Posted::AtRest) => match request {
                // It may have ended by the same signal, which was sent before.
                Request::Signal { name, id, says } => {
                    self.takes(task, name, id.as_deref(), says).await.map(drop)
                }
                _ => Err(ErrorKind::Ended(task).into()),
            },
            Some(Posted::Unknown) | None => Err(ErrorKind::UnknownTask(task).into()),
        }
    }

    /// Whether a signal is of use to a task; not if it came before.
    async fn takes(&self, task: TaskId, name: &str, id: Option<&str>, says: &[u8]) -> Result<bool, Error> {
        let sizes = [
            ("what a signal says", says.len(), MAX_PAYLOAD),
            ("a signal's id", id.map_or(0, str::len), MAX_KEY),
        ];
        if let Some((what, bytes, most)) = sizes.into_iter().find(|(_, bytes, most)| bytes > most) {
            let message = format!("{what} has {bytes} bytes, at most {most} are allowed");
            return Err(steadfast_store::Error::new(Kind::TooLarge, message).into());
        }
        let stored = self.read(task).await?;
        let workflow = self.workflow_of(&stored)?;
        let definition = workflow.definition();
        let over = || ErrorKind::SignalOver { task, signal: name.to_owned() };
        match stored.task.takes(definition, name, id) {
            Err(NotTaken::Doubled) => Ok(false),
            Err(NotTaken::Unknown) => {
                let (signal, workflow) = (name.to_owned(), stored.workflow.to_string());
                Err(ErrorKind::UnknownSignal { signal, workflow }.into())
            }
            _ if stored.task.state().is_at_rest() => Err(ErrorKind::Ended(task).into()),
            Ok(()) if stored.task.head().ending.is_none() => Ok(true),
            Ok(()) | Err(_) => Err(over().into()),
        }
    }

    /// How far the attempt of a step has come that runs: as it said last if it runs here, as it was stored last otherwise.
    ///
    /// # Errors
    /// The store's.
    pub async fn progress(&self, task: TaskId, step: StepId) -> Result<Option<Payload>, Error> {
        let here = self.shared.progress().get(&(task, step)).cloned();
        match here {
            Some(progress) => Ok(Some(progress)),
            None => self.payload(PayloadKey { task, step: Some(StepId::of_progress(step)) }).await,
        }
    }

    /// Has a task undone, also one that has completed or failed. One that is being undone is left alone.
    ///
    /// # Errors
    /// The store's; a task that does not exist, is undone already, or has passed its point of no return.
    pub async fn undo(&self, task: TaskId, by: &str, why: &str) -> Result<(), Error> {
        match self.operate(task, Operation::new(Action::Undo, by, why)).await {
            Err(error) if error.is_refused(Ignored::UndoBegun) => Ok(()),
            done => done.map(drop),
        }
    }

    pub(crate) fn shared(&self) -> &Shared<S> {
        &self.shared
    }

    /// The workflow that a task is of.
    ///
    /// # Errors
    /// This program does not know it in that version and shape.
    pub fn workflow_of(&self, stored: &Stored) -> Result<Arc<Workflow>, Error> {
        let unknown =
            || ErrorKind::UnknownWorkflow { name: stored.workflow.to_string(), version: stored.version };
        self.shared.workflow_of(stored).ok_or_else(|| unknown().into())
    }

    /// A task as it is stored.
    ///
    /// # Errors
    /// The store's, a task that does not exist.
    pub async fn read(&self, task: TaskId) -> Result<Stored, Error> {
        let mut read = self.shared.store.read(vec![task]).await?;
        read.pop().flatten().ok_or_else(|| ErrorKind::UnknownTask(task).into())
    }

    /// What was stored beside the rows.
    ///
    /// # Errors
    /// The store's.
    pub async fn payload(&self, key: PayloadKey) -> Result<Option<Payload>, Error> {
        Ok(self.shared.store.payloads(vec![key]).await?.pop().flatten())
    }

    /// What happened to a task, oldest first.
    ///
    /// # Errors
    /// The store's.
    pub async fn history(&self, task: TaskId) -> Result<Vec<Entry>, Error> {
        Ok(self.shared.store.history(task).await?)
    }

    /// What happened to a task since this revision, oldest first.
    ///
    /// # Errors
    /// The store's.
    pub async fn history_behind(&self, task: TaskId, revision: u64) -> Result<Vec<Entry>, Error> {
        Ok(self.shared.store.history_behind(task, revision).await?)
    }

    /// Waits until a task is at rest, wherever that happens, and reads it.
    ///
    /// # Errors
    /// The store's, a task that does not exist.
    pub async fn at_rest(&self, task: TaskId) -> Result<Stored, Error> {
        self.rested(task).await?;
        self.read(task).await
    }

    /// Waits until a task is at rest, wherever that happens. One that ends on this node is not read from the store.
    ///
    /// # Errors
    /// The store's, a task that does not exist; the node has stopped before the task was at rest.
    pub async fn rested(&self, task: TaskId) -> Result<Rested, Error> {
        self.shared.rested(task).await
    }

    /// Everything that this node writes of tasks from now on.
    #[must_use]
    pub fn listen(&self) -> broadcast::Receiver<Told> {
        self.shared.watchers.listen()
    }

    /// Looks at once for what is past its time, as the supervisor does; how many were moved on.
    ///
    /// # Errors
    /// The store's.
    pub async fn supervise(&self) -> Result<usize, Error> {
        Ok(supervisor::sweep(&self.shared).await?)
    }

    /// Stops in good order: nothing new begins, what runs may end within the grace, and others can have the tasks at once.
    /// Returns how many attempts were cut off.
    ///
    /// # Errors
    /// The store's; the node has stopped all the same.
    pub async fn shut_down(&self) -> Result<usize, Error> {
        let (told, left) = oneshot::channel();
        self.shared.tell(Inbox::Stop(told));
        let left = left.await.unwrap_or(0);
        let node = self.id();
        self.loops.iter().for_each(JoinHandle::abort);
        let gone = self.shared.store.leave(node).await;
        self.shared.outbox.finish(&self.shared.clock, self.shared.settings.alerts.limit + LAST_ALERTS).await;
        let telling = std::mem::take(&mut *self.telling());
        telling.iter().for_each(JoinHandle::abort);
        for ended in telling {
            // Nothing of it holds the store any more: it can be opened again.
            let _ = ended.await;
        }
        gone?;
        Ok(left)
    }

    fn telling(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.telling.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends other loops when it is dropped, also by a panic.
struct Ends<S> {
    shared: Arc<Shared<S>>,
    loops: [AbortHandle; 7],
}

impl<S> Drop for Ends<S> {
    fn drop(&mut self) {
        self.shared.watchers.hold_nothing();
        self.shared.watchers.close();
        if std::thread::panicking() {
            tracing::error!("the scheduler has panicked: this node gives all of its tasks up");
        }
        self.loops.iter().for_each(AbortHandle::abort);
    }
}

impl<S: Store> Drop for Node<S> {
    fn drop(&mut self) {
        self.loops.iter().for_each(JoinHandle::abort);
        self.telling().iter().for_each(JoinHandle::abort);
    }
}

impl<S: Store> fmt::Debug for Node<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("id", &self.id()).field("stats", &self.stats()).finish_non_exhaustive()
    }
}
