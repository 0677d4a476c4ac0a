//! Limits: how many calls may be under way at once, and how many may begin in a second.
//!
//! A breaker protects a service that is down; a limit protects one that is up, and the callers' own threads and
//! connections. A call beyond the limit waits for its turn, if it may, or is refused at once: it costs no attempt, no
//! budget, and says nothing to the breaker. Nothing is held while a call waits for its next retry.
//!
//! ```
//! use std::time::Duration;
//! use steadfast_resilience::limit::Limit;
//! use steadfast_resilience::Pipeline;
//!
//! let search = Pipeline::builder("search")
//!     .limit(Limit::concurrent(32).waiting(100).rate(200.0).max_wait(Duration::from_millis(500)))
//!     .build()?;
//! # Ok::<(), steadfast_resilience::BuildError>(())
//! ```

mod builder;
mod gate;
mod pace;
mod taken;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;

pub use builder::Builder;
pub use gate::Place;

use crate::clock::Moment;
use crate::problem::{BuildError, Findings};
use builder::Settings;
use gate::Gate;
use pace::Pace;
pub(crate) use taken::{Entry, Taken};

/// Limits the calls to one service. Clones are one and the same limit.
#[derive(Clone)]
pub struct Limit {
    inner: Arc<Inner>,
}

struct Inner {
    settings: ArcSwap<Settings>,
    gate: Arc<Gate>,
    pace: Pace,
    refused: AtomicU64,
}

/// A call that a limit refused: nothing was attempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limited {
    /// Which of the limits.
    pub by: By,
    /// When the next call may begin, where that is known.
    pub retry_in: Option<Duration>,
}

/// Which limit refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum By {
    /// Too many calls are under way.
    Concurrency,
    /// Too many calls have begun.
    Rate,
}

impl fmt::Display for Limited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.by {
            By::Concurrency => f.write_str("too many calls are under way"),
            By::Rate => f.write_str("too many calls have begun lately"),
        }
    }
}

impl std::error::Error for Limited {}

impl Limit {
    /// At most this many calls under way at once.
    pub fn concurrent(calls: u32) -> Builder {
        Builder::default().concurrent(calls)
    }

    /// At most this many calls a second, as a mean.
    pub fn rate(calls_per_second: f64) -> Builder {
        Builder::default().rate(calls_per_second)
    }

    /// Asks for a call at `now`, without waiting. The call lasts until the place is dropped.
    ///
    /// # Errors
    /// [`Limited`] when there is no room. Nothing was taken.
    pub fn try_enter(&self, now: Moment) -> Result<Place, Limited> {
        let settings = self.inner.settings.load();
        let turn = self.inner.pace.reserve(&settings, now, Duration::ZERO);
        let turn = turn.map_err(|wait| self.refuse(By::Rate, Some(wait)))?;
        self.inner.gate.try_enter().ok_or_else(|| {
            self.inner.pace.give_back(turn);
            self.refuse(By::Concurrency, None)
        })
    }

    fn refuse(&self, by: By, retry_in: Option<Duration>) -> Limited {
        self.inner.refused.fetch_add(1, Ordering::Relaxed);
        Limited { by, retry_in }
    }

    /// Calls under way.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.inner.gate.in_flight()
    }

    /// Calls that wait for a place.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.inner.gate.waiting()
    }

    /// Calls that were refused so far.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.inner.refused.load(Ordering::Relaxed)
    }

    /// Limits nothing any more, until it is told to again: who waits is let in.
    #[cfg(feature = "policy")]
    pub(crate) fn lift(&self) {
        self.inner.settings.store(Arc::new(Builder::default().settings));
        self.inner.gate.set_most(None);
    }

    /// Takes other settings over while calls go on: those under way and those that wait stay.
    ///
    /// # Errors
    /// Every setting that makes no sense; nothing has changed then.
    pub fn reconfigure(&self, settings: &Builder) -> Result<(), BuildError> {
        let mut findings = Findings::default();
        settings.check(&mut findings);
        findings.finish("limit")?;
        self.inner.settings.store(Arc::new(settings.settings.clone()));
        self.inner.gate.set_most(settings.settings.concurrent);
        Ok(())
    }
}

impl fmt::Debug for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = self.inner.settings.load();
        f.debug_struct("Limit")
            .field("concurrent", &settings.concurrent)
            .field("rate", &settings.rate)
            .field("in_flight", &self.in_flight())
            .finish_non_exhaustive()
    }
}
