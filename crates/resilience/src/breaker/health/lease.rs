//! The word that a health check has in the timer's place, for as long as it is alive.

use crate::clock::Moment;
use crate::sync::{AtomicU64, Ordering};

/// Held by a health check that runs instead of the timer, and renewed with each look. When the check dies it ends by
/// itself, and the timer takes over.
#[derive(Debug, Default)]
pub(in crate::breaker) struct Lease {
    /// Held until then, on the breaker's clock; 0 when nobody holds it.
    until: AtomicU64,
    /// When the check is to look next.
    next: AtomicU64,
    /// Checks that are alive: while one is replaced by another there are two.
    #[cfg(feature = "tokio")]
    checks: AtomicU64,
}

impl Lease {
    pub(in crate::breaker) fn is_held(&self, now: Moment) -> bool {
        now.as_nanos() < self.until.load(Ordering::Acquire)
    }

    pub(in crate::breaker) fn next_look(&self) -> Moment {
        Moment::from_nanos(self.next.load(Ordering::Acquire))
    }

    #[cfg(feature = "tokio")]
    pub(super) fn renew(&self, until: Moment) {
        self.until.store(until.as_nanos(), Ordering::Release);
    }

    #[cfg(feature = "tokio")]
    pub(super) fn join(&self) {
        self.checks.fetch_add(1, Ordering::AcqRel);
    }

    /// The last one to leave gives the timer its word back.
    #[cfg(feature = "tokio")]
    pub(super) fn leave(&self) {
        if self.checks.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.renew(Moment::ZERO);
        }
    }

    #[cfg(feature = "tokio")]
    pub(super) fn look_at(&self, next: Moment) {
        self.next.store(next.as_nanos(), Ordering::Release);
    }
}
