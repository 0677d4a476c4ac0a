//! Moments, by the store's clock.

use std::fmt;
use std::ops::Add;
use std::time::{Duration, SystemTime};

/// A moment: milliseconds since 1970 by the store's clock, which never goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Time(u64);

impl Time {
    /// This many milliseconds since 1970.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// How long it is from an earlier moment to this one; nothing if that one is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    /// Saturates: a time beyond all counting is the latest there is. Parts of a millisecond round up, so that nobody is
    /// given less time than was said.
    fn add(self, time: Duration) -> Self {
        let millis = u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(millis))
    }
}

impl From<SystemTime> for Time {
    /// A moment before 1970 is taken as 1970.
    fn from(time: SystemTime) -> Self {
        Self(0) + time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_rounds_up_and_saturates() {
        let time = Time::from_millis(5);
        assert_eq!(time + Duration::from_micros(1), Time::from_millis(6));
        assert_eq!(time + Duration::ZERO, time);
        assert_eq!(time + Duration::MAX, Time::from_millis(u64::MAX));
        assert_eq!(Time::from_millis(7).since(time), Duration::from_millis(2));
        assert_eq!(time.since(Time::from_millis(7)), Duration::ZERO);
        assert_eq!(Time::from(SystemTime::UNIX_EPOCH + Duration::from_millis(9)), Time::from_millis(9));
        assert_eq!(Time::from(SystemTime::UNIX_EPOCH - Duration::from_millis(9)), Time::from_millis(0));
    }
}
