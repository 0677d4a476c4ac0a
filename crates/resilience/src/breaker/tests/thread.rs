//! Many threads on one breaker.

use std::sync::atomic::{AtomicU64, Ordering};

use super::super::plant::Plant;
use super::*;

const THREADS: usize = 64;
const ATTEMPTS: usize = 100_000;
const PERMITS: u16 = 3;

/// The most probes ever under way at once, counted by the callers themselves.
fn stampede(plant: Plant, threads: usize, attempts: usize) -> (u64, u64) {
    let breaker =
        build(Breaker::consecutive(1).half_open_permits(PERMITS).successes_to_close(10_000).plant(plant));
    fails(&breaker, at(0), 1);
    let (under_way, most, admitted) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for attempt in 0..attempts {
                    let Ok(permit) = breaker.try_acquire(at(20)) else { continue };
                    most.fetch_max(under_way.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    admitted.fetch_add(1, Ordering::Relaxed);
                    if attempt % 16 == 0 {
                        std::thread::yield_now();
                    }
                    under_way.fetch_sub(1, Ordering::SeqCst);
                    // Given back in all the ways that do not change the state.
                    if attempt % 2 == 0 { permit.neutral() } else { drop(permit) }
                }
            });
        }
    });
    assert_eq!((breaker.state(), breaker.report().probes), (State::HalfOpen, 0), "every place came back");
    (most.load(Ordering::SeqCst), admitted.load(Ordering::Relaxed))
}

#[test]
fn half_open_never_exceeds_its_permits_under_64_threads() {
    let (most, admitted) = stampede(Plant::None, THREADS, ATTEMPTS);
    assert!(most <= u64::from(PERMITS), "{most} probes at once");
    assert!(admitted > 1000, "only {admitted} probes: the test saw nothing");
}

#[test]
fn with_the_permit_check_removed_the_stampede_is_seen() {
    let (most, _) = stampede(Plant::NoPermitCheck, 16, 5_000);
    assert!(most > u64::from(PERMITS));
}

#[test]
fn a_closed_breaker_loses_no_count() {
    let breaker = build(Breaker::ratio(1.0).min_calls(1_000_000).no_consecutive().within(s(1000)));
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let breaker = &breaker;
            scope.spawn(move || {
                for _ in 0..20_000 {
                    let outcome = if thread % 2 == 0 { Verdict::success() } else { TIMEOUT };
                    breaker.try_acquire(at(1)).unwrap().settle(&outcome, at(1));
                }
            });
        }
    });
    let counts = breaker.core().counts(breaker.core().generation(), at(1));
    assert_eq!((counts.successes, counts.failures), (80_000, 80_000));
}

#[test]
fn threads_that_fail_together_trip_it_once() {
    for _ in 0..50 {
        let breaker = build(Breaker::failures(100).no_consecutive());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| fails(&breaker, at(1), 50));
            }
        });
        assert_eq!(breaker.state(), State::Open);
        assert_eq!(breaker.history().len(), 1);
    }
}
