//! Calls as they really begin: at most so many in any tenth of a second, whatever held them up.

use std::collections::VecDeque;
use std::time::Duration;

use crate::clock::Moment;

/// The time over which calls are counted.
pub(super) const TENTH: Duration = Duration::from_millis(100);

/// Holds calls back that would begin together: where a process stood still, all that were due meanwhile would.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// How many may begin in any tenth of a second; `None` for as many as like.
    most: Option<usize>,
    begun: VecDeque<Moment>,
}

impl Window {
    /// From now on so many may begin in any tenth of a second, one at least; `None` for as many as like.
    pub fn set(&mut self, most: Option<usize>) {
        self.most = most.map(|most| most.max(1));
        if most.is_none() {
            self.begun.clear();
        }
    }

    /// A call wants to begin: it counts if it may.
    ///
    /// # Errors
    /// When it may try again.
    pub fn begin(&mut self, now: Moment) -> Result<(), Moment> {
        let Some(most) = self.most else { return Ok(()) };
        while self.begun.front().is_some_and(|first| now.since(*first) >= TENTH) {
            self.begun.pop_front();
        }
        match self.begun.len().checked_sub(most).and_then(|over| self.begun.get(over)) {
            Some(first) => Err(*first + TENTH),
            None => {
                self.begun.push_back(now);
                Ok(())
            }
        }
    }
}
