//! Calls inside of calls: their retries multiply, and the inner one has no more time than the outer. Seen through the
//! thread that polls, or told with `under`.

use std::cell::Cell;

use crate::clock::{ClockId, Moment};

/// What surrounds the code that runs now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nesting {
    /// The most calls that the layers around can make of one; 1 when none of them retries.
    pub(crate) calls: u32,
    /// The clock that `until` is told by.
    clock: ClockId,
    /// When the attempt around this code ends.
    until: Moment,
}

impl Nesting {
    pub(crate) const NONE: Self = Self { calls: 1, clock: ClockId::SYSTEM, until: Moment::FAR };

    /// What surrounds the code that runs on this thread now.
    #[inline]
    pub(crate) fn current() -> Self {
        CURRENT.with(Cell::get)
    }

    /// With one more layer that makes up to `calls` of one.
    #[inline]
    pub(crate) fn with(self, calls: u32) -> Self {
        Self { calls: self.calls.saturating_mul(calls), ..self }
    }

    /// Ending at that moment of this clock.
    #[inline]
    pub(crate) fn until(self, clock: ClockId, until: Moment) -> Self {
        Self { clock, until, ..self }
    }

    /// When the attempt around ends, if that is told by this clock.
    #[inline]
    pub(crate) fn deadline(self, clock: ClockId) -> Option<Moment> {
        (self.until != Moment::FAR && self.clock == clock).then_some(self.until)
    }

    /// Makes this the surroundings until the guard is dropped, also by a panic.
    #[inline]
    pub(crate) fn enter(self) -> Entered {
        Entered(CURRENT.with(|current| current.replace(self)))
    }
}

thread_local! { static CURRENT: Cell<Nesting> = const { Cell::new(Nesting::NONE) }; }

/// Puts back what was there before.
pub(crate) struct Entered(Nesting);

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(self.0));
    }
}
