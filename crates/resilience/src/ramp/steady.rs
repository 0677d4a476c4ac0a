//! How many calls a second a service has when all is well.

use crate::clock::Moment;

/// So many whole seconds are looked at.
const SECONDS: usize = 60;
const SECOND: u64 = 1_000_000_000;

/// Counts what a service did well, by the second, over the last minute.
#[derive(Clone, Debug)]
pub struct Steady {
    counts: [u32; SECONDS],
    /// The second that is counted now, and the first that was.
    now: u64,
    first: Option<u64>,
}

impl Default for Steady {
    fn default() -> Self {
        Self { counts: [0; SECONDS], now: 0, first: None }
    }
}

impl Steady {
    /// The service did something well.
    pub fn count(&mut self, now: Moment) {
        self.move_to(now.as_nanos() / SECOND);
        self.first.get_or_insert(self.now);
        let place = place_of(self.now);
        self.counts[place] = self.counts[place].saturating_add(1);
    }

    fn move_to(&mut self, second: u64) {
        if second <= self.now {
            return;
        }
        if second - self.now >= SECONDS as u64 {
            self.counts = [0; SECONDS];
        } else {
            (self.now + 1..=second).for_each(|second| self.counts[place_of(second)] = 0);
        }
        self.now = second;
    }

    /// How many a second, as a rule: the median of the whole seconds of the last minute, so that neither a burst nor the
    /// silence at the end says much. Where most seconds are silent, the mean. `None` before the first whole second.
    #[must_use]
    pub fn per_second(&self, now: Moment) -> Option<f64> {
        let mut moved = self.clone();
        moved.move_to(now.as_nanos() / SECOND);
        let oldest = (moved.now + 1).saturating_sub(SECONDS as u64);
        // The first second was not whole, nor is this one.
        let from = self.first?.saturating_add(1).max(oldest);
        let mut counts: Vec<_> = (from..moved.now).map(|second| moved.counts[place_of(second)]).collect();
        let sum: u64 = counts.iter().map(|count| u64::from(*count)).sum();
        counts.sort_unstable();
        let median = f64::from(*counts.get(counts.len() / 2)?);
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let mean = sum as f64 / counts.len() as f64;
        (sum > 0).then_some(if median > 0.0 { median } else { mean })
    }
}

fn place_of(second: u64) -> usize {
    usize::try_from(second % SECONDS as u64).unwrap_or(0)
}
