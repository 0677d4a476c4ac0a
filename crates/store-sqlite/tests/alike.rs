//! The file against the reference: thousands of random operations on both, and every answer the same.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test's own helpers")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::{
    Action, Answer, Block, Cause, Definition, Effect, Event, Failure, OnFailure, Record, Repeat, Step,
    StepId, Task, TaskState, Time, decide,
};
use steadfast_store::conformance::{HandClock, block_on};
use steadfast_store::{
    Addressed, Audit, AuditId, AuditLog as _, Cleaned, Expired, Guard, Hold, MailId, Mailbox as _, Memory,
    Message, NodeId, Nodes as _, Outbox as _, OutboxKind, Outgoing, Overdue as _, Parked as _, Payload,
    PayloadKey, Put, Replies as _, ReplyPlace, Retention, Schedule, Schedules as _, Settled, Submission,
    SubmissionMore, TaskId, Tasks as _, Transfer as _, Write,
};
use steadfast_store_sqlite::Sqlite;

mod folder;

use folder::Folder;

const SEEDS: u64 = 20;
const OPERATIONS: u32 = 300;
/// The input, an output, a kept signal, and how far an attempt has come.
const PLACES: [Option<StepId>; 4] =
    [None, Some(StepId::at(1)), Some(StepId::of_signal(0)), Some(StepId::of_progress(StepId::at(1)))];

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn workflow() -> Definition {
    let step = |name: &str| Step::new(name, "service").complete_within(s(5)).undo(s(5)).undo_when_unknown();
    Definition::builder("w")
        .complete_within(s(45))
        .step(step("a"))
        .step(step("b").after(["a"]).on_failure(OnFailure::Continue))
        .step(step("c").after(["a"]))
        .step(Step::signal("d", "go").timeout(s(5)).or_none().after(["a"]))
        .step(Step::new("e", "service").nothing_to_undo().repeat(Repeat { every: s(1), at_most: Some(4) }))
        .build()
        .unwrap()
}

/// Two stores that are told the same.
struct Both {
    rng: fastrand::Rng,
    clock: HandClock,
    memory: Memory,
    file: Sqlite,
    definition: Definition,
    /// How tasks went from state to state.
    moves: BTreeSet<String>,
    unparked: usize,
    /// Messages that were handed out, and those that were not for the first time.
    handed: usize,
    again: usize,
    put: usize,
    /// Replies that were sent, and those that were handed out.
    replies: u64,
    replied: usize,
    removed: u64,
    folder: Folder,
}

/// Asks both, and demands the same answer.
macro_rules! same {
    ($both:expr, $name:ident($($argument:expr),*)) => {{
        let reference = block_on($both.memory.$name($($argument.clone()),*)).unwrap();
        let file = block_on($both.file.$name($($argument),*)).unwrap();
        assert_eq!(file, reference, stringify!($name));
        reference
    }};
}

impl Both {
    fn new(seed: u64) -> Self {
        let (folder, clock) = (Folder::new(), HandClock::default());
        clock.set(Time::from_millis(1_000_000));
        let (for_memory, for_file) = (clock.clone(), clock.clone());
        let memory = Memory::new(move || for_memory.now());
        // Both ways to drive it, in turn.
        let path = folder.path("store.db");
        let file = match seed % 2 {
            0 => Sqlite::open(path, move || for_file.now()).unwrap(),
            _ => Sqlite::open_inline(path, move || for_file.now()).unwrap(),
        };
        Self {
            rng: fastrand::Rng::with_seed(seed),
            clock,
            memory,
            file,
            definition: workflow(),
            moves: BTreeSet::new(),
            unparked: 0,
            handed: 0,
            again: 0,
            put: 0,
            replies: 0,
            replied: 0,
            removed: 0,
            folder,
        }
    }

    fn node(&mut self) -> NodeId {
        NodeId::from_u128(self.rng.u128(1..4))
    }

    fn task(&mut self) -> TaskId {
        TaskId::from_u128(self.rng.u128(1..12))
    }

    fn text(&mut self) -> Payload {
        Payload::from(self.rng.u8(0..3).to_string().as_bytes())
    }

    fn submission(&mut self) -> Submission {
        let owner = (self.rng.u8(0..3) == 0).then(|| self.node());
        let key = self.rng.bool().then(|| Arc::from(self.rng.u8(0..4).to_string()));
        let namespace = Arc::from(if self.rng.bool() { "x" } else { "" });
        let (id, input) = (self.task(), self.text());
        let priority = self.rng.i8(-1..2);
        let (now, later) = (self.clock.now(), self.rng.u64(0..20).saturating_sub(14));
        let task = Task::starting_at(&self.definition, now, now + s(later));
        let outputs = (self.rng.u8(0..4) == 0).then(|| (StepId::at(1), self.text()));
        let outputs = outputs.into_iter().collect();
        let most = self.rng.u64(1..20);
        let reply = ReplyPlace { address: Arc::from("queue:q"), kept: self.text(), most };
        let more = SubmissionMore { reply: self.rng.bool().then_some(reply), ..SubmissionMore::default() };
        let more = self.rng.bool().then(|| Box::new(more));
        Submission {
            id,
            namespace,
            workflow: Arc::from("w"),
            version: 3,
            shape: u64::MAX - 5,
            key,
            priority,
            input,
            task,
            owner,
            messages: self.messages(),
            outputs,
            more,
        }
    }

