//! Tasks of which nobody knows whether they were written: read back before anything else happens to them.

use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::{Dispatch, Event, StepId};
use steadfast_store::{Error, Mail, Payload, PayloadKey, Store, Stored, TaskId};

use super::owned::{Happening, Owned};
use super::{Inbox, Scheduler};

/// The time between two looks at what is in doubt.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

pub(crate) struct Doubt {
    /// The epoch under which this node held it; `None` when it was just being submitted or claimed.
    epoch: Option<u64>,
    /// Whether attempts that run according to the rows were begun by somebody else.
    claimed: bool,
    /// What happened before and meanwhile.
    pub(super) waiting: Vec<Happening>,
    /// Attempts that were to be sent once they were written.
    unsent: Vec<Dispatch>,
    /// Which doubt it is: what was read before it began says nothing of it.
    number: u64,
}

/// Tasks as they are, with to whom they reply, and mail for them.
pub(crate) type Reread = (Vec<(Option<Stored>, Option<Payload>)>, Vec<Mail>);

impl Doubt {
    /// A task whose write failed. Places at services are not held in doubt.
    pub(super) fn after_write(mut owned: Owned) -> Self {
        let saving = owned.saving.take().unwrap_or_default();
        let waiting = saving.acts_on.into_iter().chain(owned.waiting).collect();
        Self { epoch: Some(owned.epoch), claimed: false, waiting, unsent: saving.dispatches, number: 0 }
    }

    /// A task whose submission failed.
    pub(super) fn after_submission(unsent: Vec<Dispatch>) -> Self {
        Self { epoch: None, claimed: false, waiting: Vec::new(), unsent, number: 0 }
    }

    /// What happened before and meanwhile. What came by mail is read again with the task.
    pub(super) fn happened_meanwhile(self) -> impl Iterator<Item = Happening> {
        self.waiting.into_iter().filter(|happening| happening.mail.is_none())
    }

    /// A task that was claimed, and this node did not hear of it.
    fn after_claim() -> Self {
        Self { epoch: None, claimed: true, waiting: Vec::new(), unsent: Vec::new(), number: 0 }
    }
}

impl<S: Store> Scheduler<S> {
    pub(super) fn doubt(&mut self, task: TaskId, mut doubt: Doubt) {
        self.last_doubt += 1;
        doubt.number = self.last_doubt;
        self.doubts.insert(task, doubt);
    }

    /// Reads what is in doubt, after a while: a store that has just failed is left alone.
    pub(super) fn reread_soon(&mut self) {
        self.reread(LOOK_AGAIN);
    }

    /// Reads what is in doubt, and the mail that came for it.
    pub(super) fn reread(&mut self, after: Duration) {
        if self.doubts.is_empty() {
            return;
        }
        let (shared, tasks) = (Arc::clone(&self.shared), self.doubts.keys().copied().collect::<Vec<_>>());
        let (wanted, mailed, asked) = (tasks.clone(), tasks.clone(), self.last_doubt);
        let asking = async move {
            shared.clock.sleep(after).await;
            let places = wanted.iter().map(|task| PayloadKey { task: *task, step: Some(StepId::OF_REPLIES) });
            let read = shared.store.read(wanted.clone()).await?;
            let replies = shared.store.payloads(places.collect()).await?;
            Ok((read.into_iter().zip(replies).collect(), shared.store.unread_of(mailed).await?))
        };
        self.asked.ask(asking, move |read| Inbox::Reread(tasks, asked, read));
    }

    /// Tasks were read: that says something of doubts up to the one that was the last when it was asked for.
    pub(super) fn has_reread(&mut self, tasks: &[TaskId], asked: u64, read: Result<Reread, Error>) {
        match read {
            Ok((read, mail)) => {
                for (task, stored) in tasks.iter().zip(read) {
                    if self.doubts.get(task).is_some_and(|doubt| doubt.number <= asked)
                        && let Some(doubt) = self.doubts.remove(task)
                    {
                        let (stored, reply) = stored;
                        self.resolve(*task, doubt, stored.map(|stored| (stored, reply)), &mail);
                    }
                }
            }
            Err(error) => {
                self.shared.store_failed("tasks in doubt could not be read", &error);
                self.reread_soon();
            }
        }
    }

    /// Goes on with a task as the store has it, if it is still this node's.
    fn resolve(
        &mut self,
        id: TaskId,
        mut doubt: Doubt,
        stored: Option<(Stored, Option<Payload>)>,
        mail: &[Mail],
    ) {
        let Some((stored, reply)) = stored else { return };
        let at_rest = stored.task.state().is_at_rest();
        // One at rest is this node's for as long as it has mail that was not acted on.
        let mine = stored.owner == Some(self.shared.lease.node())
            && doubt.epoch.is_none_or(|epoch| epoch == stored.epoch)
            && (!at_rest || mail.iter().any(|mail| mail.task == id));
        if at_rest && let Some(workflow) = self.shared.worked_on_by(&stored) {
            self.shared.watchers.written(id, &workflow, (&stored.task, None), &[], true);
            // What was told with it may have been stored too.
            self.shared.outbox.wake();
            self.shared.replies.changed();
        }
        if !mine {
            for happening in doubt.waiting {
                self.happened(id, happening);
            }
            return;
        }
        let Some(workflow) = self.shared.worked_on_by(&stored) else { return self.unknown(&stored) };
        let mut owned = Owned::new(workflow, stored).replying(reply.as_ref());
        let now = self.shared.now();
        mail.iter().filter(|mail| mail.task == id).for_each(|mail| owned.take_in(mail));
        if doubt.claimed {
            let died = owned.owner_died(|step, attempt| self.runs_here(id, step, attempt));
            owned.waiting.extend(died);
        }
        owned.waiting.push_back(Happening::of(Event::Claimed));
        owned.waiting.extend(owned.due(now));
        let unsent = std::mem::take(&mut doubt.unsent);
        owned.waiting.extend(doubt.happened_meanwhile());
        // What the rows say runs was written after all, and never sent.
        let runs = |dispatch: &Dispatch| {
            let record = owned.task.step(dispatch.step);
            record.attempt == dispatch.attempt && record.complete_by.is_some_and(|time| time > now)
        };
        for dispatch in unsent.into_iter().filter(runs).collect::<Vec<_>>() {
            if let Some(gate) = self.gates.get_mut(owned.service(dispatch.step).name()) {
                gate.take_anyway();
            }
            self.dispatch(id, &owned, dispatch);
        }
        self.dirty.insert(id);
        self.owned.insert(id, owned);
    }

    /// After a claim of which nobody knows what became: what this node owns, and does not hold, is looked at. Then it can
    /// claim again.
    pub(super) fn holds(&mut self, tasks: Result<Vec<(TaskId, u64)>, Error>) {
        self.claiming.under_way = false;
        match tasks {
            Ok(tasks) => {
                (self.claiming.in_doubt, self.claiming.again) = (false, true);
                for (task, epoch) in tasks {
                    if self.submitting.contains_key(&task) || self.doubts.contains_key(&task) {
                        continue;
                    }
                    match self.owned.get(&task).map(|owned| owned.epoch) {
                        Some(held) if held >= epoch => {}
                        None => self.doubt(task, Doubt::after_claim()),
                        // It was taken from this node, and this node has claimed it again.
                        Some(_) => {
                            self.doubt(task, Doubt::after_claim());
                            if let Some(stale) = self.owned.remove(&task) {
                                self.give_up(task, stale);
                            }
                        }
                    }
                }
                self.reread_soon();
            }
            Err(error) => self.shared.store_failed("what this node owns could not be read", &error),
        }
    }
}
