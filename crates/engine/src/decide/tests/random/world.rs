//! One task, its services with their books, and whatever can happen to them.

use std::collections::{BTreeMap, BTreeSet};

use super::super::*;
use super::flow::random_workflow;

/// More events than any workflow needs: one that goes on longer is stuck.
const MAX_EVENTS: u32 = 20_000;

/// What became of a step in the service's own books.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Books {
    /// How often it was done, by its key: a service that honours keys does it once.
    pub(super) done: bool,
    pub(super) undone: bool,
    /// When it was done and undone, for the order.
    done_at: u32,
    pub(super) undone_at: u32,
    /// The attempt to which it said no for good: an earlier one that is still on its way is told the same.
    refused: u32,
}

/// A message on its way to an agent, or back.
#[derive(Clone, Debug)]
struct Attempted {
    step: StepId,
    attempt: u32,
    undo: bool,
    complete_by: Time,
}

pub(in super::super) struct World {
    pub(in super::super) run: Run,
    pub(in super::super) rng: fastrand::Rng,
    pub(super) books: BTreeMap<StepId, Books>,
    tick: u32,
    /// Attempts that agents work on.
    agents: Vec<Attempted>,
    /// Answers that were given, and may come again.
    old: Vec<Event>,
    /// What services are to call back with, or may say again.
    callbacks: Vec<(StepId, Token, Answer)>,
    asks: Vec<Ask>,
    /// What signals said, by the place at which it is stored: their numbers.
    pub(super) said: BTreeMap<StepId, u64>,
    /// Signals that were sent, in their order: they may be sent again.
    sent: Vec<(Arc<str>, Arc<str>, u64)>,
    /// Ids of signals that were taken or kept.
    counted: BTreeSet<Arc<str>>,
    /// Whether services still fail: towards the end of a run they recover.
    pub(in super::super) faults: bool,
    pub(super) seen: BTreeSet<(String, &'static str)>,
}

fn name_of(event: &Event) -> &'static str {
    match event {
        Event::Claimed => "claimed",
        Event::Judged { .. } => "judged",
        Event::Granted { .. } => "granted",
        Event::Refused { .. } => "refused",
        Event::Released { .. } => "released",
        Event::Due { .. } => "due",
        Event::Answered { .. } => "answered",
        Event::CalledBack { .. } => "called back",
        Event::TimedOut { .. } => "timed out",
        Event::OwnerDied { .. } => "owner died",
        Event::CutOff { .. } => "cut off",
        Event::Until { .. } => "until",
        Event::Listed { .. } => "listed",
        Event::Signalled { .. } => "signalled",
        Event::Taken { .. } => "taken",
        Event::Woken { .. } => "woken",
        Event::Progressed { .. } => "progressed",
        Event::DeadlinePassed => "deadline passed",
        Event::Cancelled { .. } => "cancelled",
        Event::Unjudged { .. } => "unjudged",
        Event::Asked { .. } => "asked",
    }
}

impl World {
    pub(in super::super) fn new(seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let definition = random_workflow(&mut rng);
        let now = Time::from_millis(1_000);
        let start_at = now + s(if rng.u8(0..6) == 0 { rng.u64(1..30) } else { 0 });
        let task = Task::starting_at(&definition, now, start_at);
        let books = BTreeMap::new();
        let run = Run { definition, task, now };
        let (agents, old, asks, seen) = (Vec::new(), Vec::new(), Vec::new(), BTreeSet::new());
        let (said, sent, counted, callbacks) = (BTreeMap::new(), Vec::new(), BTreeSet::new(), Vec::new());
        Self {
            run,
            rng,
            books,
            tick: 0,
            agents,
            old,
            callbacks,
            asks,
            said,
            sent,
            counted,
            faults: true,
            seen,
        }
    }

    pub(in super::super) fn event(&mut self, event: &Event) -> Plan {
        self.seen.insert((format!("{:?}", self.run.task.state()), name_of(event)));
        let before = self.run.task.clone();
        let plan = self.run.event(event);
        assert!(plan.ignored().is_none() || self.run.task == before);
        for (id, record) in self.run.task.steps.iter().enumerate() {
            assert!(record.attempt >= before.steps[id].attempt, "attempts only grow");
        }
        self.asks.extend(plan.asks());
        for Dispatch { step, attempt, undo, complete_by, .. } in plan.dispatches().iter().cloned() {
            assert!(complete_by > self.run.now, "an attempt without time");
            self.agents.push(Attempted { step, attempt, undo, complete_by });
        }
        plan
    }

