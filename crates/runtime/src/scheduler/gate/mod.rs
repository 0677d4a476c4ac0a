//! A service's gate: who may call it now, who waits, and in which order.
//!
//! While the service's breaker is open the gate is shut: steps that want to call are parked, and cost nothing. When the open
//! time is over a few go through as probes, each of another task. When the breaker has closed, those that waited and those
//! that are new go through one ramp, nearest deadline first, until nobody waits any more.
//!
//! A higher priority always goes first. Of one priority, who waits for room at a service that is well goes by turns:
//! namespaces, and the workflows of each, have the same share.

mod line;
mod parked;
#[cfg(test)]
mod tests;
mod turn;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::{StepId, Time};
use steadfast_resilience::breaker::State;
use steadfast_resilience::clock::Moment;
use steadfast_resilience::ramp::{Ramp, Steady};
use steadfast_resilience::{Breaker, Limit, Pipeline};
use steadfast_store::TaskId;

use line::Line;
pub(super) use line::{Place, Rank};
pub(crate) use turn::Turn;

use crate::agent::CLOCK_STEP;
use crate::circuits::Release;
use crate::service::Service;
use crate::workflow::Workflows;

/// How long a step waits at least for room at its service, where that says when to come back.
pub(crate) const SHORTEST_WAIT: Duration = Duration::from_secs(1);
/// How long it waits at most before it asks again.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// How soon it is looked again whether turns that were given have begun.
const SOON: Duration = Duration::from_millis(10);
/// How long a ramp whose work is done stays: whoever comes next is counted with those that it let go last.
const STAYS: Duration = Duration::from_millis(100);
/// What a call of a ramp has to have left beyond what calls take: a disk or a machine that stands still for a moment must not make
/// it one in vain. Where more wait than can be served, another one has the turn, so that nothing is lost by it.
const SPARE: Duration = Duration::from_millis(25);

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
    /// How many attempts may run at a time, and begin in a second.
    most: usize,
    rate: Option<Limit>,
    /// Until when no more may begin.
    limited_until: Moment,
    ramps: bool,
    /// A ramp does not end before: somebody may come who waited with a process that died.
    ramps_until: Moment,
    /// When a ramp ends whose work is done.
    lets_go_at: Option<Moment>,
    used: usize,
    /// Who waits in memory, whether parked or not.
    line: Line,
    phase: Phase,
    probing: HashSet<(TaskId, StepId)>,
    /// Tasks that have probed since the breaker opened, or since all of them had.
    probed: HashSet<TaskId>,
    /// When those call that probe or that the ramp let go, and how long that takes when it goes well.
    turns: HashMap<(TaskId, StepId), Moment>,
    takes: Duration,
    /// How calls of a ramp begin.
    pace: turn::Shared,
    /// A deadline before this time can hardly be met any more.
    in_reach: Time,
    steady: Steady,
    /// The rate before the breaker opened.
    before: Option<f64>,
    /// Whether tasks may be parked in the store, and up to which rank all of those are here.
    parked: bool,
    all_until: Option<Rank>,
    /// Tasks that came from the store and have not asked yet: they are not new.
    back: HashSet<TaskId>,
    /// How many were asked for from the store and have not come.
    fetching: usize,
    /// Whether those are asked for too that can hardly be done in time: nobody else waits.
    fetches_all: bool,
    seed: u64,
    /// What was last told of it.
    told: Release,
}

/// One for each service of all workflows.
pub(super) fn all(workflows: &Workflows) -> HashMap<Arc<str>, Gate> {
    workflows.services().into_iter().map(|service| (Arc::from(service.name()), Gate::new(service))).collect()
}

