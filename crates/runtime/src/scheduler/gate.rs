//! A service's gate: who may call it now, who waits, and in which order.
//!
//! While the service's breaker is open the gate is shut: steps that want to call are parked, and cost nothing. When the open
//! time is over a few go through as probes, each of another task. When the breaker has closed, those that waited and those
//! that are new go through one ramp, nearest deadline first, until nobody waits any more.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::{StepId, Time};
use steadfast_resilience::breaker::State;
use steadfast_resilience::clock::Moment;
use steadfast_resilience::ramp::{Ramp, Steady};
use steadfast_resilience::{Breaker, Pipeline};
use steadfast_store::TaskId;

use crate::service::Service;
use crate::workflow::Workflows;

/// How long a step waits at least for room at its service, where that says when to come back.
pub(crate) const SHORTEST_WAIT: Duration = Duration::from_secs(1);
/// How long it waits at most before it asks again.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// So much of what the ramp lets go is taken from the store at once.
const FETCHED_AHEAD: Duration = Duration::from_millis(500);
/// The most that are taken from the store at once.
const MOST_FETCHED: usize = 256;

/// Who waits at a gate, nearest deadline first; without one last, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    deadline: Time,
    pub(super) task: TaskId,
    pub(super) step: StepId,
}

impl Place {
    pub(super) fn new(deadline: Option<Time>, task: TaskId, step: StepId) -> Self {
        Self { deadline: deadline.unwrap_or(Time::from_millis(u64::MAX)), task, step }
    }
}

/// What a step is told that wants to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Permit {
    /// It has a place.
    Granted,
    /// It waits in line.
    InLine,
    /// The gate is shut: it is parked.
    Shut,
}

/// What a gate does.
#[derive(Debug)]
enum Phase {
    /// Whoever comes goes through, as long as there are places.
    Flowing,
    /// The breaker is open.
    Shut,
    /// The breaker's open time is over: a few go through.
    Probing,
    /// The service is back.
    Ramping(Box<Ramp>),
}

pub(super) struct Gate {
    pipeline: Pipeline,
    /// How many attempts may run at a time.
    most: usize,
    ramps: bool,
    used: usize,
    /// Who waits in memory, whether parked or not.
    line: BTreeSet<Place>,
    phase: Phase,
    probing: HashSet<(TaskId, StepId)>,
    /// Tasks that have probed since the breaker opened.
    probed: HashSet<TaskId>,
    /// When those may call that the ramp let go.
    turns: HashMap<(TaskId, StepId), Moment>,
    steady: Steady,
    /// The rate before the breaker opened.
    before: Option<f64>,
    /// Whether tasks may be parked in the store.
    parked: bool,
    /// How many were asked for from the store and have not come.
    fetching: usize,
    seed: u64,
}

/// One for each service of all workflows.
pub(super) fn all(workflows: &Workflows) -> HashMap<Arc<str>, Gate> {
    let mut all = HashMap::new();
    for service in workflows.services() {
        all.entry(Arc::from(service.name())).or_insert_with(|| Gate::new(service));
    }
    all
}

impl Gate {
    pub(super) fn new(service: &Service) -> Self {
        Self {
            pipeline: service.pipeline().clone(),
            most: service.limit(),
            ramps: service.is_ramped(),
            used: 0,
            line: BTreeSet::new(),
            phase: Phase::Flowing,
            probing: HashSet::new(),
            probed: HashSet::new(),
            turns: HashMap::new(),
            steady: Steady::default(),
            before: None,
            parked: false,
            fetching: 0,
            seed: 0,
        }
    }

    pub(super) fn breaker(&self) -> Option<Breaker> {
        self.pipeline.breaker()
    }

    pub(super) fn is_shut(&self) -> bool {
        matches!(self.phase, Phase::Shut)
    }

    // ---- how it turns ----

    /// Looks at the breaker. Those that are returned have to be told that the gate is shut.
    pub(super) fn look(&mut self, now: Moment) -> Vec<Place> {
        let state = self.breaker().map_or(State::Closed, |breaker| breaker.state());
        match (&self.phase, state.is_closed()) {
            (Phase::Flowing, true) => {}
            (Phase::Ramping(_), true) => {
                if self.line.is_empty() && !self.parked && self.fetching == 0 {
                    self.phase = Phase::Flowing;
                }
            }
            (Phase::Shut | Phase::Probing, true) => self.reopen(now),
            (_, false) => return self.close(now, state),
        }
        Vec::new()
    }

    fn close(&mut self, now: Moment, state: State) -> Vec<Place> {
        if let Phase::Flowing = self.phase {
            self.before = self.steady.per_second(now).or(self.before);
            self.steady = Steady::default();
        }
        let refuses = self.breaker().is_some_and(|breaker| breaker.refuses_for().is_some());
        let probes = state == State::HalfOpen || !refuses;
        let was_shut = self.is_shut();
        self.phase = if probes { Phase::Probing } else { Phase::Shut };
        match self.phase {
            Phase::Shut if !was_shut => self.line.iter().copied().collect(),
            _ => Vec::new(),
        }
    }

    fn reopen(&mut self, now: Moment) {
        self.probed.clear();
        // Somebody else may have parked tasks too: the store is asked once.
        self.parked = true;
        self.seed = self.seed.wrapping_add(now.as_nanos());
        self.phase = match self.ramps {
            true => Phase::Ramping(Box::new(Ramp::begin(self.before, now, self.seed))),
            false => Phase::Flowing,
        };
    }

    // ---- who goes through ----

