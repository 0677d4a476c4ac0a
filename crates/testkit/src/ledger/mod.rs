//! Ledgers: every call that reached a service, with its times and its end. The auditor of a test, because it is the
//! service's own and not the caller's.
//!
//! [`Ledger`] is a copy at one moment. Its `assert_` functions panic with the whole of it; the others are for
//! assertions of your own.

mod assert;
mod book;
mod entry;
mod table;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub(crate) use book::Book;
#[cfg(feature = "http")]
pub(crate) use book::{Open, Taker};
pub use entry::{Ending, Entry};

/// The most calls that a ledger keeps: twice those of an outage of a minute, with all that waited for its end; later calls are
/// served and counted, but not written down, and assertions say so instead of passing on what they cannot see.
pub const MAX_ENTRIES: usize = 50_000;

/// The calls of a service, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    entries: Vec<Entry>,
    left_out: u64,
    /// What `only` made: how many of the calls that were left out belong to it is not known.
    is_part: bool,
}

impl Ledger {
    /// The calls, in the order in which they came.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How many calls came after the ledger was full; see [`MAX_ENTRIES`].
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// How many calls there were, those that were left out included.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        self.left_out + self.entries.len() as u64
    }

    /// The time between the end of each call and the beginning of the next; zero if that began before. `None` for calls
    /// that have not ended.
    #[must_use]
    pub fn waits(&self) -> Vec<Option<Duration>> {
        let wait = |pair: &[Entry]| pair[0].ended.map(|ended| pair[1].began.saturating_sub(ended));
        self.entries.windows(2).map(wait).collect()
    }

    /// Calls that have not ended.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.entries.iter().filter(|entry| entry.ending == Ending::UnderWay).count()
    }

    /// The most calls that were under way at the same time.
    #[must_use]
    pub fn most_at_once(&self) -> usize {
        let mut events: Vec<(u64, bool)> = Vec::with_capacity(self.entries.len() * 2);
        for entry in &self.entries {
            events.push((entry.order.0, true));
            events.extend(entry.order.1.map(|end| (end, false)));
        }
        events.sort_unstable();
        let (mut now, mut most) = (0usize, 0);
        for (_, begins) in events {
            now = if begins { now + 1 } else { now.saturating_sub(1) };
            most = most.max(now);
        }
        most
    }

    /// How each call ended.
    #[must_use]
    pub fn endings(&self) -> Vec<Ending> {
        self.entries.iter().map(|entry| entry.ending).collect()
    }

    /// The idempotency keys, each once, in the order in which they came.
    #[must_use]
    pub fn keys(&self) -> Vec<&str> {
        let mut keys: Vec<&str> = Vec::new();
        for key in self.entries.iter().filter_map(Entry::key) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    /// Only the calls of which this is true, such as those of one operation or one key.
    ///
    /// ```
    /// # use steadfast_testkit::{Ledger, VirtualClock, Script, Service};
    /// # let service = Service::new(&VirtualClock::new(), Script::succeed());
    /// let charges = service.ledger().only(|entry| entry.request().path() == "/charges");
    /// charges.assert_attempts(0);
    /// ```
    #[must_use]
    pub fn only(&self, is_wanted: impl Fn(&Entry) -> bool) -> Self {
        let entries = self.entries.iter().filter(|entry| is_wanted(entry)).cloned().collect();
        Self { entries, left_out: self.left_out, is_part: true }
    }
}
