//! seatbelt: its layers with their defaults; its clock as it comes, and once with its fast one.

use std::hint::black_box;
use std::time::Duration;

use ::seatbelt::breaker::Breaker;
use ::seatbelt::retry::Retry;
use ::seatbelt::timeout::Timeout;
use ::seatbelt::{RecoveryInfo, ResilienceContext};
use anyhow::Result;
use layered::{Execute, Service, Stack};
use tick::Clock;

use crate::case::{Case, Role, Set};
use crate::op::{Failure, Operation, Pending, Ready};

const WHO: &str = "seatbelt";
/// An input for which the operation fails, so that the breaker can be opened.
const FAILS: u64 = u64::MAX;
/// Twice what its breaker wants to see before it judges.
const FAILURES: u64 = 200;

type Outcome = Result<u64, Failure>;

pub(super) fn cases() -> Result<Vec<Case>> {
    Ok(vec![
        closed(Set::Breaker, Ready)?,
        closed(Set::BreakerPending, Pending)?,
        shared()?,
        open()?,
        pipeline(Set::Pipeline, WHO, Role::Peer, false, Ready)?,
        pipeline(Set::Pipeline, "seatbelt, its fast clock", Role::Other, true, Ready)?,
        pipeline(Set::PipelinePending, WHO, Role::Peer, false, Pending)?,
        pipeline(Set::PipelinePending, "seatbelt, its fast clock", Role::Other, true, Pending)?,
    ])
}

fn recovery(outcome: &Outcome) -> RecoveryInfo {
    match outcome {
        Ok(_) => RecoveryInfo::never(),
        Err(Failure) => RecoveryInfo::retry(),
    }
}

async fn call<O: Operation>(op: O, input: u64) -> Outcome {
    if input == FAILS { Err(Failure) } else { op.call(input).await }
}

/// The breaker alone. Called inside of a runtime, which drives the clock.
fn breaker<O: Operation>(op: O) -> impl Service<u64, Out = Outcome> + Clone + 'static {
    let context = ResilienceContext::new(Clock::new_tokio());
    let breaker = Breaker::layer("breaker", &context)
        .recovery_with(|outcome, _| recovery(outcome))
        .rejected_input_error(|_, _| Failure)
        .break_duration(Duration::from_secs(3_600));
    (breaker, Execute::new(move |input| call(op, input))).into_service()
}

fn closed<O: Operation>(set: Set, op: O) -> Result<Case> {
    Case::one_thread(set, WHO, Role::Peer, async || {
        let service = breaker(op);
        Ok(async move |input| black_box(service.execute(input).await).is_ok())
    })
}

fn shared() -> Result<Case> {
    Case::two_threads(Set::BreakerShared, WHO, Role::Peer, async || {
        let service = breaker(Ready);
        Ok(move || {
            let service = service.clone();
            async move |input| black_box(service.execute(input).await).is_ok()
        })
    })
}

fn open() -> Result<Case> {
    Case::one_thread(Set::BreakerOpen, WHO, Role::Peer, async || {
        let service = breaker(Ready);
        for _ in 0..FAILURES {
            let _ = service.execute(FAILS).await;
        }
        Ok(async move |input| black_box(service.execute(input).await).is_ok())
    })
}

fn pipeline<O: Operation>(set: Set, who: &'static str, role: Role, fast: bool, op: O) -> Result<Case> {
    Case::one_thread(set, who, role, async || {
        let context = ResilienceContext::new(Clock::new_tokio().with_fast_instant(fast));
        let retry =
            Retry::layer("retry", &context).clone_input().recovery_with(|outcome, _| recovery(outcome));
        let breaker = Breaker::layer("breaker", &context)
            .recovery_with(|outcome, _| recovery(outcome))
            .rejected_input_error(|_, _| Failure);
        let timeout =
            Timeout::layer("timeout", &context).timeout_error(|_| Failure).timeout(Duration::from_secs(10));
        let service = (retry, breaker, timeout, Execute::new(move |input| op.call(input))).into_service();
        Ok(async move |input| black_box(service.execute(input).await).is_ok())
    })
}
