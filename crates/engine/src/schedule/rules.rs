//! What a schedule does: which instants it has, and which of those whose time has come are fired.

use std::collections::VecDeque;
use std::time::Duration;

use super::zone::Zone;
use super::{Kind, When};
use crate::time::Time;

/// What is later than this was missed. Schedules are looked at once a minute at least: whoever is later was not there.
pub const LATE: Duration = Duration::from_secs(60);
/// The most instants that are fired before they are written down: what a crash has to do again.
pub const MOST_AT_ONCE: usize = 100;
/// The longest spread of runs: beyond a day it is another date.
const MOST_JITTER: Duration = Duration::from_secs(24 * 3600);
/// The most that `RunAll` makes up for. They all run at once.
const MOST_MADE_UP: u32 = 10_000;
/// How far back instants of a cron expression are counted one by one. A minute's over a year are half a million.
const LOOK_BACK: Duration = Duration::from_secs(366 * 24 * 3600);

/// What is done about instants that passed while nobody was there, or while the schedule was paused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Missed {
    /// Nothing.
    Skip,
    /// The latest runs, once, for all of them.
    #[default]
    RunOnce,
    /// Each of them runs, up to so many: of more than these the latest, and the others are skipped. [`Missed::run_all`]
    /// has a number that suits most.
    RunAll {
        /// How many.
        most: u32,
    },
}

impl Missed {
    /// All of the last hundred.
    #[must_use]
    pub const fn run_all() -> Self {
        Self::RunAll { most: 100 }
    }
}

/// What is done when an instant comes and the run before it has not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Overlap {
    /// It runs beside.
    #[default]
    Allow,
    /// It is skipped.
    Skip,
    /// It waits for the end of that one. Only one waits: a later instant takes its place.
    QueueOne,
    /// That one is cancelled, and undoes what it did; this one begins at once.
    CancelPrevious,
}

/// When and how often something runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Its instants.
    pub when: When,
    /// What is done about those that were missed.
    pub missed: Missed,
    /// The longest time by which a run begins later than its instant. How much it is follows from name and instant, and it
    /// is always less than the time to the next instant.
    pub jitter: Duration,
    /// No instant before this.
    pub starts_at: Option<Time>,
    /// No instant at or after this.
    pub ends_at: Option<Time>,
}

/// What follows from the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// Instants to fire, oldest first, at most [`MOST_AT_ONCE`].
    pub fire: Vec<Time>,
    /// How many before them are passed over.
    pub missed: u64,
    /// The first instant that is not dealt with then; `None` if there are no more.
    pub next: Option<Time>,
}

impl Rules {
    /// These instants, from now on for ever, on time; if some were missed, the latest runs.
    #[must_use]
    pub fn new(when: When) -> Self {
        Self { when, missed: Missed::default(), jitter: Duration::ZERO, starts_at: None, ends_at: None }
    }

    /// Whether they make sense.
    ///
    /// # Errors
    /// What does not, in words.
    pub fn check(&self) -> Result<(), String> {
        if let (Some(starts), Some(ends)) = (self.starts_at, self.ends_at)
            && starts >= ends
        {
            return Err("it ends before it begins, or right then: give an end after its start".to_owned());
        }
        if self.jitter > MOST_JITTER {
            return Err(format!(
                "a jitter of {:?} is more than a day: choose another time instead",
                self.jitter
            ));
        }
        match self.missed {
            Missed::RunAll { most } if most == 0 || most > MOST_MADE_UP => {
                Err(format!("`RunAll` with {most}: give 1 to {MOST_MADE_UP}, or `Skip`"))
            }
            _ => Ok(()),
        }
    }

