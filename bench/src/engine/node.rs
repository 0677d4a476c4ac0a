//! A node of the runtime over a file whose calls are counted, with steps that do as they are told.

mod house;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Result, anyhow};
use steadfast::Settings;
use steadfast::resilience::clock::Clock;
use steadfast::resilience::{Attempt, Kind, Pipeline, Retry, Verdict};
use steadfast_engine::{Definition, Step, Time};
use steadfast_runtime::{Answered, Code, Fault, New, Node, Service, Work, Workflow, Workflows};
use steadfast_store::{
    Arrival, ArrivalId, Audit, AuditId, AuditLog, Audited, Bulk, Bulks, Circuit, Circuits, Claimed, Entry,
    Error, Filter, Handed, HandedReplies, Intake, Kept, Listed, Listing, Mail, Mailbox, Message, NodeId,
    Nodes, Outbox, OutboxId, OutboxKind, Outgoing, Overdue, Overdued, Parked, Payload, PayloadKey, Posted,
    Put, PutBulk, PutText, Replies, ReplyId, ReplyQueue, Schedule, Schedules, Sent, Settled, Stored,
    Submission, Submitted, TaskId, Tasks, Undelivered, WorkflowText, WorkflowTexts, Write, Written,
};
use steadfast_store_sqlite::Sqlite;
use tokio::task::JoinSet;

use super::speed::IN_FLIGHT;

/// What the first step of a task does; the others return at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// Returns at once.
    Returns,
    /// Fails, and is tried again as its service says.
    Fails,
    /// Does not end.
    Hangs,
}

impl First {
    /// As the input of a task.
    fn input(self) -> Payload {
        Payload::from(match self {
            Self::Returns => *br#"{"sku":"a chair made of oak","first":"returns"}"#,
            Self::Fails => *br#"{"sku":"a chair made of oak","first":"fails!!"}"#,
            Self::Hangs => *br#"{"sku":"a chair made of oak","first":"hangs!!"}"#,
        })
    }
}

/// A node, with what is needed to give it work.
pub(crate) struct Rig {
    pub(crate) node: Arc<Node<Counted>>,
    pub(crate) store: Counted,
    workflow: Arc<Workflow>,
}

