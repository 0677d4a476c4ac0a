//! A store that fails at random: before it has done anything, or after it has done it all.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use steadfast_engine::{Record, StepId, Time};
use steadfast_store::{
    Arrival, ArrivalId, Audit, AuditId, AuditLog, Audited, Bulk, Bulks, Circuit, Circuits, Claimed, Entry,
    Error, Filter, Handed, HandedReplies, Intake, Kept, Kind, Listed, Listing, Mail, Mailbox, Memory,
    Message, NodeId, Nodes, Outbox, OutboxId, OutboxKind, Outgoing, Overdue, Overdued, Parked, Payload,
    PayloadKey, Posted, Put, PutBulk, PutText, Replies, ReplyId, ReplyQueue, Schedule, Schedules, Sent,
    Settled, Store, Stored, Submission, Submitted, TaskId, Tasks, Undelivered, WorkflowText, WorkflowTexts,
    Write, Written,
};

#[derive(Clone)]
pub struct Flaky<S = Memory> {
    pub store: S,
    rng: Arc<Mutex<fastrand::Rng>>,
    /// Of a thousand calls, so many fail.
    share: Arc<std::sync::atomic::AtomicU32>,
    /// The next call of this name fails, after it was done or before.
    next: Arc<Mutex<Option<(&'static str, bool)>>>,
    /// While this is held, no call goes through.
    gate: tokio::sync::watch::Sender<bool>,
    /// Calls of this name wait; none if it is empty.
    pub held: tokio::sync::watch::Sender<&'static str>,
    /// A call takes up to so many milliseconds, before and after it is done; and one in fifty a hundred times as long.
    slow: Arc<std::sync::atomic::AtomicU64>,
    /// What was committed, in its order.
    pub log: Arc<Mutex<Vec<Commit>>>,
    /// How often each call was made.
    made: Arc<Mutex<BTreeMap<String, u64>>>,
}

/// Something that was committed.
#[derive(Clone, Debug)]
pub enum Commit {
    /// Mail for a task.
    Mail(TaskId),
    /// Rows of steps.
    Steps(TaskId, Vec<(StepId, Record)>),
}

impl<S: Store + Clone> Flaky<S> {
    pub fn new(store: S, seed: u64, share: u32) -> Self {
        let rng = Arc::new(Mutex::new(fastrand::Rng::with_seed(seed)));
        let gate = tokio::sync::watch::Sender::new(true);
        let held = tokio::sync::watch::Sender::new("");
        Self {
            store,
            rng,
            share: Arc::new(share.into()),
            next: Arc::default(),
            gate,
            held,
            slow: Arc::default(),
            log: Arc::default(),
            made: Arc::default(),
        }
    }

    /// The same store, whose answers take their time.
    pub fn slow(self, most: u64) -> Self {
        self.slow.store(most, std::sync::atomic::Ordering::SeqCst);
        self
    }

    /// The same store, behind a gate of its own.
    pub fn own_gate(&self) -> Self {
        Self { gate: tokio::sync::watch::Sender::new(true), ..self.clone() }
    }

    async fn take_time(&self) {
        let slow = self.slow.load(std::sync::atomic::Ordering::SeqCst);
        if slow > 0 {
            let time = {
                let mut rng = self.rng.lock().unwrap();
                let time = rng.u64(0..=slow);
                if rng.u8(0..50) == 0 { time * 100 } else { time }
            };
            steadfast_resilience::clock::Clock::tokio().sleep(Duration::from_millis(time)).await;
        }
        let _ = self.gate.subscribe().wait_for(|open| *open).await;
    }

    pub fn fail_after(&self, call: &'static str) {
        *self.next.lock().unwrap() = Some((call, true));
    }

    pub fn fail_before(&self, call: &'static str) {
        *self.next.lock().unwrap() = Some((call, false));
    }

    /// From now on nothing comes through, in neither direction.
    pub fn hold(&self) {
        self.gate.send_replace(false);
    }

    pub fn let_go(&self) {
        self.gate.send_replace(true);
    }

