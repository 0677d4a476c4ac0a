//! The simulator beside a model that was written apart from it, and its own rules.

mod agree;
mod model;
mod scenario;
mod waits;

use std::time::Duration;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}
