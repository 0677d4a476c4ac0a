//! recloser: a ring of the last 100 calls.

use std::hint::black_box;
use std::time::Duration;

use ::recloser::{AsyncRecloser, Recloser};
use anyhow::Result;

use crate::case::{Case, Role, Set};
use crate::op::{Failing, Operation, Pending, Ready};

const WHO: &str = "recloser";
/// More than the ring holds, so that it is full of failures.
const FAILURES: u64 = 200;

pub(super) fn cases() -> Result<Vec<Case>> {
    Ok(vec![closed(Set::Breaker, Ready)?, closed(Set::BreakerPending, Pending)?, shared()?, open()?])
}

fn breaker() -> AsyncRecloser {
    AsyncRecloser::from(Recloser::custom().open_wait(Duration::from_secs(3_600)).build())
}

fn closed<O: Operation>(set: Set, op: O) -> Result<Case> {
    Case::one_thread(set, WHO, Role::Peer, async || {
        let breaker = breaker();
        Ok(async move |input| black_box(breaker.call(op.call(input)).await).is_ok())
    })
}

fn shared() -> Result<Case> {
    Case::two_threads(Set::BreakerShared, WHO, Role::Peer, async || {
        let breaker = breaker();
        Ok(move || {
            let breaker = breaker.clone();
            async move |input| black_box(breaker.call(Ready.call(input)).await).is_ok()
        })
    })
}

fn open() -> Result<Case> {
    Case::one_thread(Set::BreakerOpen, WHO, Role::Peer, async || {
        let breaker = breaker();
        for input in 0..FAILURES {
            let _ = breaker.call(Failing.call(input)).await;
        }
        Ok(async move |input| black_box(breaker.call(Ready.call(input)).await).is_ok())
    })
}