    /// What is told with a write, or alone.
    fn messages(&mut self) -> Vec<Outgoing> {
        let count = self.rng.usize(0..3);
        let message = |_| {
            let task = self.rng.bool().then(|| TaskId::from_u128(self.rng.u128(1..4)));
            // A task replies to one address.
            let address = task.map(|task| ["queue:q", "hook:h"][usize::from(task.as_u128() == 2)]);
            let to = address.filter(|_| self.rng.u8(0..4) == 0).map(|address| {
                self.replies += 1;
                let unless = (self.rng.u8(0..3) == 0).then(|| self.rng.u64(1..9));
                let brings = self.rng.bool().then_some(StepId::at(1));
                Box::new(Addressed { address: Arc::from(address), number: self.replies, brings, unless })
            });
            let kind = if self.rng.u8(0..3) > 0 { OutboxKind::Alert } else { OutboxKind::Reply };
            let key = (self.rng.u8(0..3) == 0).then(|| Arc::from(self.rng.u8(0..9).to_string()));
            let body = Payload::from(self.rng.u8(0..9).to_string().as_bytes());
            Outgoing { task, kind, key, body, to }
        };
        (0..count).map(message).collect()
    }

    /// Sends, delivers, fails to, gives up.
    fn tend_the_outbox(&mut self) {
        let messages = self.messages();
        same!(self, send(messages));
        let (kind, most) =
            (if self.rng.bool() { OutboxKind::Alert } else { OutboxKind::Reply }, self.rng.usize(0..5));
        let handed = same!(self, undelivered(kind, most, s(10)));
        self.handed += handed.messages.len();
        self.again += handed.messages.iter().filter(|message| message.tries > 1).count();
        let settled = handed.messages.iter().filter_map(|message| {
            let settled = match self.rng.u8(0..6) {
                0 => Settled::GivenUp,
                1 | 2 => Settled::Delivered,
                3 | 4 => Settled::Again(self.clock.now() + s(self.rng.u64(0..20))),
                _ => return None,
            };
            Some((message.id, settled))
        });
        let settled: Vec<_> = settled.collect();
        same!(self, settle(settled));
        let address: Arc<str> = Arc::from(["queue:q", "hook:h"][usize::from(self.rng.bool())]);
        let handed = same!(self, take_replies(address, most, s(10)));
        self.replied += handed.replies.len();
        let settled = handed.replies.iter().filter_map(|reply| {
            let settled = match self.rng.u8(0..4) {
                0 | 1 => Settled::Delivered,
                2 => Settled::Again(self.clock.now() + s(self.rng.u64(0..20))),
                _ => return None,
            };
            Some((reply.id, settled))
        });
        let settled: Vec<_> = settled.collect();
        same!(self, settle_replies(settled));
        same!(self, reply_queues());
    }

    fn event(&mut self, task: &Task) -> Event {
        // Mostly what could come next: by chance alone few tasks would come to their end.
        if task.state().is_at_rest() {
            let action = [Action::Undo, Action::Resume][usize::from(self.rng.bool())];
            return Event::Asked { action, by: "ana".into(), why: "wrong".into() };
        }
        let granted = |(step, _): (StepId, &_)| Event::granted(step);
        let answered = |(step, record): (StepId, &Record)| Event::Answered {
            step,
            attempt: record.attempt,
            answer: Answer::Completed,
        };
        let now = self.clock.now();
        let signal = Event::Signalled { signal: Arc::from("go"), id: None };
        let taken = |(step, _): (StepId, &_)| Event::Taken { step };
        let begins = (task.state() == TaskState::Pending).then_some(Event::Claimed);
        let next = begins.into_iter().chain(task.rows().map(answered)).chain(task.rows().map(granted));
        let next = next.chain(task.rows().map(taken)).chain([signal]);
        let next = next.into_iter().find(|next| decide(&self.definition, task, next, now).changes_anything());
        if let Some(next) = next.filter(|_| self.rng.u8(0..3) > 0) {
            return next;
        }
        let step = StepId::at(self.rng.u16(0..5));
        let attempt = task.step(step).attempt;
        let again = self.rng.bool().then(|| self.clock.now() + s(self.rng.u64(0..9)));
        let effect = if self.rng.bool() { Effect::None } else { Effect::Possible };
        let failure = Failure { kind: Arc::from("odd"), calls: 1, effect, again };
        match self.rng.u8(0..16) {
            0 | 1 => Event::Claimed,
            9 => Event::Due { step },
            10 => Event::Signalled {
                signal: Arc::from("go"),
                id: Some(Arc::from(self.rng.u8(0..9).to_string())),
            },
            11 => Event::Taken { step },
            12 => Event::Answered { step, attempt, answer: Answer::NotYet },
            13 => {
                let action = [Action::Pause, Action::Resume, Action::Skip { step, happened: true }];
                let action = action[self.rng.usize(0..3)];
                Event::Asked { action, by: "ana".into(), why: "wrong".into() }
            }
            2..=4 => Event::granted(step),
            5 => Event::Refused { step, block: Block::Breaker, until: again },
            6 => Event::Answered { step, attempt, answer: Answer::Failed(failure) },
            7 => Event::TimedOut { step, attempt },
            8 if self.rng.u8(0..4) == 0 => {
                Event::Cancelled { cause: Cause::Cancelled { by: Arc::from("a"), why: Arc::from("b") } }
            }
            _ => Event::Answered { step, attempt, answer: Answer::Completed },
        }
    }

