//! Health checks: while a breaker is open, ask the service itself whether it is back.
//!
//! The timer only guesses when a service is back. A check asks, beside the timer or
//! [instead of it](HealthCheck::instead_of_timer), and reads what the service reports, not only whether it can be
//! reached. It may be any async function: a request to a health endpoint (`health::http`, feature `reqwest`), a ping of
//! a database, or the operation that failed, made again.
//!
//! ```
//! use steadfast_resilience::breaker::{Health, State};
//! use steadfast_resilience::{Breaker, Kind, Verdict};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let breaker = Breaker::standard().build("payments")?;
//! let mut check = breaker.health_check(|| async { Health::reported("UP") });
//!
//! breaker.trip(&Verdict::transient(Kind::UNREACHABLE));
//! check.look().await; // in a program: tokio::spawn(check.run())
//! assert_eq!(breaker.state(), State::HalfOpen); // before the open time is over; now real calls decide
//! # Ok(()) }
//! ```
//!
//! What holds:
//!
//! - A check is made only while the breaker is open: not while it is closed, half-open or forced by an operator, and not
//!   before the time that the service named itself (`Retry-After`).
//! - *Up* moves open to half-open and no further: real calls decide. *Down* changes nothing.
//! - An answer counts only for the open state in which it was asked for.
//! - A check goes around the breaker, and its answer is never counted as a call.
//! - A check that panics or hangs says *down*.
//! - A check that said *up* while the probes then failed ends no open time early any more until the breaker has closed.
//!   So a health endpoint that is wrong does no more harm than the timer.

#[cfg(feature = "tokio")]
mod check;
#[cfg(feature = "reqwest")]
mod http;
mod lease;

use std::borrow::Cow;
use std::fmt;

#[cfg(feature = "tokio")]
pub use check::HealthCheck;
#[cfg(feature = "reqwest")]
pub use http::http;
pub(super) use lease::Lease;

#[cfg(any(feature = "tokio", test))]
use super::Breaker;
#[cfg(any(feature = "tokio", test))]
use super::state::{Input, State};
use crate::classify::{Class, Classify, Verdict};
#[cfg(any(feature = "tokio", test))]
use crate::sync::{Ordering, lock};

/// What a health check found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// The service says that it works.
    Up,
    /// It does not, or did not answer; with the reason in words.
    Down(Cow<'static, str>),
}

/// The words for *up* in lower case: Spring's `UP`, the `pass`, `ok`, `up` and `warn` of `application/health+json`,
/// gRPC's `SERVING`, `Healthy` and `Degraded` of ASP.NET, Consul's `passing`. *Warn* and *degraded* mean that it works,
/// with concerns.
const UP: [&str; 8] = ["up", "pass", "ok", "warn", "serving", "healthy", "degraded", "passing"];

/// How much of a service's own words is kept: they end up in logs and reports.
const WORDS_MAX: usize = 80;

impl Health {
    /// Down, with the reason.
    pub fn down(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Down(reason.into())
    }

    /// What the word means that a service reports, such as `UP`, `pass`, `SERVING`, `DOWN`, `fail` or `OUT_OF_SERVICE`,
    /// in any case. A word that is not known as healthy is not healthy.
    ///
    /// ```
    /// use steadfast_resilience::breaker::Health;
    ///
    /// assert!(Health::reported("SERVING").is_up());
    /// assert_eq!(Health::reported("OUT_OF_SERVICE").to_string(), "down: it reports \"OUT_OF_SERVICE\"");
    /// ```
    #[must_use]
    pub fn reported(word: &str) -> Self {
        let word = word.trim();
        if UP.iter().any(|up| word.eq_ignore_ascii_case(up)) {
            return Self::Up;
        }
        Self::down(reports(word))
    }

    /// Whether the service works.
    #[must_use]
    pub const fn is_up(&self) -> bool {
        matches!(self, Self::Up)
    }

    /// Why it is down; `None` when it is up.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Up => None,
            Self::Down(reason) => Some(reason),
        }
    }
}

/// A service's own word: cut, and with everything that could harm a log escaped.
fn reports(word: &str) -> String {
    let kept: String = word.chars().take(WORDS_MAX).collect();
    format!("it reports {kept:?}")
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Up => f.write_str("up"),
            Self::Down(reason) => write!(f, "down: {reason}"),
        }
    }
}

/// For checks that only fail or do not.
impl From<()> for Health {
    fn from((): ()) -> Self {
        Self::Up
    }
}

/// For checks that repeat an operation: a success is *up*, and so is a terminal error, as it is for a probe, because the
/// service answered.
impl From<Verdict> for Health {
    fn from(verdict: Verdict) -> Self {
        match verdict.class() {
            Class::Success | Class::Terminal => Self::Up,
            Class::Transient | Class::Throttled | Class::Lasting | Class::Unclassified | Class::Neutral => {
                Self::down(verdict.to_string())
            }
        }
    }
}

/// For checks that can fail: an error means what its verdict means.
impl<T: Into<Self>, E: Classify> From<Result<T, E>> for Health {
    fn from(outcome: Result<T, E>) -> Self {
        match outcome {
            Ok(health) => health.into(),
            Err(error) => match (Self::from(error.classify()), error.message()) {
                (Self::Down(reason), Some(message)) => Self::down(format!("{reason}: {message}")),
                (health, _) => health,
            },
        }
    }
}

/// A check that is due: the open state that it asks about.
#[cfg(any(feature = "tokio", test))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) generation: u64,
}

#[cfg(feature = "tokio")]
impl Breaker {
    /// Watches over this breaker: while it is open, `check` is asked now and then whether the service is back. See
    /// [`health`](self) for the rules, and [`HealthCheck`] for the settings.
    pub fn health_check<C, F>(&self, check: C) -> HealthCheck<C>
    where
        C: FnMut() -> F,
        F: Future,
        F::Output: Into<Health>,
    {
        HealthCheck::new(self.clone(), check)
    }
}

#[cfg(any(feature = "tokio", test))]
impl Breaker {
    /// Whether a check is to be made now, and about which open state.
    pub(super) fn check_due(&self) -> Option<Due> {
        let (core, now) = (self.core(), self.clock().now());
        // Mostly it is closed: that takes no lock.
        if core.state() != State::Open {
            return None;
        }
        let control = lock(&core.control);
        let due = control.phase.state == State::Open && now >= control.phase.held_until;
        due.then(|| Due { generation: core.generation() })
    }

    /// Takes a check's answer into account; `enough` when so many in a row were healthy as are asked for. Returns
    /// whether it moved the state.
    pub(super) fn checked(&self, due: Due, health: &Health, enough: bool) -> bool {
        let (core, now) = (self.core(), self.clock().now());
        let up = health.is_up() && enough;
        {
            let mut control = lock(&core.control);
            control.last_health = Some((health.clone(), now));
            control.found_up = up && core.generation() == due.generation;
        }
        // Among instances that share, one probes: the right to it is asked for in the next round, and this answer only
        // says that it is time to ask.
        let gate = core.probe_gate.load(Ordering::Acquire);
        let may_probe = gate <= now.as_nanos();
        up && may_probe && core.change(&core.settings(), Some(due.generation), Input::FoundUp, None, now)
    }
}