impl Gate {
    pub(super) fn new(service: &Service) -> Self {
        Self {
            pipeline: service.pipeline().clone(),
            most: service.limit(),
            rate: service.rate().cloned(),
            limited_until: Moment::ZERO,
            ramps: service.is_ramped(),
            ramps_until: Moment::ZERO,
            lets_go_at: None,
            used: 0,
            line: Line::default(),
            phase: Phase::Flowing,
            probing: HashSet::new(),
            probed: HashSet::new(),
            turns: HashMap::new(),
            takes: Duration::ZERO,
            pace: turn::Shared::default(),
            in_reach: Time::from_millis(0),
            steady: Steady::default(),
            before: None,
            parked: false,
            all_until: None,
            back: HashSet::new(),
            fetching: 0,
            fetches_all: false,
            seed: 0,
            told: Release::default(),
        }
    }

    pub(super) fn breaker(&self) -> Option<Breaker> {
        self.pipeline.breaker()
    }

    pub(super) fn is_shut(&self) -> bool {
        matches!(self.phase, Phase::Shut)
    }

    /// Whether nobody who comes now gets through before something else happens.
    pub(super) fn is_closed_for_now(&self) -> bool {
        self.is_shut() || matches!(self.phase, Phase::Probing) && !self.may_probe()
    }

    /// Goes on as it was when the process before ended. What that one had in hand has come by `until`.
    pub(super) fn resume(&mut self, release: Release, now: Moment, until: Moment) {
        (self.before, self.told) = (release.steady, release);
        if let Some(stage) = release.stage.filter(|_| self.ramps) {
            self.has_parked();
            let ramp = Ramp::begin(self.before, now, now.as_nanos()).at_stage(stage);
            self.phase = Phase::Ramping(Box::new(ramp));
            self.ramps_until = until;
        }
    }

    /// What others have to know of it, if that has changed since it was last asked.
    pub(super) fn news(&mut self) -> Option<Release> {
        let stage = match &self.phase {
            Phase::Ramping(ramp) => Some(ramp.stage()),
            _ => None,
        };
        let release = Release { steady: self.before, stage };
        (std::mem::replace(&mut self.told, release) != release).then_some(release)
    }

    // ---- how it turns ----

    /// Looks at the breaker. Those that are returned have to be told that the gate is shut.
    pub(super) fn look(&mut self, now: Moment, time: Time) -> Vec<Place> {
        self.in_reach = match &self.phase {
            Phase::Flowing => time,
            Phase::Ramping(ramp) => {
                time + ramp.next_call(now).since(now) + self.pace.with(|pace| pace.lag()) + self.takes + SPARE
            }
            // A probe that its deadline cuts off says nothing of the service.
            _ => time + self.pipeline.attempt_timeout().unwrap_or_default().max(self.takes) + CLOCK_STEP,
        };
        let state = self.breaker().map_or(State::Closed, |breaker| breaker.state());
        let shut = match (&self.phase, state.is_closed()) {
            (Phase::Flowing, true) => return Vec::new(),
            (Phase::Ramping(ramp), true) => {
                let all_gone = self.line.is_empty() && !self.parked && self.fetching == 0;
                if all_gone && self.ramp_ends_at(ramp, now) <= now {
                    let quiet = ramp.last_call().is_none_or(|last| last + STAYS <= now);
                    match self.lets_go_at {
                        Some(at) if at > now => {}
                        None if !quiet => self.lets_go_at = Some(now + STAYS),
                        _ => self.phase = Phase::Flowing,
                    }
                }
                Vec::new()
            }
            (Phase::Shut | Phase::Probing, true) => {
                self.reopen(now);
                Vec::new()
            }
            (_, false) => self.close(now, state),
        };
        let gap = match &self.phase {
            Phase::Ramping(ramp) => Some(ramp.gap()),
            Phase::Flowing | Phase::Shut | Phase::Probing => None,
        };
        self.pace.with(|pace| pace.set(gap));
        shut
    }

    /// When a ramp has done its work, if nobody else comes.
    fn ramp_ends_at(&self, ramp: &Ramp, now: Moment) -> Moment {
        let all_begun = if self.pace.with(|pace| pace.is_idle()) { now } else { now + SOON };
        let lets_go_at = self.lets_go_at.unwrap_or(now);
        ramp.ends_at(now).max(self.ramps_until).max(all_begun).max(lets_go_at)
    }

