//! What happens when the clocks change, with the dates of 2026 and 2027.

use super::*;

/// Instants of one day, by expression, zone and day.
fn check(zone_name: &str, when: &str, from: &str, to: &str, expected: &[impl AsRef<str>]) {
    let expected: Vec<_> = expected.iter().map(AsRef::as_ref).collect();
    assert_eq!(between(when, &zone(zone_name), from, to), expected, "{when} in {zone_name}");
}

#[test]
fn a_time_that_does_not_exist_comes_at_the_first_instant_after_the_gap() {
    // 02:00 becomes 03:00.
    for (day, eve, change) in [
        ("2026-03-30", "2026-03-28", "2026-03-29T01:00:00Z"),
        ("2027-03-29", "2027-03-27", "2027-03-28T01:00:00Z"),
    ] {
        let expected = [format!("{eve}T01:30:00Z"), change.to_owned(), format!("{day}T00:30:00Z")];
        check(
            "Europe/Berlin",
            "30 2 * * *",
            &format!("{eve}T01:00:00Z"),
            &format!("{day}T12:00:00Z"),
            &expected,
        );
    }
    for (day, eve, change) in [
        ("2026-03-09", "2026-03-07", "2026-03-08T07:00:00Z"),
        ("2027-03-15", "2027-03-13", "2027-03-14T07:00:00Z"),
    ] {
        let expected = [format!("{eve}T07:30:00Z"), change.to_owned(), format!("{day}T06:30:00Z")];
        check(
            "America/New_York",
            "30 2 * * *",
            &format!("{eve}T07:00:00Z"),
            &format!("{day}T12:00:00Z"),
            &expected,
        );
    }
    // Half an hour: 02:00 becomes 02:30, which is 15:30 of the day before in UTC.
    for (day, eve) in [("2026-10-03", "2026-10-02"), ("2027-10-02", "2027-10-01")] {
        let expected = [format!("{eve}T15:45:00Z"), format!("{day}T15:30:00Z")];
        check(
            "Australia/Lord_Howe",
            "15 2 * * *",
            &format!("{eve}T15:00:00Z"),
            &format!("{day}T23:00:00Z"),
            &expected,
        );
    }
}

#[test]
fn several_times_in_a_gap_are_one_instant() {
    let expected = ["2026-03-29T01:00:00Z", "2026-03-29T22:00:00Z"];
    check("Europe/Berlin", "*/10 0,2 * * *", "2026-03-29T00:00:00Z", "2026-03-29T22:01:00Z", &expected);
    // And one with the time at which the gap ends.
    check(
        "Europe/Berlin",
        "0 2,3 * * *",
        "2026-03-29T00:00:00Z",
        "2026-03-30T00:00:00Z",
        &["2026-03-29T01:00:00Z"],
    );
}

#[test]
fn a_time_that_exists_twice_comes_once_the_first_time() {
    for (day, next) in [("2026-10-25", "2026-10-26"), ("2027-10-31", "2027-11-01")] {
        let expected = [format!("{day}T00:30:00Z"), format!("{next}T01:30:00Z")];
        check(
            "Europe/Berlin",
            "30 2 * * *",
            &format!("{day}T00:00:00Z"),
            &format!("{next}T12:00:00Z"),
            &expected,
        );
    }
    for (day, next) in [("2026-11-01", "2026-11-02"), ("2027-11-07", "2027-11-08")] {
        let expected = [format!("{day}T05:30:00Z"), format!("{next}T06:30:00Z")];
        check(
            "America/New_York",
            "30 1 * * *",
            &format!("{day}T00:00:00Z"),
            &format!("{next}T12:00:00Z"),
            &expected,
        );
    }
    // 02:00 becomes 01:30: 01:45 is there twice, 01:15 once.
    for (eve, day) in [("2026-04-04", "2026-04-05"), ("2027-04-03", "2027-04-04")] {
        let expected = [format!("{eve}T14:45:00Z"), format!("{day}T15:15:00Z")];
        check(
            "Australia/Lord_Howe",
            "45 1 * * *",
            &format!("{eve}T14:00:00Z"),
            &format!("{day}T23:00:00Z"),
            &expected,
        );
        let expected = [format!("{eve}T14:15:00Z"), format!("{day}T14:45:00Z")];
        check(
            "Australia/Lord_Howe",
            "15 1 * * *",
            &format!("{eve}T14:00:00Z"),
            &format!("{day}T23:00:00Z"),
            &expected,
        );
    }
}