    /// Somebody wants a place.
    pub(super) fn ask(&mut self, place: Place) -> Permit {
        let may_probe = self.may_probe() && !self.probed.contains(&place.task);
        let permit = match &mut self.phase {
            Phase::Flowing if self.used < self.most && self.line.is_empty() => Permit::Granted,
            Phase::Flowing => Permit::InLine,
            Phase::Ramping(ramp) => {
                ramp.came();
                Permit::InLine
            }
            Phase::Probing if may_probe => Permit::Granted,
            Phase::Probing | Phase::Shut => Permit::Shut,
        };
        match permit {
            Permit::Granted => self.let_through(place),
            Permit::InLine | Permit::Shut => drop(self.line.insert(place)),
        }
        permit
    }

    /// Whether another probe may go through.
    fn may_probe(&self) -> bool {
        let most = || self.breaker().map_or(1, |breaker| usize::from(breaker.probes_at_once()));
        matches!(self.phase, Phase::Probing) && self.used < self.most && self.probing.len() < most()
    }

    fn let_through(&mut self, place: Place) {
        self.used += 1;
        if let Phase::Probing = self.phase {
            self.probing.insert((place.task, place.step));
            self.probed.insert(place.task);
        }
    }

    /// The next in line that goes through; it has a place.
    pub(super) fn next(&mut self, now: Moment) -> Option<Place> {
        if self.used >= self.most || self.line.is_empty() {
            return None;
        }
        let may_probe = self.may_probe();
        let next = match &mut self.phase {
            Phase::Shut => return None,
            Phase::Flowing => self.line.first().copied()?,
            Phase::Ramping(ramp) => {
                let turn = ramp.turn(now)?;
                let next = self.line.first().copied()?;
                self.turns.insert((next.task, next.step), turn);
                next
            }
            Phase::Probing if !may_probe => return None,
            Phase::Probing => {
                let fresh = self.line.iter().find(|place| !self.probed.contains(&place.task));
                // All have probed: they begin again.
                fresh.or_else(|| self.line.first()).copied()?
            }
        };
        self.line.remove(&next);
        self.let_through(next);
        Some(next)
    }

    /// When an attempt may call that has a place; `None` for at once.
    pub(super) fn calls_at(&mut self, task: TaskId, step: StepId, now: Moment) -> Option<Moment> {
        let turn = self.turns.remove(&(task, step));
        match &mut self.phase {
            Phase::Ramping(ramp) => Some(ramp.begin_call(turn.unwrap_or(now), now)),
            _ => None,
        }
    }

    /// Takes a place for an attempt that runs already.
    pub(super) fn take_anyway(&mut self) {
        self.used += 1;
    }

    /// A place is free again.
    pub(super) fn free(&mut self, task: TaskId, step: StepId) {
        self.used = self.used.saturating_sub(1);
        self.probing.remove(&(task, step));
        self.turns.remove(&(task, step));
    }

    /// Its service did something well.
    pub(super) fn did_well(&mut self, now: Moment) {
        match &mut self.phase {
            Phase::Flowing => self.steady.count(now),
            Phase::Ramping(ramp) => ramp.did_well(now),
            Phase::Shut | Phase::Probing => {}
        }
    }

    /// Whether somebody waits that could have a place.
    pub(super) fn has_line(&self) -> bool {
        !self.line.is_empty() && !self.is_shut()
    }

    pub(super) fn leave(&mut self, place: Place) {
        self.line.remove(&place);
    }

    pub(super) fn forget_line(&mut self) {
        self.line.clear();
    }

    // ---- what is parked in the store ----

    /// A task was parked in the store.
    pub(super) fn has_parked(&mut self) {
        self.parked = true;
    }

    /// How many are to be taken from the store.
    pub(super) fn wants(&self) -> usize {
        if !self.parked || self.fetching > 0 {
            return 0;
        }
        match &self.phase {
            Phase::Shut => 0,
            Phase::Flowing => self.most.saturating_sub(self.used + self.line.len()).min(MOST_FETCHED),
            Phase::Probing => {
                let fresh = self.line.iter().any(|place| !self.probed.contains(&place.task));
                let wants = self.may_probe() && !fresh;
                if wants { (1 + self.probed.len()).min(MOST_FETCHED) } else { 0 }
            }
            Phase::Ramping(ramp) => {
                let soon = (ramp.rate() * FETCHED_AHEAD.as_secs_f64()).ceil();
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is small")]
                let soon = (soon as usize).clamp(1, MOST_FETCHED);
                // Half a batch is left when the next one is asked for.
                if self.line.len() < soon.div_ceil(2) { soon } else { 0 }
            }
        }
    }

    pub(super) fn fetches(&mut self, tasks: usize) {
        self.fetching = tasks;
    }

    /// So many came from the store; `None` if nobody knows.
    pub(super) fn fetched(&mut self, came: Option<usize>) {
        let asked = std::mem::take(&mut self.fetching);
        if came.is_some_and(|came| came < asked) {
            self.parked = false;
        }
    }

    /// When it has to be looked at again, if nothing else happens.
    pub(super) fn wakes_at(&self, now: Moment) -> Option<Moment> {
        if self.line.is_empty() && !self.parked {
            return None;
        }
        match &self.phase {
            Phase::Flowing => None,
            Phase::Shut => {
                let wait = self.breaker().and_then(|breaker| breaker.refuses_for());
                Some(wait.map_or(now, |wait| now + wait))
            }
            Phase::Probing => None,
            Phase::Ramping(ramp) => (self.used < self.most).then(|| ramp.next_turn(now)),
        }
    }
}
