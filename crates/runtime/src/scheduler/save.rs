//! Writes on their way to the store, and what follows when they are durable.

use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::{Dispatch, Event};
use steadfast_store::{Error, Refusal, Store, Submission, TaskId, Write, Written};

use super::doubt::Doubt;
use super::owned::{Happening, Owned};
use super::{Inbox, Scheduler};
use crate::agent;
use crate::order::Order;
use crate::stats::count;

/// What is to be sent to the store.
#[derive(Default)]
pub(super) struct Out {
    writes: Vec<Write>,
    submissions: Vec<Submission>,
}

impl Out {
    pub(super) fn write(&mut self, write: Write) {
        self.writes.push(write);
    }

    pub(super) fn submit(&mut self, submission: Submission) {
        self.submissions.push(submission);
    }

    pub(super) fn clear(&mut self) {
        self.writes.clear();
        self.submissions.clear();
    }
}

impl<S: Store> Scheduler<S> {
    /// Sends what has gathered. The store groups what comes while it is busy.
    pub(super) fn send(&mut self) {
        if !self.out.submissions.is_empty() {
            let (shared, batch) = (Arc::clone(&self.shared), std::mem::take(&mut self.out.submissions));
            let tasks = batch.iter().map(|new| new.id).collect();
            let asking = async move {
                steadfast_store::failpoint!("submit.before");
                let stored = shared.store.submit(batch).await;
                steadfast_store::failpoint!("submit.after");
                stored
            };
            self.asked.ask(asking, |stored| Inbox::Stored(tasks, stored));
        }
        if !self.out.writes.is_empty() {
            let (shared, batch) = (Arc::clone(&self.shared), std::mem::take(&mut self.out.writes));
            let tasks = batch.iter().map(|write| (write.task, write.guard.epoch)).collect();
            let parks = batch.iter().any(|write| write.parked_on.is_some());
            let asking = async move {
                steadfast_store::failpoint!("write.before");
                steadfast_store::failpoint!("park.before", if parks);
                let written = shared.store.write(batch).await;
                steadfast_store::failpoint!("write.after");
                steadfast_store::failpoint!("park.after", if parks);
                written
            };
            self.asked.ask(asking, |written| Inbox::Written(tasks, written));
        }
    }

    pub(super) fn written(&mut self, tasks: &[(TaskId, u64)], written: Result<Vec<Written>, Error>) {
        match written {
            Ok(written) => {
                for ((task, epoch), written) in tasks.iter().zip(written) {
                    let owned = self.held(*task, *epoch);
                    match (owned, written) {
                        (Some(owned), Written::Done(revision)) => self.saved(*task, owned, revision),
                        (Some(owned), Written::Refused(Refusal::Mail | Refusal::Revision)) => {
                            self.is_out_of_date(*task, owned);
                        }
                        (owned, Written::Refused(_)) => self.refused(*task, owned),
                        (None, Written::Done(_)) => {}
                    }
                }
            }
            Err(error) => {
                self.shared.store_failed("tasks were not written, or nobody knows", &error);
                for (task, epoch) in tasks {
                    match self.held(*task, *epoch) {
                        Some(owned) => self.doubt_the_write(*task, owned),
                        // It was to be released, and may still be this node's.
                        None => self.claiming.in_doubt = true,
                    }
                }
                self.reread_soon();
            }
        }
    }

    /// Nobody knows whether a task is as it was, or as it should be.
    fn doubt_the_write(&mut self, id: TaskId, mut owned: Owned) {
        self.shared.watchers.holds(id, false);
        self.give_places_back(id, &mut owned);
        self.doubt(id, Doubt::after_write(owned));
    }

    /// A task was to come to rest, and mail came first, which is acted on before what brought it there; or this copy of it
    /// is not what was written last.
    fn is_out_of_date(&mut self, id: TaskId, owned: Owned) {
        self.doubt_the_write(id, owned);
        self.reread(Duration::ZERO);
    }

    /// A task out of memory, if it is still the copy that was being written: it may have been given up and claimed anew.
    fn held(&mut self, id: TaskId, epoch: u64) -> Option<Owned> {
        let held = self.owned.get(&id).is_some_and(|owned| owned.epoch == epoch && owned.is_saving());
        held.then(|| self.owned.remove(&id)).flatten()
    }

