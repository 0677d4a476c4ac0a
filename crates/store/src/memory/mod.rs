//! The reference: a store in memory. It keeps every promise but survival, and is the measure for those that survive.

#[cfg(test)]
mod explorer;
mod house;
mod outbox;
mod reply;
mod shelf;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::future::{Future, ready};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use steadfast_engine::Time;

use crate::audit::{Audit, Audited};
use crate::bulk::{Bulk, PutBulk};
use crate::error::Error;
use crate::id::{AuditId, NodeId, TaskId};
use crate::list::{Filter, Listed};
use crate::outbox::{Handed, OutboxId, OutboxKind, Outgoing, Sent, Settled, Undelivered};
use crate::record::{
    Circuit, Claimed, Entry, Kept, Mail, MailId, Message, Overdued, Payload, PayloadKey, Posted, Put,
    Schedule, Stored, Submission, Submitted,
};
use crate::reply::{Arrival, ArrivalId};
use crate::text::{PutText, WorkflowText, WorkflowTexts};
use crate::write::{Write, Written};
use crate::{AuditLog, Bulks, Circuits, Listing, Mailbox, Nodes, Outbox, Overdue, Parked, Schedules, Tasks};

/// A store in memory. Clones are one and the same.
#[derive(Clone)]
pub struct Memory {
    clock: Arc<dyn Fn() -> Time + Send + Sync>,
    shelf: Arc<Mutex<Shelf>>,
    /// Whether somebody else may hand submissions in.
    open_to_others: bool,
}

/// Namespace, workflow and key: under one of these a task runs once.
type Key = (Arc<str>, Arc<str>, Arc<str>);

/// Everything that is stored.
#[derive(Clone, Default)]
struct Shelf {
    /// The latest time that was told: the next one is no earlier.
    now: Time,
    tasks: BTreeMap<TaskId, Stored>,
    keys: HashMap<Key, TaskId>,
    payloads: BTreeMap<PayloadKey, Payload>,
    /// All mail by task; what is read stays until its task is at rest.
    mail: BTreeMap<TaskId, Vec<Mail>>,
    history: BTreeMap<TaskId, Vec<Entry>>,
    leases: BTreeMap<NodeId, Time>,
    circuits: BTreeMap<Arc<str>, Circuit>,
    outbox: outbox::Messages,
    schedules: BTreeMap<Arc<str>, Schedule>,
    texts: BTreeMap<(Arc<str>, u32), WorkflowText>,
    audits: BTreeMap<AuditId, Audited>,
    bulks: BTreeMap<AuditId, (Bulk, Vec<TaskId>)>,
    replies: reply::Replies,
    /// Submissions that others have handed in.
    arrivals: BTreeMap<ArrivalId, Arrival>,
    /// How often somebody has handed something in.
    handed_in: u64,
    /// What operators have asked for by mail, with where it is.
    asked: BTreeMap<AuditId, (TaskId, MailId)>,
    /// The last versions of schedules that were removed.
    removed: BTreeMap<Arc<str>, u64>,
    /// A guard that is left out, to show that the explorer misses it.
    #[cfg(test)]
    plant: Option<shelf::Check>,
}

impl Memory {
    /// An empty store, on this clock.
    pub fn new(clock: impl Fn() -> Time + Send + Sync + 'static) -> Self {
        Self { clock: Arc::new(clock), shelf: Arc::default(), open_to_others: false }
    }

    /// All tasks that it holds, for tests.
    #[must_use]
    pub fn tasks(&self) -> Vec<TaskId> {
        self.shelf().tasks.keys().copied().collect()
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.now = shelf.now.max((self.clock)());
        shelf
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("tasks", &self.shelf().tasks.len()).finish_non_exhaustive()
    }
}

impl Tasks for Memory {
    fn submit(&self, batch: Vec<Submission>) -> impl Future<Output = Result<Vec<Submitted>, Error>> + Send {
        let sizes = batch.iter().try_for_each(Submission::check);
        ready(sizes.map(|()| {
            let mut shelf = self.shelf();
            batch.into_iter().map(|new| shelf.submit(new)).collect()
        }))
    }

