//! When recurring work begins: expressions, time zones, and what is done about instants that were missed. Pure: what the
//! time is, and which offsets a zone has, come in from outside.
//!
//! An *instant* is a point in time that a schedule names. It is the identity of a run: whoever fires it does so under a key
//! made of the schedule's name and the instant ([`key`]), so that firing twice is harmless.
//!
//! ```
//! use steadfast_engine::Time;
//! use steadfast_engine::schedule::{self, Rules, Utc, When};
//!
//! let nightly = Rules::new("30 2 * * MON-FRI".parse::<When>()?);
//! let friday = Time::from_millis(1_792_756_800_000);
//! let next = nightly.first_after(&Utc, friday).unwrap();
//! assert_eq!(schedule::key("nightly", next), "nightly@2026-10-26T02:30:00Z");
//! # Ok::<(), steadfast_engine::schedule::BadExpression>(())
//! ```

mod civil;
mod cron;
mod every;
mod instants;
mod rules;
#[cfg(test)]
mod tests;
mod zone;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use crate::definition::bad_name;
use crate::time::Time;
pub use civil::rfc3339;
use cron::Cron;
pub use instants::Instants;
pub use rules::{Due, LATE, MOST_AT_ONCE, Missed, Overlap, Rules};
pub use zone::{Span, Utc, Zone};

/// Which instants a schedule has: a cron expression or an interval. It is read from a text and shown as that text.
///
/// - Five fields: minute, hour, day of the month, month, day of the week (0 and 7 are Sunday). Each is `*`, a value, a range
///   `a-b`, a list `a,b`, and with `/n` every n-th of a range. Months and days of the week have names: `JAN`, `MON`. If
///   both days are restricted, either is enough, as in every cron.
/// - `@hourly`, `@daily` (or `@midnight`), `@weekly`, `@monthly`, `@yearly` (or `@annually`).
/// - `every 15m`: an interval of real time in `s`, `m`, `h` and `d`, counted from 1970 in UTC, or from the start of the
///   schedule if it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct When {
    text: Arc<str>,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Cron(Cron),
    Every(Duration),
}

impl When {
    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for When {
    type Err = BadExpression;

    fn from_str(text: &str) -> Result<Self, BadExpression> {
        let word = text.split_whitespace().next().unwrap_or_default();
        let kind = match word.eq_ignore_ascii_case("every") {
            true => every::read(text).map(Kind::Every),
            false => cron::read(text).map(Kind::Cron),
        };
        kind.map(|kind| Self { text: Arc::from(text.trim()), kind })
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// An expression that stands for no instants, with the place and what was expected there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}`, column {}: {message}", text.escape_debug(), at + 1)]
pub struct BadExpression {
    text: String,
    at: usize,
    message: String,
}

impl BadExpression {
    fn new(text: &str, at: usize, message: impl Into<String>) -> Self {
        // Nobody reads a page of it: the beginning shows which one it is.
        let shown = text.chars().take(80).collect();
        let at = text.get(..at).map_or(at, |before| before.chars().count());
        Self { text: shown, at, message: message.into() }
    }

    /// How many characters stand before the place that is wrong.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// What is wrong there, and what was expected.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// The key under which the run of an instant is submitted: `nightly@2026-10-26T02:30:00Z`.
#[must_use]
pub fn key(name: &str, instant: Time) -> String {
    format!("{name}@{}", rfc3339(instant))
}

/// Whether a schedule can be called so: by the rules for all names.
///
/// # Errors
/// What is wrong with it, in words.
pub fn check_name(name: &str) -> Result<(), String> {
    bad_name(name).map_or(Ok(()), Err)
}
