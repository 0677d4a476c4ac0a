//! tower-resilience: its breaker with the default window of 100 calls, and its retry.

use std::hint::black_box;
use std::time::Duration;

use ::tower::{Layer, Service, ServiceExt, service_fn};
use anyhow::Result;
use tower_resilience_circuitbreaker::{CircuitBreakerHandle, CircuitBreakerLayer};
use tower_resilience_retry::RetryLayer;

use crate::case::{Case, Role, Set};
use crate::op::{Failure, Operation, Pending, Ready};

const WHO: &str = "tower-resilience";

pub(super) fn cases() -> Result<Vec<Case>> {
    Ok(vec![
        closed(Set::Breaker, Ready)?,
        closed(Set::BreakerPending, Pending)?,
        shared()?,
        open()?,
        retry(Set::Part, Ready)?,
        retry(Set::PartPending, Pending)?,
    ])
}

fn layer() -> Result<(CircuitBreakerLayer, CircuitBreakerHandle)> {
    let settings = CircuitBreakerLayer::builder().wait_duration_in_open(Duration::from_secs(3_600));
    Ok(settings.build_with_handle()?)
}

/// As a caller has to: ask whether the service is ready, then call it.
async fn send<S: Service<u64>>(service: &mut S, input: u64) -> Result<S::Response, S::Error> {
    service.ready().await?.call(input).await
}

fn closed<O: Operation>(set: Set, op: O) -> Result<Case> {
    Case::one_thread(set, WHO, Role::Peer, async || {
        let mut service = layer()?.0.layer(service_fn(move |input| op.call(input)));
        Ok(async move |input| black_box(send(&mut service, input).await).is_ok())
    })
}

fn shared() -> Result<Case> {
    Case::two_threads(Set::BreakerShared, WHO, Role::Peer, async || {
        let service = layer()?.0.layer(service_fn(|input| Ready.call(input)));
        Ok(move || {
            let mut service = service.clone();
            async move |input| black_box(send(&mut service, input).await).is_ok()
        })
    })
}

fn open() -> Result<Case> {
    Case::one_thread(Set::BreakerOpen, WHO, Role::Peer, async || {
        let (layer, handle) = layer()?;
        let mut service = layer.layer(service_fn(|input| Ready.call(input)));
        handle.force_open().await;
        Ok(async move |input| black_box(send(&mut service, input).await).is_ok())
    })
}

fn retry<O: Operation>(set: Set, op: O) -> Result<Case> {
    Case::one_thread(set, "tower-resilience retry", Role::Other, async || {
        let layer = RetryLayer::<u64, u64, Failure>::builder()
            .exponential_backoff(Duration::from_millis(100))
            .build();
        let mut service = layer.layer(service_fn(move |input| op.call(input)));
        Ok(async move |input| black_box(send(&mut service, input).await).is_ok())
    })
}
