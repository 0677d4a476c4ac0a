//! A store that stands still after so many commits, as one does whose process is about to die.

mod house;

use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use steadfast_engine::Time;
use steadfast_store::{
    Arrival, ArrivalId, Audit, AuditId, AuditLog, Audited, Bulk, Bulks, Circuit, Circuits, Claimed, Entry,
    Error, Filter, Handed, HandedReplies, Intake, Kept, Listed, Listing, Mail, Mailbox, Memory, Message,
    NodeId, Nodes, Outbox, OutboxId, OutboxKind, Outgoing, Overdue, Overdued, Parked, Payload, PayloadKey,
    Posted, Put, PutBulk, PutText, Replies, ReplyId, ReplyQueue, Schedule, Schedules, Sent, Settled, Stored,
    Submission, Submitted, TaskId, Tasks, Undelivered, WorkflowText, WorkflowTexts, Write, Written,
};

#[derive(Clone)]
pub(super) struct Gate {
    store: Memory,
    /// Commits that are still let through.
    left: Arc<AtomicU64>,
}

impl Gate {
    pub(super) fn new(store: Memory, commits: u64) -> Self {
        Self { store, left: Arc::new(AtomicU64::new(commits)) }
    }

    /// Whether it stands still.
    pub(super) fn is_closed(&self) -> bool {
        self.left.load(Ordering::SeqCst) == 0
    }

    /// Lets a call through if the gate is open; a commit is one fewer that may follow.
    async fn pass<T>(&self, commit: bool, call: impl Future<Output = T>) -> T {
        let take = |left: u64| if commit { left.checked_sub(1) } else { (left > 0).then_some(left) };
        match self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take) {
            Ok(_) => call.await,
            Err(_) => pending().await,
        }
    }
}

impl Tasks for Gate {
    fn submit(&self, batch: Vec<Submission>) -> impl Future<Output = Result<Vec<Submitted>, Error>> + Send {
        self.pass(true, self.store.submit(batch))
    }

    fn claim(&self, node: NodeId, most: usize) -> impl Future<Output = Result<Vec<Claimed>, Error>> + Send {
        self.pass(false, self.store.claim(node, most))
    }

    fn write(&self, batch: Vec<Write>) -> impl Future<Output = Result<Vec<Written>, Error>> + Send {
        self.pass(true, self.store.write(batch))
    }

    fn owned(&self, node: NodeId) -> impl Future<Output = Result<Vec<(TaskId, u64)>, Error>> + Send {
        self.pass(false, self.store.owned(node))
    }

    fn open_tasks(&self) -> impl Future<Output = Result<u64, Error>> + Send {
        self.pass(false, self.store.open_tasks())
    }

    fn read(&self, tasks: Vec<TaskId>) -> impl Future<Output = Result<Vec<Option<Stored>>, Error>> + Send {
        self.pass(false, self.store.read(tasks))
    }

    fn payloads(
        &self,
        keys: Vec<PayloadKey>,
    ) -> impl Future<Output = Result<Vec<Option<Payload>>, Error>> + Send {
        self.pass(false, self.store.payloads(keys))
    }

    fn history_behind(
        &self,
        task: TaskId,
        revision: u64,
    ) -> impl Future<Output = Result<Vec<Entry>, Error>> + Send {
        self.pass(false, self.store.history_behind(task, revision))
    }
}

impl Mailbox for Gate {
    fn post(&self, batch: Vec<Message>) -> impl Future<Output = Result<Vec<Posted>, Error>> + Send {
        self.pass(true, self.store.post(batch))
    }

    fn unread(&self, node: NodeId, most: usize) -> impl Future<Output = Result<Vec<Mail>, Error>> + Send {
        self.pass(false, self.store.unread(node, most))
    }

    fn unread_of(&self, tasks: Vec<TaskId>) -> impl Future<Output = Result<Vec<Mail>, Error>> + Send {
        self.pass(false, self.store.unread_of(tasks))
    }
}

impl Parked for Gate {
    fn claim_parked(
        &self,
        node: NodeId,
        service: Arc<str>,
        from: Time,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Claimed>, Error>> + Send {
        self.pass(true, self.store.claim_parked(node, service, from, most))
    }

    fn parked(&self) -> impl Future<Output = Result<Vec<(Arc<str>, u64)>, Error>> + Send {
        self.pass(false, self.store.parked())
    }
}

impl Circuits for Gate {
    fn circuits(&self) -> impl Future<Output = Result<Vec<Circuit>, Error>> + Send {
        self.pass(false, self.store.circuits())
    }

    fn keep(&self, batch: Vec<Circuit>) -> impl Future<Output = Result<Vec<Kept>, Error>> + Send {
        self.pass(true, self.store.keep(batch))
    }
}

impl Outbox for Gate {
    fn send(&self, batch: Vec<Outgoing>) -> impl Future<Output = Result<Vec<Sent>, Error>> + Send {
        self.pass(false, self.store.send(batch))
    }

    fn undelivered(
        &self,
        kind: OutboxKind,
        most: usize,
        hold: Duration,
    ) -> impl Future<Output = Result<Handed, Error>> + Send {
        self.pass(false, self.store.undelivered(kind, most, hold))
    }

    fn settle(&self, batch: Vec<(OutboxId, Settled)>) -> impl Future<Output = Result<(), Error>> + Send {
        self.pass(false, self.store.settle(batch))
    }

