//! Every interleaving of two nodes, agents, a supervisor and somebody who cancels, over one task: the protocol of claims,
//! guarded writes, mail, late and doubled answers. With a part of the guard left out, it finds what that part is for.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::{
    Answer, Cause, Definition, Event, Plan, Recovery, Step, StepId, StepState, Task, Time, UndoState, decide,
};

use super::Shelf;
use super::shelf::Check;
use crate::*;

const TASK: TaskId = TaskId::from_u128(1);
const NODES: [NodeId; 2] = [NodeId::from_u128(0xA), NodeId::from_u128(0xB)];
/// Longer than an attempt, so that a task can be recovered from an owner that lives.
const LEASE: Duration = Duration::from_secs(15);
const TICK: Duration = Duration::from_secs(10);
/// Enough for every attempt to time out and every lease to end, and few enough to look at all of it.
const TICKS: u8 = 3;
/// More worlds than there are.
const MOST: usize = 1_000_000;
/// Claims and recoveries, after which nobody claims any more: a dead owner's task could be claimed for ever.
const CLAIMS: u64 = 3;

fn workflow() -> Definition {
    let recovery = Recovery { at_once: 1, extended_wait: TICK, last: 2 };
    let step =
        Step::new("pay", "bank").complete_within(TICK).undo(TICK).undo_when_unknown().recovery(recovery);
    Definition::builder("w").step(step.undo_recovery(recovery)).build().unwrap()
}

fn step() -> StepId {
    workflow().step_named("pay").unwrap()
}

/// An attempt that an agent was sent.
#[derive(Clone, Debug, PartialEq, Eq, std::hash::Hash)]
struct Sent {
    attempt: u32,
    undo: bool,
    answered: bool,
}

/// What the supervisor has read, and not yet acted on.
#[derive(Clone, Debug, std::hash::Hash)]
struct Scanned {
    stored: Stored,
    attempt: u32,
    mail: MailId,
}

#[derive(Clone)]
struct World {
    definition: Arc<Definition>,
    shelf: Shelf,
    /// What each node holds in memory of the task.
    nodes: [Option<Stored>; 2],
    sent: Vec<Sent>,
    scanned: Option<Scanned>,
    done: bool,
    undone: bool,
    cancelled: bool,
    ticks: u8,
    broken: Option<&'static str>,
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Claim(usize),
    /// Goes on with what the task waits for.
    Go(usize),
    /// An answer reaches a node: at any time, and as often as it likes.
    Deliver(usize, usize),
    ReadMail(usize),
    Forget(usize),
    /// An agent does what it was sent to do.
    Work(usize),
    Cancel,
    Scan,
    Recover,
    Tick,
}

impl World {
    fn new(plant: Option<Check>) -> Self {
        let definition = Arc::new(workflow());
        let now = Time::from_millis(1_000);
        let mut shelf = Shelf { now, plant, ..Shelf::default() };
        shelf.submit(Submission {
            id: TASK,
            namespace: Arc::from(""),
            workflow: Arc::from("w"),
            version: 1,
            shape: 0,
            key: None,
            priority: 0,
            input: Payload::from(&b""[..]),
            task: Task::new(&definition, now),
            owner: None,
            messages: Vec::new(),
            outputs: Vec::new(),
            more: None,
        });
        for node in NODES {
            shelf.leases.insert(node, now + LEASE);
        }
        Self {
            definition,
            shelf,
            nodes: [None, None],
            sent: Vec::new(),
            scanned: None,
            done: false,
            undone: false,
            cancelled: false,
            ticks: 0,
            broken: None,
        }
    }

    fn actions(&self) -> Vec<Action> {
        let mut actions = vec![Action::Cancel, Action::Scan, Action::Recover, Action::Tick];
        for node in 0..NODES.len() {
            actions.extend([Action::Claim(node), Action::Go(node), Action::ReadMail(node)]);
            actions.push(Action::Forget(node));
            actions.extend((0..self.sent.len()).map(|sent| Action::Deliver(node, sent)));
        }
        actions.extend((0..self.sent.len()).map(Action::Work));
        actions
    }

