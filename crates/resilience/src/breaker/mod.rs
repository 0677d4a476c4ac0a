//! Circuit breaker: watches recent outcomes and refuses calls to a service that is down.
//!
//! [`Breaker::try_acquire`] asks, a [`Permit`] reports. Neither waits: time is an argument, and the success path is a
//! few atomic steps without a lock or an allocation. [`Breaker::run`] puts both around an operation; a
//! [`Pipeline`](crate::Pipeline) puts a breaker below a retry.
//!
//! ```
//! use std::time::Duration;
//! use steadfast_resilience::{Breaker, Kind, Verdict, clock::Moment};
//!
//! let breaker = Breaker::consecutive(2).open_for(Duration::from_secs(5)).build("payments")?;
//! let now = Moment::from_nanos(1);
//! for _ in 0..2 {
//!     breaker.try_acquire(now)?.failure(&Verdict::transient(Kind::TIMEOUT), now);
//! }
//! let refused = breaker.try_acquire(now).unwrap_err();
//! assert!(refused.retry_in().unwrap() >= Duration::from_secs(5));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builder;
mod control;
pub(crate) mod core;
mod event;
pub mod health;
mod operator;
mod permit;
#[cfg(test)]
pub(crate) mod plant;
mod recent;
mod refusing;
mod registry;
mod run;
pub(crate) mod settings;
pub mod share;
mod state;
#[cfg(test)]
mod tests;
mod trip;
mod weigh;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use builder::Builder;
pub use event::{Change, ChangeCause, Listener, Override};
pub use health::Health;
pub use permit::Permit;
pub use registry::{Registry, RegistryBuilder};
pub(crate) use settings::Settings;
pub use state::State;
pub use trip::{Reason, Refused, Trip};

use self::core::Core;
use crate::classify::Verdict;
use crate::clock::{Clock, Moment};
use crate::problem::{BuildError, Findings, Problem};
use crate::retry::Budget;
use crate::sync::lock;

/// A circuit breaker for one resource. Clones are one and the same breaker.
#[derive(Clone)]
pub struct Breaker {
    core: Arc<Core>,
    clock: Clock,
}