    fn claim(&self, node: NodeId, most: usize) -> impl Future<Output = Result<Vec<Claimed>, Error>> + Send {
        ready(Ok(self.shelf().claim(node, most)))
    }

    fn write(&self, batch: Vec<Write>) -> impl Future<Output = Result<Vec<Written>, Error>> + Send {
        let sizes = batch.iter().try_for_each(Write::check);
        ready(sizes.map(|()| {
            let mut shelf = self.shelf();
            batch.into_iter().map(|write| shelf.write(write)).collect()
        }))
    }

    fn owned(&self, node: NodeId) -> impl Future<Output = Result<Vec<(TaskId, u64)>, Error>> + Send {
        ready(Ok(self.shelf().owned(node).map(|stored| (stored.id, stored.epoch)).collect()))
    }

    fn open_tasks(&self) -> impl Future<Output = Result<u64, Error>> + Send {
        let shelf = self.shelf();
        let open = shelf.tasks.values().filter(|stored| !stored.task.state().is_at_rest()).count();
        ready(Ok(u64::try_from(open).unwrap_or(u64::MAX)))
    }

    fn read(&self, tasks: Vec<TaskId>) -> impl Future<Output = Result<Vec<Option<Stored>>, Error>> + Send {
        let shelf = self.shelf();
        ready(Ok(tasks.iter().map(|id| shelf.tasks.get(id).cloned()).collect()))
    }

    fn payloads(
        &self,
        keys: Vec<PayloadKey>,
    ) -> impl Future<Output = Result<Vec<Option<Payload>>, Error>> + Send {
        let shelf = self.shelf();
        ready(Ok(keys.iter().map(|key| shelf.payloads.get(key).cloned()).collect()))
    }

    fn history_behind(
        &self,
        task: TaskId,
        revision: u64,
    ) -> impl Future<Output = Result<Vec<Entry>, Error>> + Send {
        let shelf = self.shelf();
        let all = shelf.history.get(&task).map_or(&[][..], Vec::as_slice);
        let first = all.partition_point(|entry| entry.revision <= revision);
        ready(Ok(all[first..].to_vec()))
    }
}

impl Mailbox for Memory {
    fn post(&self, batch: Vec<Message>) -> impl Future<Output = Result<Vec<Posted>, Error>> + Send {
        let sizes = batch.iter().try_for_each(Message::check);
        ready(sizes.map(|()| {
            let mut shelf = self.shelf();
            batch.into_iter().map(|message| shelf.post(message)).collect()
        }))
    }

    fn unread(&self, node: NodeId, most: usize) -> impl Future<Output = Result<Vec<Mail>, Error>> + Send {
        let shelf = self.shelf();
        let mail = shelf.owned(node).flat_map(|stored| shelf.unread(stored.id)).take(most).cloned().collect();
        ready(Ok(mail))
    }

    fn unread_of(&self, tasks: Vec<TaskId>) -> impl Future<Output = Result<Vec<Mail>, Error>> + Send {
        let shelf = self.shelf();
        ready(Ok(tasks.into_iter().flat_map(|task| shelf.unread(task)).cloned().collect()))
    }
}

impl Parked for Memory {
    fn claim_parked(
        &self,
        node: NodeId,
        service: Arc<str>,
        from: Time,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Claimed>, Error>> + Send {
        ready(Ok(self.shelf().claim_parked(node, &service, from, most)))
    }

    fn parked(&self) -> impl Future<Output = Result<Vec<(Arc<str>, u64)>, Error>> + Send {
        let shelf = self.shelf();
        let mut counts = BTreeMap::<Arc<str>, u64>::new();
        for (service, _) in shelf.parked() {
            *counts.entry(Arc::from(service)).or_default() += 1;
        }
        ready(Ok(counts.into_iter().collect()))
    }
}

impl Circuits for Memory {
    fn circuits(&self) -> impl Future<Output = Result<Vec<Circuit>, Error>> + Send {
        ready(Ok(self.shelf().circuits.values().cloned().collect()))
    }

