//! What several tests need.

use std::time::Duration;

use steadfast::resilience::clock::Clock;
use steadfast::resilience::{Pipeline, Retry};
use steadfast::{Service, Settings};

/// A service that is tried three times, in virtual time where that is paused.
pub(crate) fn service(name: &str) -> Service {
    let retry = Retry::fixed(Duration::from_millis(100)).max_retries(2);
    let pipeline =
        Pipeline::builder(name).clock(Clock::tokio()).no_attempt_timeout().retry(retry).no_budget();
    Service::new(pipeline.build().unwrap())
}

/// Who is shut down leaves at once.
pub(crate) fn hasty() -> Settings {
    let mut settings = Settings::default();
    settings.grace = Duration::from_millis(1);
    settings
}
