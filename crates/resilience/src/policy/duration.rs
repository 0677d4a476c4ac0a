//! Times as people write them: `500ms`, `2s`, `1m 30s`, `2h`.

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
    fn what_is_printed_is_read_back() {
        for nanos in [0, 1, 999, 1000, 1_500_000, 90_000_000_000, 7_200_000_000_000, u64::MAX / 2] {
            let time = Duration::from_nanos(nanos);
            assert_eq!(parse(&print(time)), Ok(time), "{}", print(time));
        }
        assert_eq!(print(Duration::from_secs(90)), "90s");
    }
}