    fn keep(&self, batch: Vec<Circuit>) -> impl Future<Output = Result<Vec<Kept>, Error>> + Send {
        let mut shelf = self.shelf();
        ready(Ok(batch.into_iter().map(|circuit| shelf.keep(circuit)).collect()))
    }
}

impl Outbox for Memory {
    fn send(&self, batch: Vec<Outgoing>) -> impl Future<Output = Result<Vec<Sent>, Error>> + Send {
        let sizes = batch.iter().try_for_each(Outgoing::check);
        ready(sizes.map(|()| {
            let mut shelf = self.shelf();
            let now = shelf.now;
            batch.into_iter().map(|message| shelf.outbox.send(message, now)).collect()
        }))
    }

    fn undelivered(
        &self,
        kind: OutboxKind,
        most: usize,
        hold: Duration,
    ) -> impl Future<Output = Result<Handed, Error>> + Send {
        let mut shelf = self.shelf();
        let now = shelf.now;
        ready(Ok(shelf.outbox.hand_out(kind, most, now, hold)))
    }

    fn settle(&self, batch: Vec<(OutboxId, Settled)>) -> impl Future<Output = Result<(), Error>> + Send {
        let mut shelf = self.shelf();
        let now = shelf.now;
        batch.into_iter().for_each(|(id, settled)| shelf.outbox.settle(id, settled, now));
        shelf.outbox.forget(now);
        ready(Ok(()))
    }

    fn undeliverable(
        &self,
        kind: OutboxKind,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Undelivered>, Error>> + Send {
        ready(Ok(self.shelf().outbox.given_up(kind, most)))
    }
}

impl Schedules for Memory {
    fn schedules(&self) -> impl Future<Output = Result<Vec<Schedule>, Error>> + Send {
        ready(Ok(self.shelf().schedules.values().cloned().collect()))
    }

    fn schedule(&self, name: Arc<str>) -> impl Future<Output = Result<Option<Schedule>, Error>> + Send {
        ready(Ok(self.shelf().schedules.get(&name).cloned()))
    }

    fn upcoming(&self, most: usize) -> impl Future<Output = Result<Vec<Schedule>, Error>> + Send {
        let shelf = self.shelf();
        let mut upcoming: Vec<_> = shelf.schedules.values().filter(|one| one.wake_at.is_some()).collect();
        upcoming.sort_by_key(|one| one.wake_at);
        ready(Ok(upcoming.into_iter().take(most).cloned().collect()))
    }

    fn put(&self, batch: Vec<Schedule>) -> impl Future<Output = Result<Vec<Put>, Error>> + Send {
        let sizes = batch.iter().try_for_each(Schedule::check);
        ready(sizes.map(|()| {
            let mut shelf = self.shelf();
            batch.into_iter().map(|schedule| shelf.put(schedule)).collect()
        }))
    }

    fn remove(&self, name: Arc<str>) -> impl Future<Output = Result<bool, Error>> + Send {
        ready(Ok(self.shelf().remove(&name)))
    }
}

impl WorkflowTexts for Memory {
    fn workflow_texts(&self) -> impl Future<Output = Result<Vec<WorkflowText>, Error>> + Send {
        ready(Ok(self.shelf().texts.values().cloned().collect()))
    }

    fn put_texts(
        &self,
        batch: Vec<WorkflowText>,
    ) -> impl Future<Output = Result<Vec<PutText>, Error>> + Send {
        let sizes = batch.iter().try_for_each(WorkflowText::check);
        ready(sizes.map(|()| {
            let mut shelf = self.shelf();
            batch.into_iter().map(|text| shelf.put_text(text)).collect()
        }))
    }
}

impl Listing for Memory {
    fn list(
        &self,
        filter: Filter,
        behind: Option<TaskId>,
        most: usize,
    ) -> impl Future<Output = Result<Listed, Error>> + Send {
        let shelf = self.shelf();
        let older = |stored: &&Stored| behind.is_none_or(|behind| stored.id < behind);
        let matches =
            |stored: &&Stored| filter.matches(stored) && shelf.has_labels(stored.id, &filter.labels);
        let matching = shelf.tasks.values().rev().filter(older).filter(matches);
        let tasks: Vec<_> = matching.take(most).cloned().collect();
        let last = tasks.last().map(|stored| stored.id);
        ready(Ok(Listed { behind: last.filter(|_| tasks.len() >= most), tasks }))
    }
}

impl Bulks for Memory {
    fn bulks(&self, most: usize) -> impl Future<Output = Result<Vec<Bulk>, Error>> + Send {
        let shelf = self.shelf();
        ready(Ok(shelf.bulks.values().rev().take(most).map(|(bulk, _)| bulk.clone()).collect()))
    }