#[test]
fn what_comes_every_hour_comes_every_real_hour() {
    let berlin = zone("Europe/Berlin");
    for when in ["0 * * * *", "30 * * * *", "0 */1 * * *", "15 0-23 * * *"] {
        for (from, to) in [("2026-03-28", "2026-03-31"), ("2026-10-24", "2026-10-27")] {
            let (from, to) = (format!("{from}T00:00:00Z"), format!("{to}T00:00:00Z"));
            let instants = between(when, &berlin, &from, &to);
            assert_eq!(instants.len(), 72, "{when} from {from}");
            let hours = instants.windows(2).all(|pair| at(&pair[1]).since(at(&pair[0])).as_secs() == 3600);
            assert!(hours, "{when}: {instants:?}");
        }
    }
    // Every quarter of an hour also where the clocks change by half of one.
    let quarters =
        between("*/15 * * * *", &zone("Australia/Lord_Howe"), "2026-10-03T00:00:00Z", "2026-10-04T00:00:00Z");
    assert_eq!(quarters.len(), 96);
    // At the full hour of the wall clock: that one shows it half an hour later from then on.
    let expected =
        ["2026-10-03T13:30:00Z", "2026-10-03T14:30:00Z", "2026-10-03T16:00:00Z", "2026-10-03T17:00:00Z"];
    check("Australia/Lord_Howe", "0 * * * *", "2026-10-03T13:00:00Z", "2026-10-03T17:30:00Z", &expected);
}

#[test]
fn what_comes_every_other_hour_has_neither_double_nor_hole() {
    let spring =
        ["2026-03-28T23:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z", "2026-03-29T04:00:00Z"];
    check("Europe/Berlin", "0 */2 * * *", "2026-03-28T23:00:00Z", "2026-03-29T05:00:00Z", &spring);
    let autumn =
        ["2026-10-24T22:00:00Z", "2026-10-25T00:00:00Z", "2026-10-25T03:00:00Z", "2026-10-25T05:00:00Z"];
    check("Europe/Berlin", "0 */2 * * *", "2026-10-24T22:00:00Z", "2026-10-25T06:00:00Z", &autumn);
}

#[test]
fn an_interval_does_not_look_at_the_wall_clock() {
    let berlin = between("every 90m", &zone("Europe/Berlin"), "2026-03-28T00:00:00Z", "2026-03-30T00:00:00Z");
    assert_eq!(berlin, between("every 90m", &zone("UTC"), "2026-03-28T00:00:00Z", "2026-03-30T00:00:00Z"));
    assert_eq!(berlin.len(), 32);
}

#[test]
fn a_daily_run_comes_once_on_each_day_of_the_wall_clock() {
    for (name, when) in [
        ("Europe/Berlin", "30 2 * * *"),
        ("America/New_York", "30 2 * * *"),
        ("America/New_York", "30 1 * * *"),
        ("Australia/Lord_Howe", "45 1 * * *"),
        ("Australia/Lord_Howe", "15 2 * * *"),
        ("America/Havana", "0 0 * * *"),
        ("UTC", "30 2 * * *"),
    ] {
        let real = zone(name);
        let instants = between(when, &real, "2026-01-02T00:00:00Z", "2028-01-02T00:00:00Z");
        let days: std::collections::BTreeSet<_> = instants
            .iter()
            .map(|instant| real.0.to_datetime(instant.parse().unwrap()).date().to_string())
            .collect();
        assert_eq!((instants.len(), days.len()), (730, 730), "{when} in {name}");
    }
}

#[test]
fn a_day_that_a_zone_leaves_out_is_made_up_for_once() {
    // Samoa went over the date line: there was no 30 December 2011.
    let expected = [
        "2011-12-29T12:00:00Z",
        "2011-12-29T22:00:00Z",
        // Both of the day that was not there.
        "2011-12-30T10:00:00Z",
        "2011-12-30T12:00:00Z",
        "2011-12-30T22:00:00Z",
    ];
    check("Pacific/Apia", "0 2,12 * * *", "2011-12-29T11:00:00Z", "2011-12-30T23:00:00Z", &expected[..]);
}
