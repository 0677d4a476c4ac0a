//! The tower layer: the same pipeline around a service.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};

use tower_layer::Layer as _;
use tower_service::Service as _;

use super::*;
use crate::IdempotencyKey;

/// Answers request `n` with `n`, after failing `failures` times; ready only every other time it is asked.
#[derive(Clone)]
struct Shop {
    failures: u32,
    calls: Arc<AtomicU32>,
    readied: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Request(u32, Option<IdempotencyKey>);

impl Classify for Request {
    fn classify(&self) -> Verdict {
        if self.0 == 0 { Verdict::transient(Kind::OVERLOADED) } else { Verdict::success() }
    }
}

impl tower_service::Service<Request> for Shop {
    type Response = Request;
    type Error = Fault;
    type Future = std::future::Ready<Result<Request, Fault>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        if std::mem::replace(&mut self.readied, true) {
            return Poll::Ready(Ok(()));
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn call(&mut self, request: Request) -> Self::Future {
        assert!(std::mem::replace(&mut self.readied, false), "called before it was ready");
        let failed = self.calls.fetch_add(1, Ordering::Relaxed) < self.failures;
        std::future::ready(if failed { Err(Fault::BUSY) } else { Ok(request) })
    }
}

fn shop(failures: u32) -> Shop {
    Shop { failures, calls: Arc::default(), readied: false }
}

#[test]
fn the_layer_retries_with_one_key_for_all_attempts() {
    let (clock, pipeline) = bench(|builder| builder);
    let shop = shop(2);
    let layer = pipeline.layer().prepare(|request: &mut Request, attempt| request.1 = Some(attempt.key()));
    let mut service = layer.layer(shop.clone());
    let reply = clock.block_on(service.call(Request(7, None))).unwrap();
    assert_eq!((reply.0, reply.1.is_some()), (7, true));
    assert_eq!(shop.calls.load(Ordering::Relaxed), 3);
    assert_eq!(clock.now(), Moment::ZERO + s(3));
}

#[test]
fn the_layer_refuses_in_call_and_is_always_ready() {
    let (clock, pipeline) = bench(|builder| builder.breaker(Breaker::standard()));
    pipeline.breaker().unwrap().force_open(None, "test", "down");
    let mut service = pipeline.layer().layer(shop(0));
    let mut context = Context::from_waker(Waker::noop());
    assert!(matches!(service.poll_ready(&mut context), Poll::Ready(Ok(()))));
    assert!(clock.block_on(service.call(Request(1, None))).unwrap_err().is_refused());
}

#[test]
fn the_layer_shares_the_breaker_with_the_other_doors() {
    let (clock, pipeline) = bench(|builder| builder.no_retry().breaker(Breaker::consecutive(2)));
    let mut service = pipeline.layer().layer(shop(u32::MAX)).clone();
    assert!(clock.block_on(service.call(Request(1, None))).is_err());
    let _ = pipeline.run_blocking(|_| Err::<(), _>(Fault::BUSY));
    assert!(clock.block_on(service.call(Request(1, None))).unwrap_err().is_refused());
}

#[test]
fn responses_can_be_judged_too() {
    let (clock, pipeline) = bench(|builder| builder);
    let shop = shop(0);
    let mut service = pipeline.layer().judge_responses().layer(shop.clone());
    assert_eq!(clock.block_on(service.call(Request(0, None))).unwrap(), Request(0, None));
    assert_eq!(shop.calls.load(Ordering::Relaxed), 4);
    assert!(format!("{service:?} {:?}", pipeline.layer::<Request>()).contains("payments"));
}

#[test]
fn each_request_has_settings_of_its_own() {
    let (clock, pipeline) = bench(|builder| builder);
    let layer =
        pipeline.layer().per_request(|request: &Request, call| call.named("buy").max_retries(request.0));
    for (request, calls) in [(0, 1), (2, 3)] {
        let shop = shop(10);
        let error = clock.block_on(layer.layer(shop.clone()).call(Request(request, None))).unwrap_err();
        assert_eq!(error.operation_name(), Some("buy"));
        assert_eq!(shop.calls.load(Ordering::Relaxed), calls);
    }
}
