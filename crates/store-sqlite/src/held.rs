//! How others have held the file: seen by the writer, which waits for them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// For so long after it was seen the file counts as held: the writer looks several times a second, and what waited is written then, with
/// the renewal of leases somewhere among it.
const FRESH: Duration = Duration::from_secs(4);
/// Nothing was seen yet.
const NEVER: u64 = u64::MAX;

pub(crate) struct Held {
    began: Instant,
    /// When it was last seen, in milliseconds since the beginning.
    seen: AtomicU64,
    /// For how long writes have waited in all, in milliseconds.
    total: AtomicU64,
}

impl Held {
    #[expect(clippy::disallowed_methods, reason = "how long others hold the file is not the store's time")]
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), seen: AtomicU64::new(NEVER), total: AtomicU64::new(0) }
    }

    fn since_began(&self) -> u64 {
        millis(self.began.elapsed())
    }

    /// The file was found to be held.
    pub(crate) fn saw(&self) {
        self.seen.store(self.since_began(), Ordering::Relaxed);
    }

    /// It was held for this long, and is no more.
    pub(crate) fn was_for(&self, time: Duration) {
        self.saw();
        self.total.fetch_add(millis(time), Ordering::Relaxed);
    }

    pub(crate) fn is_now(&self) -> bool {
        let seen = self.seen.load(Ordering::Relaxed);
        seen != NEVER && self.since_began().saturating_sub(seen) < millis(FRESH)
    }

    pub(crate) fn total(&self) -> Duration {
        Duration::from_millis(self.total.load(Ordering::Relaxed))
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
