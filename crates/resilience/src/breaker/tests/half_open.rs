//! Open and half-open: refusals, probes, recovery, growing open times, late results.

use super::super::{Reason, refusing};
use super::*;

fn probing(permits: u16, successes: u16) -> Builder {
    Breaker::consecutive(1).open_for(s(10)).half_open_permits(permits).successes_to_close(successes)
}

/// Tripped at 0, asked again when the open time is surely over.
fn half_opened(builder: Builder) -> Breaker {
    let breaker = build(builder);
    fails(&breaker, at(0), 1);
    drop(breaker.try_acquire(at(20)).unwrap());
    assert_eq!(breaker.state(), State::HalfOpen);
    breaker
}

#[test]
fn open_refuses_with_state_time_and_cause() {
    let breaker = build(probing(1, 1));
    breaker.try_acquire(at(0)).unwrap().settle_with(&TIMEOUT, at(0), &|| Some("no answer in 2 s".to_owned()));
    let refused = breaker.try_acquire(at(4)).unwrap_err();
    assert_eq!((&*refused.breaker(), refused.state()), ("test", State::Open));
    let wait = refused.retry_in().unwrap();
    assert!(wait >= s(6) && wait <= s(7), "10 s and up to a tenth more, less the 4 s: {wait:?}");
    assert_eq!(refused.trip().unwrap().failure.kind(), Kind::TIMEOUT);
    assert_eq!(refused.trip().unwrap().at, at(0));
    let text = refused.to_string();
    for part in [
        "circuit `test` is open",
        "not attempted",
        "1 call failed",
        "timeout: no answer in 2 s",
        "next probe in",
    ] {
        assert!(text.contains(part), "{part:?} in {text:?}");
    }
}

#[test]
fn a_refusal_that_outlives_its_breaker_still_tells_state_and_time() {
    let breaker = build(probing(1, 1));
    fails(&breaker, at(0), 1);
    let refused = breaker.try_acquire(at(0)).unwrap_err();
    assert_eq!(&*refused.breaker(), "test");
    drop(breaker);
    assert_eq!(
        (&*refused.breaker(), refused.state(), refused.trip().is_none()),
        ("(gone)", State::Open, true)
    );
    assert!(refused.to_string().contains("next probe in 10."), "{refused}");
}

#[test]
fn a_retry_that_ends_with_the_open_time_is_not_given_up() {
    let breaker = build(probing(1, 1));
    fails(&breaker, at(0), 1);
    let until = at(0) + breaker.try_acquire(at(0)).unwrap_err().retry_in().unwrap();
    let just_before = Moment::from_nanos(until.as_nanos() - 1);
    assert!(breaker.core().refuses_at(just_before) && !breaker.core().refuses_at(until));
    assert!(breaker.try_acquire(just_before).is_err() && breaker.try_acquire(until).is_ok());
}

#[test]
fn the_open_time_is_spread_upwards_only() {
    let opens: Vec<_> = (0..200)
        .map(|seed| {
            let breaker = Breaker::consecutive(1).open_for(s(10)).seed(seed).build("x").unwrap();
            fails(&breaker, at(0), 1);
            breaker.try_acquire(at(0)).unwrap_err().retry_in().unwrap()
        })
        .collect();
    let (least, most) = (*opens.iter().min().unwrap(), *opens.iter().max().unwrap());
    assert!(least >= s(10) && least < Duration::from_millis(10_100), "{least:?}");
    assert!(most <= s(11) && most > Duration::from_millis(10_900), "{most:?}");
}

#[test]
fn half_open_lets_only_its_permits_through() {
    let breaker = half_opened(probing(2, 5));
    let one = breaker.try_acquire(at(20)).unwrap();
    let two = breaker.try_acquire(at(20)).unwrap();
    assert!(one.is_probe() && two.is_probe());
    let refused = breaker.try_acquire(at(20)).unwrap_err();
    assert_eq!((refused.state(), refused.retry_in()), (State::HalfOpen, Some(Duration::ZERO)));
    assert!(refused.to_string().contains("probe is under way"));
    one.success(at(20));
    assert!(breaker.try_acquire(at(20)).is_ok(), "a place came free");
    drop(two);
}

#[test]
fn enough_successes_in_a_row_close_it_with_clean_counts() {
    let breaker = half_opened(probing(1, 3));
    assert_eq!(succeeds(&breaker, at(20), 2), 2);
    assert_eq!(breaker.state(), State::HalfOpen);
    assert!(!breaker.is_closed());
    succeeds(&breaker, at(20), 1);
    assert!(breaker.is_closed());
    assert_eq!((breaker.report().calls, breaker.report().failed_recoveries), (0, 0));
}

