//! Gentle release: work that waited for a service goes back to it in growing steps, and never much faster than before.
//!
//! A service that was away is weak when it is back, and everything that waited would come at once. A [`Ramp`] lets work go
//! one by one, evenly spaced: first a trickle, twice as much after each stage in which the service did well, up to 1.2 times
//! the rate that it had before the trouble ([`Steady`]). New work and work that waited take their turns from the same ramp.
//! Nothing here waits or asks for the time: `now` is an argument.
//!
//! ```
//! use std::time::Duration;
//! use steadfast_resilience::clock::Moment;
//! use steadfast_resilience::ramp::Ramp;
//!
//! let now = Moment::from_nanos(1);
//! let mut ramp = Ramp::begin(Some(100.0), now, 7);
//! assert_eq!(ramp.turn(now), Some(now));
//! // It begins with two a second. The next turn is given a little ahead, and is for half a second from now.
//! assert_eq!(ramp.turn(now), None);
//! let soon = ramp.next_turn(now);
//! assert!(soon.since(now) < Duration::from_millis(500));
//! assert_eq!(ramp.turn(soon), Some(now + Duration::from_millis(500)));
//! ```

mod pace;
mod steady;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use pace::Pace;
pub use steady::Steady;

use crate::clock::{Moment, nanos};
use crate::random::Rng;

/// How much faster than before the trouble where whole calls are too coarse to keep to [`ABOVE`]: few come in a tenth of a second.
const CAP: f64 = 1.22;
/// How many more in any tenth of a second than before it, at most, where whole calls are counted.
const ABOVE: f64 = 1.25;
/// Where that would leave less than this, more may come: a service with few calls would never catch up.
const LEAST: f64 = 1.15;
/// How much closer to each other calls can come on their way than they were sent.
const ON_THE_WAY: Duration = Duration::from_millis(3);
/// Turns a second in the first stage.
const FIRST: f64 = 2.0;
/// How long a stage lasts at least; up to a fifth more, so that many do not grow in step.
const STAGE: Duration = Duration::from_millis(500);
const SPREAD: f64 = 0.2;
/// How far ahead turns are given: what is given has to be written first, and is written together.
const AHEAD: Duration = Duration::from_millis(50);
/// Where the cap is too low for what comes in, it grows by this much after a while.
const WIDENS: f64 = 1.25;
const WIDENS_AFTER: Duration = Duration::from_secs(60);

/// Gives turns, at a rate that grows.
#[derive(Clone, Debug)]
pub struct Ramp {
    /// Turns a second at most; `None` where nothing is known of before.
    cap: Option<f64>,
    stage: u32,
    stage_ends: Moment,
    /// Whether the service did something well in this stage.
    did_well: bool,
    /// The last turn that was given, and the last that was made use of.
    given: Option<Moment>,
    begun: Option<Moment>,
    /// How much later than its turn the last one began.
    lag: Duration,
    /// Since when it gives what it can, and how the line has changed since: new ones less those that had a turn.
    full_since: Option<Moment>,
    longer: i64,
    /// Whether the cap is a guess, which widens when more comes in than before.
    widens: bool,
    rng: Rng,
}

impl Ramp {
    /// Begins with a trickle. `steady` is how many calls a second the service had before.
    #[must_use]
    pub fn begin(steady: Option<f64>, now: Moment, seed: u64) -> Self {
        let mut ramp = Self {
            cap: steady.map(|rate| cap_of(rate).max(FIRST)),
            stage: 0,
            stage_ends: now,
            did_well: false,
            given: None,
            begun: None,
            lag: Duration::ZERO,
            full_since: None,
            longer: 0,
            widens: true,
            rng: Rng::seeded(seed),
        };
        ramp.stage_ends = now + ramp.stage_lasts();
        ramp
    }

    /// Begins with a trickle, and grows up to this many turns a second, never more: for work that somebody lets go by hand.
    #[must_use]
    pub fn up_to(rate: f64, now: Moment, seed: u64) -> Self {
        Self { cap: Some(rate), widens: false, ..Self::begin(None, now, seed) }
    }

    /// Goes on at this stage: for a process that died over a ramp.
    #[must_use]
    pub fn at_stage(mut self, stage: u32) -> Self {
        self.stage = stage;
        self
    }

    fn stage_lasts(&mut self) -> Duration {
        STAGE.mul_f64(1.0 + SPREAD * self.rng.unit())
    }

