//! What can be written, and what is said about what cannot.

use super::*;
use crate::schedule::{Utc, When, check_name, key};

fn first(when: &str, after: &str) -> String {
    rfc3339(rules(when).first_after(Utc, at(after)).unwrap())
}

#[test]
fn expressions_mean_what_every_cron_means_by_them() {
    // Wednesday.
    let now = "2026-07-15T10:20:30Z";
    for (when, next) in [
        ("* * * * *", "2026-07-15T10:21:00Z"),
        ("*/15 * * * *", "2026-07-15T10:30:00Z"),
        ("5-50/20 * * * *", "2026-07-15T10:25:00Z"),
        ("0,20,40 * * * *", "2026-07-15T10:40:00Z"),
        ("30 2 * * *", "2026-07-16T02:30:00Z"),
        ("30 2 * * MON", "2026-07-20T02:30:00Z"),
        ("30 2 * * fri-sun", "2026-07-17T02:30:00Z"),
        ("30 2 * * 7", "2026-07-19T02:30:00Z"),
        ("30 2 * * 0", "2026-07-19T02:30:00Z"),
        ("0 0 1 JAN *", "2027-01-01T00:00:00Z"),
        ("0 0 1 jan-mar,Dec *", "2026-12-01T00:00:00Z"),
        ("0 0 29 2 *", "2028-02-29T00:00:00Z"),
        ("0 0 31 * *", "2026-07-31T00:00:00Z"),
        // Both days are restricted: either is enough.
        ("0 12 13 * FRI", "2026-07-17T12:00:00Z"),
        // One begins with a star: both are needed.
        ("0 12 13 * */5", "2026-09-13T12:00:00Z"),
        ("@hourly", "2026-07-15T11:00:00Z"),
        ("@daily", "2026-07-16T00:00:00Z"),
        ("@midnight", "2026-07-16T00:00:00Z"),
        ("@Weekly", "2026-07-19T00:00:00Z"),
        ("@monthly", "2026-08-01T00:00:00Z"),
        ("@yearly", "2027-01-01T00:00:00Z"),
        ("every 15m", "2026-07-15T10:30:00Z"),
        ("every 90s", "2026-07-15T10:21:00Z"),
        ("Every 1h 30m", "2026-07-15T10:30:00Z"),
        ("every 2d", "2026-07-16T00:00:00Z"),
        ("  0   12 * * *  ", "2026-07-15T12:00:00Z"),
    ] {
        assert_eq!(first(when, now), next, "{when}");
    }
}

#[test]
fn an_instant_is_not_its_own_next_one() {
    assert_eq!(first("0 12 * * *", "2026-07-15T12:00:00Z"), "2026-07-16T12:00:00Z");
    assert_eq!(first("0 12 * * *", "2026-07-15T11:59:59.999Z"), "2026-07-15T12:00:00Z");
    assert_eq!(first("every 15m", "2026-07-15T12:00:00Z"), "2026-07-15T12:15:00Z");
}

