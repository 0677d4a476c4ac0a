//! How many calls may begin in a second: one moment, from which on the next call is due (the virtual scheduling of GCRA).
//! No counters, no ticker: a call that begins moves the moment by its share of a second.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::builder::Settings;
use crate::clock::{Moment, nanos};

/// The share of a second that may begin at once when no burst is given.
const BURST_SHARE: f64 = 0.1;

/// What the clock of a caller that was held up may be behind, in nanoseconds.
const SLACK: u64 = 1_000_000_000;

/// The moment when the next call is due if all calls keep to the rate, in nanoseconds.
#[derive(Default)]
pub(super) struct Pace {
    due: AtomicU64,
}

/// When a call may begin, and what that cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) at: Moment,
    /// By how much it put off the next one, in nanoseconds.
    gap: u64,
}

impl Pace {
    /// Takes the next turn if it comes within `max_wait`.
    ///
    /// # Errors
    /// How long to wait for it. Nothing was taken.
    pub(super) fn reserve(
        &self,
        settings: &Settings,
        now: Moment,
        max_wait: Duration,
    ) -> Result<Turn, Duration> {
        let Some(rate) = settings.rate else { return Ok(Turn { at: now, gap: 0 }) };
        let gap = gap(rate);
        let ahead = gap.saturating_mul(burst(settings, rate) - 1);
        // More than this nobody can owe under these settings: what is beyond was owed under others.
        let most = [ahead, gap, nanos(settings.max_wait), SLACK]
            .into_iter()
            .fold(now.as_nanos(), u64::saturating_add);
        let mut due = self.due.fetch_min(most, Ordering::Relaxed).min(most);
        loop {
            // Time that nobody used is worth a burst and no more.
            let next = due.max(now.as_nanos());
            let turn = next.saturating_sub(ahead).max(now.as_nanos());
            let wait = turn - now.as_nanos();
            if wait > nanos(max_wait) {
                return Err(Duration::from_nanos(wait));
            }
            let after = next.saturating_add(gap);
            match self.due.compare_exchange_weak(due, after, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok(Turn { at: Moment::from_nanos(turn), gap }),
                Err(seen) => due = seen,
            }
        }
    }

    /// Gives a turn back that was not used. Those that wait keep theirs; the next one to come gains it.
    pub(super) fn give_back(&self, turn: Turn) {
        let earlier = |due: u64| Some(due.saturating_sub(turn.gap));
        let _ = self.due.fetch_update(Ordering::Relaxed, Ordering::Relaxed, earlier);
    }
}

/// Between two calls, in nanoseconds. The rate was checked: from one in a thousand seconds to one in a microsecond.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1e3 to 1e12")]
fn gap(rate: f64) -> u64 {
    (1e9 / rate) as u64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 1e5")]
fn burst(settings: &Settings, rate: f64) -> u64 {
    settings.burst.map_or_else(|| (rate * BURST_SHARE).max(1.0) as u64, u64::from)
}
