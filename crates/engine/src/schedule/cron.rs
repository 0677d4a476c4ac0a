//! Cron expressions: read, and matched against the wall clock.

use super::BadExpression;
use super::civil::{DAY, Date, weekday};

/// A cron expression, as sets of bits: bit n is set if n is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Both days are restricted: either is enough.
    either_day: bool,
}

/// One of the five fields.
struct Field {
    name: &'static str,
    least: u64,
    most: u64,
    names: &'static [&'static str],
}

const MONTHS: &[&str] = &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: &[&str] = &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const FIELDS: [Field; 5] = [
    Field { name: "minute", least: 0, most: 59, names: &[] },
    Field { name: "hour", least: 0, most: 23, names: &[] },
    Field { name: "day of the month", least: 1, most: 31, names: &[] },
    Field { name: "month", least: 1, most: 12, names: MONTHS },
    // 7 is Sunday as well.
    Field { name: "day of the week", least: 0, most: 7, names: WEEKDAYS },
];
const FIVE: &str = "expected five fields (minute, hour, day of the month, month, day of the week), such as \
                    `30 2 * * MON-FRI`, or `@daily`, or `every 15m`";
const ALL_HOURS: u64 = (1 << 24) - 1;

/// The days that a month can have at most, from January on.
const LENGTHS: [u32; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

pub(super) fn read(text: &str) -> Result<Cron, BadExpression> {
    let trimmed = text.trim();
    if trimmed.starts_with('@') {
        let written = written_out(trimmed).ok_or_else(|| {
            let at = text.len() - text.trim_start().len();
            let words = "expected `@hourly`, `@daily`, `@weekly`, `@monthly` or `@yearly`";
            BadExpression::new(text, at, format!("`{trimmed}` is not known: {words}"))
        })?;
        return read(written);
    }
    let fields = words(text);
    let [minutes, hours, days, months, weekdays] = fields.as_slice() else {
        let at = fields.get(5).map_or_else(|| text.trim_end().len(), |(at, _)| *at);
        let what = match fields.len() {
            6 | 7 => "there are no seconds or years: ",
            _ => "",
        };
        return Err(BadExpression::new(text, at, format!("{what}{FIVE}, found {} fields", fields.len())));
    };
    let star = |(_, word): &(usize, &str)| word.starts_with('*');
    let [of_minute, of_hour, of_day, of_month, of_weekday] = &FIELDS;
    let sundays = of_weekday.read(text, *weekdays)?;
    let cron = Cron {
        minutes: of_minute.read(text, *minutes)?,
        hours: of_hour.read(text, *hours)?,
        days: of_day.read(text, *days)?,
        months: of_month.read(text, *months)?,
        weekdays: (sundays | sundays >> 7) & 0x7F,
        either_day: !star(days) && !star(weekdays),
    };
    if !cron.has_days() {
        let words =
            "no month that is named has such a day, so that it would never come: expected a date that exists";
        return Err(BadExpression::new(text, days.0, words));
    }
    Ok(cron)
}

fn written_out(text: &str) -> Option<&'static str> {
    Some(match text.to_ascii_lowercase().as_str() {
        "@hourly" => "0 * * * *",
        "@daily" | "@midnight" => "0 0 * * *",
        "@weekly" => "0 0 * * 0",
        "@monthly" => "0 0 1 * *",
        "@yearly" | "@annually" => "0 0 1 1 *",
        _ => return None,
    })
}

/// Words with their places.
fn words(text: &str) -> Vec<(usize, &str)> {
    let begin = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    text.split_whitespace().map(|word| (begin(word), word)).collect()
}

impl Field {
    fn read(&self, text: &str, (at, word): (usize, &str)) -> Result<u64, BadExpression> {
        let (mut bits, mut place) = (0, at);
        for item in word.split(',') {
            bits |= self.item(text, place, item)?;
            place += item.len() + 1;
        }
        Ok(bits)
    }

