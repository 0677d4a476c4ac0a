//! When a closed breaker trips, and when not.

use super::super::Reason;
use super::*;

fn reason(breaker: &Breaker) -> Reason {
    breaker.last_trip().unwrap().reason
}

#[test]
fn ratio_trips_with_enough_calls_and_not_before() {
    let breaker = build(Breaker::ratio(0.5).min_calls(10).no_consecutive());
    succeeds(&breaker, at(1), 4);
    fails(&breaker, at(1), 5);
    assert!(breaker.is_closed(), "5 of 9: too few calls");
    fails(&breaker, at(1), 1);
    assert_eq!(breaker.state(), State::Open);
    assert_eq!(reason(&breaker), Reason::Ratio { failures: 6, calls: 10 });
}

#[test]
fn ratio_below_the_threshold_does_not_trip() {
    let breaker = build(Breaker::ratio(0.5).min_calls(10).no_consecutive());
    for _ in 0..100 {
        succeeds(&breaker, at(1), 2);
        fails(&breaker, at(1), 1);
    }
    assert!(breaker.is_closed());
}

#[test]
fn failures_fall_out_of_the_time_window() {
    let breaker = build(Breaker::failures(3).within(s(10)));
    fails(&breaker, at(0), 2);
    fails(&breaker, at(11), 2);
    assert!(breaker.is_closed(), "never three within 10 s");
    fails(&breaker, at(19), 1);
    assert_eq!(breaker.state(), State::Open);
    assert_eq!(reason(&breaker), Reason::Failures(3));
}

#[test]
fn a_breaker_with_one_rule_has_no_other() {
    let by_count = build(Breaker::failures(100));
    assert_eq!(fails(&by_count, at(1), 99), 99, "neither a row nor a ratio trips it");
    let by_row = build(Breaker::consecutive(100));
    for _ in 0..50 {
        fails(&by_row, at(1), 9);
        succeeds(&by_row, at(1), 1);
    }
    assert!(by_row.is_closed(), "nine of ten calls failed, and no row was long enough");
}

#[test]
fn consecutive_failures_trip_a_quiet_service() {
    let breaker = build(Breaker::ratio(0.5).min_calls(100).consecutive(5));
    // One call an hour: no window ever holds enough for a ratio.
    for hour in 0..4 {
        fails(&breaker, at(3600 * hour), 1);
    }
    succeeds(&breaker, at(3600 * 4), 1);
    for hour in 5..9 {
        fails(&breaker, at(3600 * hour), 1);
    }
    assert!(breaker.is_closed(), "a success ended the row");
    fails(&breaker, at(3600 * 9), 1);
    assert_eq!((breaker.state(), reason(&breaker)), (State::Open, Reason::Consecutive(5)));
}

#[test]
fn a_count_window_trips_on_the_right_call_after_100_000_successes() {
    let breaker = build(Breaker::ratio(0.5).last_calls(100).min_calls(100).no_consecutive());
    assert_eq!(succeeds(&breaker, at(1), 100_000), 100_000);
    assert_eq!(fails(&breaker, at(1), 49), 49);
    assert!(breaker.is_closed(), "49 of the last 100");
    fails(&breaker, at(1), 1);
    assert_eq!(breaker.state(), State::Open);
    assert_eq!(reason(&breaker), Reason::Ratio { failures: 50, calls: 100 });
}

