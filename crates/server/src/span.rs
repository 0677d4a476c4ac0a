//! Times as people write them behind a `?`, and in bodies.

use std::time::Duration;

use steadfast::Time;

/// A time span such as `500ms`, `30s`, `5m`, `2h` or `7d`.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    let bad = || {
        let shown: String = text.chars().take(40).collect();
        format!(
            "`{shown}` is no time span: use a number with a unit, such as `500ms`, `30s`, `5m`, `2h` or `7d`"
        )
    };
    let unit_at = text.find(|letter: char| !letter.is_ascii_digit()).ok_or_else(bad)?;
    let (number, unit) = text.split_at(unit_at);
    let number: u64 = number.parse().map_err(|_| bad())?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(bad()),
    };
    number.checked_mul(millis).map(Duration::from_millis).ok_or_else(bad)
}

/// A time such as `2026-11-17T05:00:00Z`.
pub(crate) fn time(text: &str) -> Result<Time, String> {
    let bad = || {
        let shown: String = text.chars().take(60).collect();
        format!("`{shown}` is no time from 1970 on as in RFC 3339: use one such as `2026-11-17T05:00:00Z`")
    };
    let time: jiff::Timestamp = text.parse().map_err(|_| bad())?;
    u64::try_from(time.as_millisecond()).map(Time::from_millis).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_times_are_read_or_refused_with_an_example() {
        assert_eq!(span("1500ms"), Ok(Duration::from_millis(1_500)));
        assert_eq!(span("7d"), Ok(Duration::from_secs(7 * 86_400)));
        for bad in ["", "30", "s", "-1s", "1.5s", "1 s", "99999999999999999d", "1w"] {
            assert!(span(bad).unwrap_err().contains("such as `500ms`"), "{bad}");
        }
        let read = time("2026-11-17T05:00:00.25+01:00").unwrap();
        assert_eq!(steadfast::rfc3339(read), "2026-11-17T04:00:00.250Z");
        for bad in ["", "yesterday", "2026-11-17", "1969-12-31T23:59:59Z", "2026-13-01T00:00:00Z"] {
            assert!(time(bad).unwrap_err().contains("RFC 3339"), "{bad}");
        }
    }
}
