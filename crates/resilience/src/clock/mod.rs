//! Time: the one module of this library that asks for it, or waits.
//!
//! Everything else takes `now: Moment` as an argument or holds a [`Clock`]. That is what lets an hour of waits
//! run in a millisecond: see [`VirtualClock`] (feature `test-util`).

#[cfg(feature = "tokio")]
mod limit;
#[cfg(any(test, feature = "test-util"))]
mod manual;
#[cfg(feature = "tokio")]
mod sleep;

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;
#[cfg(any(feature = "http", feature = "tracing"))]
use std::time::SystemTime;

#[cfg(feature = "tokio")]
pub(crate) use limit::{Limited, poll_within};
#[cfg(any(test, feature = "test-util"))]
pub use manual::{Timer, VirtualClock};
#[cfg(feature = "tokio")]
pub use sleep::Sleep;

use crate::cancel::Cancel;

/// A point in time on a [`Clock`]'s own scale. Moments of different clocks must not be mixed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(u64);

impl Moment {
    /// The start of the scale.
    pub const ZERO: Self = Self(0);
    /// Later than any moment that will be reached.
    pub const FAR: Self = Self(u64::MAX);

    /// The moment this many nanoseconds after the start of the scale.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the start of the scale.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`; zero when `earlier` is not earlier.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    /// Saturates at [`Moment::FAR`].
    fn add(self, after: Duration) -> Self {
        Self(self.0.saturating_add(nanos(after)))
    }
}

impl Sub<Moment> for Moment {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Moment({:?})", Duration::from_nanos(self.0))
    }
}

/// A duration in nanoseconds; 584 years and more become `u64::MAX`.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// `wait * factor`, at most `u64::MAX` nanoseconds.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float cast saturates: negative becomes 0, too large becomes u64::MAX, which is what is wanted"
)]
pub(crate) fn scaled(wait: Duration, factor: f64) -> Duration {
    Duration::from_nanos((nanos(wait) as f64 * factor) as u64)
}

/// Tells clocks apart: moments of one mean nothing on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockId(u32);

impl ClockId {
    pub(crate) const SYSTEM: Self = Self(0);
}

/// Where a pipeline and a breaker take the time from.
#[derive(Clone, Default)]
pub struct Clock(Source);

#[derive(Clone, Default)]
enum Source {
    #[default]
    System,
    #[cfg(feature = "tokio")]
    Tokio,
    #[cfg(any(test, feature = "test-util"))]
    Virtual(VirtualClock),
}

impl Clock {
    /// The machine's monotonic clock. On Linux the coarse one: 9 ns to read instead of 23 or more, and up to
    /// 4 ms behind, which is little against waits and windows. On a paused tokio runtime waits end at once while this
    /// clock stands still: use [`Clock::tokio`] there.
    #[must_use]
    pub const fn system() -> Self {
        Self(Source::System)
    }

    /// Tokio's clock, which tests can pause: `#[tokio::test(start_paused = true)]`.
    #[cfg(feature = "tokio")]
    #[must_use]
    pub const fn tokio() -> Self {
        Self(Source::Tokio)
    }

