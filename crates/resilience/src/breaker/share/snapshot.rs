//! What instances tell each other, and what a breaker does with it.

use std::sync::Arc;
use std::time::Duration;

use super::super::Breaker;
use super::super::control::By;
use super::super::event::Override;
use super::super::state::{Input, State};
use super::super::trip::Reason;
use super::InstanceId;
use crate::classify::{Kind, Verdict};
use crate::clock::Moment;
use crate::sync::{Ordering, lock};
use crate::window::reaches;

/// One instance's view of one breaker. Times are durations from now: instances share no clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Whose view.
    pub instance: InstanceId,
    /// Counts the changes of the shared state, over all instances: the highest is the newest.
    pub epoch: u64,
    /// The state.
    pub state: State,
    /// How much longer it stays open; `None` without an end.
    pub open_for: Option<Duration>,
    /// Recoveries that failed since it was last closed.
    pub failed_recoveries: u32,
    /// Who set it by hand, if somebody did.
    pub forced_by: Option<Override>,
    /// Calls in this instance's window.
    pub calls: u64,
    /// Failed calls in this instance's window.
    pub failures: u64,
}

/// What an instance brings to the exchange for one breaker.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The breaker's name.
    pub breaker: Arc<str>,
    /// What it knows.
    pub snapshot: Snapshot,
    /// For how long it asks for the right to probe; `None` when it does not.
    pub probe_for: Option<Duration>,
}

/// Who may probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeRight {
    /// This instance did not ask.
    NotAsked,
    /// This instance may.
    Mine,
    /// Another instance may, for this long.
    Held(Duration),
}

/// What the exchange knows about one breaker.
#[derive(Clone, Debug)]
pub struct News {
    /// The newest snapshots of the other instances.
    pub others: Vec<Snapshot>,
    /// Who may probe.
    pub probe: ProbeRight,
}

impl Breaker {
    /// What this breaker tells the others.
    pub(super) fn offer(&self, instance: InstanceId, every: Duration) -> Offer {
        let (core, now) = (self.core(), self.clock().now());
        let counts = core.counts(core.generation(), now);
        let control = lock(&core.control);
        let phase = control.phase;
        let open_for = if phase.until == Moment::FAR { None } else { Some(phase.until.since(now)) };
        // The lease is asked for a little before it is needed, so that no probe waits for a round.
        let soon = phase.state == State::Open && phase.until <= now + every.saturating_mul(2);
        let wants = soon || phase.state == State::HalfOpen;
        Offer {
            breaker: Arc::clone(&core.name),
            snapshot: Snapshot {
                instance,
                epoch: control.epoch,
                state: phase.state,
                open_for,
                failed_recoveries: phase.failed_recoveries,
                forced_by: control.forced_by.clone(),
                calls: counts.calls(),
                failures: counts.failures,
            },
            probe_for: wants.then_some(core.settings.half_open_limit),
        }
    }

    /// Acts on what the others told.
    pub(super) fn absorb(&self, news: &News) {
        let now = self.clock().now();
        if let Some(newest) = news.others.iter().max_by_key(|other| (other.epoch, !other.state.is_closed())) {
            self.follow(newest, now);
        }
        match news.probe {
            ProbeRight::Mine => self.core().probe_gate.store(0, Ordering::Release),
            ProbeRight::Held(time) => {
                self.core().probe_gate.store((now + time).as_nanos(), Ordering::Release);
            }
            ProbeRight::NotAsked => {}
        }
        self.judge_together(&news.others, now);
    }

    /// Takes over a newer state. The epoch is taken over with it, so that this instance does not tell it as its own.
    fn follow(&self, other: &Snapshot, now: Moment) {
        if other.epoch <= lock(&self.core().control).epoch {
            return;
        }
        let until = other.open_for.map(|time| now + time);
        let (input, by) = match (other.state, &other.forced_by) {
            // The other instance probes: nothing to do but to wait for what it finds.
            (State::HalfOpen, _) if !self.is_closed() => {
                lock(&self.core().control).epoch = other.epoch;
                return;
            }
            (State::HalfOpen, _) => {
                self.opened_elsewhere(now + self.core().settings.half_open_limit, other, now)
            }
            (State::Open, _) => self.opened_elsewhere(until.unwrap_or(Moment::FAR), other, now),
            (State::Closed, Some(by)) => (Input::Reset, Some(By::Operator(by.clone()))),
            (State::Closed, None) => (Input::OthersRecovered, None),
            (State::ForcedOpen, by) => (Input::ForceOpen { until }, by.clone().map(By::Operator)),
            (State::ForcedClosed, by) => (Input::ForceClosed, by.clone().map(By::Operator)),
        };
        self.core().change_by(None, input, by, now);
        lock(&self.core().control).epoch = other.epoch;
    }

    fn opened_elsewhere(&self, until: Moment, other: &Snapshot, now: Moment) -> (Input, Option<By>) {
        let trip = self.core().new_trip(Reason::Elsewhere, Verdict::transient(Kind::UNREACHABLE), None, now);
        let input = Input::OthersOpened { until, failed_recoveries: other.failed_recoveries };
        (input, Some(By::Trip(trip)))
    }

    /// A fault thinly spread: no instance alone saw enough of it, all together did.
    fn judge_together(&self, others: &[Snapshot], now: Moment) {
        let core = self.core();
        let (Some(ratio), true) = (core.settings.ratio, core.settings.together) else { return };
        let generation = core.generation();
        let own = core.counts(generation, now);
        let calls = own.calls() + others.iter().map(|other| other.calls).sum::<u64>();
        let failures = own.failures + others.iter().map(|other| other.failures).sum::<u64>();
        if calls >= u64::from(core.settings.min_calls) && reaches(failures, calls, ratio) {
            let failure =
                self.last_failure().map_or(Verdict::transient(Kind::SERVER_ERROR), |(failure, _)| failure);
            let trip = core.new_trip(Reason::Together { failures, calls }, failure, None, now);
            core.change(Some(generation), Input::Tripped { hold: Duration::ZERO }, Some(trip), now);
        }
    }
}
