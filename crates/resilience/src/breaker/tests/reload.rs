//! Other settings while calls go on: what was counted stays, and so does its age where it can.

use super::*;
use crate::clock::VirtualClock;

fn failures(breaker: &Breaker) -> u64 {
    breaker.report().failures
}

fn breaker(clock: &VirtualClock, builder: Builder) -> Breaker {
    builder.clock(clock).build("test").unwrap()
}

#[test]
fn failures_keep_their_age_when_the_window_stays() {
    let clock = VirtualClock::new();
    let settings = |failures| Breaker::failures(failures).within(s(30)).kind(Kind::TIMEOUT, 50);
    let breaker = breaker(&clock, settings(10));
    fails(&breaker, clock.now(), 3);
    clock.advance(s(20));
    breaker.reconfigure(&settings(20)).unwrap();
    assert_eq!(failures(&breaker), 3);
    clock.advance(s(15));
    assert_eq!(failures(&breaker), 0, "35 s old, in a window of 30 s");
}

#[test]
fn failures_go_on_in_a_longer_window_as_if_they_had_just_come() {
    let clock = VirtualClock::new();
    let breaker = breaker(&clock, Breaker::failures(10).within(s(30)));
    fails(&breaker, clock.now(), 3);
    clock.advance(s(20));
    breaker.reconfigure(&Breaker::failures(10).within(s(60))).unwrap();
    clock.advance(s(40));
    assert_eq!(failures(&breaker), 3, "they count from the reload on");
    clock.advance(s(30));
    assert_eq!(failures(&breaker), 0);
}

#[test]
fn a_kind_that_was_not_counted_is_from_the_reload_on() {
    let clock = VirtualClock::new();
    let breaker = breaker(&clock, Breaker::failures(100).within(s(30)));
    fails(&breaker, clock.now(), 3);
    breaker.reconfigure(&Breaker::failures(100).within(s(30)).kind(Kind::TIMEOUT, 2)).unwrap();
    assert_eq!(failures(&breaker), 3);
    fails(&breaker, clock.now(), 1);
    assert!(breaker.is_closed(), "one of the kind since it is counted");
    fails(&breaker, clock.now(), 1);
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn a_kind_that_is_counted_goes_on_when_the_window_changes() {
    let clock = VirtualClock::new();
    let settings = |window| Breaker::failures(100).within(window).kind(Kind::TIMEOUT, 3);
    let breaker = breaker(&clock, settings(s(30)));
    fails(&breaker, clock.now(), 2);
    breaker.reconfigure(&settings(s(60))).unwrap();
    fails(&breaker, clock.now(), 1);
    assert_eq!(breaker.state(), State::Open, "two before the reload and one after it");
}

#[test]
fn a_call_exactly_as_long_as_allowed_is_not_slow() {
    let breaker = build(Breaker::ratio(0.9).min_calls(2).no_consecutive().slow(s(1), 0.5));
    let call = |took: Duration, outcome: Verdict| {
        breaker.try_acquire(at(10)).unwrap().settle(&outcome, at(10) + took);
    };
    call(s(1), Verdict::success());
    call(s(1), TIMEOUT);
    assert!(breaker.is_closed(), "neither is slow");
    call(s(1) + Duration::from_nanos(1), TIMEOUT);
    call(s(1) + Duration::from_nanos(1), Verdict::success());
    assert_eq!(breaker.state(), State::Open, "two of four are");
}
