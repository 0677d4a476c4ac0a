//! The scheduler: one loop that holds the tasks that this node owns.
//!
//! Events of a task are folded into one write; while that is under way further events wait in the task. When it is durable,
//! attempts are dispatched. A write that is refused means that somebody else has the task: it is dropped. A write of which
//! nobody knows what became is read back before anything else happens to its task.

mod apart;
mod asked;
mod claim;
mod doubt;
mod fold;
mod gate;
mod let_go;
mod owned;
mod park;
mod reply;
mod save;
mod submit;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use steadfast_engine::{Answer, Block, Event, StepId, Time};
use steadfast_resilience::clock::Moment;
use steadfast_store::{Claimed, Error, Mail, Payload, Store, TaskId, Written};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

pub(crate) use gate::{LONGEST_WAIT, SHORTEST_WAIT, Turn};
pub(crate) use owned::{Happening, Owned};
pub(crate) use submit::NewTask;

use crate::agent::Ended;
use crate::service::Service;
use crate::shared::{IdMap, IdSet, Shared};
use asked::Asked;
use doubt::Doubt;
use gate::Gate;
use submit::Submitting;

/// The most messages that are taken before their writes are sent.
const MOST_AT_ONCE: usize = 1_024;
/// How long the last writes of a node that stops may take, after its grace.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// What the loop is told.
pub(crate) enum Inbox {
    /// Somebody submits a task.
    Submit(Box<NewTask>),
    /// An attempt has ended.
    Ended(Ended),
    /// A condition or a time was evaluated that needed reading, or a kept signal was read.
    Judged(TaskId, Happening),
    /// How far an attempt has come.
    Progress(TaskId, StepId, u32, Payload),
    /// There may be something to claim, or mail.
    Look,
    /// A circuit has changed: the gates are to be looked at.
    Gates,
    /// Submissions are stored, or not.
    Stored(Vec<TaskId>, Result<Vec<steadfast_store::Submitted>, Error>),
    /// Writes are done, or not, each by the epoch that it was made under.
    Written(Vec<(TaskId, u64)>, Result<Vec<Written>, Error>),
    /// What was claimed.
    Claimed(Result<Vec<Claimed>, Error>),
    /// Tasks are parked on these services.
    Parked(Vec<Arc<str>>),
    /// What was parked on a service, and is claimed.
    Unparked(Arc<str>, Result<Vec<Claimed>, Error>),
    /// Mail of owned tasks.
    Mail(Result<Vec<Mail>, Error>),
    /// Tasks in doubt, as they are.
    Reread(Vec<TaskId>, u64, Result<doubt::Reread, Error>),
    /// What this node owns, after a claim of which nobody knows what became.
    Holds(Result<Vec<(TaskId, u64)>, Error>),
    /// Answers went by mail, or could not.
    Posted(Vec<(TaskId, StepId)>),
    /// How many tasks are open.
    Open(u64),
    /// More services are called from now on; who is told when they have gates.
    Services(Vec<Service>, oneshot::Sender<()>),
    /// No more: finish what runs.
    Stop(oneshot::Sender<usize>),
}

pub(crate) struct Scheduler<S> {
    shared: Arc<Shared<S>>,
    owned: IdMap<TaskId, Owned>,
    submitting: IdMap<TaskId, Submitting>,
    /// Tasks of which nobody knows whether they were written.
    doubts: IdMap<TaskId, Doubt>,
    last_doubt: u64,
    /// Attempts under way in this process.
    flight: IdMap<(TaskId, StepId), u32>,
    /// Attempts whose answers are on their way by mail, since their tasks are not held: nobody here takes them for dead.
    posting: IdMap<(TaskId, StepId), u32>,
    /// Their agents: they end with this loop, however that ends.
    agents: JoinSet<()>,
    gates: HashMap<Arc<str>, Gate>,
    /// When something of a task is due.
    timers: BinaryHeap<Reverse<(Time, TaskId)>>,
    /// When tasks are due soon that nobody holds.
    wakes: BinaryHeap<Reverse<Time>>,
    /// Tasks to which something happened.
    dirty: IdSet<TaskId>,
    /// Services with free places, and somebody in line.
    to_serve: HashSet<Arc<str>>,
    out: save::Out,
    asked: Asked,
    claiming: claim::Claiming,
    apart: apart::Apart,
    /// Tasks that are open in the store, as far as this node knows.
    open: u64,
    /// Who is told when it has stopped; nobody while it does not stop.
    stopping: Vec<oneshot::Sender<usize>>,
    /// How many attempts were cut off.
    cut_off: Option<usize>,
    /// Attempts that became durable after that: they do not begin.
    too_late: Vec<(TaskId, StepId, u32)>,
}

