//! Real zones, and the wall clock minute by minute.

mod expression;
mod random;
mod rules;
mod zones;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::{Rules, Span, Zone, rfc3339};
use crate::time::Time;

/// A zone of the database.
struct Real(TimeZone);

impl Zone for Real {
    fn span(&self, second: i64) -> Span {
        let at = Timestamp::from_second(second).unwrap();
        let offset = |at| i64::from(self.0.to_offset(at).seconds());
        let begins =
            self.0.preceding(at + SignedDuration::from_secs(1)).next().map(|change| change.timestamp());
        let begins = begins.map(|begins| (begins.as_second(), offset(begins - SignedDuration::from_secs(1))));
        let ends = self.0.following(at).next().map(|change| change.timestamp().as_second());
        Span { offset: offset(at), begins, ends }
    }
}

fn zone(name: &str) -> Real {
    Real(jiff::tz::TimeZoneDatabase::bundled().get(name).unwrap())
}

fn at(text: &str) -> Time {
    let at: Timestamp = text.parse().unwrap();
    Time::from_millis(u64::try_from(at.as_millisecond()).unwrap())
}

fn rules(when: &str) -> Rules {
    Rules::new(when.parse().unwrap())
}

/// The instants from one moment to another, as texts.
fn between(when: &str, zone: &Real, from: &str, to: &str) -> Vec<String> {
    let (rules, to) = (rules(when), at(to));
    let from = Time::from_millis(at(from).as_millis() - 1);
    rules.instants_after(zone, from).take_while(|instant| *instant < to).map(rfc3339).collect()
}