    fn undeliverable(
        &self,
        kind: OutboxKind,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Undelivered>, Error>> + Send {
        self.pass(false, self.store.undeliverable(kind, most))
    }
}

impl Schedules for Gate {
    fn schedules(&self) -> impl Future<Output = Result<Vec<Schedule>, Error>> + Send {
        self.pass(false, self.store.schedules())
    }

    fn schedule(&self, name: Arc<str>) -> impl Future<Output = Result<Option<Schedule>, Error>> + Send {
        self.pass(false, self.store.schedule(name))
    }

    fn upcoming(&self, most: usize) -> impl Future<Output = Result<Vec<Schedule>, Error>> + Send {
        self.pass(false, self.store.upcoming(most))
    }

    fn put(&self, batch: Vec<Schedule>) -> impl Future<Output = Result<Vec<Put>, Error>> + Send {
        self.pass(true, self.store.put(batch))
    }

    fn remove(&self, name: Arc<str>) -> impl Future<Output = Result<bool, Error>> + Send {
        self.pass(true, self.store.remove(name))
    }
}

impl WorkflowTexts for Gate {
    fn workflow_texts(&self) -> impl Future<Output = Result<Vec<WorkflowText>, Error>> + Send {
        self.pass(false, self.store.workflow_texts())
    }

    fn put_texts(
        &self,
        batch: Vec<WorkflowText>,
    ) -> impl Future<Output = Result<Vec<PutText>, Error>> + Send {
        self.pass(true, self.store.put_texts(batch))
    }
}

impl Listing for Gate {
    fn list(
        &self,
        filter: Filter,
        behind: Option<TaskId>,
        most: usize,
    ) -> impl Future<Output = Result<Listed, Error>> + Send {
        self.pass(false, self.store.list(filter, behind, most))
    }
}

impl Bulks for Gate {
    fn bulks(&self, most: usize) -> impl Future<Output = Result<Vec<Bulk>, Error>> + Send {
        self.pass(false, self.store.bulks(most))
    }

    fn bulks_under_way(&self, most: usize) -> impl Future<Output = Result<Vec<Bulk>, Error>> + Send {
        self.pass(false, self.store.bulks_under_way(most))
    }

    fn bulk(&self, id: AuditId) -> impl Future<Output = Result<Option<Bulk>, Error>> + Send {
        self.pass(false, self.store.bulk(id))
    }

    fn put_bulk(&self, bulk: Bulk, more: Vec<TaskId>) -> impl Future<Output = Result<PutBulk, Error>> + Send {
        self.pass(true, self.store.put_bulk(bulk, more))
    }

    fn bulk_tasks(
        &self,
        id: AuditId,
        from: u64,
        most: usize,
    ) -> impl Future<Output = Result<Vec<TaskId>, Error>> + Send {
        self.pass(false, self.store.bulk_tasks(id, from, most))
    }
}

impl AuditLog for Gate {
    fn log(&self, batch: Vec<Audit>) -> impl Future<Output = Result<(), Error>> + Send {
        self.pass(true, self.store.log(batch))
    }

    fn audited(&self, id: AuditId) -> impl Future<Output = Result<Option<Audited>, Error>> + Send {
        self.pass(false, self.store.audited(id))
    }

    fn audits(
        &self,
        task: Option<TaskId>,
        before: Option<AuditId>,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Audited>, Error>> + Send {
        self.pass(false, self.store.audits(task, before, most))
    }
}

impl Overdue for Gate {
    fn overdue(
        &self,
        behind: Option<Overdued>,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Overdued>, Error>> + Send {
        self.pass(false, self.store.overdue(behind, most))
    }
}

impl Nodes for Gate {
    fn now(&self) -> impl Future<Output = Result<Time, Error>> + Send {
        self.pass(false, self.store.now())
    }

    fn renew(&self, node: NodeId, lease: Duration) -> impl Future<Output = Result<Time, Error>> + Send {
        self.pass(false, self.store.renew(node, lease))
    }

    fn leave(&self, node: NodeId) -> impl Future<Output = Result<(), Error>> + Send {
        self.pass(false, self.store.leave(node))
    }
}

impl Replies for Gate {
    fn take_replies(
        &self,
        address: Arc<str>,
        most: usize,
        hold: Duration,
    ) -> impl Future<Output = Result<HandedReplies, Error>> + Send {
        self.pass(true, self.store.take_replies(address, most, hold))
    }

    fn settle_replies(
        &self,
        batch: Vec<(ReplyId, Settled)>,
    ) -> impl Future<Output = Result<usize, Error>> + Send {
        self.pass(true, self.store.settle_replies(batch))
    }

    fn reply_queues(&self) -> impl Future<Output = Result<Vec<ReplyQueue>, Error>> + Send {
        self.pass(false, self.store.reply_queues())
    }
}

impl Intake for Gate {
    fn has_outsiders(&self) -> bool {
        self.store.has_outsiders()
    }

    fn version(&self) -> impl Future<Output = Result<u64, Error>> + Send {
        self.pass(false, self.store.version())
    }

    fn arrivals(
        &self,
        behind: Option<ArrivalId>,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Arrival>, Error>> + Send {
        self.pass(false, self.store.arrivals(behind, most))
    }

    fn held_up(&self) -> Duration {
        self.store.held_up()
    }

    fn is_held_up(&self) -> bool {
        self.store.is_held_up()
    }
}
