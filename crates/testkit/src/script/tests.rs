//! Tests of the pure script: no clock, no service.

use proptest::prelude::*;

use super::*;
use steadfast_resilience::Class;
use steadfast_resilience::clock::Moment;
use steadfast_resilience::random::Rng;

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn at(time: Duration) -> Moment {
    Moment::ZERO + time
}

/// What calls at these times meet, in the ledger's words, shortened to the status or the first word.
fn play(script: &Script, times: impl IntoIterator<Item = Duration>) -> Vec<String> {
    let mut progress = script.begin(Moment::ZERO);
    let mut rng = Rng::seeded(script.seed());
    let mut meets = |time| script.decide(&mut progress, at(time), rng.unit()).behaviour.to_string();
    times.into_iter().map(|time| meets(time).split(' ').next().unwrap().to_owned()).collect()
}

/// The same without time going by.
fn calls(script: impl Into<Script>, number: usize) -> String {
    play(&script.into(), vec![Duration::ZERO; number]).join(" ")
}

#[test]
fn a_part_is_for_one_call_and_the_last_one_goes_on() {
    let script =
        Script::fail().then(Script::throttle(s(1))).then(Script::overloaded()).then(Script::succeed());
    assert_eq!(calls(script, 6), "500 429 503 succeed succeed succeed");
    assert_eq!(calls(Script::terminal().times(2), 4), "400 400 400 400");
    assert_eq!(calls(Script::succeed().then(Script::hang().lasting(s(1))), 3), "succeed hang hang");
}

#[test]
fn it_fails_as_often_as_told_and_zero_times_is_not_at_all() {
    assert_eq!(calls(Script::fail_times(2), 4), "500 500 succeed succeed");
    assert_eq!(calls(Script::fail_times(0), 2), "succeed succeed");
    let skipped =
        Script::fail().times(0).then(Script::hang().lasting(Duration::ZERO)).then(Script::dropped());
    assert_eq!(calls(skipped, 2), "drop drop");
}

#[test]
fn an_empty_list_succeeds() {
    assert_eq!(calls(Script::sequence([]), 2), "succeed succeed");
    assert_eq!(calls(Script::sequence([Script::fail(), Script::hang()]), 3), "500 hang hang");
}

#[test]
fn scripts_follow_each_other() {
    let outage = Script::overloaded().times(2).then(Script::switched_off());
    let script = Script::succeed().then(outage).then(Script::answer_lost());
    assert_eq!(calls(script, 6), "succeed 503 503 refuse lose lose");
}

#[test]
fn a_timed_part_begins_when_the_one_before_it_ends() {
    let script = Script::fail().then(Script::overloaded().lasting(s(5))).then(Script::hang().lasting(s(5)));
    let script = script.then(Script::succeed());
    // The first call comes at 3 s, so the second part lasts until 8 s and the third until 13 s, called or not.
    let found = play(&script, [3, 3, 7, 8, 12, 13].map(s));
    assert_eq!(found, ["500", "503", "503", "hang", "hang", "succeed"]);
    assert_eq!(play(&script, [s(3), s(13)]), ["500", "succeed"]);
}

#[test]
fn a_script_of_calls_repeats() {
    let script = Script::fail().times(2).then(Script::succeed()).repeating().unwrap();
    assert_eq!(calls(script, 7), "500 500 succeed 500 500 succeed 500");
}

#[test]
fn a_round_without_calls_or_time_is_refused() {
    for empty in [
        Script::flap(Duration::ZERO, Duration::ZERO),
        Script::sequence([]).repeating(),
        Script::fail().times(0).then(Script::hang().times(0)).repeating(),
    ] {
        assert!(matches!(empty, Err(Error::EmptyRound)), "{empty:?}");
    }
}

#[test]
fn a_rate_that_is_no_share_is_refused() {
    for rate in [f64::NAN, -0.1, 1.1, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(matches!(Script::fail_at_rate(rate), Err(Error::Rate(_))), "{rate}");
    }
    assert_eq!(calls(Script::fail_at_rate(0.0).unwrap(), 3), "succeed succeed succeed");
    assert_eq!(calls(Script::fail_at_rate(1.0).unwrap(), 3), "500 500 500");
}

#[test]
fn an_answer_that_cannot_be_sent_is_refused() {
    for (answer, name) in [
        (Answer::new().header("a b", "1"), "a b"),
        (Answer::new().header("", "1"), ""),
        (Answer::new().header("x-ok", "one\r\ntwo: 2"), "x-ok"),
        (Answer::new().add_header("x-ok", "é"), "x-ok"),
        (Answer::new().without_header("ü"), "ü"),
    ] {
        assert!(matches!(Script::answer(answer), Err(Error::Header(found)) if found == name), "{name}");
    }
    for status in [0, 100, 199, 600] {
        assert!(matches!(Script::answer(Answer::new().status(status)), Err(Error::Status(_))), "{status}");
    }
}