    /// `*`, `a`, `a-b`, and the latter two and `*` with `/n`.
    fn item(&self, text: &str, at: usize, item: &str) -> Result<u64, BadExpression> {
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, Some((at + range.len() + 1, step))),
            None => (item, None),
        };
        let (first, last) = match range.split_once('-') {
            _ if range == "*" => (self.least, self.last()),
            None if step.is_some() => {
                let words = format!("a step needs a range: expected `*/n` or `{range}-{}/n`", self.last());
                return Err(BadExpression::new(text, at, words));
            }
            None => self.value(text, at, range).map(|value| (value, value))?,
            Some((first, last)) => {
                let (behind, last) = (at + first.len() + 1, last);
                let (first, last) = (self.value(text, at, first)?, self.value(text, behind, last)?);
                // `FRI-SUN`: the week has its Sunday at both ends.
                (first, if self.most == 7 && last == 0 && first > 0 { 7 } else { last })
            }
        };
        if first > last {
            let words = format!("`{range}` ends before it begins: expected two ranges, joined by a comma");
            return Err(BadExpression::new(text, at, words));
        }
        let step = step.map_or(Ok(1), |(at, step)| self.step(text, at, step, last - first))?;
        Ok((first..=last).step_by(step).fold(0, |bits, value| bits | 1 << value))
    }

    /// The last one that `*` means.
    fn last(&self) -> u64 {
        if self.most == 7 { 6 } else { self.most }
    }

    fn value(&self, text: &str, at: usize, word: &str) -> Result<u64, BadExpression> {
        let name = self.names.iter().position(|name| name.eq_ignore_ascii_case(word));
        // Names of months count from 1, as the months do.
        let named = name.and_then(|place| u64::try_from(place).ok()).map(|place| place + self.least);
        let digits = word.len() <= 4 && word.bytes().all(|byte| byte.is_ascii_digit());
        let number =
            word.parse::<u64>().ok().filter(|value| digits && (self.least..=self.most).contains(value));
        named.or(number).ok_or_else(|| {
            let names = match self.names {
                [first, .., last] => format!(", or {first} to {last}"),
                _ => String::new(),
            };
            let Self { name, least, most, .. } = self;
            let words = format!("`{}` is no {name}: expected {least} to {most}{names}", word.escape_debug());
            BadExpression::new(text, at, words)
        })
    }

    fn step(&self, text: &str, at: usize, word: &str, length: u64) -> Result<usize, BadExpression> {
        let number = word.parse::<usize>().ok().filter(|_| word.bytes().all(|byte| byte.is_ascii_digit()));
        let fits = |step: &usize| *step > 0 && u64::try_from(*step).is_ok_and(|step| step <= length.max(1));
        number.filter(fits).ok_or_else(|| {
            let hint = match self.name {
                "minute" | "hour" => "; for a longer interval write `every 90m`",
                _ => "",
            };
            let (word, most) = (word.escape_debug(), length.max(1));
            BadExpression::new(text, at, format!("`{word}` is no step here: expected 1 to {most}{hint}"))
        })
    }
}

impl Cron {
    /// Whether it names hours of the day. One that does not goes on through changes of the clock as if there were none.
    pub(super) fn names_hours(&self) -> bool {
        self.hours != ALL_HOURS
    }

    /// Whether there is a day that it means.
    fn has_days(&self) -> bool {
        let lengths = (1_u32..).zip(LENGTHS).filter(|(month, _)| self.months >> month & 1 == 1);
        let longest = lengths.map(|(_, days)| days).max().unwrap_or(0);
        self.either_day || self.days.trailing_zeros() <= longest
    }

    fn means_day(&self, date: Date, days: i64) -> bool {
        let by_date = self.days >> date.day & 1 == 1;
        let by_weekday = self.weekdays >> weekday(days) & 1 == 1;
        if self.either_day { by_date || by_weekday } else { by_date && by_weekday }
    }

    /// The first second that it means on a wall clock, at or after `from` and before `until`, as if that clock had never
    /// been changed.
    pub(super) fn next(&self, from: i64, until: i64) -> Option<i64> {
        // Up to the full minute.
        let from = from + (-from).rem_euclid(60);
        let (mut days, mut second) = (from.div_euclid(DAY), from.rem_euclid(DAY));
        while days * DAY < until {
            let date = Date::of(days);
            if self.months >> date.month & 1 == 0 {
                (days, second) = (date.next_month().days(), 0);
                continue;
            }
            if self.means_day(date, days)
                && let Some(found) = self.time_of_day(second)
            {
                return Some(days * DAY + found).filter(|found| *found < until);
            }
            (days, second) = (days + 1, 0);
        }
        None
    }

    /// The first second of a day that it means, at or after this full minute.
    fn time_of_day(&self, second: i64) -> Option<i64> {
        let (hour, minute) = (second / 3600, second / 60 % 60);
        if self.hours >> hour & 1 == 1
            && let Some(minute) = bit_from(self.minutes, minute)
        {
            return Some(hour * 3600 + minute * 60);
        }
        let hour = bit_from(self.hours, hour + 1)?;
        Some(hour * 3600 + bit_from(self.minutes, 0)? * 60)
    }
}

/// The first bit that is set, from this one on.
fn bit_from(bits: u64, from: i64) -> Option<i64> {
    let left = bits >> from;
    (left != 0).then(|| from + i64::from(left.trailing_zeros()))
}
