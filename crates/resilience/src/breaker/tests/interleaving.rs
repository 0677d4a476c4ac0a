//! The atomics under shuttle, which tries interleavings that a real machine seldom shows. Run by `cargo xtask shuttle`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::thread;

use super::super::plant::Plant;
use super::*;
use crate::retry::Budget;
use crate::window::{Mark, Ring, Tally};

/// Interleavings tried for each property. A minute of all of them in CI.
const ROUNDS: usize = 5_000;

fn tripped(plant: Plant, permits: u16, to_close: u16) -> Arc<Breaker> {
    let builder =
        Breaker::consecutive(1).half_open_permits(permits).successes_to_close(to_close).plant(plant);
    let breaker = build(builder);
    fails(&breaker, at(0), 1);
    Arc::new(breaker)
}

fn join_all(threads: Vec<thread::JoinHandle<()>>) {
    for thread in threads {
        thread.join().unwrap();
    }
}

fn permits_hold(plant: Plant) {
    shuttle::check_random(
        move || {
            let breaker = tripped(plant, 2, 100);
            let under_way = Arc::new(AtomicU64::new(0));
            let threads = (0..4).map(|number| {
                let (breaker, under_way) = (Arc::clone(&breaker), Arc::clone(&under_way));
                thread::spawn(move || {
                    let Ok(permit) = breaker.try_acquire(at(20)) else { return };
                    assert!(under_way.fetch_add(1, Ordering::SeqCst) < 2, "more probes than permits");
                    under_way.fetch_sub(1, Ordering::SeqCst);
                    if number % 2 == 0 { permit.success(at(20)) } else { drop(permit) }
                })
            });
            join_all(threads.collect());
            assert_eq!(breaker.core().probes_under_way(), 0, "a place was lost");
        },
        ROUNDS,
    );
}

#[test]
fn shuttle_half_open_permits_hold() {
    permits_hold(Plant::None);
}

#[test]
fn shuttle_a_removed_permit_check_is_found() {
    assert!(catch_unwind(AssertUnwindSafe(|| permits_hold(Plant::NoPermitCheck))).is_err());
}

/// Results of the first closed state come back while the breaker trips, probes and closes again. Whenever they come,
/// the new closed state is clean.
fn late_results_change_nothing(plant: Plant) {
    shuttle::check_random(
        move || {
            let builder = Breaker::consecutive(2)
                .failures(2)
                .trip_at_once(Kind::OFFLINE)
                .successes_to_close(1)
                .plant(plant);
            let breaker: &'static Breaker = Box::leak(Box::new(build(builder)));
            let late: Vec<_> = (0..2).map(|_| breaker.try_acquire(at(0)).unwrap()).collect();
            let threads: Vec<_> = late
                .into_iter()
                .map(|permit| thread::spawn(move || permit.failure(&TIMEOUT, at(30))))
                .collect();
            calls(breaker, at(10), [Verdict::transient(Kind::OFFLINE)]);
            // A result that came in time may have tripped it first; either way it is open now.
            if let Ok(probe) = breaker.try_acquire(at(200)) {
                probe.success(at(200));
            }
            join_all(threads);
            let counts = breaker.core().counts(breaker.core().generation(), at(200));
            assert_eq!(breaker.state(), State::Closed, "a late result moved it");
            assert_eq!((counts.failures, counts.successes), (0, 0), "a late result was counted");
        },
        ROUNDS,
    );
}

#[test]
fn shuttle_late_results_change_nothing() {
    late_results_change_nothing(Plant::None);
}

#[test]
fn shuttle_a_removed_generation_check_is_found() {
    assert!(
        catch_unwind(AssertUnwindSafe(|| late_results_change_nothing(Plant::NoGenerationCheck))).is_err()
    );
}

#[test]
fn shuttle_one_trip_is_one_change() {
    shuttle::check_random(
        || {
            let breaker = Arc::new(build(Breaker::failures(2).no_consecutive()));
            let threads = (0..3).map(|_| {
                let breaker = Arc::clone(&breaker);
                thread::spawn(move || {
                    fails(&breaker, at(1), 1);
                })
            });
            join_all(threads.collect());
            assert_eq!((breaker.state(), breaker.history().len()), (State::Open, 1));
        },
        ROUNDS,
    );
}

#[test]
fn shuttle_a_tally_loses_nothing() {
    shuttle::check_random(
        || {
            let tally = Arc::new(Tally::new());
            let threads = (0..3).map(|_| {
                let tally = Arc::clone(&tally);
                thread::spawn(move || (0..2).for_each(|_| tally.add(1, 5)))
            });
            join_all(threads.collect());
            assert_eq!(tally.sum(1, 5), 6);
        },
        ROUNDS,
    );
}

#[test]
fn shuttle_a_tally_never_counts_an_older_generation() {
    shuttle::check_random(
        || {
            let tally = Arc::new(Tally::new());
            let threads = (1..=3).map(|generation| {
                let tally = Arc::clone(&tally);
                thread::spawn(move || tally.add(generation, 5))
            });
            join_all(threads.collect());
            assert_eq!(tally.sum(3, 5), 1);
        },
        ROUNDS,
    );
}

#[test]
fn shuttle_a_ring_holds_exactly_the_last_calls() {
    shuttle::check_random(
        || {
            let ring = Arc::new(Ring::new(2));
            let threads = (0..3).map(|_| {
                let ring = Arc::clone(&ring);
                thread::spawn(move || ring.add(1, Mark::Failure))
            });
            join_all(threads.collect());
            assert_eq!(ring.counts(1).failures, 2);
        },
        ROUNDS,
    );
}

#[test]
fn shuttle_a_budget_is_never_overdrawn() {
    shuttle::check_random(
        || {
            let budget = Budget::share(0.5).reserve(1).build().unwrap();
            let taken = Arc::new(AtomicU64::new(0));
            let threads = (0..3).map(|_| {
                let (budget, taken) = (budget.clone(), Arc::clone(&taken));
                thread::spawn(move || {
                    taken.fetch_add(u64::from(budget.withdraw(at(1))), Ordering::SeqCst);
                })
            });
            join_all(threads.collect());
            assert!(taken.load(Ordering::SeqCst) <= 1);
        },
        ROUNDS,
    );
}