    /// The world after an action; `None` when it changes nothing.
    fn after(&self, action: Action) -> Option<Self> {
        let mut world = self.clone();
        let happened = match action {
            Action::Claim(node) => world.claim(node),
            Action::Go(node) => world.go(node),
            Action::Deliver(node, sent) => world.deliver(node, sent),
            Action::ReadMail(node) => world.read_mail(node),
            Action::Forget(node) => world.nodes[node].take().map(drop),
            Action::Work(sent) => world.work(sent),
            Action::Cancel => world.cancel(),
            Action::Scan => world.scan(),
            Action::Recover => world.recover(),
            Action::Tick => world.tick(),
        };
        world.shelf.history.clear();
        happened.map(|()| {
            world.check();
            world
        })
    }

    fn claim(&mut self, node: usize) -> Option<()> {
        if self.shelf.tasks[&TASK].epoch >= CLAIMS {
            return None;
        }
        let claimed = self.shelf.claim(NODES[node], 1).pop()?;
        self.nodes[node] = Some(claimed.stored);
        Some(())
    }

    /// Writes what follows from an event for a node, and sends what it says if the write was done.
    fn write(&mut self, node: usize, event: &Event, mail_read: Option<MailId>) -> Option<()> {
        let mut copy = self.nodes[node].clone()?;
        let plan = decide(&self.definition, &copy.task, event, self.shelf.now);
        if !plan.changes_anything() && mail_read.is_none() {
            return None;
        }
        let guard = Guard { epoch: copy.epoch, revision: copy.revision, mail: None };
        let write = Write { mail_read, ..Write::of(&plan, TASK, guard) };
        match self.put(write, &copy.task) {
            Written::Refused(_) => self.nodes[node] = None,
            Written::Done(revision) => {
                copy.revision = revision;
                copy.task.apply(&plan);
                self.nodes[node] = Some(copy);
                self.send(&plan);
            }
        }
        Some(())
    }

    /// The store's part, with what must be true of every write that it takes.
    fn put(&mut self, write: Write, of: &Task) -> Written {
        let before = self.shelf.tasks[&TASK].clone();
        let newest =
            self.shelf.mail.get(&TASK).and_then(|mail| mail.last()).map_or(MailId(0), |mail| mail.id);
        let guard = write.guard;
        let written = self.shelf.write(write);
        if let Written::Done(_) = written {
            if guard.epoch != before.epoch {
                self.broken = Some("an owner wrote that had lost its task");
            }
            if *of != before.task {
                self.broken = Some("a write was made of rows that had changed");
            }
            if guard.mail.is_some_and(|seen| newest > seen) {
                self.broken = Some("a timeout went over mail that came first");
            }
        }
        written
    }

    fn send(&mut self, plan: &Plan) {
        for dispatch in plan.dispatches() {
            if self.sent.iter().any(|sent| sent.attempt == dispatch.attempt) {
                self.broken = Some("an attempt was sent twice");
            }
            self.sent.push(Sent { attempt: dispatch.attempt, undo: dispatch.undo, answered: false });
        }
    }

    fn go(&mut self, node: usize) -> Option<()> {
        let task = &self.nodes[node].as_ref()?.task;
        let record = task.step(step());
        let event = match (record.undo, record.state) {
            _ if task.state() == steadfast_engine::TaskState::Pending => Event::Claimed,
            (UndoState::Ready, _) | (UndoState::None, StepState::Ready) => Event::granted(step()),
            (UndoState::Waiting, _) | (UndoState::None, StepState::Waiting) => Event::Due { step: step() },
            _ => return None,
        };
        self.write(node, &event, None)
    }

    fn work(&mut self, sent: usize) -> Option<()> {
        let sent = self.sent.get_mut(sent).filter(|sent| !sent.answered)?;
        sent.answered = true;
        match sent.undo {
            true => self.undone = true,
            false => self.done = true,
        }
        Some(())
    }

    fn deliver(&mut self, node: usize, sent: usize) -> Option<()> {
        let Sent { attempt, answered: true, .. } = self.sent.get(sent)?.clone() else { return None };
        self.write(node, &Event::Answered { step: step(), attempt, answer: Answer::Completed }, None)
    }

    fn cancel(&mut self) -> Option<()> {
        if std::mem::replace(&mut self.cancelled, true) {
            return None;
        }
        let posted = self.shelf.post(Message::new(TASK, Payload::from(&b"cancel"[..])));
        matches!(posted, Posted::Done(_)).then_some(())
    }

