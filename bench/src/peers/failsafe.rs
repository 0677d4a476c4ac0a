//! failsafe: its default policy (a success rate over time, or failures in a row), and failures in a row alone.

use std::hint::black_box;
use std::time::Duration;

use ::failsafe::futures::CircuitBreaker;
use ::failsafe::{Config, FailurePolicy, backoff, failure_policy};
use anyhow::Result;

use crate::case::{Case, Role, Set};
use crate::op::{Failing, Operation, Pending, Ready};

/// Long enough that what is open stays open while it is measured.
const LONG: Duration = Duration::from_secs(3_600);
const DEFAULT: &str = "failsafe";
const CONSECUTIVE: &str = "failsafe, consecutive";

pub(super) fn cases() -> Result<Vec<Case>> {
    Ok(vec![
        closed(Set::Breaker, DEFAULT, Config::new().build(), Ready)?,
        closed(Set::Breaker, CONSECUTIVE, consecutive(), Ready)?,
        closed(Set::BreakerPending, DEFAULT, Config::new().build(), Pending)?,
        closed(Set::BreakerPending, CONSECUTIVE, consecutive(), Pending)?,
        shared(DEFAULT, Config::new().build())?,
        shared(CONSECUTIVE, consecutive())?,
        open(DEFAULT, long_open())?,
        open(CONSECUTIVE, consecutive())?,
    ])
}

fn consecutive() -> impl CircuitBreaker + Clone + Send + Sync + 'static {
    let policy = failure_policy::consecutive_failures(5, backoff::constant(LONG));
    Config::new().failure_policy(policy).build()
}

/// The default policy by its own numbers, but for the time that it stays open.
fn long_open() -> impl CircuitBreaker + 'static {
    let window = Duration::from_secs(30);
    let rate = failure_policy::success_rate_over_time_window(0.8, 5, window, backoff::constant(LONG));
    let policy = rate.or_else(failure_policy::consecutive_failures(5, backoff::constant(LONG)));
    Config::new().failure_policy(policy).build()
}

fn closed<O: Operation>(
    set: Set,
    who: &'static str,
    breaker: impl CircuitBreaker + 'static,
    op: O,
) -> Result<Case> {
    Case::one_thread(set, who, Role::Peer, async || {
        Ok(async move |input| black_box(breaker.call(op.call(input)).await).is_ok())
    })
}

fn shared(who: &'static str, breaker: impl CircuitBreaker + Clone + Send + Sync + 'static) -> Result<Case> {
    Case::two_threads(Set::BreakerShared, who, Role::Peer, async || {
        Ok(move || {
            let breaker = breaker.clone();
            async move |input| black_box(breaker.call(Ready.call(input)).await).is_ok()
        })
    })
}

fn open(who: &'static str, breaker: impl CircuitBreaker + 'static) -> Result<Case> {
    Case::one_thread(Set::BreakerOpen, who, Role::Peer, async || {
        for input in 0..100 {
            let _ = breaker.call(Failing.call(input)).await;
        }
        Ok(async move |input| black_box(breaker.call(Ready.call(input)).await).is_ok())
    })
}
