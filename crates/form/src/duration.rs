//! Times as people write them: `500ms`, `2s`, `1m 30s`, `2h`, and where days make sense `2d 12h`.

use std::time::Duration;

/// Reads a time.
///
/// # Errors
/// What is wrong with it, in words.
pub fn parse(text: &str) -> Result<Duration, String> {
    let time: jiff::SignedDuration = text.trim().parse().map_err(|_| {
        if text.trim().parse::<f64>().is_ok() {
            "it needs a unit".to_owned()
        } else {
            "units are ns, us, ms, s, m and h".to_owned()
        }
    })?;
    Duration::try_from(time).map_err(|_| "it must not be negative".to_owned())
}

/// Seconds of a day: one of the clock on the wall may have more or fewer, and nobody who writes `2d` means that.
const DAY: u64 = 24 * 3600;

/// Reads a time that may begin with days: `2d`, `1d 12h`.
///
/// # Errors
/// What is wrong with it, in words.
pub fn parse_long(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(digits);
    let days = ["days", "day", "d"].iter().find_map(|unit| rest.trim_start().strip_prefix(unit));
    let Some(rest) = days.filter(|rest| !number.is_empty() && !rest.starts_with(char::is_alphabetic)) else {
        return parse(text).map_err(|why| why.replace("m and h", "m, h and d"));
    };
    let days: u64 = number.parse().map_err(|_| "it is too long".to_owned())?;
    let days = days.checked_mul(DAY).map(Duration::from_secs).ok_or("it is too long")?;
    let rest = rest.trim_matches([' ', ',']);
    let rest = if rest.is_empty() { Duration::ZERO } else { parse(rest)? };
    days.checked_add(rest).ok_or_else(|| "it is too long".to_owned())
}

/// Writes a time so that `parse` reads the same.
#[must_use]
pub fn print(time: Duration) -> String {
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let units = [
        (3_600_000_000_000, "h"),
        (60_000_000_000, "m"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1000, "us"),
    ];
    let (unit, name) =
        units.into_iter().find(|(unit, _)| nanos > 0 && nanos % unit == 0).unwrap_or((1, "ns"));
    if nanos == 0 { "0s".to_owned() } else { format!("{}{name}", nanos / unit) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, millis) in [
            ("500ms", 500),
            ("2s", 2000),
            ("1.5s", 1500),
            ("1m 30s", 90_000),
            ("1m30s", 90_000),
            ("2h", 7_200_000),
            (" 0s ", 0),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "5", "five", "-1s", "1 fortnight", "1y", "99999999999999999999h", "NaNs", "1s\0"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(parse("5").unwrap_err(), "it needs a unit");
    }

    #[test]
    fn days_are_read_where_they_make_sense() {
        for (text, seconds) in [
            ("2d", 172_800),
            ("1 day", 86_400),
            ("3days 1h", 262_800),
            ("1d, 30s", 86_430),
            ("90m", 5_400),
            ("0d", 0),
        ] {
            assert_eq!(parse_long(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in [
            "d",
            "2dd",
            "2 decades",
            "1.5d",
            "-1d",
            "99999999999999999999d",
            "213503982334602d",
            "1d x",
            "1y",
        ] {
            assert!(parse_long(text).is_err(), "{text}");
        }
        assert_eq!(parse_long("1y").unwrap_err(), "units are ns, us, ms, s, m, h and d");
        assert!(parse("2d").is_err(), "a policy of two days is a mistake");
    }

    #[test]
    fn what_is_printed_is_read_back() {
        for nanos in [0, 1, 999, 1000, 1_500_000, 90_000_000_000, 7_200_000_000_000, u64::MAX / 2] {
            let time = Duration::from_nanos(nanos);
            assert_eq!(parse(&print(time)), Ok(time), "{}", print(time));
        }
        assert_eq!(print(Duration::from_secs(90)), "90s");
    }
}
