//! The bare call and our own cases.

use std::hint::black_box;
use std::time::Duration;

use anyhow::Result;
use steadfast_resilience::breaker::{Builder, Registry};
use steadfast_resilience::clock::Clock;
use steadfast_resilience::pipeline;
use steadfast_resilience::{Breaker, Kind, Pipeline, Retry, Verdict};

use crate::alloc;
use crate::case::{Case, Role, Set};
use crate::op::{Operation, Pending, Ready};

/// Long enough that what is open stays open while it is measured.
const LONG: Duration = Duration::from_secs(3_600);

/// The case whose two threads share nothing: what two threads cost on this machine by themselves.
pub const UNSHARED: &str = "ours, one breaker each";

/// Every case that needs no peer.
///
/// # Errors
/// Settings that do not build.
pub fn cases() -> Result<Vec<Case>> {
    let mut cases = vec![
        bare("async fn, ready at once", Ready)?,
        bare("async fn, pends once", Pending)?,
        breaker(Set::Breaker, "ours", Role::Ours, Breaker::standard(), Ready)?,
        breaker(
            Set::Breaker,
            "ours, last 100 calls",
            Role::Other,
            Breaker::standard().last_calls(100),
            Ready,
        )?,
        raw_permit()?,
        from_registry()?,
        breaker(Set::BreakerPending, "ours", Role::Ours, Breaker::standard(), Pending)?,
        shared_breaker("ours", Role::Ours, Breaker::standard())?,
        shared_breaker("ours, last 100 calls", Role::Other, Breaker::standard().last_calls(100))?,
        unshared_breakers()?,
        bare_on_two_threads()?,
        open_breaker()?,
        open_pipeline()?,
    ];
    cases.extend(pipelines(Set::Pipeline, Ready)?);
    cases.extend(pipelines(Set::PipelinePending, Pending)?);
    Ok(cases)
}

fn bare<O: Operation>(who: &'static str, op: O) -> Result<Case> {
    Case::one_thread(Set::Bare, who, Role::Other, async || {
        Ok(async move |input| black_box(op.call(input).await).is_ok())
    })
}

fn breaker<O: Operation>(set: Set, who: &'static str, role: Role, settings: Builder, op: O) -> Result<Case> {
    Case::one_thread(set, who, role, async || {
        let breaker = settings.build("bench")?;
        Ok(async move |input| black_box(breaker.run(|| op.call(input)).await).is_ok())
    })
}

/// The two steps without a future around them, as blocking code uses them.
fn raw_permit() -> Result<Case> {
    Case::one_thread(Set::Breaker, "ours, permit by hand", Role::Other, async || {
        let (breaker, clock) = (Breaker::standard().build("bench")?, Clock::system());
        Ok(async move |input| match breaker.try_acquire(clock.now()) {
            Ok(permit) => {
                let _ = black_box(Ready.call(input).await);
                permit.success(clock.now());
                true
            }
            Err(_) => false,
        })
    })
}

/// The breaker is looked up by its key for each call.
fn from_registry() -> Result<Case> {
    Case::one_thread(Set::Breaker, "ours, looked up by key", Role::Other, async || {
        let hosts = Registry::builder(Breaker::standard()).build("bench")?;
        Ok(async move |input| {
            black_box(hosts.get(black_box("host-a")).run(|| Ready.call(input)).await).is_ok()
        })
    })
}

fn shared_breaker(who: &'static str, role: Role, settings: Builder) -> Result<Case> {
    Case::two_threads(Set::BreakerShared, who, role, async || {
        let breaker = settings.build("bench")?;
        Ok(move || {
            let breaker = breaker.clone();
            async move |input| black_box(breaker.run(|| Ready.call(input)).await).is_ok()
        })
    })
}

fn unshared_breakers() -> Result<Case> {
    Case::two_threads(Set::BreakerShared, UNSHARED, Role::Other, async || {
        let breakers = Registry::builder(Breaker::standard()).build("bench")?;
        Ok(move || {
            let breaker = breakers.get(&format!("{:?}", std::thread::current().id()));
            async move |input| black_box(breaker.run(|| Ready.call(input)).await).is_ok()
        })
    })
}

fn bare_on_two_threads() -> Result<Case> {
    Case::two_threads(Set::BreakerShared, "bare call", Role::Other, async || {
        Ok(|| async move |input| black_box(Ready.call(input).await).is_ok())
    })
}

fn open_breaker() -> Result<Case> {
    Case::one_thread(Set::BreakerOpen, "ours", Role::Ours, async || {
        let breaker = Breaker::standard().open_for(LONG).build("bench")?;
        breaker.trip(&Verdict::transient(Kind::UNREACHABLE));
        Ok(async move |input| black_box(breaker.run(|| Ready.call(input)).await).is_ok())
    })
}

fn open_pipeline() -> Result<Case> {
    Case::one_thread(Set::BreakerOpen, "ours, through the pipeline", Role::Ours, async || {
        let breaker = Breaker::standard().open_for(LONG).build("bench")?;
        breaker.trip(&Verdict::transient(Kind::UNREACHABLE));
        let pipeline = settings().shared_breaker(&breaker).build()?;
        Ok(async move |input| black_box(pipeline.run(|_| Ready.call(input)).await).is_ok())
    })
}

fn pipelines<O: Operation>(set: Set, op: O) -> Result<[Case; 2]> {
    let case = |who, role, settings: pipeline::Builder| {
        Case::one_thread(set, who, role, async || {
            let pipeline = settings.build()?;
            Ok(async move |input| black_box(pipeline.run(|_| op.call(input)).await).is_ok())
        })
    };
    Ok([case("ours", Role::Ours, settings())?, case("ours, no budget", Role::Other, settings().no_budget())?])
}

/// Retry over breaker over timeout, with the default budget.
fn settings() -> pipeline::Builder {
    Pipeline::builder("bench")
        .retry(Retry::exponential())
        .breaker(Breaker::standard())
        .attempt_timeout(Duration::from_secs(10))
}

/// Bytes that a breaker of a registry takes, its share of the map and its key included.
///
/// # Errors
/// Settings that do not build.
#[expect(clippy::cast_precision_loss, reason = "bytes are far below 2^52")]
pub fn bytes_per_breaker() -> Result<f64> {
    const KEYS: u32 = 10_000;
    let before = alloc::bytes();
    let hosts = Registry::builder(Breaker::standard()).build("bench")?;
    (0..KEYS).for_each(|key| drop(hosts.get(&format!("host-{key}"))));
    let bytes = alloc::bytes() - before;
    drop(hosts);
    Ok(bytes as f64 / f64::from(KEYS))
}