    /// Somebody sends a signal, or sends one again. It is taken or kept once, or of no use.
    fn signal(&mut self) {
        let again = self.rng.bool() && !self.sent.is_empty();
        let (signal, id, number) = match again {
            true => self.sent[self.rng.usize(0..self.sent.len())].clone(),
            false => {
                let number = self.sent.len() as u64;
                let signal = ["go", "stay", "nobody"][self.rng.usize(0..3)];
                self.sent.push((Arc::from(signal), Arc::from(number.to_string()), number));
                self.sent[self.sent.len() - 1].clone()
            }
        };
        let open = self.run.task.takes(&self.run.definition, &signal, Some(&id));
        let begun = self.run.task.head().ending.is_some() || self.run.task.state().is_at_rest();
        let plan = self.event(&Event::Signalled { signal, id: Some(Arc::clone(&id)) });
        assert_eq!(plan.keeps().is_some(), plan.ignored().is_none(), "what is taken is stored");
        assert!(begun || plan.ignored().is_none() == open.is_ok(), "{open:?}: {plan:?}");
        if let Some(at) = plan.keeps() {
            assert!(self.counted.insert(id), "a signal counts twice");
            self.said.insert(at, number);
        }
    }

    /// The task ends that a step has asked for, or somebody says so who is wrong.
    fn a_child_ends(&mut self) {
        let asks = |id: &StepId| self.rules(*id).asks_for().is_some();
        let rows: Vec<_> = self.run.task.rows().map(|(id, _)| id).filter(asks).collect();
        if !rows.is_empty() {
            let step = rows[self.rng.usize(0..rows.len())];
            self.event(&Event::Woken { step });
        }
    }

    /// A service calls back that has taken work on, or says again what it has said.
    fn a_service_calls_back(&mut self) {
        if self.callbacks.is_empty() {
            return;
        }
        let nth = self.rng.usize(0..self.callbacks.len());
        let (step, token, answer) = match self.chance(3) {
            true => self.callbacks[nth].clone(),
            false => self.callbacks.swap_remove(nth),
        };
        let said = u64::from(matches!(answer, Answer::Failed(_)));
        let event = Event::CalledBack { step, token, said, at: self.run.now, answer };
        let open = self.run.task.takes_callback(&self.run.definition, step, (token, said), self.run.now);
        let plan = self.event(&event);
        assert_eq!(plan.ignored().is_none(), open.is_ok(), "{open:?}: {plan:?}");
        if open.is_ok() {
            let again = self.run.task.takes_callback(&self.run.definition, step, (token, said), self.run.now);
            assert_eq!(again, Err(NotCounted::Doubled));
        }
    }

    fn chance(&mut self, of: u8) -> bool {
        self.faults && self.rng.u8(0..of) == 0
    }

    /// One random thing that can happen now.
    pub(in super::super) fn live(&mut self) {
        self.tick += 1;
        if self.rng.u8(0..3) == 0 {
            self.run.now = self.run.now + Duration::from_millis(self.rng.u64(1..4_000));
        }
        if self.chance(60) {
            let cancel = self.run.cancel();
            drop(self.event(&cancel));
            return;
        }
        if self.rng.u8(0..12) == 0 {
            return self.signal();
        }
        if self.rng.u8(0..8) == 0 {
            return self.a_child_ends();
        }
        if self.rng.u8(0..8) == 0 {
            return self.a_service_calls_back();
        }
        if self.chance(40) {
            return self.owner_dies();
        }
        if self.chance(15) && !self.old.is_empty() {
            // Late and doubled answers come when they like.
            let event = self.old[self.rng.usize(0..self.old.len())].clone();
            drop(self.event(&event));
            return;
        }
        match self.rng.u8(0..4) {
            0 => self.answer_an_ask(),
            1 => self.an_agent_acts(),
            2 => self.supervise(),
            _ => {
                if self.run.task.head().deadline.is_some_and(|time| self.run.now >= time) {
                    self.event(&Event::DeadlinePassed);
                }
                if self.run.task.state() == TaskState::Pending {
                    self.event(&Event::Claimed);
                }
            }
        }
    }

    fn answer_an_ask(&mut self) {
        if self.asks.is_empty() {
            return;
        }
        let ask = self.asks.swap_remove(self.rng.usize(0..self.asks.len()));
        let event = match ask {
            Ask::Condition(step) if self.chance(12) => {
                Event::Unjudged { step, why: Arc::from("no such field") }
            }
            Ask::Condition(step) => Event::Judged { step, holds: self.rng.bool() },
            Ask::Permit(step) if self.chance(5) => {
                let until = self.rng.bool().then(|| self.run.now + s(self.rng.u64(1..20)));
                Event::Refused { step, block: Block::Breaker, until }
            }
            Ask::Permit(step) => {
                Event::Granted { step, token: Token::from_u128(u128::from(self.rng.u64(..))) }
            }
            Ask::Until(step) if self.chance(12) => Event::Unjudged { step, why: Arc::from("no such field") },
            Ask::Until(step) => Event::Until { step, at: self.run.now + s(self.rng.u64(0..30)) },
            Ask::List(step) if self.chance(12) => Event::Unjudged { step, why: Arc::from("no such field") },
            Ask::List(step) => Event::Listed { step, items: self.rng.usize(0..7) },
            Ask::Signal { step, kept_at } => {
                let said = self.said[&kept_at];
                if self.event(&Event::Taken { step }).keeps() == Some(step) {
                    self.said.insert(step, said);
                }
                return;
            }
        };
        self.event(&event);
    }