    fn read_mail(&mut self, node: usize) -> Option<()> {
        let mail = self.shelf.unread(TASK).next()?.id;
        let cause = Cause::Cancelled { by: Arc::from("a"), why: Arc::from("b") };
        self.write(node, &Event::Cancelled { cause }, Some(mail))
    }

    fn scan(&mut self) -> Option<()> {
        let overdue = self.shelf.overdue(None, 1).pop()?;
        let (_, attempt) = overdue.attempt?;
        let stored = self.shelf.tasks[&TASK].clone();
        let mail = self.shelf.mail.get(&TASK).and_then(|mail| mail.last()).map_or(MailId(0), |mail| mail.id);
        self.scanned = Some(Scanned { stored, attempt, mail });
        Some(())
    }

    fn recover(&mut self) -> Option<()> {
        let Scanned { stored, attempt, mail } = self.scanned.take()?;
        let event = Event::TimedOut { step: step(), attempt };
        let plan = decide(&self.definition, &stored.task, &event, self.shelf.now);
        let guard = Guard { epoch: stored.epoch, revision: stored.revision, mail: Some(mail) };
        let write = Write { hold: Hold::Take, ..Write::of(&plan, TASK, guard) };
        let _ = self.put(write, &stored.task);
        Some(())
    }

    fn tick(&mut self) -> Option<()> {
        self.ticks += 1;
        self.shelf.now = self.shelf.now + TICK;
        (self.ticks <= TICKS).then_some(())
    }

    /// What must hold in every world.
    fn check(&mut self) {
        let stored = &self.shelf.tasks[&TASK];
        let record = stored.task.step(step());
        let books = [
            (record.state == StepState::Completed && !self.done, "a success was recorded that nobody made"),
            (record.undo == UndoState::Done && !self.undone, "an undo was recorded that nobody made"),
        ];
        if let Some((_, words)) = books.into_iter().find(|(broken, _)| *broken) {
            self.broken = Some(words);
        }
        if stored.task.check(&self.definition).is_err() {
            self.broken = Some("the rows contradict each other");
        }
    }

    /// What tells two worlds apart.
    fn mark(&self) -> (u64, u64) {
        let Shelf { now, tasks, mail, .. } = &self.shelf;
        let world = (now, &tasks[&TASK], mail.len(), &self.nodes, &self.sent, &self.scanned);
        let books = (self.done, self.undone, self.cancelled);
        let mark = |salt: u64| {
            let mut hasher = DefaultHasher::new();
            (salt, &world, books).hash(&mut hasher);
            hasher.finish()
        };
        (mark(0), mark(1))
    }
}

/// Looks at every world that can be reached; the number of them, and the first that is broken.
fn explore(plant: Option<Check>) -> (usize, Option<&'static str>, HashSet<steadfast_engine::TaskState>) {
    let mut seen = HashSet::new();
    let mut ends = HashSet::new();
    let mut next = VecDeque::from([World::new(plant)]);
    while let Some(world) = next.pop_front() {
        ends.insert(world.shelf.tasks[&TASK].task.state());
        for after in world.actions().into_iter().filter_map(|action| world.after(action)) {
            if after.broken.is_some() {
                return (seen.len(), after.broken, ends);
            }
            if seen.insert(after.mark()) {
                next.push_back(after);
            }
        }
        assert!(seen.len() < MOST, "there is no end to it: something grows for ever");
    }
    (seen.len(), None, ends)
}

#[test]
fn no_interleaving_breaks_the_protocol() {
    use steadfast_engine::TaskState::{Completed, Undone};
    let (worlds, broken, ends) = explore(None);
    println!("{worlds} worlds");
    assert_eq!(broken, None);
    assert!(ends.contains(&Completed) && ends.contains(&Undone), "{ends:?}");
}

#[test]
fn without_a_part_of_the_guard_the_explorer_finds_what_it_is_for() {
    for (plant, expected) in [
        (Check::Epoch, "an owner wrote that had lost its task"),
        (Check::Revision, "a write was made of rows that had changed"),
        (Check::Mail, "a timeout went over mail that came first"),
    ] {
        let (worlds, broken, _) = explore(Some(plant));
        println!("{plant:?}: {worlds} worlds");
        assert_eq!(broken, Some(expected), "{plant:?}");
    }
}
