//! Presets: retry settings for common situations. All use full jitter above a floor of `min_backoff`.

use std::time::Duration;

use super::{Builder, Jitter, Retry};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

impl Retry {
    /// Somebody is waiting: few, short waits. Two retries within 3 s.
    pub fn interactive() -> Builder {
        growing(ms(50), ms(100), ms(1_000)).max_retries(2).max_elapsed(ms(3_000))
    }

    /// Nobody is waiting: many, growing waits. Eight retries within 10 minutes.
    pub fn background() -> Builder {
        growing(ms(500), ms(1_000), ms(60_000)).max_retries(8).max_elapsed(Duration::from_secs(600))
    }

    /// Work that does not matter enough to repeat: it fails fast.
    pub fn non_critical() -> Builder {
        Self::none()
    }

    /// A step whose undo is costly: many long waits, within 6 hours. A pipeline holds no permit, connection or slot
    /// while it waits.
    pub fn costly_undo() -> Builder {
        growing(ms(1_000), ms(5_000), ms(600_000)).max_retries(50).max_elapsed(Duration::from_secs(6 * 3600))
    }

    /// What a pipeline uses when nothing is said: three retries between 100 ms and 10 s.
    pub fn standard() -> Builder {
        growing(ms(100), ms(200), ms(10_000))
    }
}

fn growing(min: Duration, delta: Duration, max: Duration) -> Builder {
    Retry::exponential().min_backoff(min).delta_backoff(delta).max_backoff(max).jitter(Jitter::Full)
}
