//! Changing the state: the one lock of a breaker, and what it guards.

use std::collections::VecDeque;
use std::sync::Arc;

use super::core::{Core, MODE_BITS, word};
use super::event::{Change, ChangeCause, Override};
use super::health::Health;
use super::settings::Settings;
use super::state::{Input, Phase, State, transition};
use super::trip::{Reason, Trip};
use crate::classify::Verdict;
use crate::clock::Moment;
use crate::random::Rng;
use crate::sync::{Ordering, lock};

/// Changes that a breaker remembers, for an operator who asks what happened: a few trips and recoveries.
pub(super) const HISTORY: usize = 16;

/// What only state changes touch.
#[derive(Debug)]
pub(crate) struct Control {
    pub(super) phase: Phase,
    pub(super) changed_at: Moment,
    pub(super) sequence: u64,
    /// Counts the changes over all instances that share this state, see `share`.
    pub(super) epoch: u64,
    /// Whether this instance has changed the state since the others last heard of it.
    pub(super) unheard: bool,
    pub(super) forced_by: Option<Override>,
    pub(super) history: VecDeque<Change>,
    /// How long after the open time another instance's right to probe is respected; `None` when not shared.
    pub(super) probe_grace: Option<std::time::Duration>,
    /// Whether a health check found the service up in this state, and only the right to probe is missing.
    pub(super) found_up: bool,
    /// What the last health check said, and when.
    pub(super) last_health: Option<(Health, Moment)>,
    rng: Rng,
}

impl Control {
    pub(super) fn new(rng: Rng, now: Moment) -> Self {
        Self {
            phase: Phase::CLOSED,
            changed_at: now,
            sequence: 0,
            epoch: 0,
            unheard: false,
            forced_by: None,
            history: VecDeque::new(),
            probe_grace: None,
            found_up: false,
            last_health: None,
            rng,
        }
    }
}

/// How a state stands against another instance's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) epoch: u64,
    /// What weighs more stays, where two instances changed at the same time: an operator's hold, then what protects
    /// the service.
    pub(super) weight: u8,
}

impl Standing {
    pub(super) fn new(epoch: u64, state: State) -> Self {
        let weight = match state {
            State::ForcedOpen => 3,
            State::ForcedClosed => 2,
            State::Open => 1,
            State::HalfOpen | State::Closed => 0,
        };
        Self { epoch, weight }
    }

    fn is_no_newer_than(self, mine: Self) -> bool {
        self.epoch < mine.epoch || self.epoch == mine.epoch && self.weight == mine.weight
    }
}

impl Control {
    fn standing(&self) -> Standing {
        Standing::new(self.epoch, self.phase.state)
    }
}

/// What goes with an input: the failure behind it, or the person.
pub(super) enum By {
    Trip(Arc<Trip>),
    Operator(Override),
}

impl Core {
    /// Moves the state, if `input` moves it and the generation is still the expected one. Returns whether it did.
    pub(super) fn change(
        &self,
        settings: &Settings,
        expected: Option<u64>,
        input: Input,
        trip: Option<Arc<Trip>>,
        now: Moment,
    ) -> bool {
        self.change_by(settings, expected, input, trip.map(By::Trip), now)
    }

    pub(super) fn change_by(
        &self,
        settings: &Settings,
        expected: Option<u64>,
        input: Input,
        by: Option<By>,
        now: Moment,
    ) -> bool {
        let moved = {
            let mut control = lock(&self.control);
            let generation = self.word.load(Ordering::Acquire) >> MODE_BITS;
            let late = expected.is_some_and(|expected| expected != generation) && !self.forgets_generations();
            let chance = control.rng.unit();
            match transition(control.phase, input, now, settings.open, chance) {
                Some(next) if !late => {
                    self.publish(&mut control, generation, next, now, by, input);
                    true
                }
                _ => false,
            }
        };
        if moved {
            self.announcer.tell();
        }
        moved
    }