    pub fn mend(&self) {
        self.share.store(0, std::sync::atomic::Ordering::SeqCst);
        self.slow.store(0, std::sync::atomic::Ordering::SeqCst);
    }

    async fn write_logged(&self, batch: Vec<Write>) -> Result<Vec<Written>, Error> {
        let steps: Vec<_> = batch.iter().map(|write| (write.task, write.steps.clone())).collect();
        let written = self.store.write(batch).await?;
        let done = steps.into_iter().zip(&written).filter(|(_, done)| matches!(done, Written::Done(_)));
        self.log.lock().unwrap().extend(done.map(|((task, steps), _)| Commit::Steps(task, steps)));
        Ok(written)
    }

    async fn post_logged(&self, batch: Vec<Message>) -> Result<Vec<Posted>, Error> {
        let tasks: Vec<_> = batch.iter().map(|message| message.task).collect();
        let posted = self.store.post(batch).await?;
        let done = tasks.into_iter().zip(&posted).filter(|(_, done)| matches!(done, Posted::Done(_)));
        self.log.lock().unwrap().extend(done.map(|(task, _)| Commit::Mail(task)));
        Ok(posted)
    }

    /// How often a call was made.
    pub fn made(&self, call: &str) -> u64 {
        self.made.lock().unwrap().get(call).copied().unwrap_or(0)
    }

    /// Whether a call is still to fail.
    pub fn is_armed(&self) -> bool {
        self.next.lock().unwrap().is_some()
    }

    /// `Some(true)`: fail after it was done.
    fn fate(&self, call: &str) -> Option<bool> {
        *self.made.lock().unwrap().entry(call.to_owned()).or_default() += 1;
        let mut next = self.next.lock().unwrap();
        if next.is_some_and(|(of, _)| of == call) {
            return next.take().map(|(_, after)| after);
        }
        let mut rng = self.rng.lock().unwrap();
        let share = self.share.load(std::sync::atomic::Ordering::SeqCst);
        (rng.u32(0..1_000) < share).then(|| rng.bool())
    }
}

fn failed<T>() -> Result<T, Error> {
    Err(Error::new(Kind::Unavailable, "scripted"))
}

macro_rules! flaky {
    ($self:ident, $name:ident, $call:expr) => {{
        let fate = $self.fate(stringify!($name));
        let ways = $self.clone();
        async move {
            ways.take_time().await;
            let _ = ways.held.subscribe().wait_for(|name| *name != stringify!($name)).await;
            let done = match fate {
                Some(false) => failed(),
                Some(true) => $call.await.and_then(|_| failed()),
                None => $call.await,
            };
            ways.take_time().await;
            done
        }
    }};
}

mod house;

impl<S: Store + Clone> Tasks for Flaky<S> {
    fn submit(&self, batch: Vec<Submission>) -> impl Future<Output = Result<Vec<Submitted>, Error>> + Send {
        flaky!(self, submit, self.store.submit(batch))
    }
    fn claim(&self, node: NodeId, most: usize) -> impl Future<Output = Result<Vec<Claimed>, Error>> + Send {
        flaky!(self, claim, self.store.claim(node, most))
    }
    fn write(&self, batch: Vec<Write>) -> impl Future<Output = Result<Vec<Written>, Error>> + Send {
        flaky!(self, write, self.write_logged(batch))
    }
    fn owned(&self, node: NodeId) -> impl Future<Output = Result<Vec<(TaskId, u64)>, Error>> + Send {
        flaky!(self, owned, self.store.owned(node))
    }
    fn open_tasks(&self) -> impl Future<Output = Result<u64, Error>> + Send {
        self.store.open_tasks()
    }
    fn read(&self, tasks: Vec<TaskId>) -> impl Future<Output = Result<Vec<Option<Stored>>, Error>> + Send {
        flaky!(self, read, self.store.read(tasks))
    }
    fn payloads(
        &self,
        keys: Vec<PayloadKey>,
    ) -> impl Future<Output = Result<Vec<Option<Payload>>, Error>> + Send {
        flaky!(self, payloads, self.store.payloads(keys))
    }
    fn history_behind(
        &self,
        task: TaskId,
        revision: u64,
    ) -> impl Future<Output = Result<Vec<Entry>, Error>> + Send {
        self.store.history_behind(task, revision)
    }
}

impl<S: Store + Clone> Mailbox for Flaky<S> {
    fn post(&self, batch: Vec<Message>) -> impl Future<Output = Result<Vec<Posted>, Error>> + Send {
        flaky!(self, post, self.post_logged(batch))
    }
    fn unread(&self, node: NodeId, most: usize) -> impl Future<Output = Result<Vec<Mail>, Error>> + Send {
        flaky!(self, unread, self.store.unread(node, most))
    }
    fn unread_of(&self, tasks: Vec<TaskId>) -> impl Future<Output = Result<Vec<Mail>, Error>> + Send {
        flaky!(self, unread_of, self.store.unread_of(tasks))
    }
}

impl<S: Store + Clone> Parked for Flaky<S> {
    fn claim_parked(
        &self,
        node: NodeId,
        service: Arc<str>,
        from: Time,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Claimed>, Error>> + Send {
        flaky!(self, claim, self.store.claim_parked(node, service, from, most))
    }
    fn parked(&self) -> impl Future<Output = Result<Vec<(Arc<str>, u64)>, Error>> + Send {
        self.store.parked()
    }
}

impl<S: Store + Clone> Circuits for Flaky<S> {
    fn circuits(&self) -> impl Future<Output = Result<Vec<Circuit>, Error>> + Send {
        flaky!(self, circuits, self.store.circuits())
    }
    fn keep(&self, batch: Vec<Circuit>) -> impl Future<Output = Result<Vec<Kept>, Error>> + Send {
        flaky!(self, keep, self.store.keep(batch))
    }
}

impl<S: Store + Clone> Outbox for Flaky<S> {
    fn send(&self, batch: Vec<Outgoing>) -> impl Future<Output = Result<Vec<Sent>, Error>> + Send {
        flaky!(self, send, self.store.send(batch))
    }