    /// The time now.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Moment {
        match &self.0 {
            Source::System => Moment(coarse_nanos()),
            #[cfg(feature = "tokio")]
            Source::Tokio => sleep::tokio_now(),
            #[cfg(any(test, feature = "test-util"))]
            Source::Virtual(clock) => clock.now(),
        }
    }

    /// A moment of the recent past as milliseconds since 1970, for logs. A virtual clock began in 1970.
    #[cfg(feature = "tracing")]
    pub(crate) fn unix_millis(&self, moment: Moment) -> u64 {
        #[cfg(any(test, feature = "test-util"))]
        if let Source::Virtual(_) = self.0 {
            return moment.0 / 1_000_000;
        }
        let since_1970 = wall().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let then = since_1970.saturating_sub(self.now().since(moment));
        u64::try_from(then.as_millis()).unwrap_or(u64::MAX)
    }

    /// Whether moments of both mean the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.id() == other.id()
    }

    /// Which clock this is, without holding it.
    pub(crate) fn id(&self) -> ClockId {
        match &self.0 {
            Source::System => ClockId::SYSTEM,
            #[cfg(feature = "tokio")]
            Source::Tokio => ClockId(1),
            #[cfg(any(test, feature = "test-util"))]
            Source::Virtual(clock) => ClockId(clock.id()),
        }
    }

    /// Whether time passes by itself.
    pub(crate) fn is_real(&self) -> bool {
        #[cfg(any(test, feature = "test-util"))]
        return !matches!(self.0, Source::Virtual(_));
        #[cfg(not(any(test, feature = "test-util")))]
        true
    }

    pub(crate) const fn is_system(&self) -> bool {
        matches!(self.0, Source::System)
    }

    /// A future that is ready after `wait` on this clock, for code of your own that is to be tested in virtual time.
    #[cfg(feature = "tokio")]
    pub fn sleep(&self, wait: Duration) -> Sleep {
        match &self.0 {
            Source::System | Source::Tokio => Sleep::tokio(wait),
            #[cfg(any(test, feature = "test-util"))]
            Source::Virtual(clock) => Sleep::manual(clock.timer(wait)),
        }
    }

    /// A future that is ready at this moment of this clock, or at once if that has passed. It measures more finely than
    /// [`now`](Self::now): a wait from a coarse `now` ends up to 4 ms late, by another part of them each time, which is
    /// much for what is to come evenly spaced.
    #[cfg(feature = "tokio")]
    pub fn sleep_until(&self, moment: Moment) -> Sleep {
        self.sleep(moment.since(self.fine_now()))
    }

    /// [`now`](Self::now), measured as finely as the machine can.
    #[cfg(feature = "tokio")]
    #[must_use]
    pub fn fine_now(&self) -> Moment {
        if self.is_system() { Moment(fine_nanos()) } else { self.now() }
    }

    /// Holds this thread for `wait`, or until the caller cancels. On a virtual clock it moves the clock instead.
    pub(crate) fn block(&self, wait: Duration, cancel: Option<&Cancel>) {
        #[cfg(any(test, feature = "test-util"))]
        if let Source::Virtual(clock) = &self.0 {
            clock.advance(wait);
            return;
        }
        match cancel {
            Some(cancel) => cancel.wait_blocking(wait),
            None => hold_thread(wait),
        }
    }
}

#[cfg(any(test, feature = "test-util"))]
impl From<VirtualClock> for Clock {
    fn from(clock: VirtualClock) -> Self {
        Self(Source::Virtual(clock))
    }
}

#[cfg(any(test, feature = "test-util"))]
impl From<&VirtualClock> for Clock {
    fn from(clock: &VirtualClock) -> Self {
        Self(Source::Virtual(clock.clone()))
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Source::System => "Clock::system",
            #[cfg(feature = "tokio")]
            Source::Tokio => "Clock::tokio",
            #[cfg(any(test, feature = "test-util"))]
            Source::Virtual(_) => "Clock::virtual",
        })
    }
}

/// The date and time of day, for dates in `Retry-After` headers and for logs.
#[cfg(any(feature = "http", feature = "tracing"))]
#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
pub(crate) fn wall() -> SystemTime {
    SystemTime::now()
}

#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
fn hold_thread(wait: Duration) {
    std::thread::sleep(wait);
}

#[cfg(target_os = "linux")]
#[inline]
fn coarse_nanos() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
    // Seconds and nanoseconds since boot: neither is negative, and their sum fits for 584 years.
    time.tv_sec.unsigned_abs().wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec.unsigned_abs())
}

/// On the scale of the coarse one, which is never ahead of it.
#[cfg(all(target_os = "linux", feature = "tokio"))]
fn fine_nanos() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec.unsigned_abs().wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec.unsigned_abs())
}

#[cfg(all(not(target_os = "linux"), feature = "tokio"))]
fn fine_nanos() -> u64 {
    coarse_nanos()
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
fn coarse_nanos() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    let start = *START.get_or_init(Instant::now);
    nanos(Instant::now() - start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_saturate_at_both_ends() {
        assert_eq!(Moment::ZERO.since(Moment::FAR), Duration::ZERO);
        assert_eq!(Moment::FAR + Duration::MAX, Moment::FAR);
        assert_eq!(Moment::from_nanos(5) + Duration::from_nanos(2), Moment::from_nanos(7));
    }

    #[test]
    #[cfg(feature = "tokio")]
    fn the_fine_clock_has_the_scale_of_the_coarse_one_and_is_ahead_of_it() {
        for _ in 0..1_000 {
            let (coarse, fine, later) = (coarse_nanos(), fine_nanos(), coarse_nanos());
            assert!(coarse <= fine, "{coarse} {fine}");
            // A kernel's tick is 10 ms at most; a machine that is busy may stand still in between.
            assert!(fine.saturating_sub(later) <= 11_000_000, "{fine} {later}");
        }
    }

    #[test]
    fn the_system_clock_never_runs_back() {
        let clock = Clock::system();
        let mut last = clock.now();
        assert!(last > Moment::ZERO);
        for _ in 0..10_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
    }
}
