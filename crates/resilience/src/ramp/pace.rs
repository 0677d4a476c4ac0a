//! Calls as they really begin: evenly, at the ramp's rate, whatever held them up.
//!
//! To count what began in the last tenth of a second would keep the promise too, but not over a network: calls that once began
//! together would do so again each time a tenth has passed, and two such bunches come within one tenth as soon as the first is
//! a millisecond longer on its way. So each call has its place in time, and only a little that comes late is made up for.

use std::time::Duration;

use crate::clock::{Moment, nanos};

/// The time over which calls are counted by those who are promised something.
pub(super) const TENTH: Duration = Duration::from_millis(100);
/// How late a call may begin so that those after it do not have to: timers wake up to a millisecond late, and then somebody
/// has to be scheduled.
pub(super) const LATE: Duration = Duration::from_millis(1);

/// Holds calls back that would begin together. Turns are evenly spaced, but a process that stands still for a moment finds all
/// that were due meanwhile due at once.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    /// The time between two calls; zero for none.
    gap: Duration,
    /// Before this no other one begins.
    next: Moment,
    waiting: usize,
    /// How much later than their turn calls begin lately.
    lag: Duration,
}

impl Pace {
    /// From now on this much time is between two calls; `None` for as little as they like.
    pub fn set(&mut self, gap: Option<Duration>) {
        self.gap = gap.unwrap_or_default();
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

    /// Whether more turns wait than begin in a tenth of a second: it is of no use to give more.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        let waiting = u32::try_from(self.waiting).unwrap_or(u32::MAX);
        self.waiting > 1 && self.gap.saturating_mul(waiting) > TENTH
    }

    /// How much later than their turn calls begin lately: rather too much than too little, and forgotten soon.
    #[must_use]
    pub fn lag(&self) -> Duration {
        self.lag
    }

    /// When the next turn can begin, after all that wait.
    #[must_use]
    pub fn free_at(&self, now: Moment) -> Moment {
        let waiting = u32::try_from(self.waiting).unwrap_or(u32::MAX);
        match self.gap.is_zero() {
            true => now,
            false => self.next.max(now) + self.gap.saturating_mul(waiting),
        }
    }

    /// A call wants to begin whose turn was at that moment: it counts if it may.
    ///
    /// # Errors
    /// When it may try again.
    pub fn begin(&mut self, turn: Moment, now: Moment) -> Result<(), Moment> {
        if !self.gap.is_zero() && now < self.next {
            return Err(self.next);
        }
        let forgiven = Moment::from_nanos(now.as_nanos().saturating_sub(nanos(LATE)));
        self.next = self.next.max(forgiven) + self.gap;
        self.lag = now.since(turn).max(self.lag.mul_f64(15.0 / 16.0));
        Ok(())
    }
}