impl<S: Store> Scheduler<S> {
    /// A scheduler over a store with so many open tasks, and tasks that are parked on these services.
    pub(crate) fn new(shared: Arc<Shared<S>>, open: u64, parked: &[(Arc<str>, u64)]) -> Self {
        let mut gates = gate::all(&shared.workflows.load());
        let now = shared.clock.now();
        // The tasks of one that died are claimed soon after its lease has ended.
        let all_claimed = now + shared.settings.lease * 2;
        for (service, gate) in &mut gates {
            if let Some(release) = shared.board.release(service) {
                gate.resume(release, now, all_claimed);
            }
        }
        for (service, _) in parked {
            if let Some(gate) = gates.get_mut(service) {
                gate.has_parked();
            }
        }
        Self {
            shared,
            owned: IdMap::default(),
            submitting: IdMap::default(),
            doubts: IdMap::default(),
            last_doubt: 0,
            flight: IdMap::default(),
            posting: IdMap::default(),
            agents: JoinSet::new(),
            gates,
            timers: BinaryHeap::new(),
            wakes: BinaryHeap::new(),
            dirty: IdSet::default(),
            to_serve: HashSet::new(),
            out: save::Out::default(),
            asked: Asked::default(),
            claiming: claim::Claiming::default(),
            apart: apart::Apart::default(),
            open,
            stopping: Vec::new(),
            cut_off: None,
            too_late: Vec::new(),
        }
    }

    /// Runs until it is told to stop and nothing is under way any more.
    pub(crate) async fn run(mut self, mut inbox: UnboundedReceiver<Inbox>) {
        let mut taken = Vec::with_capacity(64);
        let mut look_at = self.shared.clock.now();
        let mut ends_at = Moment::FAR;
        loop {
            let now = self.shared.clock.now();
            let rest = self.next_timer().min(look_at.min(ends_at).min(self.gates_wake_at(now)).since(now));
            taken.extend(std::iter::from_fn(|| self.asked.ready()));
            if taken.is_empty() {
                tokio::select! {
                    biased;
                    answer = self.asked.next() => taken.push(answer),
                    _ = inbox.recv_many(&mut taken, MOST_AT_ONCE) => {}
                    () = self.shared.clock.sleep(rest) => {}
                }
            }
            if !taken.is_empty() {
                // What is ready beside it goes first, so that its messages share a write with these: under load that makes
                // few large batches out of many small ones. A task that is alone has nobody to wait for.
                if self.owned.len() + self.submitting.len() > 1 {
                    tokio::task::yield_now().await;
                }
                taken.extend(std::iter::from_fn(|| self.asked.ready()));
                while taken.len() < MOST_AT_ONCE
                    && let Ok(message) = inbox.try_recv()
                {
                    taken.push(message);
                }
            }
            for message in taken.drain(..) {
                self.take(message);
            }
            let now = self.shared.clock.now();
            if now >= look_at {
                look_at = now + self.shared.settings.look_every;
                self.look();
            }
            if !self.shared.may_act() && !self.is_stopping() {
                self.lapse();
            }
            self.fire_timers();
            if now >= ends_at && self.cut_off.is_none() {
                self.cut_off();
                ends_at = now + LAST_WRITES;
            }
            for (task, step, attempt) in std::mem::take(&mut self.too_late) {
                let answer = Answer::NotMade { block: Block::Limit, until: Some(self.shared.now()) };
                self.happened(task, Happening::of(Event::Answered { step, attempt, answer }));
            }
            self.tend_gates();
            self.go_on();
            while self.next_apart() {
                self.go_on();
            }
            self.claim_more();
            self.send();
            self.publish();
            self.shared.board.has_work(!self.owned.is_empty());
            while self.agents.try_join_next().is_some() {}
            if self.is_stopping() {
                if self.is_idle() || now >= ends_at {
                    break;
                }
                if self.cut_off.is_none() {
                    ends_at = ends_at.min(now + self.shared.settings.grace);
                }
            }
        }
        self.end();
    }

