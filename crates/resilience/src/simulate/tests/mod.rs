//! The simulator beside a model that was written apart from it, and its own rules.

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "its numbers are small")]
mod agree;
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "its numbers are small")]
mod model;
mod scenario;
mod waits;

use std::time::Duration;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
