//! What all loops of a node have in common.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use steadfast_engine::{StepId, Time};
use steadfast_resilience::clock::Clock;
use steadfast_store::{Error, Payload, Store, TaskId};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Notify, oneshot};

use crate::callback::Callers;
use crate::circuits::Board;
use crate::clock::StoreClock;
use crate::error::{Error as NodeError, ErrorKind};
use crate::extra::Extra;
use crate::lease::Lease;
use crate::node::{New, Start, Submitted};
use crate::operate::Operators;
use crate::outbox::Outbox;
use crate::reply::Changes;
use crate::schedule::Bell;
use crate::scheduler::{Inbox, NewTask};
use crate::settings::Settings;
use crate::stats::{Counters, count};
use crate::watch::Watchers;
use crate::workflow::{NONE_TAKEN, Workflow, Workflows};

/// A map by ids of tasks. It is looked at some twenty times a task, and the usual hash took a fiftieth of all processor time.
pub(crate) type IdMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;
/// A set of ids of tasks.
pub(crate) type IdSet<K> = HashSet<K, foldhash::fast::RandomState>;

pub(crate) struct Shared<S> {
    pub(crate) store: S,
    pub(crate) settings: Settings,
    /// More may come while it works.
    pub(crate) workflows: ArcSwap<Workflows>,
    /// Held while one is added.
    pub(crate) registering: tokio::sync::Mutex<()>,
    pub(crate) clock: Clock,
    pub(crate) time: StoreClock,
    pub(crate) lease: Lease,
    pub(crate) counters: Counters,
    pub(crate) watchers: Watchers,
    pub(crate) outbox: Outbox,
    pub(crate) inbox: UnboundedSender<Inbox>,
    pub(crate) board: Arc<Board>,
    pub(crate) operators: Operators,
    pub(crate) callers: Callers,
    /// Wakes the loop that drives bulks.
    pub(crate) bulks: Notify,
    /// How far attempts have come that run here.
    pub(crate) progress: Mutex<IdMap<(TaskId, StepId), Payload>>,
    /// Wakes the loop that begins recurring work.
    pub(crate) bell: Bell,
    /// Wakes those who wait for replies.
    pub(crate) replies: Changes,
}

impl<S: Store> Shared<S> {
    /// The store's time.
    pub(crate) fn now(&self) -> Time {
        self.time.now()
    }

    /// Whether this node may still act: its lease holds by its own clock, or nobody can have taken it, since others hold the store.
    pub(crate) fn may_act(&self) -> bool {
        self.lease.holds() || self.store.is_held_up()
    }

    /// An attempt has ended. Few have told how far they had come.
    pub(crate) fn forget_progress(&self, task: TaskId, step: StepId) {
        let mut progress = self.progress();
        if !progress.is_empty() {
            progress.remove(&(task, step));
        }
    }

    pub(crate) fn progress(&self) -> MutexGuard<'_, IdMap<(TaskId, StepId), Payload>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the scheduler. One that has ended needs to know nothing.
    pub(crate) fn tell(&self, message: Inbox) {
        let _ = self.inbox.send(message);
    }

    /// Has the scheduler submit a task, and waits until it is stored.
    pub(crate) async fn submit(&self, new: New, start: Start) -> Result<Submitted, NodeError> {
        self.submit_with(new, start, Extra::default()).await
    }

    /// An id that no other task has.
    pub(crate) fn fresh_task(&self) -> TaskId {
        TaskId::from_u128(uuid::Uuid::now_v7().as_u128())
    }

    /// The same for one that has what few have.
    pub(crate) async fn submit_with(
        &self,
        new: New,
        start: Start,
        extra: Extra,
    ) -> Result<Submitted, NodeError> {
        if let Some(to) = extra.reply_to.as_ref().filter(|to| !to.is_parent()) {
            self.check_reply_to(to)?;
        }
        let (told, answer) = oneshot::channel();
        let id = extra.task.unwrap_or_else(|| self.fresh_task());
        let New { workflow, namespace, key, priority, input } = new;
        let extra = extra.is_some().then(|| Box::new(extra));
        let new = NewTask { id, namespace, key, priority, workflow, input, start, extra, told };
        self.tell(Inbox::Submit(Box::new(new)));
        let (task, is_new) = answer.await.unwrap_or_else(|_| Err(ErrorKind::ShuttingDown.into()))?;
        Ok(Submitted { task, is_new })
    }

    /// The workflow that a stored task is of, if this program knows it in that version and shape.
    pub(crate) fn workflow_of(&self, stored: &steadfast_store::Stored) -> Option<Arc<Workflow>> {
        let known = self.workflow(&stored.workflow, stored.version)?;
        let fits = known.shape() == stored.shape && stored.task.check(known.definition()).is_ok();
        fits.then_some(known)
    }

    /// The workflow of this name and version, if this program knows it.
    pub(crate) fn workflow(&self, name: &str, version: u32) -> Option<Arc<Workflow>> {
        self.workflows.load().get(name, version).cloned()
    }

    /// What a stored task is worked on by: its workflow, or what closes one that was not taken.
    pub(crate) fn worked_on_by(&self, stored: &steadfast_store::Stored) -> Option<Arc<Workflow>> {
        let none_taken = stored.shape == NONE_TAKEN && stored.task.steps().is_empty();
        match none_taken {
            true => Some(Arc::new(Workflow::of_none_taken(&stored.workflow, stored.version))),
            false => self.workflow_of(stored),
        }
    }

    /// Counts an error of the store, and tells of it.
    pub(crate) fn store_failed(&self, what: &str, error: &Error) {
        count(&self.counters.store_errors);
        tracing::warn!(error = error as &dyn std::error::Error, "the store failed: {what}");
    }
}