impl Breaker {
    /// Asks for a call at `now`.
    ///
    /// # Errors
    /// [`Refused`] when the circuit is open, or half-open with all places taken. Nothing was attempted.
    #[inline]
    pub fn try_acquire(&self, now: Moment) -> Result<Permit<'_>, Refused> {
        self.core.acquire(|| now).map(|ticket| Permit::new(self, ticket, now))
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.core.name
    }

    /// The retry budget of this resource, for calls that bring this breaker along: see
    /// [`RegistryBuilder::budget`].
    #[must_use]
    pub fn budget(&self) -> Option<&Budget> {
        self.core.budget.as_ref()
    }

    /// What it does with calls. An open time that has ended shows as open until a call comes to probe.
    #[must_use]
    pub fn state(&self) -> State {
        self.core.state()
    }

    /// For how long calls are refused from now on, as far as one can tell without making one; `None` when the next one may
    /// go through. One that is held open without an end refuses for [`Duration::MAX`].
    #[must_use]
    pub fn refuses_for(&self) -> Option<Duration> {
        let now = self.clock().now();
        self.core.refuses_at(now).then(|| self.core.next_probe_in(now).unwrap_or(Duration::MAX))
    }

    /// Says that somebody waits for this breaker who does not call while it is open. Among instances that share a breaker,
    /// only one with calls to make is given the right to probe.
    pub fn somebody_waits(&self) {
        self.core.wanted.store(true, crate::sync::Ordering::Relaxed);
    }

    /// How many calls go through at a time when half-open.
    #[must_use]
    pub fn probes_at_once(&self) -> u16 {
        self.core.settings().permits
    }

    /// Whether calls go through without a limit. False when half-open.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state().is_closed()
    }

    /// What tripped it last, if anything did.
    #[must_use]
    pub fn last_trip(&self) -> Option<Arc<Trip>> {
        self.core.trip.load_full()
    }

    /// The last failure that it counted, and when.
    #[must_use]
    pub fn last_failure(&self) -> Option<(Verdict, Moment)> {
        *lock(&self.core.last_failure)
    }

    /// What the last [health check](health) said, and when; `None` when there was none.
    #[must_use]
    pub fn last_health(&self) -> Option<(Health, Moment)> {
        lock(&self.core.control).last_health.clone()
    }

    /// When the state last changed.
    #[must_use]
    pub fn changed_at(&self) -> Moment {
        lock(&self.core.control).changed_at
    }

    /// The last changes, oldest first; at most 16.
    #[must_use]
    pub fn history(&self) -> Vec<Change> {
        lock(&self.core.control).history.iter().cloned().collect()
    }

    /// Who set the present state by hand, if somebody did.
    #[must_use]
    pub fn forced_by(&self) -> Option<Override> {
        lock(&self.core.control).forced_by.clone()
    }

    /// Whether the two are one and the same breaker, as clones are: names need not be unique.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.core, &other.core)
    }

    /// Tells `listener` of every state change from now on, in order, outside of all locks. It runs on the thread of a
    /// caller, mostly of the one whose outcome changed the state and before that one gets its result: it must not block.
    pub fn on_change(&self, listener: impl Fn(&Change) + Send + Sync + 'static) {
        self.core.announcer.listen(Arc::new(listener));
    }

    /// Takes other settings over while calls go on. State, counts, history, name, clock and listeners stay; a call under
    /// way is judged by the settings of the moment when it ends. Where the window changes, what was counted goes on in
    /// the new one as if it had just come. Returns the warnings.
    ///
    /// ```
    /// use std::time::Duration;
    /// use steadfast_resilience::Breaker;
    ///
    /// let breaker = Breaker::standard().build("payments")?;
    /// breaker.reconfigure(&Breaker::standard().open_for(Duration::from_secs(20)))?;
    /// # Ok::<(), steadfast_resilience::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// Every setting that makes no sense; nothing has changed then.
    pub fn reconfigure(&self, settings: &Builder) -> Result<Vec<Problem>, BuildError> {
        let mut findings = Findings::default();
        settings.settings().check(&mut findings);
        let warnings = findings.finish(self.name())?;
        self.core.reload(Arc::new(settings.settings().clone()), self.clock.now());
        Ok(warnings)
    }

    /// Numbers for people and metrics.
    #[must_use]
    pub fn report(&self) -> Report {
        let now = self.clock.now();
        let generation = self.core.generation();
        let counts = self.core.counts(generation, now);
        let phase = lock(&self.core.control).phase.at(now);
        Report {
            state: phase.state,
            calls: counts.calls(),
            failures: counts.failures,
            slow: counts.slow,
            probes: self.core.probes_under_way(),
            late: self.core.late(),
            refused: self.core.refusals(),
            open_for: (phase.until > now && phase.until != Moment::FAR).then(|| phase.until.since(now)),
            failed_recoveries: phase.failed_recoveries,
        }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Whether nothing worth keeping would be lost with this breaker: closed, no failure in its window, no row of them.
    pub(crate) fn is_clean(&self, now: Moment) -> bool {
        let counts = self.core.counts(self.core.generation(), now);
        self.state() == State::Closed
            && counts.failures == 0
            && counts.slow == 0
            && (self.core.settings().consecutive.is_none() || self.core.row() == 0)
    }

    fn is_only_handle(&self) -> bool {
        Arc::strong_count(&self.core) == 1
    }
}

/// A breaker in numbers, at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// What it does with calls.
    pub state: State,
    /// Calls in the window.
    pub calls: u64,
    /// Failed calls in the window.
    pub failures: u64,
    /// Slow calls in the window.
    pub slow: u64,
    /// Half-open probes under way.
    pub probes: u64,
    /// Results that came after their state was over and changed nothing.
    pub late: u64,
    /// Calls that were refused, from the beginning.
    pub refused: u64,
    /// How much longer it stays open; `None` when it is not open, or has no end.
    pub open_for: Option<Duration>,
    /// Recoveries that failed, or did not last, since one did.
    pub failed_recoveries: u32,
}

impl fmt::Debug for Breaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Breaker")
            .field("name", &self.name())
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}