#[test]
fn a_time_window_forgets_what_came_before_it_too() {
    let breaker = build(Breaker::ratio(0.5).within(s(10)).min_calls(10).no_consecutive());
    succeeds(&breaker, at(1), 100_000);
    assert_eq!(fails(&breaker, at(12), 9), 9);
    assert!(breaker.is_closed());
    fails(&breaker, at(12), 1);
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn slow_calls_trip_though_they_succeed() {
    let breaker = build(Breaker::ratio(0.9).min_calls(10).slow(s(2), 0.5));
    let slow_call = |began: u64, took: u64| {
        if let Ok(permit) = breaker.try_acquire(at(began)) {
            permit.success(at(began + took));
        }
    };
    (0..5).for_each(|_| slow_call(1, 2));
    (0..4).for_each(|_| slow_call(1, 3));
    assert!(breaker.is_closed(), "2 s is not over 2 s, and 4 of 9 are too few calls");
    slow_call(1, 3);
    assert_eq!((breaker.state(), reason(&breaker)), (State::Open, Reason::Slow { slow: 5, calls: 10 }));
    assert_eq!(breaker.last_trip().unwrap().failure.kind(), Kind::SLOW);
    assert_eq!(breaker.report().failures, 0);
}

#[test]
fn slow_calls_are_counted_in_a_count_window_too() {
    let breaker = build(Breaker::ratio(0.9).last_calls(10).min_calls(4).slow(s(2), 0.5).no_consecutive());
    for outcome in [Verdict::success(), TIMEOUT] {
        breaker.try_acquire(at(1)).unwrap().settle(&outcome, at(9));
    }
    succeeds(&breaker, at(1), 1);
    assert_eq!(breaker.report().slow, 2);
    breaker.try_acquire(at(1)).unwrap().settle(&TIMEOUT, at(9));
    assert_eq!(reason(&breaker), Reason::Slow { slow: 3, calls: 4 });
}

#[test]
fn kinds_have_thresholds_of_their_own() {
    let refused = Verdict::transient(Kind::CONNECT_REFUSED);
    for builder in [
        Breaker::ratio(0.5).min_calls(1000).no_consecutive(),
        Breaker::ratio(0.5).last_calls(1000).min_calls(1000).no_consecutive(),
    ] {
        let breaker = build(builder.kind(Kind::TIMEOUT, 3).kind(Kind::CONNECT_REFUSED, 6));
        calls(&breaker, at(1), [TIMEOUT, TIMEOUT, refused, refused, refused, refused, refused]);
        assert!(breaker.is_closed(), "two timeouts and five refused connections: neither is enough");
        calls(&breaker, at(1), [TIMEOUT]);
        assert_eq!((breaker.state(), reason(&breaker)), (State::Open, Reason::Kind(3)));
        assert_eq!(breaker.last_trip().unwrap().failure.kind(), Kind::TIMEOUT);
    }
}

#[test]
fn failures_of_a_kind_fall_out_of_the_window() {
    let breaker =
        build(Breaker::ratio(1.0).min_calls(1000).within(s(10)).no_consecutive().kind(Kind::TIMEOUT, 2));
    fails(&breaker, at(1), 1);
    fails(&breaker, at(12), 1);
    assert!(breaker.is_closed());
    fails(&breaker, at(13), 1);
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn one_kind_trips_at_once() {
    let breaker = build(Breaker::standard().trip_at_once(Kind::OFFLINE));
    fails(&breaker, at(1), 1);
    assert!(breaker.is_closed());
    calls(&breaker, at(1), [Verdict::transient(Kind::OFFLINE)]);
    assert_eq!((breaker.state(), reason(&breaker)), (State::Open, Reason::AtOnce));
}

#[test]
fn a_lasting_fault_trips_at_once_unless_told_otherwise() {
    let lasting = Verdict::lasting(Kind::new("moved"));
    let breaker = build(Breaker::standard());
    calls(&breaker, at(1), [lasting]);
    assert_eq!(breaker.state(), State::Open);
    let patient = build(Breaker::standard().lasting_trips(false));
    calls(&patient, at(1), [lasting]);
    assert!(patient.is_closed());
    assert_eq!(patient.core().counts(patient.core().generation(), at(1)).failures, 1);
}

#[test]
fn ignored_kinds_mistakes_and_cancelled_calls_say_nothing() {
    let breaker = build(Breaker::consecutive(1).ignore(Kind::CONFLICT));
    let nothing = [
        Verdict::transient(Kind::CONFLICT),
        Verdict::terminal(Kind::BAD_REQUEST),
        Verdict::neutral(Kind::CANCELLED),
    ];
    calls(&breaker, at(1), nothing);
    breaker.try_acquire(at(1)).unwrap().neutral();
    drop(breaker.try_acquire(at(1)).unwrap());
    assert!(breaker.is_closed());
    assert_eq!((breaker.report().calls, breaker.last_failure()), (0, None));
    calls(&breaker, at(1), [Verdict::throttled(Kind::THROTTLED)]);
    assert_eq!(breaker.state(), State::Open, "throttling is a failure");
}

#[test]
fn an_error_nobody_classified_counts_as_a_failure() {
    let breaker = build(Breaker::consecutive(2));
    calls(&breaker, at(1), [Verdict::unclassified(), Verdict::unclassified()]);
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn one_response_with_a_hint_trips_and_holds_for_at_least_that_long() {
    let breaker = build(Breaker::standard().open_for(s(5)).trip_on_hint(s(10)).max_hold(s(300)));
    let hinted = |seconds: u64| Verdict::throttled(Kind::THROTTLED).with_hint(s(seconds));
    calls(&breaker, at(1), [hinted(9)]);
    assert!(breaker.is_closed(), "short hints are left to the retry");
    calls(&breaker, at(1), [hinted(60)]);
    assert_eq!((breaker.state(), reason(&breaker)), (State::Open, Reason::Hint(s(60))));
    assert!(breaker.try_acquire(at(60)).is_err());
    assert!(breaker.try_acquire(at(61)).is_ok());
    let flooded = build(Breaker::standard().max_hold(s(300)));
    calls(&flooded, at(1), [hinted(1_000_000)]);
    assert_eq!(flooded.try_acquire(at(1)).unwrap_err().retry_in(), Some(s(300)), "capped");
    let deaf = build(Breaker::standard().no_trip_on_hint());
    calls(&deaf, at(1), [hinted(60)]);
    assert!(deaf.is_closed());
}

#[test]
fn a_hint_shorter_than_the_open_time_does_not_shorten_it() {
    let breaker = build(Breaker::standard().open_for(s(50)).trip_on_hint(s(10)));
    calls(&breaker, at(0), [Verdict::throttled(Kind::THROTTLED).with_hint(s(10))]);
    assert!(breaker.try_acquire(at(49)).is_err());
    // A hint too short to trip by itself still holds the breaker that another rule trips.
    let short = build(Breaker::consecutive(1).open_for(s(1)));
    calls(&short, at(0), [Verdict::throttled(Kind::THROTTLED).with_hint(s(8))]);
    assert!(short.try_acquire(at(7)).is_err() && short.try_acquire(at(8)).is_ok());
}

#[test]
fn the_last_failure_and_the_report_tell_what_was_counted() {
    let breaker = build(Breaker::standard());
    assert!(breaker.last_trip().is_none());
    succeeds(&breaker, at(3), 2);
    fails(&breaker, at(4), 1);
    assert_eq!(breaker.last_failure(), Some((TIMEOUT, at(4))));
    let report = breaker.core().counts(breaker.core().generation(), at(4));
    assert_eq!((report.calls(), report.failures, report.slow), (3, 1, 0));
    assert_eq!(breaker.report().state, State::Closed);
}

#[test]
fn code_can_trip_it_but_only_when_closed() {
    let breaker = build(Breaker::standard());
    assert!(breaker.trip(&TIMEOUT));
    assert_eq!((breaker.state(), reason(&breaker)), (State::Open, Reason::Asked));
    assert!(!breaker.trip(&TIMEOUT));
}

#[test]
fn calls_through_the_breaker_alone_are_timed_where_a_rule_needs_it() {
    let clock = crate::clock::VirtualClock::new();
    clock.advance(s(100)); // a call that was not timed would seem to have begun at zero
    let call = |breaker: &Breaker, took| {
        let outcome = breaker.run_blocking(|| {
            clock.advance(took);
            Ok::<_, std::io::Error>(())
        });
        assert!(outcome.is_ok());
    };
    let timed = Breaker::ratio(0.5).min_calls(2).slow(s(2), 1.0).clock(&clock).build("timed").unwrap();
    call(&timed, s(1));
    call(&timed, s(3));
    assert_eq!((timed.report().slow, timed.state()), (1, State::Closed));
    call(&timed, s(3));
    let quick = Breaker::standard().clock(&clock).build("not timed").unwrap();
    call(&quick, s(3));
    assert_eq!((quick.report().calls, quick.report().slow), (1, 0));
}

#[test]
fn a_terminal_error_says_nothing_while_closed() {
    let wrong = Verdict::terminal(Kind::BAD_REQUEST);
    let by_row = build(Breaker::consecutive(3));
    fails(&by_row, at(1), 2);
    calls(&by_row, at(1), [wrong; 5]);
    fails(&by_row, at(1), 1);
    assert_eq!(by_row.state(), State::Open, "it ends no row of failures");
    let by_ratio = build(Breaker::ratio(0.5).min_calls(10).no_consecutive());
    fails(&by_ratio, at(1), 5);
    calls(&by_ratio, at(1), [wrong; 20]);
    fails(&by_ratio, at(1), 5);
    assert_eq!(reason(&by_ratio), Reason::Ratio { failures: 10, calls: 10 }, "and is no call that went well");
}

#[test]
fn reasons_are_told_in_words() {
    for (reason, words) in [
        (Reason::Failures(1), "1 call failed"),
        (Reason::Failures(3), "3 calls failed"),
        (Reason::Kind(2), "2 calls failed in the same way"),
        (Reason::Consecutive(1), "1 call failed"),
        (Reason::Consecutive(4), "4 calls failed in a row"),
        (Reason::Slow { slow: 2, calls: 4 }, "2 of 4 calls were slow"),
    ] {
        assert_eq!(reason.to_string(), words);
    }
}

#[test]
fn refusals_are_counted_from_the_beginning() {
    let breaker = build(Breaker::consecutive(1));
    fails(&breaker, at(1), 1);
    assert_eq!(succeeds(&breaker, at(1), 5), 0);
    assert_eq!(breaker.report().refused, 5);
}
