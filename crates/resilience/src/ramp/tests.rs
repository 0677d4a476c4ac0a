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
    assert!((240..=241).contains(&in_second(8)), "{}", in_second(8));
    assert!(ramp.is_full() && (ramp.rate() - 25.0 / 0.104).abs() < 1e-3);
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

/// Has all of these begin as soon as they are due, and looks at each millisecond.
fn all_begun(pace: &mut Pace, mut waiting: Vec<Moment>, stalls: impl Fn(u64) -> bool) -> Vec<Moment> {
    let mut begun = Vec::new();
    for now in (0..3_000).filter(|now| !stalls(*now)).map(at) {
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
    assert!(waiting.is_empty(), "{} have not begun", waiting.len());
    begun
}

#[test]
fn after_a_stall_calls_are_as_far_apart_as_at_any_other_time() {
    let mut pace = Pace::default();
    pace.set(Some(Duration::from_micros(4_200)));
    let begun = all_begun(&mut pace, vec![at(0); 100], |_| false);
    assert!(most_in_a_tenth(&begun) <= 25, "{}", most_in_a_tenth(&begun));
    assert!(begun[99].since(begun[0]) < ms(430), "and none waits longer than that takes");
    assert_eq!(pace.lag(), begun[99].since(at(0)));
    assert!(begun.windows(2).all(|pair| pair[1].since(pair[0]) >= ms(2)), "none come in a bunch");
}

#[test]
fn a_little_that_comes_late_is_made_up_for_and_a_long_stall_is_not() {
    // Timers that wake each second millisecond.
    let mut pace = Pace::default();
    pace.set(Some(Duration::from_micros(4_200)));
    let begun = all_begun(&mut pace, vec![at(0); 100], |now| now % 2 != 0);
    assert!(begun[99].since(begun[0]) < ms(430), "{:?}", begun[99].since(begun[0]));
    // A process that stands still for a tenth of a second, each third of a second.
    let mut pace = Pace::default();
    pace.set(Some(Duration::from_micros(4_200)));
    let begun = all_begun(&mut pace, vec![at(0); 100], |now| now % 300 >= 200);
    assert!(most_in_a_tenth(&begun) <= 25, "{}", most_in_a_tenth(&begun));
    assert!(begun.windows(2).all(|pair| pair[1].since(pair[0]) >= ms(2)));
}

#[test]
fn no_tenth_has_more_calls_than_promised_also_where_some_come_late() {
    let full = |steady: f64| {
        let mut ramp = Ramp::begin(Some(steady), at(0), 1);
        run(&mut ramp, 0..20_000);
        assert!(ramp.is_full());
        ramp
    };
    // What is promised: 1.25 times as many, rounded down. Of 30 a second that would be three, and nothing would be caught up with.
    let promised = [(1_000.0, 125), (300.0, 37), (200.0, 25), (100.0, 12), (50.0, 6), (30.0, 5), (5.0, 1)];
    let mut rng = Rng::seeded(7);
    for (steady, most) in promised {
        let gap = full(steady).gap();
        let late = |nth: u32| at(0) + gap * nth + rng.between(Duration::ZERO, ms(4));
        let mut came: Vec<_> = (0..2_000).map(late).collect();
        came.sort_unstable();
        let seen = most_in_a_tenth(&came);
        assert!(
            seen <= most && (seen * 10 >= most * 9 || most < 10),
            "{seen} of {most} at {steady} a second"
        );
        assert!(1.0 / gap.as_secs_f64() >= steady * 1.15, "{steady} a second");
    }
    let mut unknown = Ramp::begin(None, at(0), 1);
    run(&mut unknown, 0..5_000);
    assert_eq!((unknown.rate(), unknown.gap()), (512.0, Duration::from_secs_f64(1.0 / 512.0)));
}

#[test]
fn a_pace_without_a_limit_holds_nobody_back() {
    let mut pace = Pace::default();
    pace.set(Some(ms(3)));
    assert_eq!((0..100).take_while(|_| pace.begin(at(0), at(0)).is_ok()).count(), 1);
    pace.set(None);
    assert!((0..100).all(|_| pace.begin(at(0), at(0)).is_ok()));
}

#[test]
fn turns_that_have_not_begun_are_known() {
    let mut pace = Pace::default();
    pace.set(Some(ms(40)));
    (0..3).for_each(|_| pace.waits());
    assert!(pace.is_behind() && !pace.is_idle());
    pace.waits_no_more();
    assert!(!pace.is_behind());
    (0..2).for_each(|_| pace.waits_no_more());
    assert!(pace.is_idle());
}

#[test]
fn a_cap_that_somebody_has_set_never_widens() {
    let start = Moment::from_nanos(1_000_000_000);
    for rate in [0.01, 0.5, 3.0] {
        let (mut ramp, mut now, mut turns) = (Ramp::up_to(rate, start, 7), start, 0_u32);
        while now.since(start) < Duration::from_secs(3_600) {
            turns += u32::from(ramp.turn(now).is_some());
            ramp.did_well(now);
            now = now + Duration::from_millis(100);
        }
        let most = rate * 3_600.0 + 5.0;
        assert!(f64::from(turns) <= most, "{turns} turns at {rate} a second");
    }
}