    /// The instants strictly after a moment.
    pub fn instants_after<Z: Zone>(&self, zone: Z, after: Time) -> impl Iterator<Item = Time> + use<'_, Z> {
        // The start is an instant if it is one of the expression's, so that the look begins just before it.
        let before_start = self.starts_at.map_or(0, |starts| starts.as_millis().saturating_sub(1));
        let after = after.max(Time::from_millis(before_start));
        let instants = self.when.after(zone, after, self.starts_at);
        instants.take_while(|instant| self.ends_at.is_none_or(|ends| *instant < ends))
    }

    /// The first instant strictly after a moment.
    pub fn first_after(&self, zone: impl Zone, after: Time) -> Option<Time> {
        self.instants_after(zone, after).next()
    }

    /// When the run of an instant begins: then, or by its jitter later.
    pub fn begins_at(&self, zone: impl Zone, name: &str, instant: Time) -> Time {
        let following = match self.jitter.is_zero() {
            true => None,
            false => self.first_after(zone, instant),
        };
        self.begin(name, instant, following)
    }

    fn begin(&self, name: &str, instant: Time, following: Option<Time>) -> Time {
        let most = following.map_or(self.jitter, |following| self.jitter.min(following.since(instant)));
        let most = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
        if most == 0 {
            return instant;
        }
        instant + Duration::from_millis(spread(name, instant) % most)
    }

    /// What is to be fired now, if everything before `next` is dealt with.
    ///
    /// The latest of the instants whose time has come is fired if it is no more than [`LATE`]; what is before it, or later
    /// than that, was missed, and goes by that rule.
    pub fn due(&self, zone: impl Zone, name: &str, next: Time, now: Time) -> Due {
        let most = match self.missed {
            Missed::Skip | Missed::RunOnce => 1,
            Missed::RunAll { most } => usize::try_from(most).unwrap_or(usize::MAX).max(1),
        };
        let (first, mut missed) = self.leap(&zone, next, now, most);
        let mut instants = self.instants_after(&zone, first);
        let (mut fire, mut at) = (VecDeque::new(), Some(first));
        while let Some(instant) = at {
            let following = instants.next();
            // A run begins before the instant that follows: if that one has come, this one's time has too.
            let has_come = following.is_some_and(|following| following <= now);
            if !has_come && self.begin(name, instant, following) > now {
                break;
            }
            fire.push_back(instant);
            if fire.len() > most {
                fire.pop_front();
                missed += 1;
            }
            at = following;
        }
        let is_late = |latest: &Time| self.begin(name, *latest, at) + LATE < now;
        if self.missed == Missed::Skip && fire.back().is_some_and(is_late) {
            fire.clear();
            missed += 1;
        }
        let mut fire = Vec::from(fire);
        let next = fire.get(MOST_AT_ONCE).copied().or(at);
        fire.truncate(MOST_AT_ONCE);
        Due { fire, missed, next }
    }

    /// An instant at or after `next` behind which there are still as many as can be fired, and how many were passed over on
    /// the way: a schedule that comes every second is not walked through for a year.
    fn leap(&self, zone: impl Zone, next: Time, now: Time, most: usize) -> (Time, u64) {
        match &self.when.kind {
            Kind::Every(interval) => {
                let interval = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX).max(1);
                let ends = self.ends_at.map_or(now, |ends| now.min(ends));
                let all = u64::try_from(ends.since(next).as_millis()).unwrap_or(u64::MAX) / interval;
                let passed = all.saturating_sub(u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1));
                (Time::from_millis(next.as_millis() + passed * interval), passed)
            }
            Kind::Cron(_) if now.since(next) > LOOK_BACK => {
                let back = u64::try_from(LOOK_BACK.as_millis()).unwrap_or(u64::MAX);
                let from = Time::from_millis(now.as_millis().saturating_sub(back));
                // Nobody counts those; that there were some is all that is said.
                (self.first_after(zone, from).unwrap_or(next), 1)
            }
            Kind::Cron(_) => (next, 0),
        }
    }
}

/// A number that looks random and is always the same for a name and an instant.
fn spread(name: &str, instant: Time) -> u64 {
    let bytes = name.bytes().chain(instant.as_millis().to_le_bytes());
    let hash = bytes
        .fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3));
    // The low bits of this hash depend on the last bytes alone.
    let mixed = (hash ^ hash >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    mixed ^ mixed >> 32
}
