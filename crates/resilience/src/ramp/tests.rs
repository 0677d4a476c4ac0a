use std::time::Duration;

use super::*;

fn at(millis: u64) -> Moment {
    Moment::from_nanos(1_000_000_000 + millis * 1_000_000)
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// All calls of a run of so many milliseconds in which every call does well.
fn run(ramp: &mut Ramp, millis: std::ops::Range<u64>) -> Vec<Moment> {
    let mut begun = Vec::new();
    for now in millis.map(at) {
        while let Some(turn) = ramp.turn(now) {
            begun.push(ramp.begin_call(turn, now));
            ramp.did_well(now);
        }
        ramp.did_well(now);
    }
    begun
}

/// The most that begin within any tenth of a second.
fn most_in_a_tenth(begun: &[Moment]) -> usize {
    let within =
        |first: &Moment| begun.iter().filter(|at| *at >= first && at.since(*first) < ms(100)).count();
    begun.iter().map(within).max().unwrap_or(0)
}

#[test]
fn it_begins_with_a_trickle_and_doubles_up_to_the_cap() {
    let mut ramp = Ramp::begin(Some(200.0), at(0), 1);
    let begun = run(&mut ramp, 0..10_000);
    let in_second = |second: u64| {
        begun.iter().filter(|at_| **at_ >= at(second * 1_000) && **at_ < at((second + 1) * 1_000)).count()
    };
    assert!((2..8).contains(&in_second(0)), "{}", in_second(0));
    assert!(in_second(1) >= 2 * in_second(0) && in_second(2) >= 2 * in_second(1));
    assert!((242..=245).contains(&in_second(8)), "{}", in_second(8));
    assert!(ramp.is_full() && (ramp.rate() - 244.0).abs() < 1e-9);
}

#[test]
fn no_tenth_of_a_second_has_more_than_a_quarter_above_what_was_before() {
    for rate in [100, 200, 1_000, 5_000_usize] {
        let begun = run(&mut Ramp::begin(Some(rate as f64), at(0), 3), 0..12_000);
        let most = most_in_a_tenth(&begun[begun.len().saturating_sub(2_000)..]);
        assert!(most * 8 <= rate.next_multiple_of(8), "{most} at {rate}");
    }
}

#[test]
fn after_a_stall_calls_do_not_come_at_once() {
    let mut ramp = Ramp::begin(Some(200.0), at(0), 1);
    run(&mut ramp, 0..8_000);
    // The disk stands still for a second: what was given before begins after it, and is still spaced.
    let turns: Vec<_> = (8_000..9_000).filter_map(|now| ramp.turn(at(now))).collect();
    assert!(turns.len() > 100);
    let mut begun: Vec<_> = turns.into_iter().map(|turn| ramp.begin_call(turn, at(9_000))).collect();
    assert!(ramp.turn(at(9_001)).is_none(), "nobody gets a turn before those have begun");
    begun.extend(run(&mut ramp, 9_001..11_000));
    assert!(most_in_a_tenth(&begun) <= 25, "{}", most_in_a_tenth(&begun));
}

#[test]
fn it_does_not_grow_while_nothing_goes_well() {
    let mut ramp = Ramp::begin(Some(200.0), at(0), 1);
    let turns = (0..20_000).filter(|now| ramp.turn(at(*now)).is_some()).count();
    assert_eq!((ramp.stage(), turns), (0, 41), "two a second, for ever");
    ramp.did_well(at(20_000));
    assert_eq!(ramp.stage(), 1);
}

#[test]
fn where_more_comes_in_than_before_the_cap_gives_way() {
    let mut ramp = Ramp::begin(Some(10.0), at(0), 1);
    for second in 0..200_u64 {
        (0..100).for_each(|_| ramp.came());
        run(&mut ramp, second * 1_000..(second + 1) * 1_000);
    }
    assert!(ramp.rate() > 12.0 * 1.2, "{}", ramp.rate());
    let mut enough = Ramp::begin(Some(10.0), at(0), 1);
    for second in 0..200_u64 {
        (0..10).for_each(|_| enough.came());
        run(&mut enough, second * 1_000..(second + 1) * 1_000);
    }
    assert!((enough.rate() - 12.2).abs() < 1e-9, "the line grows shorter: {}", enough.rate());
}

#[test]
fn without_a_past_it_doubles_without_a_cap() {
    let mut ramp = Ramp::begin(None, at(0), 1);
    run(&mut ramp, 0..5_000);
    assert!(ramp.rate() > 200.0 && !ramp.is_full());
}

#[test]
fn stages_do_not_last_equally_long_everywhere() {
    let ends: std::collections::BTreeSet<_> =
        (0..10).map(|seed| Ramp::begin(None, at(0), seed).stage_ends).collect();
    assert_eq!(ends.len(), 10);
    assert!(ends.iter().all(|ends| ends.since(at(0)) >= STAGE && ends.since(at(0)) <= STAGE.mul_f64(1.2)));
}

#[test]
fn the_steady_rate_is_that_of_most_seconds() {
    let mut steady = Steady::default();
    assert_eq!(steady.per_second(at(0)), None);
    for milli in 0..30_000_u64 {
        // 50 a second, a burst in the tenth, and nothing in the last two.
        let times = if milli / 1_000 == 10 { 20 } else { u32::from(milli % 20 == 0) };
        (0..times).filter(|_| milli < 28_000).for_each(|_| steady.count(at(milli)));
    }
    assert_eq!(steady.per_second(at(30_000)), Some(50.0));
    assert_eq!(steady.per_second(at(600_000)), None, "a minute of silence says nothing");
}

#[test]
fn a_quiet_service_has_its_mean() {
    let mut steady = Steady::default();
    (0..6).for_each(|nth| steady.count(at(nth * 10_000)));
    let rate = steady.per_second(at(60_000)).unwrap();
    assert!((0.05..0.15).contains(&rate), "{rate}");
}

#[test]
fn after_a_stall_no_more_begin_in_a_tenth_than_at_any_other_time() {
    let mut pace = Pace::default();
    pace.set(Some(24));
    // A hundred are due at once, and come back when they are told to.
    let mut waiting: Vec<_> = (0..100).map(|_| at(0)).collect();
    let mut begun = Vec::new();
    for now in (0..1_000).map(at) {
        waiting.retain_mut(|due| {
            if *due > now {
                return true;
            }
            match pace.begin(at(0), now) {
                Ok(()) => begun.push(now),
                Err(later) => {
                    assert!(later > now);
                    *due = later;
                    return true;
                }
            }
            false
        });
    }
    assert_eq!((begun.len(), most_in_a_tenth(&begun)), (100, 24));
    assert!(begun[99].since(begun[0]) < ms(450), "and none waits longer than that takes");
    assert_eq!(pace.lag(), begun[99].since(at(0)));
}

#[test]
fn so_many_begin_in_a_tenth_as_were_promised_and_where_those_are_few_as_are_needed() {
    let full = |steady: f64| {
        let mut ramp = Ramp::begin(Some(steady), at(0), 1);
        run(&mut ramp, 0..20_000);
        assert!(ramp.is_full());
        ramp.most_in_a_tenth()
    };
    // One less than 1.25 times as many, rounded down; of 100 a second not one less, and of 30 a second that would be three, and
    // nothing would be caught up with.
    let promised = [(1_000.0, 124), (300.0, 36), (200.0, 24), (100.0, 12), (50.0, 6), (30.0, 4), (5.0, 1)];
    for (steady, most) in promised {
        assert_eq!(full(steady), most, "{steady} a second");
    }
    assert_eq!(Ramp::begin(Some(200.0), at(0), 1).most_in_a_tenth(), 1, "it begins with a trickle");
    let mut unknown = Ramp::begin(None, at(0), 1);
    run(&mut unknown, 0..5_000);
    assert_eq!((unknown.rate(), unknown.most_in_a_tenth()), (512.0, 52));
}

#[test]
fn a_pace_without_a_limit_holds_nobody_back() {
    let mut pace = Pace::default();
    pace.set(Some(3));
    assert_eq!((0..100).take_while(|_| pace.begin(at(0), at(0)).is_ok()).count(), 3);
    pace.set(None);
    assert!((0..100).all(|_| pace.begin(at(0), at(0)).is_ok()));
}

#[test]
fn turns_that_have_not_begun_are_known() {
    let mut pace = Pace::default();
    pace.set(Some(2));
    (0..3).for_each(|_| pace.waits());
    assert!(pace.is_behind() && !pace.is_idle());
    pace.waits_no_more();
    assert!(!pace.is_behind());
    (0..2).for_each(|_| pace.waits_no_more());
    assert!(pace.is_idle());
}