    /// When a ramp gives its next turn.
    fn next_turn(&self, ramp: &Ramp, now: Moment) -> Moment {
        let room = if self.pace.with(|pace| pace.is_behind()) { now + SOON } else { now };
        ramp.next_turn(now).max(room)
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
        self.lets_go_at = None;
        // Somebody else may have parked tasks too: the store is asked once.
        self.has_parked();
        self.seed = self.seed.wrapping_add(now.as_nanos());
        self.phase = match self.ramps {
            true => Phase::Ramping(Box::new(Ramp::begin(self.before, now, self.seed))),
            false => Phase::Flowing,
        };
    }

    // ---- who goes through ----

    /// Where a step stands that wants to call.
    pub(super) fn place(
        &mut self,
        rank: Rank,
        whose: (&Arc<str>, &Arc<str>),
        task: TaskId,
        step: StepId,
    ) -> Place {
        self.line.place(rank, whose, task, step)
    }

    /// Somebody wants a place.
    pub(super) fn ask(&mut self, place: Place, now: Moment) -> Permit {
        let is_new = !self.back.remove(&place.task);
        if let Phase::Ramping(ramp) = &mut self.phase
            && is_new
        {
            ramp.came();
        }
        let flows = matches!(self.phase, Phase::Flowing);
        let granted = flows && self.used < self.most && self.line.is_empty() && self.may_begin(now);
        let permit = match self.phase {
            Phase::Flowing if granted => Permit::Granted,
            Phase::Flowing | Phase::Ramping(_) => Permit::InLine,
            // It may be the next to probe.
            Phase::Probing if self.may_probe() => Permit::InLine,
            Phase::Probing | Phase::Shut => Permit::Shut,
        };
        match permit {
            Permit::Granted => self.let_through(place, now),
            Permit::InLine | Permit::Shut => self.line.insert(place),
        }
        permit
    }

    /// Whether the rate allows for another one: it then counts.
    fn may_begin(&mut self, now: Moment) -> bool {
        let Some(rate) = &self.rate else { return true };
        let limited = rate.try_enter(now).err();
        if let Some(limited) = limited {
            self.limited_until = now + limited.retry_in.unwrap_or_default();
        }
        limited.is_none()
    }

    /// Whether another probe may go through.
    fn may_probe(&self) -> bool {
        let most = || self.breaker().map_or(1, |breaker| usize::from(breaker.probes_at_once()));
        matches!(self.phase, Phase::Probing) && self.used < self.most && self.probing.len() < most()
    }

    fn let_through(&mut self, place: Place, calls: Moment) {
        self.used += 1;
        steadfast_store::failpoint!("gate.probe", if matches!(self.phase, Phase::Probing));
        steadfast_store::failpoint!("gate.release", if matches!(self.phase, Phase::Ramping(_)));
        match self.phase {
            Phase::Flowing | Phase::Shut => return,
            Phase::Ramping(_) => {}
            Phase::Probing => {
                self.probing.insert((place.task, place.step));
                self.probed.insert(place.task);
            }
        }
        self.turns.insert((place.task, place.step), calls);
    }

    /// The next in line that goes through; it has a place. Those whose deadline has passed leave the line.
    pub(super) fn next(&mut self, now: Moment, time: Time) -> Option<Place> {
        self.line.forget_passed(time);
        if self.used >= self.most || self.line.is_empty() {
            return None;
        }
        let next = match &self.phase {
            Phase::Shut => return None,
            Phase::Flowing => self.line.next_by_turns()?,
            Phase::Ramping(_) if self.nearer_comes() => return None,
            Phase::Ramping(_) => self.nearest()?,
            Phase::Probing if !self.may_probe() || self.nearer_comes() => return None,
            Phase::Probing => self.next_probe()?,
        };
        if let Phase::Ramping(ramp) = &self.phase
            && self.next_turn(ramp, now) > now
        {
            return None;
        }
        if !self.may_begin(now) {
            return None;
        }
        let calls = match &mut self.phase {
            Phase::Ramping(ramp) => ramp.turn(now)?,
            _ => now,
        };
        self.line.pass(&next);
        self.let_through(next, calls);
        Some(next)
    }

