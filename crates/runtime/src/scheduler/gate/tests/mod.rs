//! Gates without a scheduler: the tests say what happens and when, in virtual time, with a real breaker.

mod line;
mod parked;
mod phase;
mod rate;
mod wake;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::{StepId, Time};
use steadfast_resilience::breaker::Builder;
use steadfast_resilience::clock::{Moment, VirtualClock};
use steadfast_resilience::{Breaker, Kind, Pipeline, Verdict};
use steadfast_store::TaskId;

use super::{Gate, Permit, Phase, Place, Rank};
use crate::service::Service;

const STEP: StepId = StepId::at(0);
const AWAY: Verdict = Verdict::transient(Kind::OVERLOADED);

fn task(number: u128) -> TaskId {
    TaskId::from_u128(number)
}

fn number(place: Place) -> u128 {
    place.task.as_u128()
}

fn rank(priority: i8, deadline: Option<u64>) -> Rank {
    Rank::new(priority, deadline.map(Time::from_millis))
}

fn name(name: &str) -> Arc<str> {
    Arc::from(name)
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Trips at the second failure in a row, for 20 s; one probe at a time, and one that succeeds closes it.
fn quick() -> Builder {
    Breaker::consecutive(2).open_for(s(20)).growing_by(1.0).half_open_permits(1).successes_to_close(1)
}

/// A gate, and whoever is on either side of it. What the tests call who comes is a number.
struct World {
    clock: VirtualClock,
    gate: Gate,
    breaker: Breaker,
    last: u128,
    places: HashMap<u128, Place>,
    /// Those who were told that the gate has shut.
    told: Vec<u128>,
}

impl World {
    fn new(breaker: Builder, limits: impl FnOnce(Service) -> Service) -> Self {
        let clock = VirtualClock::new();
        clock.advance(s(1_000));
        let pipeline =
            Pipeline::builder("svc").clock(&clock).no_budget().attempt_timeout(s(1)).breaker(breaker);
        let service = Service::new(pipeline.build().unwrap());
        let gate = Gate::new(&limits(service));
        let breaker = gate.breaker().unwrap();
        Self { clock, gate, breaker, last: 0, places: HashMap::new(), told: Vec::new() }
    }

    fn now(&self) -> Moment {
        self.clock.now()
    }

    /// The store's time, in milliseconds.
    fn time(&self) -> u64 {
        self.clock.now().as_nanos() / 1_000_000
    }

    fn look(&mut self) {
        let time = Time::from_millis(self.time());
        let shut = self.gate.look(self.clock.now(), time);
        self.told.extend(shut.into_iter().map(number));
    }

    fn pass(&mut self, time: Duration) {
        self.clock.advance(time);
        self.look();
    }

    /// Somebody new comes, with a deadline that is so many milliseconds away.
    fn come(&mut self, priority: i8, within: Option<u64>, namespace: &str) -> (u128, Permit) {
        self.last += 1;
        let deadline = within.map(|within| self.time() + within);
        let place =
            self.gate.place(rank(priority, deadline), (&name(namespace), &name("w")), task(self.last), STEP);
        self.places.insert(self.last, place);
        (self.last, self.ask(self.last))
    }

    fn ask(&mut self, who: u128) -> Permit {
        self.gate.ask(self.places[&who], self.clock.now())
    }

    fn many(&mut self, count: usize, namespace: &str) -> Vec<u128> {
        (0..count).map(|_| self.come(0, None, namespace).0).collect()
    }

    fn next(&mut self) -> Option<u128> {
        let time = Time::from_millis(self.time());
        self.gate.next(self.clock.now(), time).map(number)
    }

    /// Everybody who goes through now.
    fn serve(&mut self) -> Vec<u128> {
        std::iter::from_fn(|| self.next()).collect()
    }

    /// Somebody's call ends, and so does its attempt.
    fn ends(&mut self, who: u128, well: bool) {
        if let Ok(permit) = self.breaker.try_acquire(self.clock.now()) {
            if well {
                permit.success(self.clock.now());
                self.gate.did_well(task(who), STEP, self.clock.now());
            } else {
                permit.failure(&AWAY, self.clock.now());
            }
        }
        self.gate.free();
        self.gate.forget(task(who), STEP);
        self.look();
    }

    /// The service goes down, and its breaker's open time ends.
    fn goes_down(&mut self) {
        assert!(self.breaker.trip(&AWAY));
        self.look();
        assert!(self.gate.is_shut());
    }

    fn is_probed(&mut self) {
        let wait = self.breaker.refuses_for().unwrap();
        self.pass(wait);
        assert!(matches!(self.gate.phase, Phase::Probing));
    }

    /// The service is back: the first to probe does well.
    fn is_back(&mut self) {
        self.is_probed();
        let probe = self.next().unwrap();
        self.ends(probe, true);
    }

    fn phase(&self) -> &'static str {
        match self.gate.phase {
            Phase::Flowing => "flowing",
            Phase::Shut => "shut",
            Phase::Probing => "probing",
            Phase::Ramping(_) => "ramping",
        }
    }
}
