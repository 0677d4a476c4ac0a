//! Nonsense is refused when it is built, and settings that can never take effect are warned of.

use super::*;
use crate::problem::{Code, Findings};

fn found(builder: Builder) -> (Vec<Code>, Vec<Code>) {
    let mut findings = Findings::default();
    let _ = builder.build_within("test", &mut findings);
    match findings.finish("test") {
        Ok(warnings) => (Vec::new(), warnings.iter().map(|problem| problem.code).collect()),
        Err(error) => (error.problems().iter().map(|problem| problem.code).collect(), Vec::new()),
    }
}

#[test]
fn nonsense_is_refused_with_its_code() {
    let zero = Duration::ZERO;
    for (builder, code) in [
        (Breaker::ratio(f64::NAN), Code::BadNumber),
        (Breaker::ratio(0.0), Code::BadNumber),
        (Breaker::ratio(1.01), Code::BadNumber),
        (Breaker::standard().slow(s(1), f64::INFINITY), Code::BadNumber),
        (Breaker::standard().min_calls(0), Code::OutOfRange),
        (Breaker::standard().min_calls(1_000_001), Code::OutOfRange),
        (Breaker::consecutive(0), Code::OutOfRange),
        (Breaker::failures(0), Code::OutOfRange),
        (Breaker::standard().kind(Kind::TIMEOUT, 0), Code::OutOfRange),
        (Breaker::standard().half_open_permits(0), Code::OutOfRange),
        (Breaker::standard().half_open_permits(10_001), Code::OutOfRange),
        (Breaker::standard().successes_to_close(0), Code::OutOfRange),
        (Breaker::standard().within(Duration::from_millis(99)), Code::OutOfRange),
        (Breaker::standard().last_calls(0), Code::OutOfRange),
        (Breaker::standard().last_calls(10_001), Code::OutOfRange),
        (Breaker::standard().open_for(zero), Code::OutOfRange),
        (Breaker::standard().half_open_limit(zero), Code::OutOfRange),
        (Breaker::standard().timeout(zero), Code::OutOfRange),
        (Breaker::standard().slow(zero, 0.5), Code::OutOfRange),
        (Breaker::standard().growing_to(s(1)), Code::Contradiction),
        (Breaker::standard().growing_by(f64::NAN), Code::BadNumber),
        (Breaker::standard().growing_by(0.99), Code::BadNumber),
        (Breaker::standard().growing_by(100.1), Code::BadNumber),
        (Breaker::standard().ignore(Kind::TIMEOUT).kind(Kind::TIMEOUT, 1), Code::Contradiction),
        (Breaker::standard().ignore(Kind::TIMEOUT).trip_at_once(Kind::TIMEOUT), Code::Contradiction),
        (Breaker::consecutive(1).no_consecutive(), Code::Empty),
    ] {
        assert_eq!(found(builder.clone()).0, [code], "{builder:?}");
    }
}

#[test]
fn what_makes_sense_is_built_without_a_word() {
    for builder in [
        Breaker::standard(),
        Breaker::ratio(1.0),
        Breaker::consecutive(1_000_000),
        Breaker::failures(1),
        Breaker::standard().last_calls(20),
        Breaker::standard().last_calls(10_000),
        Breaker::standard().within(Duration::from_millis(100)),
        Breaker::standard().within(Duration::MAX),
        Breaker::standard().half_open_permits(10_000).successes_to_close(10_000),
        Breaker::standard().open_for(s(100)),
        Breaker::standard().growing_by(1.0),
        Breaker::standard().growing_by(100.0),
        Breaker::standard().open_for(s(5)).growing_to(s(5)),
        Breaker::standard().timeout(s(2)).slow(s(1), 0.5),
        Breaker::standard().trip_on_hint(s(600)),
        Breaker::standard().kind(Kind::TIMEOUT, 1).trip_at_once(Kind::OFFLINE).ignore(Kind::CONFLICT),
        Breaker::consecutive(1).no_consecutive().trip_at_once(Kind::OFFLINE),
    ] {
        let (errors, warnings) = found(builder.clone());
        assert_eq!(errors, [], "{builder:?}");
        assert_eq!(warnings, [], "{builder:?}");
    }
}

#[test]
fn settings_without_effect_are_warned_of() {
    for (builder, code) in [
        (Breaker::standard().last_calls(19), Code::NeverTrips),
        (Breaker::ratio(0.5).no_consecutive(), Code::NeverTrips),
        (Breaker::standard().kind(Kind::TIMEOUT, 1).kind(Kind::TIMEOUT, 2), Code::NoEffect),
        (Breaker::standard().kind(Kind::TIMEOUT, 1).trip_at_once(Kind::TIMEOUT), Code::NoEffect),
        (Breaker::standard().timeout(s(2)).slow(s(2), 0.5), Code::NoEffect),
        (Breaker::standard().trip_on_hint(s(601)), Code::NoEffect),
    ] {
        assert_eq!(found(builder.clone()), (vec![], vec![code]), "{builder:?}");
    }
}

#[test]
fn names_and_words_are_there_for_people() {
    let breaker = build(Breaker::standard());
    assert_eq!(breaker.name(), "test");
    assert!(format!("{breaker:?}").contains("Closed"));
    assert!(format!("{:?}", Breaker::ratio(0.25)).contains("0.25"));
    let words: std::collections::HashSet<_> =
        [State::Closed, State::Open, State::HalfOpen, State::ForcedOpen, State::ForcedClosed]
            .map(State::as_str)
            .into();
    assert_eq!(words.len(), 5);
}

#[test]
fn every_reason_has_words_of_its_own() {
    use super::super::Reason;
    let all = [
        Reason::Ratio { failures: 1, calls: 2 },
        Reason::Failures(3),
        Reason::Consecutive(4),
        Reason::Slow { slow: 5, calls: 6 },
        Reason::Kind(7),
        Reason::AtOnce,
        Reason::Hint(s(8)),
        Reason::Probe,
        Reason::Stalled,
        Reason::Asked,
        Reason::Together { failures: 9, calls: 10 },
        Reason::Elsewhere,
        Reason::Forced,
    ];
    let words: std::collections::HashSet<String> = all.iter().map(ToString::to_string).collect();
    assert_eq!(words.len(), all.len());
}

#[test]
fn a_check_tells_warnings_and_errors_without_building() {
    let rare = Breaker::standard().last_calls(10).min_calls(20);
    assert_eq!(rare.check().unwrap()[0].code, Code::NeverTrips);
    assert_eq!(Breaker::ratio(2.0).check().unwrap_err().problems().len(), 1);
    assert!(Breaker::standard().check().unwrap().is_empty());
}

#[test]
fn a_blank_name_is_refused() {
    let error = Breaker::standard().build(" ").unwrap_err();
    assert_eq!((error.problems()[0].code, error.problems()[0].setting), (Code::Empty, "breaker.name"));
}

#[test]
fn the_ratio_is_a_setting_like_the_others() {
    let set = build(Breaker::consecutive(100).ratio(0.5).min_calls(4));
    fails(&set, at(1), 4);
    assert_eq!(set.state(), State::Open);
    let unset = build(Breaker::standard().no_ratio().min_calls(4));
    fails(&unset, at(1), 9);
    assert!(unset.is_closed());
}

#[test]
fn the_rate_below_which_a_ratio_never_trips_is_told() {
    let warnings = Breaker::ratio(0.5).no_consecutive().min_calls(20).within(s(40)).check().unwrap();
    assert!(warnings[0].message.starts_with("below 0.5 calls/s"), "{warnings:?}");
}
