//! The run: takes one event after the other and drives real calls with it. Nothing waits and nothing sleeps.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

use super::agenda::{Agenda, Event, Turn};
use super::ledger::Ledger;
use super::report::Report;
use super::scenario::{BEFORE, Scenario};
use super::service::{Failure, Service};
use crate::classify::ErrorsOnly;
use crate::clock::{Moment, VirtualClock};
use crate::log;
use crate::pipeline::{self, Begin, Driven, Next, Pipeline};
use crate::problem::BuildError;
use crate::random::Rng;
use crate::sync::{AtomicBool, Mutex, Ordering, lock};
use crate::telemetry;

pub(super) fn run(scenario: &Scenario, policy: &pipeline::Builder) -> Result<Report, BuildError> {
    let clock = VirtualClock::new();
    let client = |number: u32| {
        let seed = scenario.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (u64::from(number) << 32);
        policy.clone().clock(&clock).seed(seed).without_stories().build()
    };
    let clients = (0..scenario.clients).map(client).collect::<Result<Vec<_>, _>>()?;
    let ledger = log::silenced(|| telemetry::unmetered(|| World::new(scenario, &clock, &clients).live()));
    let attempt_timeout = clients.first().and_then(Pipeline::attempt_timeout);
    Ok(Report::new(scenario, &ledger, attempt_timeout))
}

struct World<'p> {
    clock: VirtualClock,
    clients: &'p [Pipeline],
    /// Calls under way, by number; the places of those that ended are used again.
    calls: Vec<Option<Driven<'p>>>,
    /// Whose turn it is in each of them. Apart, since most of what the service answers is for callers who gave up.
    turns: Vec<u32>,
    free: Vec<u32>,
    next_turn: u32,
    agenda: Agenda,
    service: Service,
    ledger: Ledger,
    arrivals: Arrivals,
    bells: Bells,
}

impl<'p> World<'p> {
    fn new(scenario: &Scenario, clock: &VirtualClock, clients: &'p [Pipeline]) -> Self {
        let end = Moment::ZERO + BEFORE + scenario.outage + scenario.after_or_default();
        let mut agenda = Agenda::new(end);
        let service = Service::new(scenario, &mut agenda);
        let mut arrivals = Arrivals::new(scenario);
        agenda.enter(Moment::ZERO + arrivals.gap(), Event::Arrival);
        Self {
            clock: clock.clone(),
            clients,
            calls: Vec::new(),
            turns: Vec::new(),
            free: Vec::new(),
            next_turn: 0,
            agenda,
            service,
            ledger: Ledger::new(end),
            arrivals,
            bells: Bells::default(),
        }
    }

    fn live(mut self) -> Ledger {
        loop {
            self.look_ahead();
            while let Some((now, event)) = self.agenda.next() {
                self.happen(event, now);
                while let Some(turn) = self.bells.rung() {
                    self.woken(turn, now);
                }
            }
            if !self.agenda.turn_page() {
                return self.ledger;
            }
        }
    }

    /// Looks at the calls of a page before their events come one by one: the memory of thousands of calls is far away,
    /// and looking at many at once takes hardly longer than at one.
    fn look_ahead(&self) {
        for event in self.agenda.coming() {
            if let Event::TimedOut(turn) | Event::Woken(turn) = event
                && let Some(call) = self.at_turn(turn)
            {
                call.look_at();
            }
        }
        for event in self.agenda.coming() {
            if let Event::TimedOut(turn) = event
                && let Some(call) = self.at_turn(turn)
            {
                call.look_at_failure();
            }
        }
    }

