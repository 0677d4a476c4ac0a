//! Where a script stands, and what the next call meets. Pure: time and random numbers come in, nothing is waited for.

use std::time::Duration;

use steadfast_resilience::clock::Moment;

use super::part::{Extent, Part};
use super::{Behaviour, Script};

/// How far a script has been followed. Plain numbers: copy it, and the same questions get the same answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    part: usize,
    /// When the part began.
    began: Moment,
    /// Calls decided in this part, and when the last of them was; when it began as long as there is none.
    calls: u64,
    latest: Moment,
}

/// What a call meets.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Decision {
    /// What it meets.
    pub behaviour: Behaviour,
    /// How late.
    pub delay: Duration,
}

/// Whether a service that follows a script can be reached at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// It takes connections.
    pub is_open: bool,
    /// When that may change by the time alone.
    pub until: Option<Moment>,
}

impl Progress {
    const fn at(part: usize, began: Moment) -> Self {
        Self { part, began, calls: 0, latest: began }
    }
}

impl Script {
    /// The state of a script that begins now.
    #[must_use]
    pub const fn begin(&self, now: Moment) -> Progress {
        Progress::at(0, now)
    }

    /// What the next call meets. `random` is from 0 (included) to 1 (excluded) and matters for parts with a rate.
    pub fn decide(&self, progress: &mut Progress, now: Moment, random: f64) -> Decision {
        *progress = self.arrive(*progress, now);
        progress.calls = progress.calls.saturating_add(1);
        progress.latest = progress.latest.max(now);
        match self.parts.get(progress.part) {
            Some(part) if random < part.rate => {
                Decision { behaviour: part.behaviour.clone(), delay: part.delay }
            }
            _ => Decision { behaviour: Behaviour::Succeed, delay: Duration::ZERO },
        }
    }

    /// Whether connections are refused now, whoever asks. A part that refuses a number of calls does not: a service
    /// cannot count connections that it never sees, so it takes them and closes them.
    #[must_use]
    pub fn reach(&self, progress: &Progress, now: Moment) -> Reach {
        let at = self.arrive(*progress, now);
        let Some(part) = self.parts.get(at.part) else { return Reach { is_open: true, until: None } };
        let until = match part.extent {
            _ if self.is_last(at) => None,
            Extent::Time(time) => Some(at.began + time),
            Extent::Calls(_) => None,
        };
        let is_uncounted = self.is_last(at) || part.time().is_some();
        let refuses = matches!(part.behaviour, Behaviour::Refuse) && part.rate >= 1.0;
        Reach { is_open: !(refuses && is_uncounted && self.mark.is_for_every()), until }
    }

    /// The part that counts now: every part that is over by now is left behind.
    fn arrive(&self, progress: Progress, now: Moment) -> Progress {
        let mut at = self.skip_rounds(progress, now);
        // One round at most is left after that, and the rest of the one that was begun. Without the limit a script that
        // repeats would turn for ever at the end of time, where every part is over as soon as it begins.
        for _ in 0..self.parts.len().saturating_mul(2) {
            let Some(over) = self.over_at(at, now) else { break };
            let next = at.part + 1;
            at = Progress::at(if next < self.parts.len() { next } else { 0 }, over);
        }
        at
    }

    /// When the part was over, if it is over by now.
    fn over_at(&self, at: Progress, now: Moment) -> Option<Moment> {
        if self.is_last(at) {
            return None;
        }
        match self.parts.get(at.part)?.extent {
            Extent::Calls(calls) => (at.calls >= calls).then_some(at.latest),
            Extent::Time(time) => Some(at.began + time).filter(|end| *end <= now),
        }
    }

    /// Nothing comes after it.
    fn is_last(&self, at: Progress) -> bool {
        !self.repeats && at.part + 1 >= self.parts.len()
    }

    /// Leaves whole rounds behind at once, so that a script of short times costs nothing after a long pause.
    fn skip_rounds(&self, mut at: Progress, now: Moment) -> Progress {
        if !self.repeats {
            return at;
        }
        let Some(round) = self.round().filter(|round| *round > 0) else { return at };
        let rounds = u64::try_from(now.since(at.began).as_nanos() / round).unwrap_or(u64::MAX);
        if rounds > 0 {
            let skipped = u128::from(rounds).saturating_mul(round);
            let skipped = Duration::from_nanos(u64::try_from(skipped).unwrap_or(u64::MAX));
            at = Progress::at(at.part, at.began + skipped);
        }
        at
    }

    /// The nanoseconds of one round, if calls do not decide that.
    pub(super) fn round(&self) -> Option<u128> {
        self.parts
            .iter()
            .map(Part::time)
            .try_fold(0u128, |sum, time| Some(sum.saturating_add(time?.as_nanos())))
    }
}
