//! `Retry-After` and its relatives: how long a reply asks to be left alone.

use std::time::{Duration, SystemTime};

use super::{LONGEST_HINT, Lookup};

/// How far a reply's `Date` may be from our clock and still count as the server's clock. Clocks are off by
/// minutes, seldom by hours; a reply that is a day off comes from a cache or from a clock that was never set.
const CLOCK_SKEW_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);

/// The wait that a reply's headers ask for, whatever its status.
///
/// `header` finds a header's value by its name in lower case; `now` is the wall clock's time. Milliseconds
/// (`retry-after-ms`, `x-ms-retry-after-ms`) go before `Retry-After`, because services that send both round
/// the latter. A date is measured from the reply's own `Date`, so that the two clocks need not agree. A date
/// in the past is a wait of zero, what cannot be read is passed over.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use steadfast_resilience::classify::http::retry_after;
///
/// let find = |name: &str| (name == "retry-after").then_some("120");
/// assert_eq!(retry_after(find, SystemTime::UNIX_EPOCH), Some(Duration::from_secs(120)));
/// ```
#[must_use]
pub fn retry_after<'h>(header: impl Fn(&str) -> Option<&'h str>, now: SystemTime) -> Option<Duration> {
    read(&header, now)
}

pub(super) fn read(header: Lookup<'_, '_>, now: SystemTime) -> Option<Duration> {
    let millis = |name| header(name).and_then(whole_number).map(from_millis);
    millis("retry-after-ms")
        .or_else(|| millis("x-ms-retry-after-ms"))
        .or_else(|| seconds_or_date(header("retry-after")?, header, now))
}

fn seconds_or_date(value: &str, header: Lookup<'_, '_>, now: SystemTime) -> Option<Duration> {
    match whole_number(value) {
        Some(seconds) => Some(from_secs(seconds)),
        None => Some(wait_until(date(value)?, server_time(header, now))),
    }
}

/// The server's clock when it replied, as far as we can tell; else ours.
pub(super) fn server_time(header: Lookup<'_, '_>, now: SystemTime) -> SystemTime {
    header("date").and_then(date).filter(|&theirs| apart(theirs, now) <= CLOCK_SKEW_LIMIT).unwrap_or(now)
}

/// The wait from one moment to a later one, zero if it has passed.
pub(super) fn wait_until(moment: SystemTime, from: SystemTime) -> Duration {
    moment.duration_since(from).unwrap_or(Duration::ZERO).min(LONGEST_HINT)
}

/// A number of digits and nothing else, as RFC 9110 wants it: no sign, no fraction, no exponent. A number too
/// big for 64 bits is the biggest one, because it does not mean "at once".
pub(super) fn whole_number(value: &str) -> Option<u64> {
    let digits = value.trim_matches([' ', '\t']);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().unwrap_or(u64::MAX))
}

pub(super) fn from_secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds).min(LONGEST_HINT)
}

pub(super) fn from_millis(millis: u64) -> Duration {
    Duration::from_millis(millis).min(LONGEST_HINT)
}

fn date(value: &str) -> Option<SystemTime> {
    httpdate::parse_http_date(value).ok()
}

