//! Which instants are fired: on time, missed, spread.

use std::time::Duration;

use super::*;
use crate::schedule::{Due, MOST_AT_ONCE, Missed, Utc};

fn due(rules: &Rules, next: &str, now: &str) -> (Vec<String>, u64, Option<String>) {
    let Due { fire, missed, next } = rules.due(Utc, "s", at(next), at(now));
    (fire.into_iter().map(rfc3339).collect(), missed, next.map(rfc3339))
}

fn with(when: &str, missed: Missed) -> Rules {
    Rules { missed, ..rules(when) }
}

const HOURLY: &str = "0 * * * *";

#[test]
fn nothing_is_fired_before_its_time() {
    let none = due(&rules(HOURLY), "2026-07-15T10:00:00Z", "2026-07-15T09:59:59.999Z");
    assert_eq!(none, (vec![], 0, Some("2026-07-15T10:00:00Z".to_owned())));
}

#[test]
fn what_is_on_time_is_fired_whatever_the_rule() {
    for missed in [Missed::Skip, Missed::RunOnce, Missed::run_all()] {
        for now in ["2026-07-15T10:00:00Z", "2026-07-15T10:01:00Z"] {
            let fired = due(&with(HOURLY, missed), "2026-07-15T10:00:00Z", now);
            let expected =
                (vec!["2026-07-15T10:00:00Z".to_owned()], 0, Some("2026-07-15T11:00:00Z".to_owned()));
            assert_eq!(fired, expected, "{missed:?} at {now}");
        }
    }
}

#[test]
fn what_was_missed_goes_by_its_rule() {
    let next = Some("2026-07-15T14:00:00Z".to_owned());
    for (missed, now, fire, passed) in [
        (Missed::Skip, "2026-07-15T13:30:00Z", vec![], 4),
        (Missed::Skip, "2026-07-15T13:00:05Z", vec![13], 3),
        (Missed::RunOnce, "2026-07-15T13:30:00Z", vec![13], 3),
        (Missed::RunOnce, "2026-07-15T13:00:05Z", vec![13], 3),
        (Missed::run_all(), "2026-07-15T13:30:00Z", vec![10, 11, 12, 13], 0),
        (Missed::RunAll { most: 2 }, "2026-07-15T13:30:00Z", vec![12, 13], 2),
    ] {
        let fire: Vec<_> = fire.into_iter().map(|hour| format!("2026-07-15T{hour}:00:00Z")).collect();
        let found = due(&with(HOURLY, missed), "2026-07-15T10:00:00Z", now);
        assert_eq!(found, (fire, passed, next.clone()), "{missed:?} at {now}");
    }
}

#[test]
fn many_are_fired_in_parts() {
    let all = with("* * * * *", Missed::RunAll { most: 250 });
    let (mut next, now) = (at("2026-07-15T00:00:00Z"), at("2026-07-15T10:00:30Z"));
    let (mut fired, mut missed, mut parts) = (Vec::new(), 0, Vec::new());
    for _ in 0..4 {
        let due = all.due(Utc, "s", next, now);
        next = due.next.unwrap();
        parts.push(due.fire.len());
        missed += due.missed;
        fired.extend(due.fire);
    }
    assert_eq!((parts, missed), (vec![MOST_AT_ONCE, MOST_AT_ONCE, 50, 0], 351));
    let (first, last) = (fired.first().copied().map(rfc3339), fired.last().copied().map(rfc3339));
    assert_eq!(
        (first.as_deref(), last.as_deref()),
        (Some("2026-07-15T05:51:00Z"), Some("2026-07-15T10:00:00Z"))
    );
    assert!(fired.windows(2).all(|pair| pair[1].since(pair[0]).as_secs() == 60));
}

#[test]
fn a_year_of_seconds_is_not_walked_through() {
    let seconds = rules("every 1s");
    let (fire, missed, next) = due(&seconds, "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z");
    assert_eq!(fire, ["2027-01-01T00:00:00Z"]);
    assert_eq!((missed, next.as_deref()), (365 * 86_400, Some("2027-01-01T00:00:01Z")));
    // Minutes are, for a year; what is older is said to be there, and not counted.
    let (fire, missed, _) = due(&rules("* * * * *"), "2020-01-01T00:00:00Z", "2027-01-01T00:00:30Z");
    assert_eq!((fire.as_slice(), missed), (["2027-01-01T00:00:00Z".to_owned()].as_slice(), 366 * 1_440));
}

#[test]
fn a_schedule_begins_and_ends() {
    let mut rules = rules("every 40m");
    rules.starts_at = Some(at("2026-07-15T10:05:00Z"));
    rules.ends_at = Some(at("2026-07-15T11:25:00Z"));
    let all: Vec<_> = rules.instants_after(Utc, at("2026-01-01T00:00:00Z")).map(rfc3339).collect();
    assert_eq!(all, ["2026-07-15T10:05:00Z", "2026-07-15T10:45:00Z"], "counted from its start");
    let found = due(&rules, "2026-07-15T10:45:00Z", "2026-07-15T10:45:01Z");
    assert_eq!(found, (vec!["2026-07-15T10:45:00Z".to_owned()], 0, None));
    // Over a long time too, and none beyond its end.
    let (fire, missed, next) = due(&rules, "2026-07-15T10:05:00Z", "2027-07-15T10:45:01Z");
    assert_eq!((fire.len(), missed, next), (1, 1, None));
    let daily = Rules { starts_at: Some(at("2026-07-15T12:00:00Z")), ..super::rules("0 12 * * *") };
    assert_eq!(daily.first_after(Utc, at("2026-01-01T00:00:00Z")), Some(at("2026-07-15T12:00:00Z")));
}