#[test]
fn any_failure_opens_it_again_and_the_next_half_open_starts_from_zero() {
    let breaker = half_opened(probing(1, 3));
    succeeds(&breaker, at(20), 2);
    fails(&breaker, at(20), 1);
    assert_eq!(breaker.state(), State::Open);
    assert_eq!(breaker.last_trip().unwrap().reason, Reason::Probe);
    assert!(breaker.try_acquire(at(29)).is_err(), "the timer started again");
    assert_eq!(succeeds(&breaker, at(60), 2), 2);
    assert_eq!(breaker.state(), State::HalfOpen, "the two successes of before do not count");
}

#[test]
fn neutral_and_dropped_probes_give_their_place_back_and_count_for_nothing() {
    let breaker = half_opened(probing(1, 1));
    for _ in 0..100 {
        calls(&breaker, at(20), [Verdict::neutral(Kind::CANCELLED)]);
        drop(breaker.try_acquire(at(20)).unwrap());
        breaker.try_acquire(at(20)).unwrap().neutral();
    }
    assert_eq!(breaker.state(), State::HalfOpen);
    assert_eq!(breaker.report().probes, 0);
}

#[test]
fn a_terminal_answer_is_an_answer_and_counts_as_a_probes_success() {
    let breaker = half_opened(probing(1, 2).ignore(Kind::DENIED));
    let wrong = |kind| Verdict::terminal(kind);
    calls(&breaker, at(20), [wrong(Kind::DENIED), wrong(Kind::NOT_FOUND)]);
    assert_eq!(breaker.state(), State::HalfOpen, "an ignored kind says nothing");
    calls(&breaker, at(20), [wrong(Kind::NOT_FOUND)]);
    assert!(breaker.is_closed());
}

#[test]
fn words_that_panic_cost_neither_a_place_nor_a_trip() {
    let breaker = half_opened(probing(1, 1));
    breaker.try_acquire(at(20)).unwrap().settle_with(&TIMEOUT, at(20), &|| panic!("in Display"));
    assert_eq!((breaker.state(), breaker.report().probes), (State::Open, 0));
    let closed = build(Breaker::consecutive(1));
    closed.try_acquire(at(1)).unwrap().settle_with(&TIMEOUT, at(1), &|| panic!("in Display"));
    assert_eq!(closed.state(), State::Open);
}

#[test]
fn a_panicking_probe_gives_its_place_back() {
    let breaker = half_opened(probing(1, 1));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _permit = breaker.try_acquire(at(20)).unwrap();
        panic!("probe");
    }));
    assert!(panicked.is_err());
    assert_eq!(breaker.report().probes, 0);
    assert!(breaker.try_acquire(at(20)).is_ok());
}

