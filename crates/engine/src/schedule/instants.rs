//! The instants of an expression, one after the other.
//!
//! What happens when the clocks change, for an expression that names hours of the day:
//! - A time that does not exist comes at the first instant after the gap; several such times are one instant.
//! - A time that exists twice comes once, the first time.
//!
//! One whose hour is `*` comes at every minute that the wall clock shows and that it means: through either change it goes
//! on hour by hour. Intervals do not look at the wall clock at all.

use super::civil::DAY;
use super::cron::Cron;
use super::zone::{Span, Zone};
use super::{Kind, When};
use crate::time::Time;

/// So far ahead the next instant is looked for. The 29th of February on a given day of the week comes within 40 years.
const AHEAD: i64 = 41 * 366 * DAY;
/// The end of the year 9999: nobody has zones or dates beyond it.
const LAST: i64 = 253_402_300_799;

/// The instants after a moment, in their order.
#[derive(Clone, Debug)]
pub struct Instants<'a, Z> {
    when: &'a When,
    zone: Z,
    /// Where intervals are counted from.
    origin: Time,
    after: Time,
    span: Option<Span>,
}

impl When {
    /// The instants strictly after a moment. Intervals are counted from `origin`, or from 1970.
    pub fn after<Z: Zone>(&self, zone: Z, after: Time, origin: Option<Time>) -> Instants<'_, Z> {
        Instants { when: self, zone, origin: origin.unwrap_or_default(), after, span: None }
    }
}

impl<Z: Zone> Iterator for Instants<'_, Z> {
    type Item = Time;

    fn next(&mut self) -> Option<Time> {
        let found = match &self.when.kind {
            Kind::Every(interval) => self.by_interval(u64::try_from(interval.as_millis()).ok()?),
            Kind::Cron(cron) => self.by_wall_clock(cron),
        }?;
        self.after = found;
        Some(found)
    }
}

impl<Z: Zone> Instants<'_, Z> {
    fn by_interval(&self, interval: u64) -> Option<Time> {
        let origin = self.origin.as_millis();
        let next = match self.after.as_millis().checked_sub(origin) {
            None => origin,
            Some(gone) => origin.checked_add((gone / interval + 1).checked_mul(interval)?)?,
        };
        let last = u64::try_from(LAST).ok()?;
        (next / 1_000 <= last).then(|| Time::from_millis(next))
    }

    fn by_wall_clock(&mut self, cron: &Cron) -> Option<Time> {
        let mut from = i64::try_from(self.after.as_millis() / 1_000).ok()?.checked_add(1)?;
        let until = from.saturating_add(AHEAD).min(LAST);
        while from < until {
            let span = match self.span {
                Some(span) if span.contains(from) => span,
                _ => self.zone.span(from),
            };
            self.span = Some(span);
            if let Some(found) = within(cron, &span, from, until) {
                return u64::try_from(found).ok().map(|second| Time::from_millis(second * 1_000));
            }
            from = span.ends?;
        }
        None
    }
}

/// The first second at or after `from` within a span of constant offset.
fn within(cron: &Cron, span: &Span, from: i64, until: i64) -> Option<i64> {
    let mut wall = from + span.offset;
    if cron.names_hours()
        && let Some((begins, before)) = span.begins
    {
        // What the wall clock would have shown here without the change: it is ahead of that behind a gap, and shows again
        // what is before it.
        let unchanged = begins + before;
        if from == begins && cron.next(unchanged, wall).is_some() {
            return Some(begins);
        }
        wall = wall.max(unchanged);
    }
    let ends = span.ends.unwrap_or(until).min(until);
    cron.next(wall, ends + span.offset).map(|found| found - span.offset)
}
