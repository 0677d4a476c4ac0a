//! What a breaker has counted lately: calls, failures, slow ones and kinds, over one window of time or calls.

use std::time::Duration;

use super::settings::{RING_MAX, Settings, Span};
use crate::classify::Kind;
use crate::clock::{Moment, nanos};
use crate::window::{BUCKETS, Counts, Mark, Ring, Tally};

/// How far back failures of one kind count beside a window of calls.
const KIND_WINDOW: Duration = Duration::from_secs(30);

pub(super) struct Recent {
    span: Span,
    /// Width of a bucket of the time window, in nanoseconds.
    tick: u64,
    ring: Option<Ring>,
    successes: Tally,
    failures: Tally,
    slow: Tally,
    kinds: Vec<(Kind, Tally)>,
}

impl Recent {
    pub(super) fn new(settings: &Settings) -> Self {
        let (window, ring) = match settings.span {
            Span::Time(window) => (window, None),
            // Kinds are counted over time in either case.
            Span::Calls(calls) => (KIND_WINDOW, Some(Ring::new(calls.min(RING_MAX)))),
        };
        Self {
            span: settings.span,
            tick: (nanos(window) / BUCKETS).max(1),
            ring,
            successes: Tally::new(),
            failures: Tally::new(),
            slow: Tally::new(),
            kinds: settings.kinds.iter().map(|(kind, _)| (*kind, Tally::new())).collect(),
        }
    }

    /// Whether it counts what these settings ask for.
    pub(super) fn serves(&self, settings: &Settings) -> bool {
        self.span == settings.span
            && settings.kinds.iter().all(|(kind, _)| self.kinds.iter().any(|(known, _)| known == kind))
    }

    /// Goes on with what another one has counted. Of how the counts lay in its window nothing is kept: they count from
    /// now on as if they had just come.
    pub(super) fn go_on_from(&self, other: &Self, generation: u64, now: Moment) {
        let (tick, counts) = (self.tick(now), other.counts(generation, now));
        match &self.ring {
            None => {
                self.successes.add_many(generation, tick, counts.successes);
                self.failures.add_many(generation, tick, counts.failures);
                self.slow.add_many(generation, tick, counts.slow);
            }
            Some(ring) => ring.fill(generation, counts),
        }
        for (kind, tally) in &self.kinds {
            if let Some((_, old)) = other.kinds.iter().find(|(known, _)| known == kind) {
                tally.add_many(generation, tick, old.sum(generation, other.tick(now)));
            }
        }
    }

    #[inline]
    fn tick(&self, now: Moment) -> u64 {
        now.as_nanos() / self.tick
    }

    #[inline]
    pub(super) fn success(&self, generation: u64, now: Moment) {
        match &self.ring {
            None => self.successes.add(generation, self.tick(now)),
            Some(ring) => ring.add(generation, Mark::Success),
        }
    }

    pub(super) fn slow_success(&self, generation: u64, now: Moment) {
        match &self.ring {
            None => {
                self.successes.add(generation, self.tick(now));
                self.slow.add(generation, self.tick(now));
            }
            Some(ring) => ring.add(generation, Mark::SlowSuccess),
        }
    }

    pub(super) fn failure(&self, generation: u64, now: Moment, slow: bool) {
        match &self.ring {
            None => {
                self.failures.add(generation, self.tick(now));
                if slow {
                    self.slow.add(generation, self.tick(now));
                }
            }
            Some(ring) => ring.add(generation, if slow { Mark::SlowFailure } else { Mark::Failure }),
        }
    }

    /// Counts a failure of a kind that has a threshold; returns how many there are.
    pub(super) fn kind(&self, kind: Kind, generation: u64, now: Moment) -> u64 {
        let Some((_, tally)) = self.kinds.iter().find(|(known, _)| *known == kind) else { return 0 };
        tally.add(generation, self.tick(now));
        tally.sum(generation, self.tick(now))
    }

    /// What the window of a generation holds.
    pub(super) fn counts(&self, generation: u64, now: Moment) -> Counts {
        let tick = self.tick(now);
        match &self.ring {
            Some(ring) => ring.counts(generation),
            None => Counts {
                successes: self.successes.sum(generation, tick),
                failures: self.failures.sum(generation, tick),
                slow: self.slow.sum(generation, tick),
            },
        }
    }
}
