//! The `RateLimit` headers: when the quota that refused a request is filled again.
//!
//! Three generations are in use: the structured `RateLimit: "default";r=0;t=30` (its draft of 2023 wrote
//! `limit=10, remaining=0, reset=30`), the pair `RateLimit-Remaining` and `RateLimit-Reset`, and the same
//! pair with `X-` in front. Newer ones go first.

use std::time::{Duration, SystemTime};

use super::Lookup;
use super::retry_after::{from_millis, from_secs, server_time, wait_until, whole_number};

/// From here on a reset is a moment in Unix time and no longer a number of seconds to wait: it is a day in
/// 2001, and as a wait it would be 31 years. GitHub and GitLab send such moments.
const UNIX_TIME_FROM: u64 = 1_000_000_000;

/// From here on the moment is in milliseconds, which some services send: in seconds it would be the year
/// 33658.
const UNIX_MILLIS_FROM: u64 = 1_000_000_000_000;

/// When a quota explains the refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// Unless it says that something is left: then another limit refused the request.
    UnlessLeft,
    /// Only if it says that nothing is left.
    OnlyUsedUp,
}

impl Trust {
    fn accepts(self, remaining: Option<u64>) -> bool {
        match remaining {
            Some(left) => left == 0,
            None => self == Self::UnlessLeft,
        }
    }
}

/// The wait until the quota that explains the refusal is filled again.
pub(super) fn read(header: Lookup<'_, '_>, now: SystemTime, trust: Trust) -> Option<Duration> {
    let pair = |remaining, reset| {
        let reset = header(reset).and_then(whole_number)?;
        let wait = reset_wait(reset, server_time(header, now));
        trust.accepts(header(remaining).and_then(whole_number)).then_some(wait)
    };
    header("ratelimit")
        .and_then(|value| structured(value, trust))
        .or_else(|| pair("ratelimit-remaining", "ratelimit-reset"))
        .or_else(|| pair("x-ratelimit-remaining", "x-ratelimit-reset"))
}

fn reset_wait(reset: u64, from: SystemTime) -> Duration {
    let moment = match reset {
        ..UNIX_TIME_FROM => return from_secs(reset),
        UNIX_TIME_FROM..UNIX_MILLIS_FROM => Duration::from_secs(reset),
        UNIX_MILLIS_FROM.. => Duration::from_millis(reset),
    };
    match SystemTime::UNIX_EPOCH.checked_add(moment) {
        Some(moment) => wait_until(moment, from),
        None => from_millis(u64::MAX),
    }
}

/// The longest wait among the quotas that explain the refusal: until then at least one of them is used up.
fn structured(value: &str, trust: Trust) -> Option<Duration> {
    let items = split(value, ',').map(|item| quota(split(item, ';'), "r", "t"));
    let dictionary = quota(split(value, ','), "remaining", "reset");
    items
        .chain([dictionary])
        .flatten()
        .filter(|&(remaining, _)| trust.accepts(remaining))
        .map(|(_, reset)| from_secs(reset))
        .max()
}

/// What is left of one quota, if it says so, and the seconds until it is filled again.
fn quota<'v>(
    parameters: impl Iterator<Item = &'v str>,
    remaining: &str,
    reset: &str,
) -> Option<(Option<u64>, u64)> {
    let (mut left, mut seconds) = (None, None);
    for (key, value) in parameters.filter_map(|parameter| parameter.split_once('=')) {
        let key = key.trim();
        if key == remaining {
            left = whole_number(value);
        } else if key == reset {
            seconds = whole_number(value);
        }
    }
    Some((left, seconds?))
}