    /// An agent calls its service: it works, fails, hangs, or loses the answer.
    fn an_agent_acts(&mut self) {
        if self.agents.is_empty() {
            return;
        }
        let Attempted { step, attempt, undo, complete_by } =
            self.agents.swap_remove(self.rng.usize(0..self.agents.len()));
        if self.rng.u8(0..5) == 0 {
            let kept = self.event(&Event::Progressed { step, attempt }).keeps();
            assert!(kept.is_none_or(|at| at == StepId::of_progress(step)));
        }
        let outcome = if self.faults { self.rng.u8(0..12) } else { 9 };
        // What is done although nobody hears of it.
        let has_effect = matches!(outcome, 0 | 2 | 11) && self.rng.bool() || (4..10).contains(&outcome);
        if has_effect && (undo || attempt > self.books_of(step).refused) {
            let tick = self.tick;
            let books = self.books.entry(step).or_default();
            match undo {
                false if !books.done => (books.done, books.done_at) = (true, tick),
                true if !books.undone => (books.undone, books.undone_at) = (true, tick),
                _ => {}
            }
        }
        let failure =
            |effect, again| Answer::Failed(Failure { kind: Arc::from("fault"), calls: 1, effect, again });
        let again = self.rng.bool().then(|| self.run.now + s(self.rng.u64(0..9)));
        let answer = match outcome {
            0 => return,
            1 => failure(Effect::None, again),
            2 => failure(Effect::Possible, again),
            // The task that was asked for has undone itself.
            3 if !undo && self.rules(step).asks_for().is_some() => {
                let books = self.books.entry(step).or_default();
                (books.done, books.refused) = (false, attempt);
                failure(Effect::Refused, None)
            }
            // A service that has done it does not say no.
            3 if !undo && !self.books_of(step).done => {
                self.books.entry(step).or_default().refused = attempt;
                failure(Effect::Refused, None)
            }
            3 => failure(Effect::None, None),
            10 => Answer::NotMade {
                block: Block::Breaker,
                until: Some(self.run.now + s(self.rng.u64(1..20))).filter(|_| self.rng.bool()),
            },
            11 => Answer::Unheard,
            _ if self.rules(step).repeats().is_some() && self.rng.bool() => Answer::NotYet,
            _ if self.rules(step).asks_for().is_some() && self.rng.bool() => Answer::NotYet,
            _ => Answer::Completed,
        };
        let answer = match self.run.task.step(step).callback().open.filter(|_| !undo && self.rng.bool()) {
            Some(token) if outcome == 1 || (4..10).contains(&outcome) => {
                self.callbacks.push((step, token, answer));
                if self.rng.u8(0..4) == 0 {
                    self.a_service_calls_back();
                }
                Answer::Later { calls: 1 }
            }
            _ => answer,
        };
        let event = Event::Answered { step, attempt, answer };
        self.old.push(event.clone());
        // Its answer may be late, and an agent that is late sends none, usually.
        if self.run.now < complete_by || self.rng.bool() {
            self.event(&event);
        }
    }

    /// Looks for what is past due, as the supervisor and timers do.
    fn supervise(&mut self) {
        let now = self.run.now;
        let busy: Vec<_> = self.run.task.rows().map(|(step, _)| step).collect();
        for step in busy {
            let record = self.run.task.step(step).clone();
            if record.complete_by.is_some_and(|time| now >= time) {
                self.event(&Event::TimedOut { step, attempt: record.attempt });
            } else if record.not_before.is_some_and(|time| now >= time) {
                self.event(&Event::Due { step });
            } else if record.blocked_on.is_some() && record.not_before.is_none() {
                self.event(&Event::Released { step });
            }
        }
    }

    /// The process dies with its agents, or is shut down; the next owner finds what ran, and goes on.
    fn owner_dies(&mut self) {
        self.asks.clear();
        let (mut ran, dies) = (std::mem::take(&mut self.agents), self.rng.bool());
        // Whoever comes next takes what runs for dead, also what a service has taken on.
        let awaits = |(id, _): &(StepId, &Record)| self.run.task.awaits_callback(&self.run.definition, *id);
        let awaited = self.run.task.rows().filter(awaits);
        let complete_by = self.run.now;
        ran.extend(awaited.map(|(step, record)| Attempted {
            step,
            attempt: record.attempt,
            undo: false,
            complete_by,
        }));
        for Attempted { step, attempt, .. } in ran {
            self.event(&match dies {
                true => Event::OwnerDied { step, attempt },
                false => Event::CutOff { step, attempt },
            });
        }
        self.event(&Event::Claimed);
    }

    pub(in super::super) fn live_to_the_end(&mut self) {
        self.event(&Event::Claimed);
        for event in 0..MAX_EVENTS {
            if self.run.task.state().is_at_rest() {
                return;
            }
            // Work goes on longer than faults do.
            self.faults = event < 400;
            self.live();
        }
        panic!("stuck: {:#?}", self.run.task);
    }
}
