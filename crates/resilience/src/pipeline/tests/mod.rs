//! Tests of the pipeline: all doors, in virtual time.

mod cancel;
mod crowd;
mod doors;
mod fallback;
mod hedge;
mod limits;
mod nested;
mod parts;
mod settings;
mod story;
#[cfg(feature = "tower")]
mod tower;

use std::time::Duration;

use super::{Attempt, Builder, Pipeline};
use crate::breaker::{Breaker, State};
use crate::classify::{Classify, Kind, Verdict};
use crate::clock::{Moment, VirtualClock};
use crate::error::Error;
use crate::retry::{Retry, Stop};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// An error that means what it holds.
#[derive(Debug, Clone, PartialEq)]
struct Fault(Verdict);

impl Fault {
    const BUSY: Self = Self(Verdict::transient(Kind::OVERLOADED));
    const WRONG: Self = Self(Verdict::terminal(Kind::BAD_REQUEST));
}

impl Classify for Fault {
    fn classify(&self) -> Verdict {
        self.0
    }

    fn message(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the service said {}", self.0.kind())
    }
}

impl std::error::Error for Fault {}

/// A pipeline on a clock of its own; waits of exactly 1 s, no budget and no breaker unless asked for.
fn bench(change: impl FnOnce(Builder) -> Builder) -> (VirtualClock, Pipeline) {
    let clock = VirtualClock::new();
    clock.advance(s(1));
    let builder = Pipeline::builder("payments")
        .retry(Retry::fixed(s(1)).no_jitter().max_retries(3))
        .no_budget()
        .no_breaker()
        .clock(&clock)
        .seed(1);
    let pipeline = change(builder).build().unwrap();
    (clock, pipeline)
}

/// Fails until the given attempt, then succeeds with its number.
async fn succeed_at(attempt: Attempt, good: u32) -> Result<u32, Fault> {
    if attempt.number() == good { Ok(attempt.number()) } else { Err(Fault::BUSY) }
}