#[test]
fn rules_that_make_no_sense_are_refused() {
    let minute = || rules("* * * * *");
    let ends = Rules {
        starts_at: Some(at("2026-07-15T10:00:00Z")),
        ends_at: Some(at("2026-07-15T10:00:00Z")),
        ..minute()
    };
    let spread = Rules { jitter: Duration::from_secs(86_401), ..minute() };
    for (rules, words) in [
        (ends, "it ends before it begins"),
        (spread, "more than a day"),
        (with("* * * * *", Missed::RunAll { most: 0 }), "give 1 to 10000, or `Skip`"),
        (with("* * * * *", Missed::RunAll { most: 10_001 }), "give 1 to 10000"),
    ] {
        assert!(rules.check().unwrap_err().contains(words), "{rules:?}");
    }
    assert_eq!(minute().check(), Ok(()));
}

#[test]
fn jitter_is_the_same_each_time_spread_and_shorter_than_the_way_to_the_next() {
    let spread = Rules { jitter: Duration::from_secs(600), ..rules("*/5 * * * *") };
    let instants: Vec<_> = spread.instants_after(Utc, at("2026-01-01T00:00:00Z")).take(2_000).collect();
    let waits: Vec<_> = instants
        .iter()
        .map(|instant| {
            let begins = spread.begins_at(Utc, "s", *instant);
            assert_eq!(begins, spread.begins_at(Utc, "s", *instant));
            begins.since(*instant).as_millis()
        })
        .collect();
    assert!(waits.iter().all(|wait| *wait < 300_000), "before the next one");
    let sum: u128 = waits.iter().sum();
    assert!((140_000..160_000).contains(&(sum / 2_000)), "the mean is {}", sum / 2_000);
    let tenths: std::collections::BTreeSet<_> = waits.iter().map(|wait| wait / 30_000).collect();
    assert_eq!(tenths.len(), 10);
    let others = instants
        .iter()
        .filter(|instant| spread.begins_at(Utc, "other", **instant) == spread.begins_at(Utc, "s", **instant));
    assert!(others.count() < 10, "another name has other waits");
    // It is fired when it begins, and not before.
    let first = instants[0];
    let begins = spread.begins_at(Utc, "s", first);
    assert!(begins > first);
    let before = Time::from_millis(begins.as_millis() - 1);
    assert!(spread.due(Utc, "s", first, before).fire.is_empty());
    assert_eq!(spread.due(Utc, "s", first, begins).fire, [first]);
}

/// Whatever the rule and whenever somebody looks: each instant is fired or passed over, once, in order, and not too early.
#[test]
fn each_instant_is_fired_or_passed_over_once() {
    let whens = ["* * * * *", "*/7 * * * *", "0 */2 * * *", "every 45s", "every 10m", "30 2 * * *"];
    let (mut fired_in_all, mut missed_in_all) = (0, 0);
    for seed in 0..300 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let berlin = zone("Europe/Berlin");
        let missed = [Missed::Skip, Missed::RunOnce, Missed::RunAll { most: rng.u32(1..300) }];
        let mut rules = with(whens[rng.usize(0..whens.len())], missed[rng.usize(0..3)]);
        rules.jitter = Duration::from_secs(if rng.bool() { 0 } else { rng.u64(0..900) });
        let begin = at("2026-03-28T12:00:00Z");
        rules.ends_at = rng.bool().then(|| begin + Duration::from_secs(rng.u64(1..200_000)));
        let (mut now, mut next) = (begin, rules.first_after(&berlin, begin));
        let (mut fired, mut passed) = (Vec::new(), 0);
        for _ in 0..40 {
            let most = [5_000, 90_000, 40_000_000][rng.usize(0..3)];
            now = now + Duration::from_millis(rng.u64(0..most));
            // What is left of many is due at once.
            while let Some(at) = next.filter(|at| rules.begins_at(&berlin, "s", *at) <= now) {
                let due = rules.due(&berlin, "s", at, now);
                assert!(due.fire.len() <= MOST_AT_ONCE && due.next.is_none_or(|next| next > at));
                assert!(due.fire.iter().all(|instant| rules.begins_at(&berlin, "s", *instant) <= now));
                fired.extend(due.fire);
                (passed, next) = (passed + due.missed, due.next);
            }
        }
        let all: Vec<_> = rules
            .instants_after(&berlin, begin)
            .take_while(|at| next.is_none_or(|next| *at < next))
            .collect();
        assert_eq!(fired.len() as u64 + passed, all.len() as u64, "seed {seed}: {rules:?}");
        assert!(fired.windows(2).all(|pair| pair[0] < pair[1]) && fired.iter().all(|at| all.contains(at)));
        if let Missed::RunOnce = rules.missed {
            assert_eq!(fired.last(), all.last(), "the latest always runs");
        }
        fired_in_all += fired.len();
        missed_in_all += passed;
    }
    assert!(fired_in_all > 5_000 && missed_in_all > 5_000, "{fired_in_all}, {missed_in_all}");
}