    /// In which stage it is, from 0.
    #[must_use]
    pub fn stage(&self) -> u32 {
        self.stage
    }

    /// Turns a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        let grown = FIRST * 2_f64.powi(i32::try_from(self.stage.min(40)).unwrap_or(40));
        self.cap.map_or(grown, |cap| grown.min(cap))
    }

    /// Whether it gives as much as it ever will.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.cap.is_some_and(|cap| self.rate() >= cap)
    }

    fn spacing(&self) -> Duration {
        Duration::from_secs_f64(1.0 / self.rate())
    }

    /// The least time that may be between two calls, for a [`Pace`]: that between two turns once it is full.
    #[must_use]
    pub fn gap(&self) -> Duration {
        self.cap.map_or_else(|| self.spacing(), |cap| Duration::from_secs_f64(1.0 / cap))
    }

    /// Somebody new has come into the line.
    pub fn came(&mut self) {
        self.longer += 1;
    }

    /// The service did something well.
    pub fn did_well(&mut self, now: Moment) {
        self.did_well = true;
        self.grow(now);
    }

    /// Goes on to the next stage when this one is over and the service did well in it.
    fn grow(&mut self, now: Moment) {
        if now < self.stage_ends || !self.did_well {
            return;
        }
        if !self.is_full() {
            self.stage += 1;
            self.did_well = false;
            self.stage_ends = now + self.stage_lasts();
            return;
        }
        // At the cap, and the line grows all the same: more comes in than before.
        let Some(since) = self.full_since else {
            (self.full_since, self.longer) = (Some(now), 0);
            return;
        };
        if now.since(since) >= WIDENS_AFTER {
            if self.longer >= 0 && self.widens {
                self.cap = self.cap.map(|cap| cap * WIDENS);
            }
            (self.full_since, self.longer) = (Some(now), 0);
        }
    }

    /// When the next turn can be given.
    #[must_use]
    pub fn next_turn(&self, now: Moment) -> Moment {
        let next = self.given.map_or(now, |given| given + self.spacing());
        // What was given and could not begin in time is waited for: turns do not pile up behind a slow disk.
        let waits = self.begun.map_or(Moment::ZERO, |begun| begun + self.spacing());
        Moment::from_nanos(next.max(waits).as_nanos().saturating_sub(nanos(AHEAD))).max(now)
    }

    /// When the call is likely to begin that has the next turn.
    #[must_use]
    pub fn next_call(&self, now: Moment) -> Moment {
        self.given.map_or(now, |given| given + self.spacing()).max(now) + self.lag
    }

    /// The last turn that was given or made use of.
    #[must_use]
    pub fn last_call(&self) -> Option<Moment> {
        self.given.max(self.begun)
    }

    /// When the turns that were given are over, and the next one could be given too. Where nobody waits any more, the ramp
    /// has done its work then.
    #[must_use]
    pub fn ends_at(&self, now: Moment) -> Moment {
        self.last_call().map_or(now, |last| last + self.spacing()).max(now)
    }

    /// A turn, with the moment from which it may be used; `None` before the next one.
    pub fn turn(&mut self, now: Moment) -> Option<Moment> {
        self.grow(now);
        if self.next_turn(now) > now {
            return None;
        }
        let next = self.given.map_or(now, |given| given + self.spacing()).max(now);
        self.given = Some(next);
        self.longer -= 1;
        Some(next)
    }

    /// Makes use of a turn, from this moment on ([`Pace::free_at`]): when the call is to begin. Never sooner after the one
    /// before than the rate allows, however many turns have waited.
    pub fn begin_call(&mut self, turn: Moment, now: Moment) -> Moment {
        let next = self.begun.map_or(now, |begun| begun + self.spacing());
        let at = next.max(turn).max(now);
        (self.begun, self.lag) = (Some(at), at.since(turn));
        at
    }
}

/// The most turns a second, after so many before the trouble: so many that no tenth of a second has more calls than promised,
/// also where the first of them are late and the last are not.
fn cap_of(before: f64) -> f64 {
    let allowed = (before * pace::TENTH.as_secs_f64() * ABOVE + 1e-6).floor();
    let over = (pace::TENTH + pace::LATE + ON_THE_WAY).as_secs_f64();
    // A little less: floats are rounded.
    let kept = allowed / over * (1.0 - 1e-6);
    if kept >= before * LEAST { kept.min(before * CAP) } else { before * CAP }
}