/// Splits at a separator, but not inside a quoted name. Relies on `split` asking for each character once and
/// in order, which it does going forward.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |character| {
        let was_escaped = std::mem::take(&mut escaped);
        match character {
            '\\' if quoted && !was_escaped => escaped = true,
            '"' if !was_escaped => quoted = !quoted,
            _ => return character == separator && !quoted,
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::http::LONGEST_HINT;

    /// 2023-11-14 22:13:20 UTC.
    const NOW: u64 = 1_700_000_000;

    fn read_all(headers: &[(&str, &str)], trust: Trust) -> Option<Duration> {
        let find = |name: &str| headers.iter().find(|header| header.0 == name).map(|header| header.1);
        read(&find, SystemTime::UNIX_EPOCH + Duration::from_secs(NOW), trust)
    }

    /// `sure` when only used-up quotas are trusted, `likely` when those that do not say are too.
    fn check(headers: &[(&str, &str)], likely: Option<u64>, sure: Option<u64>) {
        let seconds = |wait: Option<Duration>| wait.map(|wait| wait.as_secs());
        assert_eq!(seconds(read_all(headers, Trust::UnlessLeft)), likely, "{headers:?}");
        assert_eq!(seconds(read_all(headers, Trust::OnlyUsedUp)), sure, "{headers:?}");
    }

    #[test]
    fn the_structured_field_tells_the_longest_wait_of_the_used_up_quotas() {
        check(&[("ratelimit", r#""default";r=0;t=30"#)], Some(30), Some(30));
        check(&[("ratelimit", r#"default ; r=0 ; t=30"#)], Some(30), Some(30));
        check(&[("ratelimit", r#""a";r=0;t=5, "b";r=0;t=60, "c";r=9;t=900"#)], Some(60), Some(60));
        check(&[("ratelimit", r#""a, \";r=0;t=7";r=4;t=30"#)], None, None);
        check(&[("ratelimit", r#""default";r=5;t=30"#)], None, None);
        check(&[("ratelimit", r#""default";t=30"#)], Some(30), None);
        check(&[("ratelimit", r#""default";r=0"#)], None, None);
    }

    #[test]
    fn the_dictionary_of_the_older_draft_is_understood() {
        check(&[("ratelimit", "limit=10, remaining=0, reset=4")], Some(4), Some(4));
        check(&[("ratelimit", "limit=10, remaining=3, reset=4")], None, None);
        check(&[("ratelimit", "limit=10, reset=4")], Some(4), None);
    }

    #[test]
    fn the_pairs_are_read_as_seconds_or_as_unix_time() {
        for (remaining, reset) in
            [("ratelimit-remaining", "ratelimit-reset"), ("x-ratelimit-remaining", "x-ratelimit-reset")]
        {
            check(&[(remaining, "0"), (reset, "30")], Some(30), Some(30));
            check(&[(remaining, "1"), (reset, "30")], None, None);
            check(&[(reset, "30")], Some(30), None);
            check(&[(remaining, "many"), (reset, "30")], Some(30), None);
            check(&[(remaining, "0"), (reset, "1700000045")], Some(45), Some(45));
            check(&[(remaining, "0"), (reset, "1700000045000")], Some(45), Some(45));
            check(&[(remaining, "0"), (reset, "1600000000")], Some(0), Some(0));
            check(&[(remaining, "0"), (reset, "999999999")], Some(999_999_999), Some(999_999_999));
            check(&[(remaining, "0")], None, None);
        }
    }

    #[test]
    fn a_unix_time_is_measured_from_the_replys_own_clock() {
        let date = ("date", "Tue, 14 Nov 2023 22:14:20 GMT");
        check(
            &[date, ("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1700000090")],
            Some(30),
            Some(30),
        );
    }

    #[test]
    fn newer_headers_go_before_older_ones() {
        let x = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "3")];
        let pair = [("ratelimit-remaining", "0"), ("ratelimit-reset", "2")];
        let field = [("ratelimit", r#""default";r=0;t=1"#)];
        check(&[&x[..], &pair, &field].concat(), Some(1), Some(1));
        check(&[&x[..], &pair].concat(), Some(2), Some(2));
        check(&[&x[..], &[("ratelimit", "nonsense")]].concat(), Some(3), Some(3));
    }

    #[test]
    fn huge_numbers_are_very_long_waits() {
        for huge in ["18446744073709551615", &"9".repeat(5_000)] {
            let headers = [("ratelimit-remaining", "0"), ("ratelimit-reset", huge)];
            assert_eq!(read_all(&headers, Trust::OnlyUsedUp), Some(LONGEST_HINT));
            let field = format!("\"default\";r=0;t={huge}");
            assert_eq!(read_all(&[("ratelimit", &field)], Trust::OnlyUsedUp), Some(LONGEST_HINT));
        }
    }

    #[test]
    fn garbage_is_passed_over() {
        let pieces =
            ["", " ", "\"", "\\", ";", ",", "=", "r", "t=", "r=0", "-1", "1e9", "é", "\u{0}", "\"\\\""];
        for one in pieces {
            for two in pieces {
                for three in pieces {
                    let value = format!("{one}{two}{three}");
                    check(&[("ratelimit", &value)], None, None);
                }
            }
            if one != "r=0" {
                check(&[("ratelimit-reset", one), ("x-ratelimit-reset", one)], None, None);
            }
        }
    }
}
