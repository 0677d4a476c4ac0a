//! Calls as they really begin: no more in any tenth of a second than the ramp gives in one, whatever held them up.

use std::collections::VecDeque;
use std::time::Duration;

use crate::clock::Moment;

/// The time over which calls are counted.
pub(super) const TENTH: Duration = Duration::from_millis(100);

/// Holds calls back that would begin together. Turns are evenly spaced, but a process that stands still for a moment finds all
/// that were due meanwhile due at once.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    /// How many may begin in any tenth of a second; 0 for as many as like.
    most: usize,
    begun: VecDeque<Moment>,
    waiting: usize,
    /// How much later than their turn calls begin lately.
    lag: Duration,
}

impl Pace {
    /// From now on so many may begin in any tenth of a second; `None` for as many as like.
    pub fn set(&mut self, most: Option<usize>) {
        self.most = most.unwrap_or(0);
    }

    /// Somebody has a turn that has not begun.
    pub fn waits(&mut self) {
        self.waiting += 1;
    }

    /// Somebody whose turn had not begun has begun, or does not want it any more.
    pub fn waits_no_more(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
    }

    /// Whether all turns have begun.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.waiting == 0
    }

    /// Whether more turns wait than may begin in a tenth of a second: it is of no use to give more.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.most > 0 && self.waiting > self.most
    }

    /// How much later than their turn calls begin lately: rather too much than too little, and forgotten soon.
    #[must_use]
    pub fn lag(&self) -> Duration {
        self.lag
    }

    /// A call wants to begin whose turn was at that moment: it counts if it may.
    ///
    /// # Errors
    /// When it may try again.
    pub fn begin(&mut self, turn: Moment, now: Moment) -> Result<(), Moment> {
        while self.begun.front().is_some_and(|first| now.since(*first) >= TENTH) {
            self.begun.pop_front();
        }
        match self.begun.len().checked_sub(self.most).and_then(|over| self.begun.get(over)) {
            Some(first) if self.most > 0 => Err(*first + TENTH),
            _ => {
                self.begun.push_back(now);
                self.lag = now.since(turn).max(self.lag.mul_f64(15.0 / 16.0));
                Ok(())
            }
        }
    }
}