    /// What was written is durable.
    fn saved(&mut self, id: TaskId, mut owned: Owned, revision: u64) {
        owned.revision = revision;
        let saving = owned.saving.take().unwrap_or_default();
        if owned.task.state().is_at_rest() || saving.releases {
            self.shared.watchers.holds(id, false);
        }
        let task = (&owned.task, Some(&owned.known));
        self.shared.watchers.written(id, &owned.workflow, task, &saving.changed, saving.state_changed);
        if saving.tells {
            self.shared.outbox.wake();
        }
        if saving.replies {
            match owned.reply.as_ref().and_then(|reply| reply.parent()) {
                Some(parent) => self.mailed(parent),
                None => self.shared.replies.changed(),
            }
        }
        self.shared.operators.told(saving.audits);
        self.shared.callers.told(id, &saving.acts_on);
        for dispatch in saving.dispatches {
            self.dispatch(id, &owned, dispatch);
        }
        if owned.task.state().is_at_rest() {
            return self.rests(id, owned);
        }
        if saving.releases {
            self.leave_gates(id, &owned, saving.parks);
            // What came meanwhile belongs to whoever claims it next: answers go by mail.
            self.give_places_back(id, &mut owned);
            for happening in std::mem::take(&mut owned.waiting) {
                self.happened(id, happening);
            }
            return;
        }
        owned.forget_large();
        self.watch_the_time(id, &owned);
        if !owned.waiting.is_empty() {
            self.dirty.insert(id);
        }
        self.owned.insert(id, owned);
    }

    /// A task has come to rest: it leaves memory.
    pub(super) fn rests(&mut self, id: TaskId, mut owned: Owned) {
        self.give_places_back(id, &mut owned);
        self.open = self.open.saturating_sub(1);
    }

    /// Somebody else has the task by now.
    fn refused(&mut self, id: TaskId, owned: Option<Owned>) {
        count(&self.shared.counters.stale_writes);
        if let Some(owned) = owned {
            self.give_up(id, owned);
        }
    }

    /// Lets go of a task that is not this node's any more, with the places that were taken for it.
    pub(super) fn give_up(&mut self, id: TaskId, mut owned: Owned) {
        if !self.owned.contains_key(&id) {
            self.shared.watchers.holds(id, false);
        }
        self.give_places_back(id, &mut owned);
        let saving = owned.saving.take().map(|saving| saving.acts_on).unwrap_or_default();
        for happening in saving.into_iter().chain(owned.waiting) {
            self.happened(id, happening);
        }
        self.claiming.again = true;
    }

    /// The places that were taken for attempts of a task that are not made: not written, or not acted on.
    pub(super) fn give_places_back(&mut self, id: TaskId, owned: &mut Owned) {
        let unsent = owned.saving.as_ref().map(|saving| saving.dispatches.clone()).unwrap_or_default();
        let granted = |happening: &Happening| match happening.event {
            Event::Granted { step, .. } => Some(step),
            _ => None,
        };
        let unused = owned.waiting.iter().filter_map(granted);
        for step in unsent.iter().map(|dispatch| dispatch.step).chain(unused) {
            self.free_place(owned.service(step).name(), id, step);
        }
        owned.waiting.retain(|happening| granted(happening).is_none());
        if let Some(saving) = &mut owned.saving {
            saving.acts_on.retain(|happening| granted(happening).is_none());
        }
    }

    pub(super) fn free_place_of(&mut self, id: TaskId, owned: &Owned, dispatch: &Dispatch) {
        self.free_place(owned.service(dispatch.step).name(), id, dispatch.step);
    }

    /// Sends an attempt. The rows that say so are durable; a node whose lease is lost sends nothing.
    pub(super) fn dispatch(&mut self, id: TaskId, owned: &Owned, dispatch: Dispatch) {
        if self.cut_off.is_some() {
            self.too_late.push((id, dispatch.step, dispatch.attempt));
        }
        if self.cut_off.is_some() || !self.shared.may_act() {
            self.free_place_of(id, owned, &dispatch);
            return;
        }
        let place = (id, dispatch.step);
        let attempt = dispatch.attempt;
        let now = self.shared.clock.now();
        let gate = self.gates.get_mut(owned.service(dispatch.step).name());
        let turn = gate.map(|gate| (gate.turn(id, dispatch.step, now), gate.probes(id, dispatch.step)));
        let (turn, probes) = turn.unwrap_or_default();
        let order = Box::new(Order { turn, probes, ..owned.order(id, dispatch) });
        steadfast_store::failpoint!("dispatch.before");
        self.agents.spawn(agent::run(Arc::clone(&self.shared), order));
        self.flight.insert(place, attempt);
    }
}
