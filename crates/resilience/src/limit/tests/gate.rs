use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Waker;

use super::super::gate::Gate;
use super::*;
use crate::clock::Clock;

#[test]
fn places_are_given_up_to_the_limit_and_back_when_dropped() {
    let limit = Limit::concurrent(2).build().unwrap();
    let one = limit.try_enter(at(0)).unwrap();
    let two = limit.try_enter(at(0)).unwrap();
    assert_eq!(limit.try_enter(at(0)).unwrap_err().by, By::Concurrency);
    drop(one);
    assert_eq!(limit.in_flight(), 1);
    let three = limit.try_enter(at(0)).unwrap();
    drop((two, three));
    assert_eq!(limit.in_flight(), 0);
}

#[test]
fn a_free_place_goes_to_the_first_in_the_queue_and_nobody_overtakes() {
    let gate = Arc::new(Gate::new(Some(1)));
    let place = gate.try_enter().unwrap();
    let mut first = gate.line_up(2).unwrap();
    let mut second = gate.line_up(2).unwrap();
    assert!(gate.line_up(2).is_none(), "the queue is full");
    assert!(!first.is_called(Waker::noop()));
    drop(place);
    assert!(gate.try_enter().is_none(), "somebody was here before");
    assert!(second.try_take().is_none());
    let place = first.try_take().unwrap();
    drop(first);
    assert_eq!(gate.in_flight(), 1);
    drop(place);
    drop(second.try_take().unwrap());
    assert_eq!((gate.in_flight(), gate.waiting()), (0, 0));
}

#[test]
fn who_leaves_the_queue_loses_nothing_for_the_others() {
    let gate = Arc::new(Gate::new(Some(1)));
    let place = gate.try_enter().unwrap();
    let first = gate.line_up(9).unwrap();
    let second = gate.line_up(9).unwrap();
    let mut third = gate.line_up(9).unwrap();
    drop(second);
    drop(place);
    // Called, and gone before it came.
    drop(first);
    drop(third.try_take().unwrap());
    drop(third);
    assert_eq!((gate.in_flight(), gate.waiting()), (0, 0));
}

#[test]
fn a_raised_limit_lets_in_who_waits() {
    let limit = Limit::concurrent(1).waiting(2).max_wait(ms(10)).build().unwrap();
    let place = limit.try_enter(at(0)).unwrap();
    let mut waiting = limit.inner.gate.line_up(2).unwrap();
    limit.reconfigure(&Limit::concurrent(2)).unwrap();
    let second = waiting.try_take().unwrap();
    assert_eq!(limit.in_flight(), 2);
    assert!(limit.reconfigure(&Limit::concurrent(0)).is_err());
    drop((place, second));
}

#[test]
fn threads_never_exceed_the_limit_and_everyone_gets_in() {
    const THREADS: u32 = 8;
    const CALLS: u32 = 2_000;
    let gate = Arc::new(Gate::new(Some(3)));
    let clock = Clock::system();
    let (inside, most, done) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..CALLS {
                    let place = gate.try_enter().unwrap_or_else(|| {
                        let mut waiting = gate.line_up(100).unwrap();
                        waiting.block(Duration::from_secs(60), &clock, None);
                        waiting.try_take().unwrap()
                    });
                    most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    done.fetch_add(1, Ordering::SeqCst);
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(place);
                }
            });
        }
    });
    assert_eq!(done.into_inner(), THREADS * CALLS);
    assert!(most.into_inner() <= 3);
    assert_eq!((gate.in_flight(), gate.waiting()), (0, 0));
}

#[test]
fn the_limit_in_force_counts_and_not_that_of_when_a_place_was_given() {
    let limit = Limit::concurrent(1).build().unwrap();
    let old = limit.try_enter(at(0)).unwrap();
    limit.reconfigure(&Limit::concurrent(2)).unwrap();
    let new = limit.try_enter(at(0)).unwrap();
    let mut waiting = limit.inner.gate.line_up(1).unwrap();
    drop(old);
    let third = waiting.try_take().expect("one of two places is free");
    limit.reconfigure(&Limit::concurrent(1)).unwrap();
    let mut waiting = limit.inner.gate.line_up(1).unwrap();
    drop(new);
    assert!(waiting.try_take().is_none(), "one is in, and one may be");
    drop(third);
    assert!(waiting.try_take().is_some());
}

#[test]
fn a_thread_waits_no_longer_than_it_may_though_it_is_woken_all_the_time() {
    let gate = Arc::new(Gate::new(Some(1)));
    let _place = gate.try_enter().unwrap();
    let waiting = gate.line_up(9).unwrap();
    let (clock, waits) = (Clock::system(), std::thread::current());
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                waits.unpark();
                std::thread::yield_now();
            }
        });
        waiting.block(ms(50), &clock, None);
        done.store(true, Ordering::SeqCst);
    });
}