    /// Who probes next: of those that can still be done in time, or else of all, the first that has not probed.
    fn next_probe(&mut self) -> Option<Place> {
        let next =
            self.nearest_fresh().or_else(|| self.line.in_reach(self.in_reach).next()).or_else(|| {
                let fresh = |place: &&Place| !self.probed.contains(&place.task);
                self.line.iter().find(fresh).or_else(|| self.line.iter().next()).copied()
            })?;
        // All of them have probed, and begin again: a task that always went first would use up its retries for the others.
        if self.probed.contains(&next.task) {
            self.probed.clear();
        }
        Some(next)
    }

    /// The first by rank that can still be done in time and has not probed.
    fn nearest_fresh(&self) -> Option<Place> {
        self.line.in_reach(self.in_reach).find(|place| !self.probed.contains(&place.task))
    }

    /// The first by rank that can still be done in time; the first of all if that is nobody.
    fn nearest(&self) -> Option<Place> {
        self.line.in_reach(self.in_reach).next().or_else(|| self.line.iter().next().copied())
    }

    /// The turn of an attempt that has a place; `None` if it may call at once.
    pub(super) fn turn(&mut self, task: TaskId, step: StepId, now: Moment) -> Option<Turn> {
        let at = self.turns.get_mut(&(task, step))?;
        if let Phase::Ramping(ramp) = &mut self.phase {
            *at = ramp.begin_call(*at, self.pace.with(|pace| pace.free_at(now)));
        }
        Some(self.pace.turn(*at))
    }

    /// Whether an attempt that has a place is a probe.
    pub(super) fn probes(&self, task: TaskId, step: StepId) -> bool {
        self.probing.contains(&(task, step))
    }

    /// Takes a place for an attempt that runs already.
    pub(super) fn take_anyway(&mut self) {
        self.used += 1;
    }

    /// A place is free again.
    pub(super) fn free(&mut self) {
        self.used = self.used.saturating_sub(1);
    }

    /// A step calls no more: it neither probes nor has a turn.
    pub(super) fn forget(&mut self, task: TaskId, step: StepId) {
        self.probing.remove(&(task, step));
        self.turns.remove(&(task, step));
    }

    /// Its service did something well, for a step that still has its place.
    pub(super) fn did_well(&mut self, task: TaskId, step: StepId, now: Moment) {
        if let Some(calls) = self.turns.get(&(task, step)) {
            // Rather too long than too short; what was long once is forgotten.
            let took = now.since(*calls) + CLOCK_STEP;
            self.takes = took.max(self.takes.mul_f64(15.0 / 16.0));
        }
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

    /// When it has to be looked at again, if nothing else happens.
    pub(super) fn wakes_at(&self, now: Moment) -> Option<Moment> {
        if self.line.is_empty() && !self.parked {
            return match &self.phase {
                Phase::Ramping(ramp) => Some(self.ramp_ends_at(ramp, now)),
                _ => None,
            };
        }
        let has_room = self.used < self.most && !self.line.is_empty();
        let limited = || Some(self.limited_until).filter(|until| *until > now);
        match &self.phase {
            Phase::Flowing if has_room => limited(),
            Phase::Shut => {
                let wait = self.breaker().and_then(|breaker| breaker.refuses_for());
                Some(wait.map_or(now, |wait| now + wait))
            }
            Phase::Probing if has_room && self.may_probe() => limited(),
            Phase::Ramping(ramp) if has_room && !self.nearer_comes() => {
                Some(self.next_turn(ramp, now).max(self.limited_until))
            }
            Phase::Flowing | Phase::Probing | Phase::Ramping(_) => None,
        }
    }
}
