//! With a recorder of metrics in force, the paths of a healthy program, and of one whose service is down, allocate no
//! more than without. Counted on this thread only.
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails the test")]

use metrics::Recorder;
use metrics_exporter_prometheus::PrometheusHandle;
use steadfast_bench::alloc::{self, Counting};
use steadfast_bench::watched;
use steadfast_resilience::clock::VirtualClock;
use steadfast_resilience::{Breaker, Kind, Pipeline, Verdict};

#[global_allocator]
static COUNTING: Counting = Counting;

const CALLS: u64 = 1_000;

/// On a clock that stands still, so that nothing falls due by chance.
fn pipeline(breaker: &Breaker) -> Pipeline {
    Pipeline::builder("bench").shared_breaker(breaker).clock(clock()).build().unwrap()
}

fn clock() -> VirtualClock {
    thread_local! { static CLOCK: VirtualClock = VirtualClock::new(); }
    CLOCK.with(VirtualClock::clone)
}

fn closed() -> Breaker {
    Breaker::standard().clock(clock()).build("bench").unwrap()
}

/// Makes the calls with a Prometheus recorder in force: the allocations after the first hundred, and what was recorded.
fn allocations(mut call: impl FnMut()) -> (u64, String) {
    let recorder = watched::recorder();
    let handle: PrometheusHandle = recorder.handle();
    let recorder: &dyn Recorder = recorder;
    let count = metrics::with_local_recorder(recorder, || {
        (0..100).for_each(|_| call());
        let before = alloc::allocations();
        (0..CALLS).for_each(|_| call());
        alloc::allocations() - before
    });
    (count, handle.render())
}

// T3, B14
#[test]
fn a_recorded_pipeline_allocates_nothing() {
    let pipeline = pipeline(&closed());
    let (count, text) = allocations(|| pipeline.run_blocking(|_| Ok::<_, std::io::Error>(())).unwrap());
    assert_eq!(count, 0);
    assert!(text.contains("outcome=\"succeeded\"} 1100"), "it was recorded: {text}");
}

// T3, B14
#[test]
fn a_recorded_refusal_allocates_nothing() {
    let breaker = closed();
    assert!(breaker.trip(&Verdict::transient(Kind::UNREACHABLE)));
    let pipeline = pipeline(&breaker);
    let (count, text) = allocations(|| {
        assert!(pipeline.run_blocking(|_| Ok::<_, std::io::Error>(())).unwrap_err().is_refused());
    });
    assert_eq!(count, 0);
    assert!(text.contains("steadfast_breaker_refusals_total{breaker=\"bench\"} 1100"), "{text}");
}