    fn undelivered(
        &self,
        kind: OutboxKind,
        most: usize,
        hold: Duration,
    ) -> impl Future<Output = Result<Handed, Error>> + Send {
        flaky!(self, undelivered, self.store.undelivered(kind, most, hold))
    }

    fn settle(&self, batch: Vec<(OutboxId, Settled)>) -> impl Future<Output = Result<(), Error>> + Send {
        flaky!(self, settle, self.store.settle(batch))
    }

    fn undeliverable(
        &self,
        kind: OutboxKind,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Undelivered>, Error>> + Send {
        self.store.undeliverable(kind, most)
    }
}

impl<S: Store + Clone> Schedules for Flaky<S> {
    fn schedules(&self) -> impl Future<Output = Result<Vec<Schedule>, Error>> + Send {
        self.store.schedules()
    }

    fn schedule(&self, name: Arc<str>) -> impl Future<Output = Result<Option<Schedule>, Error>> + Send {
        self.store.schedule(name)
    }

    fn upcoming(&self, most: usize) -> impl Future<Output = Result<Vec<Schedule>, Error>> + Send {
        flaky!(self, upcoming, self.store.upcoming(most))
    }

    fn put(&self, batch: Vec<Schedule>) -> impl Future<Output = Result<Vec<Put>, Error>> + Send {
        flaky!(self, put, self.store.put(batch))
    }

    fn remove(&self, name: Arc<str>) -> impl Future<Output = Result<bool, Error>> + Send {
        flaky!(self, remove, self.store.remove(name))
    }
}

impl<S: Store + Clone> WorkflowTexts for Flaky<S> {
    fn workflow_texts(&self) -> impl Future<Output = Result<Vec<WorkflowText>, Error>> + Send {
        self.store.workflow_texts()
    }