#[test]
fn a_bad_expression_is_told_its_place_and_what_was_expected() {
    for (when, at, words) in [
        ("", 0, "expected five fields (minute, hour, day of the month, month, day of the week)"),
        ("30 2 * *", 8, "such as `30 2 * * MON-FRI`, or `@daily`, or `every 15m`, found 4 fields"),
        ("0 30 2 * * *", 11, "there are no seconds or years: expected five fields"),
        ("30 25 * * *", 3, "`25` is no hour: expected 0 to 23"),
        ("60 * * * *", 0, "`60` is no minute: expected 0 to 59"),
        ("1,2,x * * * *", 4, "`x` is no minute: expected 0 to 59"),
        ("0 0 0 * *", 4, "`0` is no day of the month: expected 1 to 31"),
        ("0 0 * MAI *", 6, "`MAI` is no month: expected 1 to 12, or JAN to DEC"),
        ("0 0 * * MON-FUN", 12, "`FUN` is no day of the week: expected 0 to 7, or SUN to SAT"),
        ("0 0 * * 8", 8, "`8` is no day of the week"),
        ("30-10 * * * *", 0, "`30-10` ends before it begins: expected two ranges, joined by a comma"),
        ("*/0 * * * *", 2, "`0` is no step here: expected 1 to 59"),
        (
            "*/90 * * * *",
            2,
            "`90` is no step here: expected 1 to 59; for a longer interval write `every 90m`",
        ),
        ("*/ * * * *", 2, "`` is no step here"),
        ("5/15 * * * *", 0, "a step needs a range: expected `*/n` or `5-59/n`"),
        ("+5 * * * *", 0, "`+5` is no minute"),
        ("-5 * * * *", 0, "`` is no minute"),
        ("1,,2 * * * *", 2, "`` is no minute"),
        ("é * * * *", 0, "`é` is no minute"),
        ("é é * * *", 0, "`é` is no minute"),
        ("* é * * *", 2, "`é` is no hour"),
        ("0 0 30 2 *", 4, "no month that is named has such a day, so that it would never come"),
        ("0 0 31 4,6,9,11 *", 4, "no month that is named has such a day"),
        ("0 0 30-31 FEB */2", 4, "no month that is named has such a day"),
        ("@reboot", 0, "`@reboot` is not known: expected `@hourly`, `@daily`"),
        ("every", 5, "expected a number with its unit, as in `every 15m`"),
        ("every 15", 8, "expected a number with its unit"),
        ("every 15 m", 8, "` ` is no unit"),
        ("every 15w", 8, "`w` is no unit: expected `s`, `m`, `h` or `d`"),
        ("every m", 6, "expected a whole number before the unit"),
        ("every 0s", 6, "expected an interval of at least a second and at most a year"),
        ("every 500d", 6, "expected an interval of at least a second"),
        ("every 99999999999999999999s", 26, "expected a whole number before the unit"),
    ] {
        let error = when.parse::<When>().expect_err(when);
        assert!(error.message().contains(words), "{when}: {error}");
        assert_eq!(error.at(), at, "{error}");
        assert!(error.to_string().contains(&format!("column {}", at + 1)), "{error}");
    }
    // Either day is enough, so that this one comes on Mondays.
    assert_eq!(first("0 0 30 2 MON", "2026-01-29T00:00:00Z"), "2026-02-02T00:00:00Z");
}

#[test]
fn reading_survives_any_text() {
    let mut rng = fastrand::Rng::with_seed(7);
    let letters: Vec<char> = "0123456789*/-, @everysmhdMONJAN\u{e9}\t\u{1F600}".chars().collect();
    for _ in 0..20_000 {
        let text: String = (0..rng.usize(0..20)).map(|_| letters[rng.usize(0..letters.len())]).collect();
        if let Ok(when) = text.parse::<When>() {
            assert!(Rules::new(when).first_after(Utc, at("2026-01-01T00:00:00Z")).is_some(), "{text}");
        }
    }
}

#[test]
fn the_29th_of_february_on_a_given_weekday_is_found_over_a_century() {
    // 2100 has none, and after that it is a Friday, a Wednesday, a Monday, and then a Saturday.
    assert_eq!(first("0 0 29 2 */6", "2096-03-01T00:00:00Z"), "2116-02-29T00:00:00Z");
}

#[test]
fn a_run_is_known_by_schedule_and_instant() {
    assert_eq!(key("nightly", at("2026-07-15T02:30:00Z")), "nightly@2026-07-15T02:30:00Z");
    assert_eq!(key("n", at("2026-07-15T02:30:00.050Z")), "n@2026-07-15T02:30:00.050Z");
    assert_eq!(rfc3339(Time::from_millis(u64::MAX)), "9999-12-31T23:59:59.999Z");
    assert_eq!(rfc3339(Time::default()), "1970-01-01T00:00:00Z");
    assert!(check_name("nightly-report.v2").is_ok());
    assert!(check_name("a@b").unwrap_err().contains("use letters"));
}