    fn service(&mut self) -> Arc<str> {
        Arc::from(["a", "b"][usize::from(self.rng.bool())])
    }

    /// A write that follows from an event, with a guard that holds, or nearly.
    fn random_write(&mut self) -> Option<Write> {
        let id = self.task();
        let stored = same!(self, read(vec![id])).remove(0)?;
        let event = self.event(&stored.task);
        let plan = decide(&self.definition, &stored.task, &event, self.clock.now());
        // So far off that no other write of the same batch makes it right.
        let mut off = || 9 * u64::from(self.rng.u8(0..8) == 0);
        let (epoch, revision) = (stored.epoch + off(), stored.revision + off());
        let mail = self.rng.bool().then(|| MailId(self.rng.u64(0..3)));
        let hold = match self.rng.u8(0..5) {
            0 => Hold::Release(self.clock.now() + s(self.rng.u64(0..20))),
            1 => Hold::Take,
            _ => Hold::Keep,
        };
        let places = PLACES.map(|at| at.filter(|_| self.rng.u8(0..3) == 0));
        let outputs = places.into_iter().flatten().map(|at| (at, self.text())).collect();
        let mail_read = self.rng.bool().then(|| MailId(self.rng.u64(0..3)));
        let mut after = stored.task.clone();
        after.apply(&plan);
        if after.state() != stored.task.state() {
            self.moves.insert(format!("{:?} -> {:?}", stored.task.state(), after.state()));
        }
        let write = Write::of(&plan, id, Guard { epoch, revision, mail });
        let parked_on = self.rng.bool().then(|| self.service());
        let audits = self.audits(id);
        Some(Write { hold, outputs, mail_read, parked_on, messages: self.messages(), audits, ..write })
    }

    fn audits(&mut self, task: TaskId) -> Vec<Audit> {
        let entry = |rng: &mut fastrand::Rng| Audit {
            id: AuditId::from_u128(rng.u128(0..200)),
            task: rng.bool().then_some(task),
            by: Arc::from("ana"),
            why: Arc::from("it has to be"),
            action: Arc::from("resume"),
            refused: rng.bool().then(|| Arc::from("not now")),
            detail: Payload::from(&b"{}"[..]),
        };
        (0..self.rng.u8(0..2)).map(|_| entry(&mut self.rng)).collect()
    }

    /// With a version that stands, or nearly.
    fn schedule(&mut self) -> Schedule {
        let name = Arc::from(["x", "y", "z"][self.rng.usize(0..3)]);
        let wake_at = self.rng.bool().then(|| Time::from_millis(self.rng.u64(0..9)));
        Schedule { name, version: self.rng.u64(0..4), wake_at, body: self.text() }
    }

