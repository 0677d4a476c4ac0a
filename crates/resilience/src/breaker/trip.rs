//! Why a breaker opened, and the error that a refused caller gets.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::State;
use super::refusing;
use crate::classify::Verdict;
use crate::clock::Moment;

/// The rule that was broken.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// Too large a share of the calls in the window failed.
    Ratio {
        /// Failed calls in the window.
        failures: u64,
        /// All calls in the window.
        calls: u64,
    },
    /// Too many calls in the window failed.
    Failures(u64),
    /// Too many calls failed in a row.
    Consecutive(u64),
    /// Too large a share of the calls in the window was slow.
    Slow {
        /// Slow calls in the window.
        slow: u64,
        /// All calls in the window.
        calls: u64,
    },
    /// Too many failures of one kind in the window.
    Kind(u64),
    /// One failure of a kind or class that trips at once.
    AtOnce,
    /// The service asked to be left alone for a time.
    Hint(Duration),
    /// A probe failed while half-open.
    Probe,
    /// Probes did not answer in time while half-open.
    Stalled,
    /// Code asked for it.
    Asked,
    /// Too large a share failed over all instances together.
    Together {
        /// Failed calls of all instances.
        failures: u64,
        /// All calls of all instances.
        calls: u64,
    },
    /// Another instance tripped.
    Elsewhere,
    /// An operator forced it open.
    Forced,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ratio { failures, calls } => write!(f, "{failures} of {calls} calls failed"),
            Self::Failures(count) => write!(f, "{} failed", Calls(*count)),
            Self::Consecutive(1) => f.write_str("1 call failed"),
            Self::Consecutive(count) => write!(f, "{count} calls failed in a row"),
            Self::Slow { slow, calls } => write!(f, "{slow} of {calls} calls were slow"),
            Self::Kind(count) => write!(f, "{} failed in the same way", Calls(*count)),
            Self::AtOnce => f.write_str("one such failure is enough"),
            Self::Hint(hint) => write!(f, "the service asked for {hint:?} of peace"),
            Self::Probe => f.write_str("a probe failed"),
            Self::Stalled => f.write_str("probes did not answer in time"),
            Self::Asked => f.write_str("the program asked for it"),
            Self::Together { failures, calls } => {
                write!(f, "{failures} of {calls} calls failed over all instances")
            }
            Self::Elsewhere => {
                f.write_str("another instance tripped, or this one before it was started anew")
            }
            Self::Forced => f.write_str("an operator forced it"),
        }
    }
}

/// So many calls, in words.
struct Calls(u64);

impl fmt::Display for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, if self.0 == 1 { "call" } else { "calls" })
    }
}

/// What tripped a breaker.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Trip {
    /// The breaker's name.
    pub breaker: Arc<str>,
    /// When.
    pub at: Moment,
    /// The rule that was broken.
    pub reason: Reason,
    /// The failure that broke it.
    pub failure: Verdict,
    /// The failure in words, where the error has some.
    pub message: Option<String>,
}

impl fmt::Display for Trip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reason)?;
        if !self.failure.is_success() {
            write!(f, "; last: {}", self.failure.kind())?;
        }
        match &self.message {
            Some(message) => write!(f, ": {message}"),
            None => Ok(()),
        }
    }
}

/// The call was not attempted: the breaker refused it.
///
/// Made in nanoseconds, for a service that is down is asked for often. What it tells is looked up when it is read: of a
/// refusal that outlives its breaker, only state and time are left.
#[derive(Clone, Copy)]
pub struct Refused {
    pub(super) number: u64,
    pub(super) state: State,
    /// Nanoseconds until the next probe; `u64::MAX` without an end.
    pub(super) retry_in: u64,
}

impl Refused {
    /// The breaker's name.
    #[must_use]
    pub fn breaker(&self) -> Arc<str> {
        refusing::find(self.number).map_or_else(|| "(gone)".into(), |core| Arc::clone(&core.name))
    }

    /// The state that refused: open, half-open with all places taken, or forced open.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// The time until the next probe; `None` when the breaker is forced open without an end.
    #[must_use]
    pub fn retry_in(&self) -> Option<Duration> {
        (self.retry_in != u64::MAX).then(|| Duration::from_nanos(self.retry_in))
    }

    /// What tripped the breaker last, as it is known now: of a refusal that is kept for long, it may tell a later trip.
    /// `None` when nothing ever did, and an operator asked for probes.
    #[must_use]
    pub fn trip(&self) -> Option<Arc<Trip>> {
        refusing::find(self.number)?.trip.load_full()
    }
}

impl fmt::Debug for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused")
            .field("breaker", &self.breaker())
            .field("state", &self.state)
            .field("retry_in", &self.retry_in())
            .field("trip", &self.trip())
            .finish()
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "circuit `{}` is {}, not attempted", self.breaker(), self.state)?;
        if let Some(trip) = self.trip() {
            write!(f, " ({trip})")?;
        }
        match self.retry_in() {
            Some(wait) if wait.is_zero() => f.write_str("; a probe is under way, try again soon"),
            Some(wait) => write!(f, "; next probe in {wait:.1?}"),
            None => f.write_str("; held open until an operator ends it"),
        }
    }
}

impl std::error::Error for Refused {}