    fn bulks_under_way(&self, most: usize) -> impl Future<Output = Result<Vec<Bulk>, Error>> + Send {
        let shelf = self.shelf();
        let under_way = shelf.bulks.values().map(|(bulk, _)| bulk).filter(|bulk| bulk.under_way);
        ready(Ok(under_way.take(most).cloned().collect()))
    }

    fn bulk(&self, id: AuditId) -> impl Future<Output = Result<Option<Bulk>, Error>> + Send {
        ready(Ok(self.shelf().bulks.get(&id).map(|(bulk, _)| bulk.clone())))
    }

    fn put_bulk(&self, bulk: Bulk, more: Vec<TaskId>) -> impl Future<Output = Result<PutBulk, Error>> + Send {
        let size = bulk.check(&more);
        ready(size.map(|()| self.shelf().put_bulk(bulk, more)))
    }

    fn bulk_tasks(
        &self,
        id: AuditId,
        from: u64,
        most: usize,
    ) -> impl Future<Output = Result<Vec<TaskId>, Error>> + Send {
        let shelf = self.shelf();
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        let tasks = shelf.bulks.get(&id).into_iter().flat_map(|(_, tasks)| tasks.iter().skip(from));
        ready(Ok(tasks.take(most).copied().collect()))
    }
}

impl AuditLog for Memory {
    fn log(&self, batch: Vec<Audit>) -> impl Future<Output = Result<(), Error>> + Send {
        let sizes = batch.iter().try_for_each(Audit::check);
        ready(sizes.map(|()| {
            let mut shelf = self.shelf();
            batch.into_iter().for_each(|audit| shelf.log(audit));
        }))
    }

    fn audited(&self, id: AuditId) -> impl Future<Output = Result<Option<Audited>, Error>> + Send {
        ready(Ok(self.shelf().audits.get(&id).cloned()))
    }

    fn audits(
        &self,
        task: Option<TaskId>,
        before: Option<AuditId>,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Audited>, Error>> + Send {
        let shelf = self.shelf();
        let place = |entry: &Audited| (entry.at, entry.audit.id);
        let before = before.map(|before| shelf.audits.get(&before).map(place));
        let wanted = |entry: &&Audited| {
            task.is_none_or(|task| entry.audit.task == Some(task))
                && before.is_none_or(|before| Some(place(entry)) < before)
        };
        let mut entries: Vec<_> = shelf.audits.values().filter(wanted).cloned().collect();
        entries.sort_by_key(|entry| std::cmp::Reverse(place(entry)));
        entries.truncate(most);
        ready(Ok(entries))
    }
}

impl Overdue for Memory {
    fn overdue(
        &self,
        behind: Option<Overdued>,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Overdued>, Error>> + Send {
        ready(Ok(self.shelf().overdue(behind, most)))
    }
}

impl Nodes for Memory {
    fn now(&self) -> impl Future<Output = Result<Time, Error>> + Send {
        ready(Ok(self.shelf().now))
    }

    fn renew(&self, node: NodeId, lease: Duration) -> impl Future<Output = Result<Time, Error>> + Send {
        let mut shelf = self.shelf();
        let until = shelf.now + lease;
        shelf.leases.insert(node, until);
        ready(Ok(until))
    }

    fn leave(&self, node: NodeId) -> impl Future<Output = Result<(), Error>> + Send {
        let mut shelf = self.shelf();
        shelf.leases.remove(&node);
        ready(Ok(()))
    }
}