    /// Takes over what another instance says, if it is newer or weighs more: `input` and `by` make its state of ours.
    /// Where ours stays it becomes the newer one, and the answer is true: tell it again. All under the lock, so that no
    /// change of ours is lost.
    pub(super) fn follow(&self, other: Standing, input: Input, by: Option<By>, now: Moment) -> bool {
        {
            let mut control = lock(&self.control);
            let mine = control.standing();
            if other.is_no_newer_than(mine) {
                control.unheard = false; // ours is the newest that was told: the others will follow it
                return false;
            }
            // News that nobody has heard yet, and anything that weighs more at the same time, stays.
            let keeps = other.epoch == mine.epoch || control.unheard;
            if keeps && mine.weight > other.weight {
                control.epoch = other.epoch.saturating_add(1);
                return true;
            }
            let chance = control.rng.unit();
            if let Some(next) = transition(control.phase, input, now, self.settings().open, chance) {
                let generation = self.generation();
                self.publish(&mut control, generation, next, now, by, input);
            }
            control.epoch = other.epoch;
            control.unheard = false;
        }
        self.announcer.tell();
        false
    }

    /// Keeps an open breaker from probing for some rounds: until it has asked for the right to.
    pub(super) fn wait_for_lease(&self, now: Moment) {
        let control = lock(&self.control);
        if let (State::Open | State::ForcedOpen, Some(grace)) = (control.phase.state, control.probe_grace) {
            self.probe_gate.fetch_max((now + grace).as_nanos(), Ordering::AcqRel);
        }
    }

    /// Makes a move visible to callers: everything a reader looks at first, the word last.
    fn publish(
        &self,
        control: &mut Control,
        generation: u64,
        next: Phase,
        now: Moment,
        by: Option<By>,
        input: Input,
    ) {
        let from = control.phase.state;
        let generation = generation.wrapping_add(1) & u64::from(u32::MAX);
        control.phase = next;
        control.changed_at = now;
        control.sequence += 1;
        control.epoch = control.epoch.saturating_add(1);
        control.unheard = true;
        control.found_up = false;
        let cause = self.cause(control, by, input, now);
        self.open_until.store(next.until.as_nanos(), Ordering::Release);
        let gate = match (next.state, control.probe_grace) {
            (State::Open | State::ForcedOpen, Some(grace)) => (next.until + grace).as_nanos(),
            _ => 0,
        };
        self.probe_gate.store(gate, Ordering::Release);
        self.consecutive.store(generation << 32, Ordering::Release);
        self.progress.store(now.as_nanos(), Ordering::Release);
        self.probes.store(generation << 32, Ordering::Release);
        self.word.store(word(generation, next.state), Ordering::Release);
        let change = Change {
            breaker: Arc::clone(&self.name),
            sequence: control.sequence,
            at: now,
            from,
            to: next.state,
            open_for: (next.until > now && next.until != Moment::FAR).then(|| next.until.since(now)),
            cause,
        };
        if control.history.len() == HISTORY {
            control.history.pop_front();
        }
        control.history.push_back(change.clone());
        self.announcer.queue(change);
    }

    fn cause(&self, control: &mut Control, by: Option<By>, input: Input, now: Moment) -> ChangeCause {
        match by {
            Some(By::Trip(trip)) => {
                self.trip.store(Some(Arc::clone(&trip)));
                control.forced_by = None;
                ChangeCause::Tripped(trip)
            }
            Some(By::Operator(who)) => {
                if matches!(input, Input::ForceOpen { .. }) {
                    let words = Some(format!("{}: {}", who.who, who.why));
                    self.trip.store(Some(self.new_trip(Reason::Forced, Verdict::success(), words, now)));
                }
                control.forced_by = Some(who.clone());
                ChangeCause::Operator(who)
            }
            None => {
                control.forced_by = None;
                match input {
                    Input::ProbeDue => ChangeCause::ProbeDue,
                    Input::FoundUp => ChangeCause::FoundUp,
                    Input::Recovered => ChangeCause::Recovered,
                    _ => ChangeCause::Elsewhere,
                }
            }
        }
    }
}
