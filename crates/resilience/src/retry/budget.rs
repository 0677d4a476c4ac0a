//! The retry budget: retries may be a tenth of what recently succeeded, so that callers cannot hold a struggling
//! service down.
//!
//! Paid in by successes, not by requests: during an outage nothing is paid in and retries end within a window. A small
//! reserve per window lets quiet services retry at all. A call that is refused by a breaker costs nothing.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::{Moment, nanos};
use crate::problem::{BuildError, Code, Findings};
use crate::window::{BUCKETS, Tally};

/// The coarse clock moves in steps of up to 4 ms, and a window has ten buckets.
const WINDOW_MIN: Duration = Duration::from_millis(100);

/// Limits the retries of all calls to one service. Clones are one and the same budget.
///
/// ```
/// use steadfast_resilience::clock::Moment;
/// use steadfast_resilience::retry::Budget;
///
/// let budget = Budget::share(0.1).reserve(1).build()?;
/// let now = Moment::ZERO;
/// assert!(budget.withdraw(now)); // the reserve
/// assert!(!budget.withdraw(now));
/// (0..20).for_each(|_| budget.deposit(now));
/// assert!(budget.withdraw(now)); // a tenth of twenty is two, and one is used
/// assert!(!budget.withdraw(now));
/// # Ok::<(), steadfast_resilience::BuildError>(())
/// ```
#[derive(Clone)]
pub struct Budget {
    inner: Arc<Inner>,
}

struct Inner {
    share: f64,
    reserve: u32,
    tick: u64,
    successes: Tally,
    retries: Tally,
}

/// Settings of a [`Budget`], not yet checked.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is built or given to a pipeline"]
pub struct Builder {
    share: f64,
    reserve: u32,
    window: Duration,
}

impl Default for Builder {
    /// A tenth of the successes of the last 10 s, or 3 retries if that is more.
    fn default() -> Self {
        Self { share: 0.1, reserve: 3, window: Duration::from_secs(10) }
    }
}

impl Builder {
    /// Retries allowed in a window whatever succeeded in it. Default: 3.
    pub fn reserve(mut self, retries: u32) -> Self {
        self.reserve = retries;
        self
    }

    /// How far back successes and retries count. Default: 10 s.
    pub fn window(mut self, window: Duration) -> Self {
        self.window = window;
        self
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// A share that is not above 0 and up to 1, or a window below 100 ms.
    pub fn build(self) -> Result<Budget, BuildError> {
        let mut findings = Findings::default();
        let budget = self.build_within(&mut findings);
        findings.finish("budget").map(|_| budget)
    }

    pub(crate) fn build_within(self, findings: &mut Findings) -> Budget {
        findings.check_share("budget.share", self.share);
        if self.window < WINDOW_MIN {
            findings.error(
                Code::OutOfRange,
                "budget.window",
                format!(
                    "{:?} is shorter than the clock can tell apart: give {WINDOW_MIN:?} or more",
                    self.window
                ),
            );
        }
        Budget {
            inner: Arc::new(Inner {
                share: self.share,
                reserve: self.reserve,
                tick: (nanos(self.window) / BUCKETS).max(1),
                successes: Tally::new(),
                retries: Tally::new(),
            }),
        }
    }
}

impl Budget {
    /// A budget of this share of the recent successes.
    pub fn share(share: f64) -> Builder {
        Builder { share, ..Builder::default() }
    }

    /// Pays in for a success.
    #[inline]
    pub fn deposit(&self, now: Moment) {
        self.inner.successes.add(0, now.as_nanos() / self.inner.tick);
    }

    /// Takes one retry out; false when the budget is spent.
    #[must_use]
    pub fn withdraw(&self, now: Moment) -> bool {
        let inner = &*self.inner;
        let tick = now.as_nanos() / inner.tick;
        // Counted first and taken back when there was no room: two threads never both get the last one.
        inner.retries.add_many(0, tick, 1);
        if inner.retries.sum(0, tick) <= inner.allowed(tick) {
            return true;
        }
        inner.retries.take_back(0, tick);
        false
    }

    /// Gives back a retry taken out at `taken` that was never made, because a breaker refused it.
    pub fn refund(&self, taken: Moment) {
        self.inner.retries.take_back(0, taken.as_nanos() / self.inner.tick);
    }

    /// Retries left at this moment.
    #[must_use]
    pub fn left(&self, now: Moment) -> u64 {
        let tick = now.as_nanos() / self.inner.tick;
        self.inner.allowed(tick).saturating_sub(self.inner.retries.sum(0, tick))
    }
}

impl Inner {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts are far below 2^52, and the share is from 0 to 1"
    )]
    fn allowed(&self, tick: u64) -> u64 {
        let earned = (self.successes.sum(0, tick) as f64 * self.share) as u64;
        earned.max(u64::from(self.reserve))
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget")
            .field("share", &self.inner.share)
            .field("reserve", &self.inner.reserve)
            .finish()
    }
}
