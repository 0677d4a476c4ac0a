//! Times as people read them: on the clock of where they are, with how long ago that is; and as they write them.

use std::time::Duration;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::clock;

/// What is nearer than this is told as now.
const AT_ONCE: SignedDuration = SignedDuration::from_secs(1);

/// What time it is, and whose clock on the wall is meant.
#[derive(Clone, Debug)]
pub(crate) struct Wall {
    pub(crate) now: Timestamp,
    pub(crate) zone: TimeZone,
}

impl Wall {
    /// Here and now.
    pub(crate) fn here() -> Self {
        Self { now: clock::wall(), zone: TimeZone::system() }
    }

    /// A time of the wire in local form, with its age: `2026-11-17 14:03:10 (5m ago)`.
    pub(crate) fn told(&self, text: &str) -> String {
        match text.parse::<Timestamp>() {
            Ok(time) => format!("{} ({})", self.local(time, "%Y-%m-%d %H:%M:%S"), self.age(time)),
            // Whatever it is, it is better than nothing.
            Err(_) => text.to_owned(),
        }
    }

    /// The same, if there is one.
    pub(crate) fn maybe(&self, text: Option<&String>) -> Option<String> {
        text.map(|text| self.told(text))
    }

    /// The same, or nothing.
    pub(crate) fn or_none(&self, text: Option<&String>) -> String {
        self.maybe(text).unwrap_or_default()
    }

    /// The time of day of a time of the wire, for what happens now.
    pub(crate) fn time_of_day(&self, text: &str) -> String {
        match text.parse::<Timestamp>() {
            Ok(time) => self.local(time, "%H:%M:%S"),
            Err(_) => text.to_owned(),
        }
    }

    fn local(&self, time: Timestamp, form: &str) -> String {
        time.to_zoned(self.zone.clone()).strftime(form).to_string()
    }

    fn age(&self, time: Timestamp) -> String {
        let passed = self.now.duration_since(time);
        // The store's time never stands still, and so may be some milliseconds in front of the clock.
        match passed > -AT_ONCE {
            true => format!("{} ago", rough(passed.max(SignedDuration::ZERO))),
            false => format!("in {}", rough(-passed)),
        }
    }

    /// A time as somebody writes it: of RFC 3339, or a date and a time of the clock on the wall here. As it goes over the wire.
    pub(crate) fn read(&self, text: &str) -> Result<String, String> {
        let text = text.trim();
        if let Ok(time) = text.parse::<Timestamp>() {
            return Ok(time.to_string());
        }
        let bad = || {
            format!(
                "`{text}` is no time: write it as 2026-11-17T14:00:00Z, or as \"2026-11-17 14:00\" for the clock here"
            )
        };
        let local: DateTime = text.parse().map_err(|_| bad())?;
        let zoned = local.to_zoned(self.zone.clone()).map_err(|_| bad())?;
        Ok(zoned.timestamp().to_string())
    }

    /// The time that is so long from now, as it goes over the wire.
    pub(crate) fn after(&self, time: Duration) -> Result<String, String> {
        let far = || "that is too far from now".to_owned();
        let time = SignedDuration::try_from(time).map_err(|_| far())?;
        self.now.checked_add(time).map(|time| time.to_string()).map_err(|_| far())
    }
}

/// For clap: a time as somebody writes it, as it goes over the wire.
pub(crate) fn read(text: &str) -> Result<String, String> {
    Wall::here().read(text)
}

/// How long it was from one time of the wire to another.
pub(crate) fn between(from: &str, to: &str) -> Option<String> {
    let (from, to) = (from.parse::<Timestamp>().ok()?, to.parse::<Timestamp>().ok()?);
    Some(span(to.duration_since(from).unsigned_abs()))
}

/// A time in one unit, for ages: nobody needs more.
fn rough(time: SignedDuration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A time in one or two units: `350ms`, `2.5s`, `3m 20s`, `5h 10m`, `3d 4h`.
pub(crate) fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    let two = |large: u64, name: &str, small: u64, of: &str| {
        if small == 0 { format!("{large}{name}") } else { format!("{large}{name} {small}{of}") }
    };
    match seconds {
        0 => format!("{}ms", time.as_millis()),
        1..60 => format!("{:.1}s", time.as_secs_f64()),
        60..3_600 => two(seconds / 60, "m", seconds % 60, "s"),
        3_600..86_400 => two(seconds / 3_600, "h", seconds % 3_600 / 60, "m"),
        _ => two(seconds / 86_400, "d", seconds % 86_400 / 3_600, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wall() -> Wall {
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        Wall { now: "2026-11-17T13:08:11Z".parse().unwrap(), zone }
    }

    #[test]
    fn a_time_is_told_on_the_local_clock_with_its_age() {
        for (text, told) in [
            ("2026-11-17T13:03:10.250Z", "2026-11-17 14:03:10 (5m ago)"),
            ("2026-11-17T13:08:11Z", "2026-11-17 14:08:11 (0s ago)"),
            ("2026-11-17T13:08:11.012Z", "2026-11-17 14:08:11 (0s ago)"),
            ("2026-11-17T13:10:11Z", "2026-11-17 14:10:11 (in 2m)"),
            ("2026-11-16T12:08:11Z", "2026-11-16 13:08:11 (25h ago)"),
            ("2026-11-01T23:30:00Z", "2026-11-02 00:30:00 (15d ago)"),
            ("yesterday", "yesterday"),
        ] {
            assert_eq!(wall().told(text), told);
        }
        assert_eq!(wall().time_of_day("2026-11-17T13:03:10.250Z"), "14:03:10");
    }

    #[test]
    fn a_time_is_read_in_rfc_3339_or_on_the_local_clock() {
        assert_eq!(wall().read("2026-11-17T14:00:00+02:00").unwrap(), "2026-11-17T12:00:00Z");
        assert_eq!(wall().read("2026-11-17 14:00").unwrap(), "2026-11-17T13:00:00Z");
        let why = wall().read("tomorrow").unwrap_err();
        assert!(why.contains("write it as 2026-11-17T14:00:00Z"), "{why}");
    }

    #[test]
    fn a_time_from_now_is_one_of_the_wire() {
        assert_eq!(wall().after(Duration::from_secs(600)).unwrap(), "2026-11-17T13:18:11Z");
        assert!(wall().after(Duration::MAX).is_err());
    }

    #[test]
    fn spans_have_the_units_that_matter() {
        for (millis, told) in [
            (350, "350ms"),
            (2_500, "2.5s"),
            (200_000, "3m 20s"),
            (18_600_000, "5h 10m"),
            (7_200_000, "2h"),
            (273_600_000, "3d 4h"),
        ] {
            assert_eq!(span(Duration::from_millis(millis)), told);
        }
        assert_eq!(between("2026-11-17T13:00:00Z", "2026-11-17T13:00:02.5Z").unwrap(), "2.5s");
    }
}
