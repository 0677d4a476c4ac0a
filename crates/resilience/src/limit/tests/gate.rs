use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Waker;

use super::super::gate::Gate;
use super::*;

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
    let gate = Arc::new(Gate::default());
    let place = gate.try_enter(Some(1)).unwrap();
    let mut first = gate.line_up(Some(1), 2).unwrap();
    let mut second = gate.line_up(Some(1), 2).unwrap();
    assert!(gate.line_up(Some(1), 2).is_none(), "the queue is full");
    assert!(!first.is_called(Waker::noop()));
    drop(place);
    assert!(gate.try_enter(Some(1)).is_none(), "somebody was here before");
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
    let gate = Arc::new(Gate::default());
    let place = gate.try_enter(Some(1)).unwrap();
    let first = gate.line_up(Some(1), 9).unwrap();
    let second = gate.line_up(Some(1), 9).unwrap();
    let mut third = gate.line_up(Some(1), 9).unwrap();
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
    let mut waiting = limit.inner.gate.line_up(Some(1), 2).unwrap();
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
    let gate = Arc::new(Gate::default());
    let (inside, most, done) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..CALLS {
                    let place = gate.try_enter(Some(3)).unwrap_or_else(|| {
                        let mut waiting = gate.line_up(Some(3), 100).unwrap();
                        gate.admit(Some(3));
                        waiting.block(Duration::from_secs(60), None);
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