impl Rig {
    /// Starts a node on this file; a step that fails is tried again after this, and this is called
    /// for each attempt.
    pub(crate) async fn start(
        path: &Path,
        again_after: Duration,
        called: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self> {
        let store = Counted::open(path)?;
        let called: Arc<dyn Fn() + Send + Sync> = Arc::new(called);
        let workflow = workflow(again_after, &called)?;
        let mut workflows = Workflows::default();
        workflows.add(Arc::clone(&workflow)).map_err(|error| anyhow!(error))?;
        let node = Node::start(store.clone(), workflows, Settings::default(), Clock::system()).await?;
        Ok(Self { node: Arc::new(node), store, workflow })
    }

    fn new_task(&self, first: First) -> New {
        New {
            workflow: Arc::clone(&self.workflow),
            namespace: Arc::from(""),
            key: None,
            priority: 0,
            input: first.input(),
        }
    }

    /// Runs one task to its end.
    pub(crate) async fn one(&self) -> Result<()> {
        let task = self.node.submit(self.new_task(First::Returns)).await?.task;
        self.node.at_rest(task).await?;
        Ok(())
    }

    /// Submits tasks, some at a time.
    pub(crate) async fn submit(&self, tasks: u64, first: First) -> Result<()> {
        let mut submitting = JoinSet::new();
        for _ in 0..tasks {
            let (node, new) = (Arc::clone(&self.node), self.new_task(first));
            submitting.spawn(async move { node.submit(new).await.map(drop) });
            while submitting.len() >= usize::try_from(IN_FLIGHT)? {
                if let Some(done) = submitting.join_next().await {
                    done??;
                }
            }
        }
        while let Some(done) = submitting.join_next().await {
            done??;
        }
        Ok(())
    }
}

/// The same steps as the workflow of `flow`, by the runtime's own types.
fn workflow(again_after: Duration, first: &Arc<dyn Fn() + Send + Sync>) -> Result<Arc<Workflow>> {
    let retry = Retry::fixed(again_after).no_jitter().max_retries(1_000);
    let pipeline = Pipeline::builder("shop").retry(retry).no_budget().no_breaker().build()?;
    let shop = Service::new(pipeline).most_running(1_000_000);
    let step = |name: &str| Step::new(name, "shop").nothing_to_undo();
    let definition = Definition::builder("order")
        .step(step("reserve"))
        .step(step("charge").after(["reserve"]))
        .step(step("send").after(["charge"]))
        .build()?;
    let code = || {
        let first = Arc::clone(first);
        let run = move |work: &Arc<Work>, _: Attempt| -> Answered {
            first();
            Box::pin(answer(Arc::clone(work)))
        };
        Code::new(Arc::new(run))
    };
    let workflow = Workflow::new(definition, (0..3).map(|_| code()).collect(), vec![shop; 3]);
    workflow.map(Arc::new).map_err(|error| anyhow!(error))
}

async fn answer(work: Arc<Work>) -> Result<Payload, Fault> {
    let first = |what: First| work.step.ordinal() == 0 && *work.known.input() == *what.input();
    if first(First::Fails) {
        let verdict = Verdict::transient(Kind::UNREACHABLE).without_effect();
        return Err(Fault { verdict, message: "not now".to_owned() });
    }
    if first(First::Hangs) {
        std::future::pending::<()>().await;
    }
    Ok(Payload::from(*br#"{"of":"reserve","total":70}"#))
}

/// A store on a file that counts what is asked of it.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    store: Sqlite,
    calls: Arc<AtomicU64>,
    /// How often the node's lease was renewed.
    renewals: Arc<AtomicU64>,
}

impl Counted {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let store = Sqlite::open(path, || Time::from_millis(crate::clock::unix_millis()))?;
        Ok(Self { store, calls: Arc::default(), renewals: Arc::default() })
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Commits, but for those of the lease, which come with time and not with tasks.
    pub(crate) fn commits(&self) -> u64 {
        self.store.commits().saturating_sub(self.renewals.load(Ordering::Relaxed))
    }

    fn counted(&self) -> &Sqlite {
        self.calls.fetch_add(1, Ordering::Relaxed);
        &self.store
    }
}

type Told<T> = Result<T, Error>;

impl Tasks for Counted {
    fn submit(&self, batch: Vec<Submission>) -> impl Future<Output = Told<Vec<Submitted>>> + Send {
        self.counted().submit(batch)
    }

    fn claim(&self, node: NodeId, most: usize) -> impl Future<Output = Told<Vec<Claimed>>> + Send {
        self.counted().claim(node, most)
    }

    fn write(&self, batch: Vec<Write>) -> impl Future<Output = Told<Vec<Written>>> + Send {
        self.counted().write(batch)
    }

    fn owned(&self, node: NodeId) -> impl Future<Output = Told<Vec<(TaskId, u64)>>> + Send {
        self.counted().owned(node)
    }

    fn open_tasks(&self) -> impl Future<Output = Told<u64>> + Send {
        self.counted().open_tasks()
    }

    fn read(&self, tasks: Vec<TaskId>) -> impl Future<Output = Told<Vec<Option<Stored>>>> + Send {
        self.counted().read(tasks)
    }

    fn payloads(&self, keys: Vec<PayloadKey>) -> impl Future<Output = Told<Vec<Option<Payload>>>> + Send {
        self.counted().payloads(keys)
    }

    fn history_behind(&self, task: TaskId, revision: u64) -> impl Future<Output = Told<Vec<Entry>>> + Send {
        self.counted().history_behind(task, revision)
    }
}

impl Mailbox for Counted {
    fn post(&self, batch: Vec<Message>) -> impl Future<Output = Told<Vec<Posted>>> + Send {
        self.counted().post(batch)
    }

    fn unread(&self, node: NodeId, most: usize) -> impl Future<Output = Told<Vec<Mail>>> + Send {
        self.counted().unread(node, most)
    }

    fn unread_of(&self, tasks: Vec<TaskId>) -> impl Future<Output = Told<Vec<Mail>>> + Send {
        self.counted().unread_of(tasks)
    }
}

impl Parked for Counted {
    fn claim_parked(
        &self,
        node: NodeId,
        service: Arc<str>,
        from: Time,
        most: usize,
    ) -> impl Future<Output = Told<Vec<Claimed>>> + Send {
        self.counted().claim_parked(node, service, from, most)
    }

    fn parked(&self) -> impl Future<Output = Told<Vec<(Arc<str>, u64)>>> + Send {
        self.counted().parked()
    }
}

impl Circuits for Counted {
    fn circuits(&self) -> impl Future<Output = Told<Vec<Circuit>>> + Send {
        self.counted().circuits()
    }

    fn keep(&self, batch: Vec<Circuit>) -> impl Future<Output = Told<Vec<Kept>>> + Send {
        self.counted().keep(batch)
    }
}

impl Outbox for Counted {
    fn send(&self, batch: Vec<Outgoing>) -> impl Future<Output = Told<Vec<Sent>>> + Send {
        self.counted().send(batch)
    }

    fn undelivered(
        &self,
        kind: OutboxKind,
        most: usize,
        hold: Duration,
    ) -> impl Future<Output = Told<Handed>> + Send {
        self.counted().undelivered(kind, most, hold)
    }

    fn settle(&self, batch: Vec<(OutboxId, Settled)>) -> impl Future<Output = Told<()>> + Send {
        self.counted().settle(batch)
    }

    fn undeliverable(
        &self,
        kind: OutboxKind,
        most: usize,
    ) -> impl Future<Output = Told<Vec<Undelivered>>> + Send {
        self.counted().undeliverable(kind, most)
    }
}

impl Schedules for Counted {
    fn schedules(&self) -> impl Future<Output = Told<Vec<Schedule>>> + Send {
        self.counted().schedules()
    }

    fn schedule(&self, name: Arc<str>) -> impl Future<Output = Told<Option<Schedule>>> + Send {
        self.counted().schedule(name)
    }

    fn upcoming(&self, most: usize) -> impl Future<Output = Told<Vec<Schedule>>> + Send {
        self.counted().upcoming(most)
    }

    fn put(&self, batch: Vec<Schedule>) -> impl Future<Output = Told<Vec<Put>>> + Send {
        self.counted().put(batch)
    }

    fn remove(&self, name: Arc<str>) -> impl Future<Output = Told<bool>> + Send {
        self.counted().remove(name)
    }
}

impl WorkflowTexts for Counted {
    fn workflow_texts(&self) -> impl Future<Output = Told<Vec<WorkflowText>>> + Send {
        self.counted().workflow_texts()
    }

    fn put_texts(&self, batch: Vec<WorkflowText>) -> impl Future<Output = Told<Vec<PutText>>> + Send {
        self.counted().put_texts(batch)
    }
}

impl Listing for Counted {
    fn list(
        &self,
        filter: Filter,
        behind: Option<TaskId>,
        most: usize,
    ) -> impl Future<Output = Told<Listed>> + Send {
        self.counted().list(filter, behind, most)
    }
}

impl Bulks for Counted {
    fn bulks(&self, most: usize) -> impl Future<Output = Told<Vec<Bulk>>> + Send {
        self.counted().bulks(most)
    }

    fn bulks_under_way(&self, most: usize) -> impl Future<Output = Told<Vec<Bulk>>> + Send {
        self.counted().bulks_under_way(most)
    }

    fn bulk(&self, id: AuditId) -> impl Future<Output = Told<Option<Bulk>>> + Send {
        self.counted().bulk(id)
    }

    fn put_bulk(&self, bulk: Bulk, more: Vec<TaskId>) -> impl Future<Output = Told<PutBulk>> + Send {
        self.counted().put_bulk(bulk, more)
    }

    fn bulk_tasks(
        &self,
        id: AuditId,
        from: u64,
        most: usize,
    ) -> impl Future<Output = Told<Vec<TaskId>>> + Send {
        self.counted().bulk_tasks(id, from, most)
    }
}

impl AuditLog for Counted {
    fn log(&self, batch: Vec<Audit>) -> impl Future<Output = Told<()>> + Send {
        self.counted().log(batch)
    }

    fn audited(&self, id: AuditId) -> impl Future<Output = Told<Option<Audited>>> + Send {
        self.counted().audited(id)
    }

    fn audits(
        &self,
        task: Option<TaskId>,
        before: Option<AuditId>,
        most: usize,
    ) -> impl Future<Output = Told<Vec<Audited>>> + Send {
        self.counted().audits(task, before, most)
    }
}

impl Overdue for Counted {
    fn overdue(
        &self,
        behind: Option<Overdued>,
        most: usize,
    ) -> impl Future<Output = Told<Vec<Overdued>>> + Send {
        self.counted().overdue(behind, most)
    }
}

impl Nodes for Counted {
    fn now(&self) -> impl Future<Output = Told<Time>> + Send {
        self.counted().now()
    }

    fn renew(&self, node: NodeId, lease: Duration) -> impl Future<Output = Told<Time>> + Send {
        self.renewals.fetch_add(1, Ordering::Relaxed);
        self.counted().renew(node, lease)
    }

    fn leave(&self, node: NodeId) -> impl Future<Output = Told<()>> + Send {
        self.counted().leave(node)
    }
}

impl Replies for Counted {
    fn take_replies(
        &self,
        address: Arc<str>,
        most: usize,
        hold: Duration,
    ) -> impl Future<Output = Told<HandedReplies>> + Send {
        self.counted().take_replies(address, most, hold)
    }

    fn settle_replies(&self, batch: Vec<(ReplyId, Settled)>) -> impl Future<Output = Told<usize>> + Send {
        self.counted().settle_replies(batch)
    }

    fn reply_queues(&self) -> impl Future<Output = Told<Vec<ReplyQueue>>> + Send {
        self.counted().reply_queues()
    }
}

impl Intake for Counted {
    fn has_outsiders(&self) -> bool {
        self.store.has_outsiders()
    }

    /// Not a query: it is a number in shared memory, and no page is read.
    fn version(&self) -> impl Future<Output = Told<u64>> + Send {
        self.store.version()
    }

    fn arrivals(
        &self,
        behind: Option<ArrivalId>,
        most: usize,
    ) -> impl Future<Output = Told<Vec<Arrival>>> + Send {
        self.counted().arrivals(behind, most)
    }

    fn held_up(&self) -> Duration {
        self.store.held_up()
    }

    fn is_held_up(&self) -> bool {
        self.store.is_held_up()
    }
}
