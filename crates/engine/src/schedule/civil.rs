//! Dates of the Gregorian calendar, and their days since 1970. No zone: that is another file's.

use crate::time::Time;

pub(super) const DAY: i64 = 24 * 3600;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Date {
    pub(super) year: i64,
    /// From 1.
    pub(super) month: i64,
    /// From 1.
    pub(super) day: i64,
}

impl Date {
    /// The date so many days after 1 January 1970. Years are counted from March, so that the leap day is the last of one.
    pub(super) fn of(days: i64) -> Self {
        let days = days + 719_468;
        let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let from_march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        Self { year: year + era * 400 + i64::from(month <= 2), month, day }
    }

    /// Days since 1 January 1970.
    pub(super) fn days(self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let from_march = if self.month > 2 { self.month - 3 } else { self.month + 9 };
        let of_year = (153 * from_march + 2) / 5 + self.day - 1;
        era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
    }

    /// The first day of the next month.
    pub(super) fn next_month(self) -> Self {
        match self.month {
            12 => Self { year: self.year + 1, month: 1, day: 1 },
            month => Self { month: month + 1, day: 1, ..self },
        }
    }
}

/// The day of the week, Sunday being 0.
pub(super) fn weekday(days: i64) -> i64 {
    (days + 4).rem_euclid(7)
}

/// A moment as the standard has it, in UTC: `2026-10-26T02:30:00Z`. Milliseconds are shown if there are any.
#[must_use]
pub fn rfc3339(time: Time) -> String {
    // Beyond the year 9999 there is no such form; the last moment of it stands for all of that.
    let millis = time.as_millis().min(253_402_300_799_999);
    let (seconds, millis) = (i64::try_from(millis / 1_000).unwrap_or(i64::MAX), millis % 1_000);
    let Date { year, month, day } = Date::of(seconds.div_euclid(DAY));
    let second = seconds.rem_euclid(DAY);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let part = if millis == 0 { String::new() } else { format!(".{millis:03}") };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{part}Z")
}
