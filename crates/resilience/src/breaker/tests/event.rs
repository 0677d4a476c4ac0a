//! State changes as events: all of them, in order, whatever listeners do.

use std::sync::{Arc, Mutex};

use super::super::ChangeCause;
use super::*;

#[test]
fn every_change_is_told_once_and_in_order() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&told);
    let breaker =
        build(Breaker::consecutive(1).open_for(s(10)).successes_to_close(1).on_change(move |change| {
            listener.lock().unwrap().push((change.sequence, change.from, change.to, change.at));
        }));
    fails(&breaker, at(1), 1);
    fails(&breaker, at(20), 1);
    succeeds(&breaker, at(80), 1);
    breaker.force_closed("ada", "why not");
    let told = told.lock().unwrap();
    let states: Vec<_> = told.iter().map(|(_, from, to, _)| (*from, *to)).collect();
    assert_eq!(
        states,
        [
            (State::Closed, State::Open),
            (State::Open, State::HalfOpen),
            (State::HalfOpen, State::Open),
            (State::Open, State::HalfOpen),
            (State::HalfOpen, State::Closed),
            (State::Closed, State::ForcedClosed),
        ]
    );
    assert!(told.iter().zip(1..).all(|((sequence, ..), expected)| *sequence == expected));
    assert_eq!(told[0].3, at(1));
}

#[test]
fn causes_tell_trips_probes_and_recoveries_apart() {
    let breaker = build(Breaker::consecutive(1).successes_to_close(1));
    let causes = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&causes);
    breaker.on_change(move |change| seen.lock().unwrap().push(change.cause.clone()));
    fails(&breaker, at(1), 1);
    succeeds(&breaker, at(20), 1);
    let causes = causes.lock().unwrap();
    assert!(
        breaker.history()[0].open_for.is_some_and(|time| time >= s(5))
            && breaker.history()[1].open_for.is_none()
    );
    assert!(matches!(&causes[0], ChangeCause::Tripped(trip) if trip.failure == TIMEOUT));
    assert!(matches!(causes[1], ChangeCause::ProbeDue));
    assert!(matches!(causes[2], ChangeCause::Recovered));
}

#[test]
fn a_listener_may_panic_or_act_on_the_breaker() {
    let breaker = build(Breaker::consecutive(1));
    let told = Arc::new(Mutex::new(Vec::new()));
    breaker.on_change(|_| panic!("a bad listener"));
    let (acting, seen) = (breaker.clone(), Arc::clone(&told));
    breaker.on_change(move |change| {
        seen.lock().unwrap().push(change.to);
        if change.to == State::Open {
            acting.reset("listener", "again");
        }
    });
    fails(&breaker, at(1), 1);
    assert_eq!(*told.lock().unwrap(), [State::Open, State::Closed]);
    fails(&breaker, at(1), 1);
    assert_eq!(told.lock().unwrap().len(), 4);
}

#[test]
fn changes_of_many_threads_are_told_in_their_order() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&told);
    let breaker = build(
        Breaker::consecutive(1)
            .on_change(move |change| seen.lock().unwrap().push((change.sequence, change.from, change.to))),
    );
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..500).for_each(|number| breaker.force_open(None, "t", number.to_string())));
        }
    });
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 2000);
    assert!(told.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0 && pair[0].2 == pair[1].1));
}
