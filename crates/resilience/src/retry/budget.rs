//! The retry budget: retries may be a tenth of what recently succeeded, so that callers cannot hold a struggling
//! service down.
//!
//! Paid in by successes, not by requests: during an outage nothing is paid in and retries end within a window. A small
//! reserve per window lets quiet services retry at all. A call that is refused by a breaker costs nothing.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use crate::clock::{Moment, nanos};
use crate::problem::{BuildError, Code, Findings};
use crate::renewable::Renewable;
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
    rule: ArcSwap<Rule>,
    ledger: Renewable<Ledger>,
}

/// How much may be taken out.
#[derive(Clone, Copy, Debug)]
struct Rule {
    share: f64,
    reserve: u32,
}

/// What was paid in and taken out, over one window.
struct Ledger {
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

    /// Share, reserve and window.
    #[cfg(feature = "policy")]
    pub(crate) fn values(&self) -> (f64, u32, Duration) {
        (self.share, self.reserve, self.window)
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
        self.check(findings);
        Budget {
            inner: Arc::new(Inner {
                rule: ArcSwap::from_pointee(Rule { share: self.share, reserve: self.reserve }),
                ledger: Renewable::new(Ledger::new(self.window)),
            }),
        }
    }

    fn check(&self, findings: &mut Findings) {
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
    }
}

impl Ledger {
    fn new(window: Duration) -> Self {
        Self { tick: (nanos(window) / BUCKETS).max(1), successes: Tally::new(), retries: Tally::new() }
    }

    #[inline]
    fn tick(&self, now: Moment) -> u64 {
        now.as_nanos() / self.tick
    }

    fn go_on_from(&self, other: &Self, now: Moment) {
        let (tick, old) = (self.tick(now), other.tick(now));
        self.successes.add_many(0, tick, other.successes.sum(0, old));
        self.retries.add_many(0, tick, other.retries.sum(0, old));
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts are far below 2^52, and the share is from 0 to 1"
    )]
    fn allowed(&self, rule: Rule, tick: u64) -> u64 {
        let earned = (self.successes.sum(0, tick) as f64 * rule.share) as u64;
        earned.max(u64::from(rule.reserve))
    }
}

impl Budget {
    /// A budget of this share of the recent successes.
    pub fn share(share: f64) -> Builder {
        Builder { share, ..Builder::default() }
    }

    /// Takes other settings over while calls go on. What was paid in and taken out stays.
    ///
    /// # Errors
    /// Every setting that makes no sense; nothing has changed then.
    pub fn reconfigure(&self, settings: &Builder, now: Moment) -> Result<(), BuildError> {
        let mut findings = Findings::default();
        settings.check(&mut findings);
        findings.finish("budget")?;
        let later = Ledger::new(settings.window);
        if self.inner.ledger.with(|ledger| ledger.tick != later.tick) {
            self.inner.ledger.with(|ledger| later.go_on_from(ledger, now));
            self.inner.ledger.renew(later);
        }
        self.inner.rule.store(Arc::new(Rule { share: settings.share, reserve: settings.reserve }));
        Ok(())
    }

    /// Pays in for a success.
    #[inline]
    pub fn deposit(&self, now: Moment) {
        self.inner.ledger.with(|ledger| ledger.successes.add(0, ledger.tick(now)));
    }

    /// Takes one retry out; false when the budget is spent.
    #[must_use]
    pub fn withdraw(&self, now: Moment) -> bool {
        let rule = **self.inner.rule.load();
        self.inner.ledger.with(|ledger| {
            let tick = ledger.tick(now);
            // Counted first and taken back when there was no room: two threads never both get the last one.
            ledger.retries.add_many(0, tick, 1);
            if ledger.retries.sum(0, tick) <= ledger.allowed(rule, tick) {
                return true;
            }
            ledger.retries.take_back(0, tick);
            false
        })
    }

    /// Gives back a retry taken out at `taken` that was never made, because a breaker refused it.
    pub fn refund(&self, taken: Moment) {
        self.inner.ledger.with(|ledger| ledger.retries.take_back(0, ledger.tick(taken)));
    }

    /// Retries left at this moment.
    #[must_use]
    pub fn left(&self, now: Moment) -> u64 {
        let rule = **self.inner.rule.load();
        self.inner.ledger.with(|ledger| {
            let tick = ledger.tick(now);
            ledger.allowed(rule, tick).saturating_sub(ledger.retries.sum(0, tick))
        })
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget")
            .field("share", &self.inner.rule.load().share)
            .field("reserve", &self.inner.rule.load().reserve)
            .finish()
    }
}
