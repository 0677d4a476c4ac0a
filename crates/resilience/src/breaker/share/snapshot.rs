//! What instances tell each other, and what a breaker does with it.

use std::sync::Arc;
use std::time::Duration;

use super::super::Breaker;
use super::super::control::{By, Standing};
use super::super::event::Override;
use super::super::state::{Input, State};
use super::super::trip::Reason;
use super::InstanceId;
use crate::classify::{Kind, Verdict};
use crate::clock::Moment;
use crate::sync::{Ordering, lock};
use crate::window::reaches;

/// Rounds without a word after which an instance's counts no longer count.
const ALIVE_ROUNDS: u32 = 5;
/// The right to probe is held for so many rounds beyond the last in which its holder asked for it.
const LEASE_ROUNDS: u32 = 6;

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
    /// Recoveries that failed, or did not last, since one did.
    pub failed_recoveries: u32,
    /// Who set it by hand, if somebody did.
    pub forced_by: Option<Override>,
    /// Calls in this instance's window.
    pub calls: u64,
    /// Failed calls in this instance's window.
    pub failures: u64,
    /// How long ago it was told; the exchange fills it in.
    pub age: Duration,
}

impl Snapshot {
    fn standing(&self) -> Standing {
        Standing::new(self.epoch, self.state)
    }
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
        let phase = control.phase.at(now);
        let open_for = if phase.until == Moment::FAR { None } else { Some(phase.until.since(now)) };
        // The lease is asked for a little before it is needed, so that no probe waits for a round; and when a health
        // check found the service up, however long the open time still is.
        let is_open = matches!(phase.state, State::Open | State::ForcedOpen);
        let soon = is_open && (phase.until <= now + every.saturating_mul(2) || control.found_up);
        // Only an instance with calls to make asks: one without would hold the lease and never probe.
        let wanted = core.wanted.swap(false, Ordering::Relaxed) || core.probes_under_way() > 0;
        let wants = wanted && (soon || phase.state == State::HalfOpen);
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
                age: Duration::ZERO,
            },
            // It is renewed with each round: others need not wait for long when this instance dies.
            probe_for: wants.then(|| core.settings().half_open_limit.min(every.saturating_mul(LEASE_ROUNDS))),
        }
    }

    /// Acts on what the others told. True when what this instance knows has to be told again.
    pub(in crate::breaker) fn absorb(&self, news: &News, every: Duration) -> bool {
        let (core, now) = (self.core(), self.clock().now());
        let newest = news.others.iter().max_by_key(|other| (other.epoch, other.standing().weight));
        // One that probes is not followed: what it finds will be.
        let tell_again = newest.is_some_and(|newest| {
            let input = self.input_of(newest, now);
            input.is_some_and(|(input, by)| core.follow(newest.standing(), input, by, now))
        });
        match news.probe {
            ProbeRight::Mine => core.probe_gate.store(0, Ordering::Release),
            // What an exchange says is bounded: nobody holds the right for longer than probes may take.
            ProbeRight::Held(time) => {
                let until = now + time.min(core.settings().half_open_limit);
                core.probe_gate.store(until.as_nanos(), Ordering::Release);
            }
            // Who has not asked must ask first, as long as there is somebody to ask.
            ProbeRight::NotAsked => core.wait_for_lease(now),
        }
        self.judge_together(&news.others, every, now);
        tell_again
    }

    /// What another instance's state is to this one; `None` when it probes, and this one can only wait.
    fn input_of(&self, other: &Snapshot, now: Moment) -> Option<(Input, Option<By>)> {
        let settings = self.core().settings();
        // Another instance's clock or word cannot keep this breaker open for longer than its own settings could.
        let longest = settings.open.cap.saturating_mul(2).max(settings.max_hold);
        let until = now + other.open_for.map_or(longest, |time| time.min(longest));
        let by = other.forced_by.clone().map(By::Operator);
        Some(match (other.state, by) {
            (State::HalfOpen, _) if !self.is_closed() => return None,
            (State::HalfOpen | State::Open, _) => {
                // One that waits for its probe is still open for those who hear of it only now.
                let grace = lock(&self.core().control).probe_grace.unwrap_or_default();
                self.opened_elsewhere(
                    if self.is_closed() { until.max(now + grace) } else { until },
                    other,
                    now,
                )
            }
            (State::Closed, Some(by)) => (Input::Reset, Some(by)),
            (State::Closed, None) => (Input::OthersRecovered, None),
            (State::ForcedOpen, by) => {
                let until = other.open_for.map(|time| now + time);
                (Input::ForceOpen { until }, by)
            }
            (State::ForcedClosed, by) => (Input::ForceClosed, by),
        })
    }

    fn opened_elsewhere(&self, until: Moment, other: &Snapshot, now: Moment) -> (Input, Option<By>) {
        let trip = self.core().new_trip(Reason::Elsewhere, Verdict::transient(Kind::UNREACHABLE), None, now);
        let input = Input::OthersOpened { until, failed_recoveries: other.failed_recoveries };
        (input, Some(By::Trip(trip)))
    }

    /// A fault thinly spread: no instance alone saw enough of it, all together did.
    fn judge_together(&self, others: &[Snapshot], every: Duration, now: Moment) {
        let core = self.core();
        let settings = core.settings();
        let (Some(ratio), true) = (settings.ratio, settings.together) else { return };
        let generation = core.generation();
        let own = core.counts(generation, now);
        // An instance that has not told anything for some rounds is gone, and its counts are old.
        let alive = || others.iter().filter(|other| other.age <= every.saturating_mul(ALIVE_ROUNDS));
        let calls = alive().fold(own.calls(), |sum, other| sum.saturating_add(other.calls));
        let failures = alive().fold(own.failures, |sum, other| sum.saturating_add(other.failures));
        if calls >= u64::from(settings.min_calls) && reaches(failures, calls, ratio) {
            let failure =
                self.last_failure().map_or(Verdict::transient(Kind::SERVER_ERROR), |(failure, _)| failure);
            let trip = core.new_trip(Reason::Together { failures, calls }, failure, None, now);
            core.change(
                &settings,
                Some(generation),
                Input::Tripped { hold: Duration::ZERO },
                Some(trip),
                now,
            );
        }
    }
}
