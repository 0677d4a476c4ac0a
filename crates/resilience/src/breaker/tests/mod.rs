//! Tests of the breaker: by hand-moved time, by exhaustive exploration, by threads, and by shuttle.

#[cfg(not(shuttle))]
mod event;
#[cfg(not(shuttle))]
mod explorer;
#[cfg(not(shuttle))]
mod half_open;
#[cfg(all(not(shuttle), feature = "tokio"))]
mod health;
#[cfg(all(not(shuttle), feature = "tokio"))]
mod health_beside;
#[cfg(shuttle)]
mod interleaving;
#[cfg(not(shuttle))]
mod operator;
#[cfg(not(shuttle))]
mod registry;
#[cfg(not(shuttle))]
mod reload;
#[cfg(not(shuttle))]
mod rule;
#[cfg(not(shuttle))]
mod settings;
#[cfg(not(shuttle))]
mod share;
#[cfg(not(shuttle))]
mod thread;
#[cfg(not(shuttle))]
mod transition;

use std::time::Duration;

use super::{Breaker, Builder, State};
use crate::classify::{Kind, Verdict};
use crate::clock::Moment;

const TIMEOUT: Verdict = Verdict::transient(Kind::TIMEOUT);

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn at(seconds: u64) -> Moment {
    Moment::ZERO + s(seconds)
}

fn build(builder: Builder) -> Breaker {
    builder.seed(1).build("test").unwrap()
}

/// Calls with these outcomes, one after another, at one moment; returns how many were let through.
fn calls(breaker: &Breaker, now: Moment, outcomes: impl IntoIterator<Item = Verdict>) -> usize {
    let let_through =
        |outcome: Verdict| breaker.try_acquire(now).map(|permit| permit.settle(&outcome, now)).is_ok();
    outcomes.into_iter().filter(|outcome| let_through(*outcome)).count()
}

fn fails(breaker: &Breaker, now: Moment, times: usize) -> usize {
    calls(breaker, now, std::iter::repeat_n(TIMEOUT, times))
}

fn succeeds(breaker: &Breaker, now: Moment, times: usize) -> usize {
    calls(breaker, now, std::iter::repeat_n(Verdict::success(), times))
}