    fn at_turn(&self, turn: Turn) -> Option<&Driven<'p>> {
        let place = turn.call as usize;
        (self.turns[place] == turn.number).then(|| self.calls[place].as_ref()).flatten()
    }

    fn happen(&mut self, event: Event, now: Moment) {
        self.clock.set(now);
        match event {
            Event::Arrival => self.arrival(now),
            Event::Down => self.down(),
            Event::Back => self.service.back(now, &mut self.agenda),
            Event::Served => self.service.served(now, &mut self.agenda),
            Event::Answer(turn) => self.ended(turn, Ok(()), now),
            Event::TimedOut(turn) => self.timed_out(turn, now),
            Event::Woken(turn) => self.woken(turn, now),
        }
    }

    fn arrival(&mut self, now: Moment) {
        self.agenda.enter(now + self.arrivals.gap(), Event::Arrival);
        self.ledger.offered(now);
        let client = &self.clients[self.arrivals.client(self.clients.len())];
        let call = client.drive();
        let number = match self.free.pop() {
            Some(number) => {
                self.calls[number as usize] = Some(call);
                number
            }
            None => {
                self.calls.push(Some(call));
                self.turns.push(0);
                // There are at most as many calls as a scenario may have: far below 2^32.
                u32::try_from(self.calls.len() - 1).unwrap_or(u32::MAX)
            }
        };
        self.begin(number, now);
    }

    /// Begins the next attempt of a call, if there is one.
    fn begin(&mut self, number: u32, now: Moment) {
        let turn = self.new_turn(number);
        let Some(call) = &mut self.calls[number as usize] else { return };
        match call.begin() {
            Begin::Wait(wait) => {
                // A place under a limit may become free sooner.
                if call.is_called(&self.bells.bell(turn)) {
                    self.bells.ring(turn);
                }
                self.agenda.enter(now + wait, Event::Woken(turn));
            }
            Begin::End(..) => self.close(number, false, now),
            Begin::Attempt(attempt) => {
                self.ledger.sent(now, attempt.number());
                match self.service.take(turn, now, &mut self.agenda) {
                    Err(failure) => self.ended(turn, Err(failure), now),
                    Ok(()) => {
                        if let Some(limit) = attempt.time_left() {
                            self.agenda.enter(now + limit, Event::TimedOut(turn));
                        }
                    }
                }
            }
        }
    }

    fn new_turn(&mut self, number: u32) -> Turn {
        self.next_turn = self.next_turn.wrapping_add(1);
        self.turns[number as usize] = self.next_turn;
        Turn { call: number, number: self.next_turn }
    }

    /// The call, if this is still its turn.
    fn call(&mut self, turn: Turn) -> Option<&mut Driven<'p>> {
        let place = turn.call as usize;
        (self.turns[place] == turn.number).then(|| self.calls[place].as_mut()).flatten()
    }

    fn ended(&mut self, turn: Turn, outcome: Result<(), Failure>, now: Moment) {
        if let Some(call) = self.call(turn) {
            let next = call.ended(&outcome, &ErrorsOnly);
            self.follow(turn.call, next, now);
        }
    }

    fn timed_out(&mut self, turn: Turn, now: Moment) {
        if let Some(call) = self.call(turn) {
            let next = call.timed_out();
            self.follow(turn.call, next, now);
        }
    }

    fn woken(&mut self, turn: Turn, now: Moment) {
        if self.call(turn).is_some() {
            self.begin(turn.call, now);
        }
    }

    fn follow(&mut self, number: u32, next: Next, now: Moment) {
        match next {
            Next::Done => self.close(number, true, now),
            Next::End(_) => self.close(number, false, now),
            Next::Wait(wait) => {
                let turn = self.new_turn(number);
                self.agenda.enter(now + wait, Event::Woken(turn));
            }
        }
    }

    fn close(&mut self, number: u32, succeeded: bool, now: Moment) {
        let Some(call) = self.calls[number as usize].take() else { return };
        match succeeded {
            true => self.ledger.succeeded(call.started(), now),
            false if call.was_attempted() => self.ledger.failed(call.started()),
            false => self.ledger.refused(call.started()),
        }
        self.free.push(number);
    }

    fn down(&mut self) {
        let (lost, failure) = self.service.down();
        for turn in lost {
            self.ended(turn, Err(failure), self.clock.now());
        }
    }
}

/// The calls that were told that it is their turn.
#[derive(Default)]
struct Bells {
    rung: Arc<Rung>,
}

#[derive(Default)]
struct Rung {
    /// Whether one was rung: asked after every event, and hardly ever so.
    any: AtomicBool,
    turns: Mutex<VecDeque<Turn>>,
}

impl Rung {
    fn ring(&self, turn: Turn) {
        let mut turns = lock(&self.turns);
        turns.push_back(turn);
        self.any.store(true, Ordering::Release);
    }
}

/// Rings for one turn of one call.
struct Bell {
    rung: Arc<Rung>,
    turn: Turn,
}

impl Bells {
    fn bell(&self, turn: Turn) -> Waker {
        Waker::from(Arc::new(Bell { rung: Arc::clone(&self.rung), turn }))
    }

    fn ring(&self, turn: Turn) {
        self.rung.ring(turn);
    }

    fn rung(&self) -> Option<Turn> {
        if !self.rung.any.load(Ordering::Acquire) {
            return None;
        }
        let mut turns = lock(&self.rung.turns);
        let turn = turns.pop_front();
        self.rung.any.store(!turns.is_empty(), Ordering::Release);
        turn
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rung.ring(self.turn);
    }
}

/// When calls are made, and by whom.
pub(super) struct Arrivals {
    rng: Rng,
    rps: f64,
}

impl Arrivals {
    pub(super) fn new(scenario: &Scenario) -> Self {
        Self { rng: Rng::seeded(scenario.seed), rps: scenario.rps }
    }

    /// A random time between two calls, with the mean of the rate: what many callers who know nothing of each other make.
    pub(super) fn gap(&mut self) -> Duration {
        Duration::from_secs_f64(-(1.0 - self.rng.unit()).ln() / self.rps)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "from 0 to the number of clients, which is small"
    )]
    pub(super) fn client(&mut self, clients: usize) -> usize {
        (self.rng.unit() * clients as f64) as usize
    }
}
