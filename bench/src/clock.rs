//! The time that benchmarks take: fine, where the library's own clock is coarse.

use std::time::Instant;

/// Now.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
#[must_use]
pub fn now() -> Instant {
    Instant::now()
}

/// Milliseconds since 1970.
#[cfg(feature = "engine")]
#[expect(clippy::disallowed_methods, reason = "a benchmark fills stores with times of this world")]
#[must_use]
pub fn unix_millis() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