fn apart(one: SystemTime, other: SystemTime) -> Duration {
    one.duration_since(other).unwrap_or_else(|reverse| reverse.duration())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Sun, 06 Nov 1994 08:49:37 GMT`, the date of the RFC's examples.
    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777)
    }

    fn check(headers: &[(&str, &str)], expected: Option<Duration>) {
        let find = |name: &str| headers.iter().find(|header| header.0 == name).map(|header| header.1);
        assert_eq!(retry_after(find, now()), expected, "{headers:?}");
    }

    fn secs(seconds: u64) -> Option<Duration> {
        Some(Duration::from_secs(seconds))
    }

    #[test]
    fn seconds_are_read_as_digits_only() {
        check(&[("retry-after", "120")], secs(120));
        check(&[("retry-after", "0")], secs(0));
        check(&[("retry-after", "  7\t")], secs(7));
        check(&[("retry-after", "007")], secs(7));
        for garbage in
            ["", " ", "-1", "+1", "1.5", "1e9", "0x10", "1 2", "1,2", "soon", "١٢", "1\u{a0}", "null"]
        {
            check(&[("retry-after", garbage)], None);
        }
        check(&[], None);
    }

    #[test]
    fn a_huge_number_is_a_very_long_wait() {
        for huge in ["18446744073709551615", "18446744073709551616", &"9".repeat(10_000)] {
            check(&[("retry-after", huge)], Some(LONGEST_HINT));
            check(&[("retry-after-ms", huge)], Some(LONGEST_HINT));
        }
        assert!(now().checked_add(LONGEST_HINT).is_some());
    }

    #[test]
    fn a_date_in_any_of_the_three_forms_is_measured_from_now() {
        check(&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], secs(30));
        check(&[("retry-after", "Sunday, 06-Nov-94 08:50:07 GMT")], secs(30));
        check(&[("retry-after", "Sun Nov  6 08:50:07 1994")], secs(30));
    }

    #[test]
    fn a_past_date_is_a_wait_of_zero() {
        check(&[("retry-after", "Sun, 06 Nov 1994 08:49:36 GMT")], secs(0));
        check(&[("retry-after", "Thu, 01 Jan 1970 00:00:00 GMT")], secs(0));
    }

    #[test]
    fn a_date_is_measured_from_the_replys_own_clock() {
        let until = ("retry-after", "Sun, 06 Nov 1994 10:00:30 GMT");
        check(&[until, ("date", "Sun, 06 Nov 1994 10:00:00 GMT")], secs(30));
        let now = 70 * 60 + 53;
        check(&[until, ("date", "yesterday")], secs(now));
        check(&[until, ("date", "")], secs(now));
        // A clock that was never set would otherwise make a wait of 24 years.
        check(&[until, ("date", "Thu, 01 Jan 1970 00:00:00 GMT")], secs(now));
        check(&[until, ("date", "Fri, 31 Dec 9999 23:59:59 GMT")], secs(now));
    }

    #[test]
    fn the_furthest_date_is_a_very_long_wait() {
        check(&[("retry-after", "Fri, 31 Dec 9999 23:59:59 GMT")], Some(LONGEST_HINT));
    }

    #[test]
    fn milliseconds_go_before_seconds_if_they_can_be_read() {
        let seconds = ("retry-after", "2");
        check(&[seconds, ("retry-after-ms", "1500")], Some(Duration::from_millis(1500)));
        check(&[seconds, ("x-ms-retry-after-ms", "1600")], Some(Duration::from_millis(1600)));
        check(
            &[seconds, ("x-ms-retry-after-ms", "1600"), ("retry-after-ms", "1500")],
            Some(Duration::from_millis(1500)),
        );
        check(&[seconds, ("retry-after-ms", "-5")], secs(2));
        check(&[seconds, ("retry-after-ms", ""), ("x-ms-retry-after-ms", "1.5")], secs(2));
    }

    #[test]
    fn a_clock_before_1970_does_no_harm() {
        let find = |name: &str| (name == "retry-after").then_some("Sun, 06 Nov 1994 08:49:37 GMT");
        let early = SystemTime::UNIX_EPOCH - Duration::from_secs(60);
        assert_eq!(retry_after(find, early), secs(784_111_837));
    }

    /// Every prefix, every cut and every swapped byte of a date: read or passed over, never a panic.
    #[test]
    fn damaged_dates_never_panic() {
        for good in
            ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
        {
            for place in 0..good.len() {
                let (front, back) = good.split_at(place);
                for filler in ["", "9", "0", "-", " ", "é", "\u{0}", "Feb"] {
                    for damaged in [format!("{front}{filler}"), format!("{front}{filler}{}", &back[1..])] {
                        let find = |_: &str| Some(&*damaged);
                        let _ = retry_after(find, now());
                    }
                }
            }
        }
    }
}
