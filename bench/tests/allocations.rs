//! The paths of a healthy program, and those of one whose service is down, allocate nothing. Counted on this thread
//! only, so that nothing else disturbs the count.
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails the test")]

use std::time::Duration;

use steadfast_bench::alloc::{self, Counting};
use steadfast_bench::op::{Operation, Pending, Ready};
use steadfast_resilience::{Breaker, Kind, Pipeline, Retry, Verdict};
use tokio::runtime::Builder;

#[global_allocator]
static COUNTING: Counting = Counting;

/// Calls that may allocate: the first ones set up what stays, such as timers' wheels and thread locals.
const WARM_UP: u64 = 100;
const CALLS: u64 = 1_000;
const LONG: Duration = Duration::from_secs(3_600);

/// Makes the calls, with inputs from 0 on, and gives the allocations of those after the first hundred.
fn allocations(mut call: impl AsyncFnMut(u64)) -> u64 {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        for input in 0..WARM_UP {
            call(input).await;
        }
        let before = alloc::allocations();
        for input in WARM_UP..WARM_UP + CALLS {
            call(input).await;
        }
        alloc::allocations() - before
    })
}

fn pipeline(breaker: &Breaker) -> Pipeline {
    let settings = Pipeline::builder("bench").retry(Retry::exponential()).shared_breaker(breaker);
    settings.attempt_timeout(Duration::from_secs(10)).build().unwrap()
}

fn closed() -> Breaker {
    Breaker::standard().build("bench").unwrap()
}

fn open() -> Breaker {
    let breaker = Breaker::standard().open_for(LONG).build("bench").unwrap();
    assert!(breaker.trip(&Verdict::transient(Kind::UNREACHABLE)));
    breaker
}

/// Nothing is allocated, and every call succeeds.
fn check_breaker(breaker: &Breaker, op: impl Operation) {
    let count = allocations(async |input| {
        assert_eq!(breaker.run(|| op.call(input)).await.unwrap(), input);
    });
    assert_eq!(count, 0);
}

/// Nothing is allocated, and every call succeeds.
fn check_pipeline(op: impl Operation) {
    let pipeline = pipeline(&closed());
    let count = allocations(async |input| {
        assert_eq!(pipeline.run(|_| op.call(input)).await.unwrap(), input);
    });
    assert_eq!(count, 0);
}

#[test]
fn a_closed_breaker_allocates_nothing() {
    check_breaker(&closed(), Ready);
}

#[test]
fn a_closed_breaker_allocates_nothing_when_the_operation_pends() {
    check_breaker(&closed(), Pending);
}

#[test]
fn a_breaker_over_the_last_calls_allocates_nothing() {
    check_breaker(&Breaker::standard().last_calls(100).build("bench").unwrap(), Ready);
}

#[test]
fn an_open_breaker_refuses_without_an_allocation() {
    let breaker = open();
    let count = allocations(async |input| {
        assert!(breaker.run(|| Ready.call(input)).await.unwrap_err().is_refused());
    });
    assert_eq!(count, 0);
}

#[test]
fn a_pipeline_over_an_open_breaker_refuses_without_an_allocation() {
    let pipeline = pipeline(&open());
    let count = allocations(async |input| {
        assert!(pipeline.run(|_| Ready.call(input)).await.unwrap_err().is_refused());
    });
    assert_eq!(count, 0);
}

#[test]
fn a_pipeline_allocates_nothing_when_the_operation_is_ready_at_once() {
    check_pipeline(Ready);
}

#[test]
fn a_pipeline_allocates_nothing_when_the_operation_pends_once() {
    check_pipeline(Pending);
}

#[test]
fn the_counter_sees_a_box() {
    let before = (alloc::allocations(), alloc::bytes());
    let boxed = std::hint::black_box(Box::new(7_u64));
    assert_eq!((alloc::allocations(), alloc::bytes()), (before.0 + 1, before.1 + 8));
    drop(boxed);
    assert_eq!((alloc::allocations(), alloc::bytes()), (before.0 + 1, before.1));
    assert_eq!(allocations(async |input| drop(std::hint::black_box(Box::new(input)))), CALLS);
}

#[test]
fn the_counter_does_not_see_other_threads() {
    let (start, end) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            start.wait();
            drop(std::hint::black_box(vec![0_u8; 4_096]));
            end.wait();
        });
        let before = alloc::allocations();
        start.wait();
        end.wait();
        assert_eq!(alloc::allocations(), before);
    });
}
