//! Time zones, by their names in the database of the world's zones.

use std::fmt;
use std::sync::{Arc, OnceLock};

use jiff::tz::{TimeZone as Rules, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp};
use steadfast_engine::schedule::{Span, Zone};

/// A time zone, such as `Europe/Berlin`. The machine's database is asked first, since it is kept up to date; the one
/// inside of the program stands in where there is none.
#[derive(Clone, PartialEq, Eq)]
pub struct TimeZone {
    name: Arc<str>,
    rules: Rules,
}

/// A name that stands for no time zone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is no time zone: expected a name of the IANA database, such as `Europe/Berlin`, `America/New_York` or `UTC`",
    .0.escape_debug()
)]
pub struct UnknownZone(pub String);

impl TimeZone {
    /// The zone of this name; capitals do not matter.
    ///
    /// # Errors
    /// A name that neither database has.
    pub fn find(name: &str) -> Result<Self, UnknownZone> {
        if name.eq_ignore_ascii_case("UTC") {
            return Ok(Self::utc());
        }
        let found = jiff::tz::db().get(name).or_else(|_| inside().get(name));
        let named = found.ok().and_then(|rules| {
            let name = Arc::from(rules.iana_name()?);
            Some(Self { name, rules })
        });
        named.ok_or_else(|| UnknownZone(name.chars().take(100).collect()))
    }

    /// The zone without changes.
    #[must_use]
    pub fn utc() -> Self {
        Self { name: Arc::from("UTC"), rules: Rules::UTC }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }
}

/// The database that is part of the program.
fn inside() -> &'static TimeZoneDatabase {
    static INSIDE: OnceLock<TimeZoneDatabase> = OnceLock::new();
    INSIDE.get_or_init(TimeZoneDatabase::bundled)
}

impl Zone for TimeZone {
    fn span(&self, second: i64) -> Span {
        let always = Span { offset: 0, begins: None, ends: None };
        // Beyond what the library counts nothing changes any more.
        let Ok(at) = Timestamp::from_second(second) else { return always };
        let one = SignedDuration::from_secs(1);
        let offset = |at| i64::from(self.rules.to_offset(at).seconds());
        let begins = at.checked_add(one).ok().and_then(|after| self.rules.preceding(after).next());
        let begins = begins.and_then(|change| {
            let begins = change.timestamp();
            Some((begins.as_second(), offset(begins.checked_sub(one).ok()?)))
        });
        let ends = self.rules.following(at).next().map(|change| change.timestamp().as_second());
        Span { offset: offset(at), begins, ends }
    }
}

impl fmt::Debug for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TimeZone").field(&self.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_found_by_its_name() {
        for (name, expected) in [
            ("Europe/Berlin", "Europe/Berlin"),
            ("europe/berlin", "Europe/Berlin"),
            ("Australia/Lord_Howe", "Australia/Lord_Howe"),
            ("utc", "UTC"),
        ] {
            assert_eq!(&**TimeZone::find(name).unwrap().name(), expected);
        }
        for name in ["", "Europe/Berlinn", "Local", "+02:00", "../../etc/passwd", "/etc/localtime"] {
            let error = TimeZone::find(name).unwrap_err().to_string();
            assert!(error.contains("is no time zone: expected a name of the IANA database"), "{error}");
        }
    }

    #[test]
    fn a_machine_without_a_database_has_the_one_inside() {
        for name in ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"] {
            assert_eq!(inside().get(name).unwrap().iana_name(), Some(name));
        }
    }

    #[test]
    fn spans_lie_side_by_side() {
        let zone = TimeZone::find("Europe/Berlin").unwrap();
        let summer = zone.span(1_782_000_000);
        assert_eq!(
            summer,
            Span { offset: 7_200, begins: Some((1_774_746_000, 3_600)), ends: Some(1_792_890_000) }
        );
        assert_eq!(zone.span(1_774_746_000), summer, "its first second");
        assert_eq!(zone.span(1_792_889_999), summer, "its last one");
        assert_eq!(zone.span(1_792_890_000).begins, Some((1_792_890_000, 7_200)));
        assert_eq!(zone.span(i64::MAX).offset, 0);
    }
}