    fn take(&mut self, message: Inbox) {
        match message {
            Inbox::Submit(new) => self.submit(*new),
            Inbox::Ended(ended) => self.ended(ended),
            Inbox::Judged(task, happening) => self.judged(task, happening),
            Inbox::Progress(task, step, attempt, progress) => {
                let event = Event::Progressed { step, attempt };
                self.happened(task, Happening { output: Some(progress), ..Happening::of(event) });
            }
            Inbox::Look => self.look(),
            Inbox::Gates => self.circuits_were_heard_of(),
            Inbox::Stored(tasks, stored) => self.stored(&tasks, stored),
            Inbox::Written(tasks, written) => self.written(&tasks, written),
            Inbox::Claimed(claimed) => self.claimed(claimed),
            Inbox::Parked(services) => self.others_have_parked(&services),
            Inbox::Unparked(service, claimed) => self.unparked(&service, claimed),
            Inbox::Mail(mail) => self.mail(mail),
            Inbox::Reread(tasks, asked, read) => self.has_reread(&tasks, asked, read),
            Inbox::Holds(tasks) => self.holds(tasks),
            Inbox::Posted(answers) => self.posted(&answers),
            Inbox::Open(open) => self.open = open,
            Inbox::Services(services, told) => self.services_came(&services, told),
            Inbox::Stop(told) => self.stopping.push(told),
        }
    }

    /// Something happened to a task; if it is not here, somebody else's business, but for answers.
    fn happened(&mut self, task: TaskId, happening: Happening) {
        if let Some(owned) = self.owned.get_mut(&task) {
            owned.waiting.push_back(happening);
            self.dirty.insert(task);
        } else if let Some(owned) = self.submitting.get_mut(&task).and_then(Submitting::owned) {
            owned.waiting.push_back(happening);
        } else if let Some(doubt) = self.doubts.get_mut(&task) {
            doubt.waiting.push(happening);
        } else {
            self.pass_on(vec![(task, happening)], None);
        }
    }

    fn ended(&mut self, ended: Ended) {
        let place = (ended.task, ended.step);
        let under_way = self.flight.get(&place).copied();
        if under_way == Some(ended.attempt) {
            self.flight.remove(&place);
        }
        let done = matches!(ended.said, Some((Answer::Completed | Answer::Later { .. }, _)));
        if done && let Some(gate) = self.gates.get_mut(&ended.service) {
            gate.did_well(ended.task, ended.step, self.shared.clock.now());
        }
        match under_way {
            // A callback has ended it before its agent did: what is known of the step at the gate is of the next attempt.
            Some(attempt) if attempt != ended.attempt => self.free_place_beside(&ended.service),
            _ => self.free_place(&ended.service, ended.task, ended.step),
        }
        if let Some((answer, output)) = ended.said {
            let event = Event::Answered { step: ended.step, attempt: ended.attempt, answer };
            self.happened(ended.task, Happening { output, ..Happening::of(event) });
        }
    }

    // ---- time ----

    /// How long it is until something of a task is due.
    fn next_timer(&self) -> Duration {
        let timer = self.timers.peek().map(|Reverse((at, _))| *at);
        let next = self.wakes.peek().map(|Reverse(at)| *at).into_iter().chain(timer).min();
        next.map_or(Duration::MAX, |at| at.since(self.shared.now()))
    }

    /// A task that nobody holds is due then. If that is soon it is not left to the next look; more would not be worth the
    /// memory.
    fn wake_soon(&mut self, at: Time) {
        if at <= self.shared.now() + self.shared.settings.release_after {
            self.wakes.push(Reverse(at));
        }
    }

    fn fire_timers(&mut self) {
        let now = self.shared.now();
        while self.wakes.peek().is_some_and(|Reverse(at)| *at <= now) {
            self.wakes.pop();
            self.claiming.again = true;
        }
        while let Some(Reverse((at, task))) = self.timers.peek().copied() {
            if at > now {
                return;
            }
            self.timers.pop();
            if let Some(owned) = self.owned.get_mut(&task) {
                let due = owned.due(now);
                if !due.is_empty() {
                    owned.waiting.extend(due);
                    self.dirty.insert(task);
                }
            }
        }
    }

    fn is_stopping(&self) -> bool {
        !self.stopping.is_empty()
    }

    fn publish(&self) {
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        self.shared.counters.owned.store(number(self.owned.len()), Ordering::Relaxed);
        self.shared.counters.running.store(number(self.flight.len()), Ordering::Relaxed);
    }
}
