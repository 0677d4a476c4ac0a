//! Submissions: a task and its first steps are one write.

use std::sync::Arc;

use steadfast_engine::{Dispatch, Event, StepId, Task, Time};
use steadfast_store::{Error as StoreError, Payload, Store, Submission, Submitted, TaskId};
use tokio::sync::oneshot;

use super::Scheduler;
use super::doubt::Doubt;
use super::fold::Folded;
use super::owned::{Happening, Owned};
use crate::alert::of_task;
use crate::error::{Error, ErrorKind};
use crate::extra::Extra;
use crate::node::Start;
use crate::reply::{ReplyTo, Replying};
use crate::watch::{Told, What};
use crate::workflow::{Known, Workflow};

/// A task that somebody submits.
pub(crate) struct NewTask {
    pub(crate) id: TaskId,
    pub(crate) namespace: Arc<str>,
    pub(crate) key: Option<Arc<str>>,
    pub(crate) priority: i8,
    pub(crate) workflow: Arc<Workflow>,
    pub(crate) input: Payload,
    pub(crate) start: Start,
    /// What few submissions have.
    pub(crate) extra: Option<Box<Extra>>,
    pub(crate) told: oneshot::Sender<Result<(TaskId, bool), Error>>,
}

/// A submission on its way to the store.
pub(crate) struct Submitting {
    told: oneshot::Sender<Result<(TaskId, bool), Error>>,
    /// The task as it is once it is stored, and what follows then; `None` when it is left to be claimed.
    owned: Option<(Owned, Folded)>,
    workflow: Arc<str>,
    /// When it starts, if that is later.
    start_at: Option<Time>,
    /// Whether somebody else has written it into the store, or has chosen its id.
    handed_in: bool,
    /// To whom it replies.
    address: Option<ReplyTo>,
}

impl Submitting {
    /// The task that this node will own.
    pub(super) fn owned(&mut self) -> Option<&mut Owned> {
        self.owned.as_mut().map(|(owned, _)| owned)
    }

    /// Says no, and gives the task back that is not to be.
    pub(super) fn refuse(self, error: Error) -> Option<(Owned, Folded)> {
        let _ = self.told.send(Err(error));
        self.owned
    }
}

impl<S: Store> Scheduler<S> {
    pub(super) fn submit(&mut self, new: NewTask) {
        if self.is_stopping() {
            let _ = new.told.send(Err(ErrorKind::ShuttingDown.into()));
            return;
        }
        // Those that open tasks have asked for are part of them: refused, nobody could end.
        let is_child =
            new.extra.as_ref().is_some_and(|extra| extra.reply_to.as_ref().is_some_and(ReplyTo::is_parent));
        if self.open >= self.shared.settings.most_open && !is_child {
            let _ = new.told.send(Err(ErrorKind::TooManyOpen { open: self.open }.into()));
            return;
        }
        let now = self.shared.now();
        let definition = new.workflow.definition();
        let start_at = match new.start {
            Start::Now => now,
            Start::At(time) => time,
            Start::After(time) => now + time,
        };
        let task = Task::starting_at(definition, now, start_at);
        let start_at = task.head().start_at();
        let here = start_at.is_none()
            && self.owned.len() + self.submitting.len() < self.shared.settings.most_owned
            && self.shared.lease.holds();
        let mut replying = new.extra.as_ref().and_then(|extra| {
            Some(Box::new(Replying::new(extra.reply_to.as_ref()?, extra.correlation.clone())))
        });
        let name = new.workflow.name();
        let received = replying.as_mut().and_then(|replying| replying.received(new.id, name));
        let (task, mut messages, mut owned) = match here {
            true => {
                let (owned, folded) = self.begin(&new, task);
                let messages = of_task(&self.shared, new.id, &owned.workflow, &owned.task, &folded.notices);
                (owned.task.clone(), messages, Some((owned, folded)))
            }
            false => (task, Vec::new(), None),
        };
        messages.extend(received);
        if let (Some(replying), Some((owned, folded))) = (&mut replying, &mut owned) {
            messages.extend(self.tells(new.id, owned, replying, folded));
            owned.reply = Some(replying.clone());
        }
        let mut outputs =
            owned.as_mut().map(|(_, folded)| std::mem::take(&mut folded.outputs)).unwrap_or_default();
        if let Some(labels) = new.extra.as_ref().map(|extra| &extra.labels).filter(|all| all.count() > 0) {
            outputs.push((StepId::OF_LABELS, labels.pack()));
        }
        if let Some(trace) = new.extra.as_ref().and_then(|extra| extra.trace.as_ref()) {
            outputs.push((StepId::OF_TRACE, trace.pack()));
        }
        let more = self.more(replying.as_deref(), new.extra.as_deref());
        // Whoever has chosen the id may have submitted it before.
        let handed_in =
            new.extra.as_ref().is_some_and(|extra| extra.task.is_some() || extra.arrival.is_some());
        let address = new.extra.as_ref().and_then(|extra| extra.reply_to.clone());
        self.open += 1;
        self.out.submit(Submission {
            id: new.id,
            namespace: new.namespace,
            workflow: Arc::clone(new.workflow.name()),
            version: definition.version(),
            shape: new.workflow.shape(),
            key: new.key,
            priority: new.priority,
            input: new.input,
            task,
            owner: owned.is_some().then(|| self.shared.lease.node()),
            messages,
            outputs,
            more,
        });
        let workflow = Arc::clone(new.workflow.name());
        let submitting = Submitting { told: new.told, owned, workflow, start_at, handed_in, address };
        self.submitting.insert(new.id, submitting);
    }