    fn put_texts(
        &self,
        batch: Vec<WorkflowText>,
    ) -> impl Future<Output = Result<Vec<PutText>, Error>> + Send {
        flaky!(self, put_texts, self.store.put_texts(batch))
    }
}

impl<S: Store + Clone> Listing for Flaky<S> {
    fn list(
        &self,
        filter: Filter,
        behind: Option<TaskId>,
        most: usize,
    ) -> impl Future<Output = Result<Listed, Error>> + Send {
        self.store.list(filter, behind, most)
    }
}

impl<S: Store + Clone> Bulks for Flaky<S> {
    fn bulks(&self, most: usize) -> impl Future<Output = Result<Vec<Bulk>, Error>> + Send {
        self.store.bulks(most)
    }

    fn bulks_under_way(&self, most: usize) -> impl Future<Output = Result<Vec<Bulk>, Error>> + Send {
        self.store.bulks_under_way(most)
    }

    fn bulk(&self, id: AuditId) -> impl Future<Output = Result<Option<Bulk>, Error>> + Send {
        self.store.bulk(id)
    }

    fn put_bulk(&self, bulk: Bulk, more: Vec<TaskId>) -> impl Future<Output = Result<PutBulk, Error>> + Send {
        self.store.put_bulk(bulk, more)
    }

    fn bulk_tasks(
        &self,
        id: AuditId,
        from: u64,
        most: usize,
    ) -> impl Future<Output = Result<Vec<TaskId>, Error>> + Send {
        self.store.bulk_tasks(id, from, most)
    }
}

impl<S: Store + Clone> AuditLog for Flaky<S> {
    fn log(&self, batch: Vec<Audit>) -> impl Future<Output = Result<(), Error>> + Send {
        self.store.log(batch)
    }

    fn audited(&self, id: AuditId) -> impl Future<Output = Result<Option<Audited>, Error>> + Send {
        self.store.audited(id)
    }

    fn audits(
        &self,
        task: Option<TaskId>,
        before: Option<AuditId>,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Audited>, Error>> + Send {
        self.store.audits(task, before, most)
    }
}

impl<S: Store + Clone> Overdue for Flaky<S> {
    fn overdue(
        &self,
        behind: Option<Overdued>,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Overdued>, Error>> + Send {
        flaky!(self, overdue, self.store.overdue(behind, most))
    }
}

impl<S: Store + Clone> Nodes for Flaky<S> {
    fn now(&self) -> impl Future<Output = Result<Time, Error>> + Send {
        self.store.now()
    }
    fn renew(&self, node: NodeId, lease: Duration) -> impl Future<Output = Result<Time, Error>> + Send {
        flaky!(self, renew, self.store.renew(node, lease))
    }
    fn leave(&self, node: NodeId) -> impl Future<Output = Result<(), Error>> + Send {
        flaky!(self, leave, self.store.leave(node))
    }
}

impl<S: Store + Clone> Replies for Flaky<S> {
    fn take_replies(
        &self,
        address: Arc<str>,
        most: usize,
        hold: Duration,
    ) -> impl Future<Output = Result<HandedReplies, Error>> + Send {
        flaky!(self, take_replies, self.store.take_replies(address, most, hold))
    }

    fn settle_replies(
        &self,
        batch: Vec<(ReplyId, Settled)>,
    ) -> impl Future<Output = Result<usize, Error>> + Send {
        flaky!(self, settle_replies, self.store.settle_replies(batch))
    }

    fn reply_queues(&self) -> impl Future<Output = Result<Vec<ReplyQueue>, Error>> + Send {
        self.store.reply_queues()
    }
}

impl<S: Store + Clone> Intake for Flaky<S> {
    fn has_outsiders(&self) -> bool {
        self.store.has_outsiders()
    }

    fn version(&self) -> impl Future<Output = Result<u64, Error>> + Send {
        self.store.version()
    }

    fn arrivals(
        &self,
        behind: Option<ArrivalId>,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Arrival>, Error>> + Send {
        flaky!(self, arrivals, self.store.arrivals(behind, most))
    }

    fn held_up(&self) -> Duration {
        self.store.held_up()
    }

    fn is_held_up(&self) -> bool {
        self.store.is_held_up()
    }
}