    fn operate(&mut self) {
        match self.rng.u8(0..16) {
            0 | 1 => {
                let batch = vec![self.submission(), self.submission()];
                same!(self, submit(batch));
            }
            2 => {
                let (node, most) = (self.node(), self.rng.usize(0..4));
                same!(self, claim(node, most));
            }
            3 => {
                let (node, service, most) = (self.node(), self.service(), self.rng.usize(0..4));
                let from = if self.rng.bool() { Time::from_millis(0) } else { self.clock.now() };
                self.unparked += same!(self, claim_parked(node, service, from, most)).len();
                same!(self, parked());
            }
            4..=7 => {
                let batch: Vec<_> = (0..3).filter_map(|_| self.random_write()).collect();
                same!(self, write(batch));
            }
            8 => {
                let asked = self.rng.bool().then(|| AuditId::from_u128(self.rng.u128(0..200)));
                let batch = vec![Message { asked, ..Message::new(self.task(), self.text()) }];
                same!(self, post(batch));
                let (node, task) = (self.node(), self.rng.bool().then(|| self.task()));
                same!(self, unread(node, 9));
                same!(self, owned(node));
                let before = self.rng.bool().then(|| AuditId::from_u128(self.rng.u128(0..200)));
                same!(self, audits(task, before, 5));
            }
            9 => {
                let node = self.node();
                match self.rng.bool() {
                    true => drop(same!(self, renew(node, s(8)))),
                    false => same!(self, leave(node)),
                }
            }
            10 => drop(same!(self, overdue(None, 9))),
            11 | 12 => self.tend_the_outbox(),
            13 | 14 => {
                let batch = vec![self.schedule(), self.schedule()];
                self.put += same!(self, put(batch)).iter().filter(|put| matches!(put, Put::Done(_))).count();
                if self.rng.u8(0..4) == 0 {
                    let name = self.schedule().name;
                    same!(self, remove(name));
                }
                same!(self, upcoming(2));
            }
            _ => self.clock.advance(Duration::from_millis(self.rng.u64(0..6_000))),
        }
    }

    /// What is over goes in both.
    fn clean_up(&mut self) {
        let expired =
            |before| Expired { before, keys_before: Time::from_millis(before.as_millis() - 20_000) };
        self.clock.advance(s(60));
        let expired = expired(self.clock.now());
        let (reference, file) = (cleaned(&self.memory, expired), cleaned(&self.file, expired));
        assert_eq!(file, reference);
        self.removed += reference.removed;
    }

    /// Everything that can be read of every task.
    fn compare(&mut self) {
        same!(self, overdue(None, 99));
        same!(self, open_tasks());
        for kind in [OutboxKind::Alert, OutboxKind::Reply] {
            same!(self, undeliverable(kind, 99));
        }
        same!(self, schedules());
        same!(self, parked());
        for node in (1..4).map(NodeId::from_u128) {
            same!(self, owned(node));
            same!(self, unread(node, 99));
        }
        same!(self, whole((1..12).map(TaskId::from_u128).collect::<Vec<_>>()));
        for id in (1..12).map(TaskId::from_u128) {
            same!(self, history(id));
            let keys = PLACES.map(|step| PayloadKey { task: id, step });
            same!(self, payloads(keys.to_vec()));
            for stored in same!(self, read(vec![id])).into_iter().flatten() {
                stored.task.check(&self.definition).unwrap();
            }
        }
    }
}

/// Removes what is over, three at a time.
fn cleaned(store: &impl Retention, expired: Expired) -> Cleaned {
    let mut all = Cleaned::default();
    loop {
        let part = block_on(store.clean_up(expired, all.behind, 3)).unwrap();
        all.removed += part.removed;
        all.looked_at += part.looked_at;
        all.next_in = all.next_in.into_iter().chain(part.next_in).min();
        all.behind = part.behind;
        if all.behind.is_none() {
            return all;
        }
    }
}

#[test]
fn the_file_and_the_reference_answer_alike() {
    let (mut moves, mut unparked, mut put) = (BTreeSet::new(), 0, 0);
    let (mut handed, mut again, mut replied, mut removed) = (0, 0, 0, 0);
    for seed in 0..SEEDS {
        let mut both = Both::new(seed);
        for _ in 0..OPERATIONS {
            both.operate();
        }
        both.compare();
        both.clean_up();
        both.compare();
        removed += both.removed;
        moves.append(&mut both.moves);
        unparked += both.unparked;
        handed += both.handed;
        again += both.again;
        put += both.put;
        replied += both.replied;
        // The same after the file was closed and opened again: but that all nodes are dead then.
        let Both { file, folder, clock, .. } = both;
        let before: Vec<_> = block_on(file.read((1..12).map(TaskId::from_u128).collect())).unwrap();
        drop(file);
        let file = Sqlite::open(folder.path("store.db"), move || clock.now()).unwrap();
        assert_eq!(
            block_on(file.read((1..12).map(TaskId::from_u128).collect())).unwrap(),
            before,
            "seed {seed}"
        );
    }
    assert!(unparked > 20, "{unparked} were parked and claimed");
    assert!(handed > 400 && again > 100, "{handed} messages were handed out, {again} again");
    assert!(replied > 100, "{replied} replies were handed out");
    assert!(removed > 0, "{removed} tasks were removed");
    assert!(put > 100, "{put} schedules were written");
    for rare in ["Waiting -> Completed", "Undoing -> Undone", "Completed -> Undoing"] {
        assert!(moves.contains(rare), "{rare} never came: {moves:?}");
    }
}