    /// The task as its owner begins with it.
    fn begin(&mut self, new: &NewTask, task: Task) -> (Owned, Folded) {
        let mut owned = Owned {
            workflow: Arc::clone(&new.workflow),
            namespace: Arc::clone(&new.namespace),
            priority: new.priority,
            task,
            epoch: 1,
            revision: 0,
            mail_seen: steadfast_store::MailId(0),
            known: Known { input: Some(Arc::clone(&new.input)), ..Known::default() },
            waiting: [Happening::of(Event::Claimed)].into(),
            saving: None,
            judging: 0,
            reply: None,
            trace: Some(new.extra.as_ref().and_then(|extra| extra.trace.clone())),
        };
        let folded = self.fold(new.id, &mut owned);
        (owned, folded)
    }

    pub(super) fn stored(&mut self, tasks: &[TaskId], stored: Result<Vec<Submitted>, StoreError>) {
        match stored {
            Ok(stored) => tasks.iter().zip(stored).for_each(|(task, stored)| self.settle(*task, stored)),
            Err(error) => {
                self.shared.store_failed("tasks were not submitted, or nobody knows", &error);
                let error = Arc::new(error);
                for task in tasks {
                    self.submission_failed(*task, &error);
                }
                self.reread_soon();
            }
        }
    }

    fn submission_failed(&mut self, id: TaskId, error: &Arc<StoreError>) {
        let Some(submitting) = self.submitting.remove(&id) else { return };
        self.open = self.open.saturating_sub(1);
        if let Some((owned, folded)) = submitting.owned {
            let unsent = self.unsent(id, owned, folded);
            self.doubt(id, Doubt::after_submission(unsent));
        }
        let _ = submitting.told.send(Err(Arc::clone(error).into()));
    }

    /// Attempts of a task that was not stored, which are not made; their places are free again.
    pub(super) fn unsent(&mut self, id: TaskId, mut owned: Owned, folded: Folded) -> Vec<Dispatch> {
        self.give_places_back(id, &mut owned);
        folded.dispatches.iter().for_each(|sent| self.free_place_of(id, &owned, sent));
        folded.dispatches
    }

    fn settle(&mut self, id: TaskId, stored: Submitted) {
        let Some(submitting) = self.submitting.remove(&id) else { return };
        let Submitting { told, owned, workflow, start_at, handed_in, address } = submitting;
        let answer = match stored {
            // It was handed in twice: the task goes its way.
            Submitted::Again if handed_in => Ok((id, false)),
            Submitted::Gone => Err(ErrorKind::TakenElsewhere.into()),
            Submitted::QueueFull(waiting) => {
                self.shared.replies.changed();
                let address = address.as_ref().map(ReplyTo::to_string).unwrap_or_default();
                Err(ErrorKind::QueueFull { address, waiting }.into())
            }
            Submitted::New | Submitted::Again => Ok((id, true)),
            Submitted::Seen(first) => Ok((first, false)),
            Submitted::OtherInput(first) => Err(ErrorKind::OtherInput(first).into()),
        };
        let is_new = matches!(answer, Ok((_, true)));
        if is_new && address.is_some() {
            self.shared.replies.changed();
        }
        if is_new {
            self.shared.watchers.tell(Told { task: id, workflow, what: What::Submitted });
            // Only what is submitted here: whoever submits waits for the end, most often.
            let held = owned.as_ref().is_some_and(|(owned, _)| !owned.task.state().is_at_rest());
            self.shared.watchers.holds(id, held);
        }
        steadfast_store::failpoint!("submit.before_told");
        // Before its first attempt begins: what is woken last runs first, and that is to be the attempt.
        let _ = told.send(answer);
        match owned {
            Some((owned, folded)) if is_new => self.take_up(id, owned, folded),
            Some((owned, folded)) => drop(self.unsent(id, owned, folded)),
            None => match start_at {
                Some(at) => self.wake_soon(at),
                None => self.claiming.again |= is_new,
            },
        }
        if !is_new {
            self.open = self.open.saturating_sub(1);
        }
    }

    /// The task is stored with its first steps: they are sent.
    fn take_up(&mut self, id: TaskId, mut owned: Owned, folded: Folded) {
        let changed: Vec<_> = folded.changed.into_iter().collect();
        let task = (&owned.task, Some(&owned.known));
        self.shared.watchers.written(id, &owned.workflow, task, &changed, folded.state_changed);
        if !folded.notices.is_empty() {
            self.shared.outbox.wake();
        }
        for dispatch in folded.dispatches {
            self.dispatch(id, &owned, dispatch);
        }
        if owned.task.state().is_at_rest() {
            return self.rests(id, owned);
        }
        owned.forget_large();
        self.watch_the_time(id, &owned);
        self.owned.insert(id, owned);
        self.dirty.insert(id);
    }
}