#[test]
fn a_slow_probe_is_a_failed_one() {
    let breaker = half_opened(probing(1, 2).slow(s(2), 1.0));
    breaker.try_acquire(at(20)).unwrap().success(at(22));
    assert_eq!(breaker.state(), State::HalfOpen, "two seconds are not over two seconds");
    breaker.try_acquire(at(20)).unwrap().success(at(23));
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn open_times_grow_up_to_the_cap_and_start_again_after_recovery() {
    let breaker = build(probing(1, 1).growing_by(2.0).growing_to(s(35)));
    let mut now = at(0);
    let mut opens = Vec::new();
    for _ in 0..4 {
        fails(&breaker, now, 1);
        let open = breaker.try_acquire(now).unwrap_err().retry_in().unwrap();
        opens.push(open);
        now = now + open;
    }
    for (open, base) in opens.iter().zip([10, 20, 35, 35]) {
        assert!(*open >= s(base) && *open <= s(base).mul_f64(1.1), "{open:?} for {base}");
    }
    assert_eq!(breaker.core().control.lock().unwrap().phase.failed_recoveries, 3);
    succeeds(&breaker, now, 1);
    assert!(breaker.is_closed());
    // It has lasted when it stays closed for twice the open time before.
    now = now + s(70);
    fails(&breaker, now, 1);
    assert!(breaker.try_acquire(now).unwrap_err().retry_in().unwrap() <= s(11));
}

/// B5: a service that goes up and down is left alone for longer each time, as one that stays down is.
#[test]
fn a_recovery_that_does_not_last_is_a_failed_one() {
    let breaker = build(probing(1, 1).growing_by(2.0).growing_to(s(35)));
    let mut now = at(0);
    for (nth, base) in [10, 20, 35, 35].into_iter().enumerate() {
        fails(&breaker, now, 1);
        let open = breaker.try_acquire(now).unwrap_err().retry_in().unwrap();
        assert!(open >= s(base) && open <= s(base).mul_f64(1.1), "{open:?} for {base}");
        assert_eq!(breaker.report().failed_recoveries, u32::try_from(nth).unwrap());
        now = now + open;
        succeeds(&breaker, now, 1);
        assert!(breaker.is_closed());
        // A moment before it would have lasted.
        now = Moment::from_nanos((now + s(base) * 2).as_nanos() - 1);
    }
}

#[test]
fn a_probes_hint_holds_the_next_open_time() {
    let breaker = half_opened(probing(1, 1).trip_on_hint(s(10)));
    calls(&breaker, at(20), [Verdict::throttled(Kind::THROTTLED).with_hint(s(100))]);
    assert!(breaker.try_acquire(at(119)).is_err());
    assert!(breaker.try_acquire(at(120)).is_ok());
}

#[test]
fn probes_that_never_answer_end_the_half_open_state() {
    let breaker = half_opened(probing(1, 1).half_open_limit(s(30)));
    let hung = breaker.try_acquire(at(25)).unwrap();
    assert!(breaker.try_acquire(at(54)).is_err());
    assert_eq!(breaker.state(), State::HalfOpen, "29 s since it began");
    assert_eq!(breaker.try_acquire(at(55)).unwrap_err().state(), State::Open);
    assert_eq!(breaker.last_trip().unwrap().reason, Reason::Stalled);
    hung.success(at(56));
    assert_eq!(breaker.state(), State::Open, "its answer is late");
    assert_eq!(breaker.report().late, 1);
    assert!(breaker.try_acquire(at(90)).unwrap().is_probe());
}

#[test]
fn a_quiet_half_open_state_waits_for_its_next_call() {
    let breaker = half_opened(probing(1, 2).half_open_limit(s(30)));
    succeeds(&breaker, at(20), 1);
    assert_eq!(succeeds(&breaker, at(5000), 1), 1, "nothing hangs, so nothing is given up");
    assert!(breaker.is_closed());
}

#[test]
fn a_change_that_was_decided_in_an_earlier_generation_is_not_made() {
    use super::super::state::Input;
    let breaker = build(probing(1, 1));
    let before = breaker.core().generation();
    breaker.reset("ada", "between the decision and the change");
    let tripped = Input::Tripped { hold: Duration::ZERO };
    assert!(!breaker.core().change(&breaker.core().settings(), Some(before), tripped, None, at(1)));
    assert!(breaker.is_closed());
    assert!(breaker.core().change(
        &breaker.core().settings(),
        Some(breaker.core().generation()),
        tripped,
        None,
        at(1)
    ));
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn results_of_an_earlier_generation_change_nothing() {
    let breaker = build(probing(1, 1));
    let from_closed: Vec<_> = (0..3).map(|_| breaker.try_acquire(at(0)).unwrap()).collect();
    fails(&breaker, at(0), 1);
    let [success, failure, later] = <[_; 3]>::try_from(from_closed).unwrap();
    failure.failure(&TIMEOUT, at(1));
    assert_eq!(breaker.report().failed_recoveries, 0);
    let probe = breaker.try_acquire(at(20)).unwrap();
    success.success(at(20));
    assert_eq!(breaker.state(), State::HalfOpen, "a success of before is not a probe's");
    probe.success(at(20));
    assert!(breaker.is_closed());
    later.failure(&TIMEOUT, at(21));
    assert!(breaker.is_closed(), "one failure trips this breaker, but this one is late");
    assert_eq!(breaker.report().late, 3);
}

#[test]
fn a_refusal_tells_of_its_own_breaker_and_no_other() {
    let refusal_of = |name: &str| {
        let breaker = Breaker::consecutive(1).build(name).unwrap();
        fails(&breaker, at(1), 1);
        let refused = breaker.try_acquire(at(1)).unwrap_err();
        (breaker, refused)
    };
    let ((_one, first), (_two, second)) = (refusal_of("one"), refusal_of("two"));
    assert_eq!((&*first.breaker(), &*second.breaker()), ("one", "two"));
    let shown = format!("{first:?}");
    assert!(shown.contains("one") && shown.contains("Open") && shown.contains("Consecutive"), "{shown}");
}

#[test]
fn nothing_is_left_of_a_breaker_that_is_gone() {
    let breaker = build(Breaker::consecutive(1));
    fails(&breaker, at(1), 1);
    let refused = breaker.try_acquire(at(1)).unwrap_err();
    let again = breaker.try_acquire(at(1)).unwrap_err();
    assert_eq!((&*refused.breaker(), &*again.breaker()), ("test", "test"));
    let number = breaker.core().number;
    assert!(refusing::knows(number));
    drop(breaker);
    assert!(!refusing::knows(number));
    assert_eq!((&*refused.breaker(), refused.state()), ("(gone)", State::Open));
}
