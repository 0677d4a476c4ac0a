//! The story of one call: each attempt, how it failed, and the wait after it.

use std::fmt;
use std::time::Duration;

use crate::classify::{Class, Verdict};
use crate::key::IdempotencyKey;

/// Attempts that a story keeps one by one: the first few, which show how it began, and the last ones. A call with
/// thousands of retries must not grow without bound.
pub(crate) const KEPT: usize = 64;
const KEPT_FIRST: usize = 16;

/// The system's coarse clock moves in steps of up to 4 ms: below that, a number would say more than is known.
const CLOCK_STEP: Duration = Duration::from_millis(5);

/// What happened during a call that failed.
#[derive(Clone, Debug)]
pub struct Story {
    key: IdempotencyKey,
    elapsed: Duration,
    attempts: u32,
    throttled: u32,
    tried: Vec<Tried>,
    worst_case_calls: u32,
    /// How many attempts are kept one by one.
    kept: usize,
}

/// One failed attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Tried {
    /// Counts from 0.
    pub number: u32,
    /// When it began, from the beginning of the call.
    pub began: Duration,
    /// How long it took.
    pub took: Duration,
    /// How it failed.
    pub failure: Verdict,
    /// The wait after it; `None` after the last.
    pub wait: Option<Duration>,
}

impl Story {
    pub(crate) fn new(key: IdempotencyKey, worst_case_calls: u32, kept: usize) -> Self {
        let tried = Vec::with_capacity(kept.min(4));
        Self { key, elapsed: Duration::ZERO, attempts: 0, throttled: 0, tried, worst_case_calls, kept }
    }

    pub(crate) fn add(&mut self, tried: Tried) {
        self.attempts = self.attempts.saturating_add(1);
        self.throttled += u32::from(tried.failure.class() == Class::Throttled);
        self.elapsed = tried.began + tried.took;
        if self.kept == 0 {
            return;
        }
        if self.tried.len() == self.kept {
            self.tried.remove(KEPT_FIRST.min(self.kept - 1));
        }
        self.tried.push(tried);
    }

    /// Notes that a wait follows the last attempt.
    pub(crate) fn wait(&mut self, wait: Duration) {
        if let Some(last) = self.tried.last_mut() {
            last.wait = Some(wait);
        }
    }

    pub(crate) fn end(&mut self, elapsed: Duration) {
        self.elapsed = elapsed;
    }

    /// The key that every attempt carried.
    #[must_use]
    pub fn key(&self) -> IdempotencyKey {
        self.key
    }

    /// Failed attempts.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// How many of them were throttled by the service.
    #[must_use]
    pub fn throttled(&self) -> u32 {
        self.throttled
    }

    /// Time from the beginning of the call to its end, waits included.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// The attempts, oldest first: all of them up to 64, then the first 16 and the last 48.
    #[must_use]
    pub fn tried(&self) -> &[Tried] {
        &self.tried
    }

    /// The last attempt.
    #[must_use]
    pub fn last(&self) -> Option<&Tried> {
        self.tried.last()
    }

    /// Each wait, in order.
    pub fn waits(&self) -> impl Iterator<Item = Duration> + '_ {
        self.tried.iter().filter_map(|tried| tried.wait)
    }

    /// The most calls that this operation could have become, with the retries of the layers around it multiplied.
    #[must_use]
    pub fn worst_case_calls(&self) -> u32 {
        self.worst_case_calls
    }
}

impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.attempts == 1 { "attempt" } else { "attempts" };
        write!(f, "{} {plural} in ", self.attempts)?;
        if self.elapsed < CLOCK_STEP {
            write!(f, "under {CLOCK_STEP:?}")?;
        } else {
            write!(f, "{:.1?}", self.elapsed)?;
        }
        if self.throttled > 0 {
            write!(f, ", {} throttled", self.throttled)?;
        }
        let mut waits = self.waits().peekable();
        if waits.peek().is_some() {
            f.write_str(", waits")?;
            for wait in waits {
                write!(f, " {wait:.1?}")?;
            }
        }
        match self.last() {
            Some(last) => write!(f, "; last: {}", last.failure),
            None => Ok(()),
        }
    }
}
