//! What operators do by hand.

use super::*;
use crate::clock::VirtualClock;

fn with_clock() -> (VirtualClock, Breaker) {
    let clock = VirtualClock::new();
    let breaker = Breaker::consecutive(1)
        .open_for(s(10))
        .successes_to_close(1)
        .clock(&clock)
        .seed(1)
        .build("test")
        .unwrap();
    (clock, breaker)
}

#[test]
fn forced_open_without_an_end_stays_so_and_says_who_and_why() {
    let (clock, breaker) = with_clock();
    breaker.force_open(None, "ada", "provider maintenance");
    clock.advance(s(1_000_000));
    let refused = breaker.try_acquire(clock.now()).unwrap_err();
    assert_eq!((refused.state(), refused.retry_in()), (State::ForcedOpen, None));
    assert!(refused.to_string().contains("ada: provider maintenance"), "{refused}");
    assert!(refused.to_string().contains("until an operator ends it"), "{refused}");
    let by = breaker.forced_by().unwrap();
    assert_eq!((by.who.as_str(), by.why.as_str()), ("ada", "provider maintenance"));
    assert!(breaker.report().open_for.is_none());
}

#[test]
fn forced_open_with_an_end_probes_after_it_and_again_restarts_the_time() {
    let (clock, breaker) = with_clock();
    breaker.force_open(Some(s(60)), "ada", "deploy");
    clock.advance(s(50));
    breaker.force_open(Some(s(60)), "ada", "deploy takes longer");
    clock.advance(s(59));
    assert_eq!(breaker.try_acquire(clock.now()).unwrap_err().retry_in(), Some(s(1)));
    assert_eq!(breaker.report().open_for, Some(s(1)));
    clock.advance(s(1));
    assert!(breaker.forced_by().is_some());
    breaker.try_acquire(clock.now()).unwrap().success(clock.now());
    assert!(breaker.is_closed());
    assert_eq!(breaker.forced_by(), None, "nobody forced this state");
}

#[test]
fn an_open_time_that_is_over_is_no_longer_reported() {
    let (clock, breaker) = with_clock();
    breaker.force_open(Some(Duration::ZERO), "ada", "probe now");
    assert_eq!((breaker.report().open_for, breaker.history()[0].open_for), (None, None));
    assert!(breaker.try_acquire(clock.now()).unwrap().is_probe());
}

#[test]
fn forced_closed_lets_everything_through_and_never_trips() {
    let (clock, breaker) = with_clock();
    fails(&breaker, clock.now(), 1);
    breaker.force_closed("bob", "the health check lies");
    assert_eq!(fails(&breaker, clock.now(), 50), 50);
    assert_eq!(breaker.state(), State::ForcedClosed);
    assert!(breaker.is_closed());
    assert_eq!(breaker.report().failures, 50, "still counted");
    breaker.reset("bob", "done");
    assert_eq!(breaker.state(), State::Closed);
    fails(&breaker, clock.now(), 1);
    assert_eq!(breaker.state(), State::Open, "an ordinary breaker again");
}

#[test]
fn half_open_by_hand_probes_at_once() {
    let (clock, breaker) = with_clock();
    fails(&breaker, clock.now(), 1);
    assert!(breaker.try_acquire(clock.now()).is_err());
    breaker.half_open("eve", "they say it is back");
    let probe = breaker.try_acquire(clock.now()).unwrap();
    assert!(probe.is_probe());
    probe.success(clock.now());
    assert!(breaker.is_closed());
}

#[test]
fn a_refusal_of_a_breaker_that_never_tripped_names_no_trip() {
    let (clock, breaker) = with_clock();
    breaker.half_open("eve", "drill");
    let _probe = breaker.try_acquire(clock.now()).unwrap();
    let refused = breaker.try_acquire(clock.now()).unwrap_err();
    assert!(refused.trip().is_none());
    assert_eq!(
        refused.to_string(),
        "circuit `test` is half-open, not attempted; a probe is under way, try again soon"
    );
}

#[test]
fn reset_zeroes_the_counts() {
    let clock = VirtualClock::new();
    let breaker = Breaker::failures(3).clock(&clock).build("test").unwrap();
    fails(&breaker, clock.now(), 2);
    breaker.reset("ada", "fresh start");
    assert_eq!(breaker.report().calls, 0);
    assert!(breaker.last_failure().is_some());
    fails(&breaker, clock.now(), 2);
    assert!(breaker.is_closed());
    fails(&breaker, clock.now(), 1);
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn every_deed_is_in_the_history_and_a_trip_ends_the_forced_by() {
    let (clock, breaker) = with_clock();
    clock.advance(s(5));
    breaker.force_open(None, "ada", "one");
    breaker.reset("bob", "two");
    clock.advance(s(5));
    assert_eq!(breaker.changed_at(), at(5));
    fails(&breaker, clock.now(), 1);
    assert_eq!(breaker.forced_by(), None);
    assert_eq!(breaker.changed_at(), at(10));
    let told: Vec<_> = breaker.history().iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 3);
    assert!(told[0].contains("closed -> forced open (ada: one)"), "{told:?}");
    assert!(told[1].contains("forced open -> closed (bob: two)"), "{told:?}");
    assert!(told[2].contains("closed -> open for 10.") && told[2].contains("(1 call failed"), "{told:?}");
}

#[test]
fn the_history_keeps_the_last_sixteen() {
    let (_, breaker) = with_clock();
    for number in 0..40 {
        breaker.reset("ada", number.to_string());
    }
    let history = breaker.history();
    assert_eq!(history.len(), 16);
    assert_eq!((history[0].sequence, history[15].sequence), (25, 40));
}

#[test]
fn a_circuit_made_half_open_has_no_open_time_left() {
    let clock = VirtualClock::new();
    let breaker = Breaker::consecutive(1).open_for(s(60)).clock(&clock).build("test").unwrap();
    fails(&breaker, clock.now(), 1);
    assert!(breaker.report().open_for.is_some());
    breaker.half_open("ada", "they are done early");
    assert_eq!((breaker.report().state, breaker.report().open_for), (State::HalfOpen, None));
}