#[test]
fn a_fault_of_any_meaning_has_a_status() {
    let lasting = Verdict::lasting(Kind::OFFLINE);
    for (part, status) in [
        (Script::succeed(), Some(200)),
        (Script::status(201), Some(201)),
        (Script::status(404), Some(404)),
        (Script::status(999), Some(500)),
        (Script::fault(lasting), Some(503)),
        (Script::fault(lasting.with_code(17)), Some(503)),
        (Script::fault(lasting.with_code(521)), Some(521)),
        (Script::fault(Verdict::terminal(Kind::DENIED)), Some(400)),
        (Script::fault(Verdict::transient(Kind::TIMEOUT)), Some(500)),
        (Script::throttle(s(1)), Some(429)),
        (Script::hang(), None),
        (Script::switched_off(), None),
    ] {
        assert_eq!(part.behaviour.status(), status, "{part:?}");
    }
    let Behaviour::Fail(throttled) = Script::throttle(s(1)).behaviour else { panic!("throttle fails") };
    assert_eq!((throttled.class(), throttled.hint()), (Class::Throttled, Some(s(1))));
}

#[test]
fn the_door_is_shut_only_for_what_needs_no_counting() {
    let shut = |script: &Script, time| {
        let reach = script.reach(&script.begin(Moment::ZERO), at(time));
        (!reach.is_open, reach.until.map(|until| until.since(Moment::ZERO)))
    };
    assert_eq!(shut(&Script::switched_off().into(), s(0)), (true, None));
    assert_eq!(shut(&Script::switched_off().times(2).then(Script::succeed()), s(0)), (false, None));
    assert_eq!(shut(&Script::switched_off().only_marked("x-fault", "on"), s(0)), (false, None));
    assert_eq!(shut(&Script::switched_off().at_rate(0.5).unwrap().into(), s(0)), (false, None));
    let flapping = Script::flap(s(10), s(5)).unwrap();
    assert_eq!(shut(&flapping, s(0)), (false, Some(s(10))));
    assert_eq!(shut(&flapping, s(10)), (true, Some(s(15))));
    assert_eq!(shut(&flapping, s(15)), (false, Some(s(25))));
}

#[test]
fn asking_whether_the_door_is_shut_counts_nothing() {
    let script = Script::fail_times(1);
    let mut progress = script.begin(Moment::ZERO);
    let before = progress;
    let _ = script.reach(&progress, at(s(5)));
    assert_eq!(progress, before);
    assert_eq!(script.decide(&mut progress, at(s(5)), 0.0).behaviour.status(), Some(500));
}

#[test]
fn the_end_of_time_is_reached_without_turning_for_ever() {
    let script = Script::flap(Duration::MAX, Duration::from_nanos(1)).unwrap();
    assert_eq!(play(&script, [Duration::ZERO, Duration::MAX, Duration::MAX]).len(), 3);
    let script = Script::flap(Duration::from_nanos(1), Duration::from_nanos(1)).unwrap();
    assert_eq!(play(&script, [Duration::MAX]).len(), 1);
}

proptest! {
    #[test]
    fn flapping_follows_its_schedule_at_any_time(
        up in 0u64..1_000_000, down in 0u64..1_000_000, mut times in prop::collection::vec(0u64..u64::MAX / 2, 1..30),
    ) {
        prop_assume!(up + down > 0);
        times.sort_unstable();
        let script = Script::flap(Duration::from_nanos(up), Duration::from_nanos(down)).unwrap();
        let found = play(&script, times.iter().copied().map(Duration::from_nanos));
        for (time, found) in times.iter().zip(found) {
            let expected = if time % (up + down) < up { "succeed" } else { "refuse" };
            prop_assert_eq!(found, expected, "at {} ns of {} up, {} down", time, up, down);
        }
    }

    #[test]
    fn failures_keep_to_their_rate_and_a_seed_repeats_them(rate in 0.0f64..=1.0, seed: u64) {
        const CALLS: usize = 2_000;
        let script = Script::fail_at_rate(rate).unwrap().seeded(seed);
        let first = play(&script, vec![Duration::ZERO; CALLS]);
        let failed = first.iter().filter(|found| *found == "500").count();
        // Six standard deviations, which chance passes once in five hundred million runs.
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let (expected, found) = (rate * CALLS as f64, failed as f64);
        let spread = 6.0 * (expected * (1.0 - rate)).sqrt() + 1.0;
        prop_assert!((found - expected).abs() <= spread, "{} of {} at {}", failed, CALLS, rate);
        prop_assert_eq!(&first, &play(&script, vec![Duration::ZERO; CALLS]));
    }

    #[test]
    fn other_seeds_fail_other_calls(seed: u64) {
        let of = |seed| calls(Script::fail_at_rate(0.5).unwrap().seeded(seed), 200);
        prop_assert_ne!(of(seed), of(seed.wrapping_add(1)));
    }

    #[test]
    fn what_is_decided_depends_on_nothing_but_its_arguments(
        times in prop::collection::vec(0u64..100, 1..20), random in 0.0f64..1.0,
    ) {
        let script = Script::fail().times(3).then(Script::hang().lasting(s(20))).then(Script::succeed()).repeating().unwrap();
        let mut progress = script.begin(Moment::ZERO);
        for time in times {
            let mut again = progress;
            let first = script.decide(&mut progress, at(s(time)), random).behaviour.to_string();
            prop_assert_eq!(first, script.decide(&mut again, at(s(time)), random).behaviour.to_string());
            prop_assert_eq!(progress, again);
        }
    }
}

#[test]
fn an_answer_cannot_lie_about_its_length_by_a_header() {
    for name in ["content-length", "Transfer-Encoding"] {
        let answer = Answer::new().header(name, "5").body("abcdefghij");
        assert!(matches!(Script::answer(answer), Err(Error::Framing(found)) if found == name));
    }
}
