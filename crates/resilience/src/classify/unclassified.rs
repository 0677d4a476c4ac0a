//! The ledger of errors nobody classified, so that the rules can be revised.
//!
//! It only counts and lists; what becomes of such an error is decided elsewhere.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many different errors the ledger lists. A person is to read the list, and each entry is a rule that is
/// missing: whoever has more than this many has plenty to start with. Errors with ids in their messages would
/// otherwise fill the memory.
const ENTRY_LIMIT: usize = 32;

/// How many bytes of a message are kept. Enough to know the error again; some messages quote whole replies.
const MESSAGE_LIMIT: usize = 256;

/// Counts and lists errors that nobody classified.
///
/// The list is bounded: errors that no longer fit are counted together in [`overflow`](Self::overflow).
///
/// ```
/// use steadfast_resilience::Unclassified;
///
/// let ledger = Unclassified::new();
/// ledger.record("shop::StockError", || "shelf 7 is missing".to_owned());
/// ledger.record("shop::StockError", || "shelf 7 is missing".to_owned());
/// assert_eq!(ledger.total(), 2);
/// assert_eq!(ledger.entries()[0].count, 2);
/// ```
#[derive(Debug, Default)]
pub struct Unclassified {
    ledger: Mutex<Ledger>,
}

/// One error that nobody classified, and how often it came.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnclassifiedEntry {
    /// The name of the error's type.
    pub type_name: &'static str,
    /// The error's message, or the beginning of a long one.
    pub message: String,
    /// How often it came.
    pub count: u64,
}

#[derive(Debug, Default)]
struct Ledger {
    entries: Vec<UnclassifiedEntry>,
    overflow: u64,
}

impl Unclassified {
    /// An empty ledger.
    #[must_use]
    pub const fn new() -> Self {
        Self { ledger: Mutex::new(Ledger { entries: Vec::new(), overflow: 0 }) }
    }

    /// Counts an error. Errors of one type whose messages begin alike (see the limit on messages) are one
    /// entry.
    pub fn record(&self, type_name: &'static str, message: impl FnOnce() -> String) {
        // Before the lock: the message is the caller's code, which may be slow, panic, or record an error
        // itself.
        let message = shortened(message());
        self.lock().record(type_name, message);
    }

    /// How many errors were recorded, those that did not fit in the list included.
    #[must_use]
    pub fn total(&self) -> u64 {
        let ledger = self.lock();
        ledger.entries.iter().fold(ledger.overflow, |sum, entry| sum.saturating_add(entry.count))
    }

    /// How many errors were recorded that did not fit in the list.
    #[must_use]
    pub fn overflow(&self) -> u64 {
        self.lock().overflow
    }

    /// The list, in the order in which the errors first came.
    #[must_use]
    pub fn entries(&self) -> Vec<UnclassifiedEntry> {
        self.lock().entries.clone()
    }

    /// A thread that panicked in here left at worst one count short, so the ledger stays usable.
    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    fn record(&mut self, type_name: &'static str, message: String) {
        let known = |entry: &&mut UnclassifiedEntry| entry.type_name == type_name && entry.message == message;
        if let Some(entry) = self.entries.iter_mut().find(known) {
            entry.count = entry.count.saturating_add(1);
        } else if self.entries.len() < ENTRY_LIMIT {
            self.entries.push(UnclassifiedEntry { type_name, message, count: 1 });
        } else {
            self.overflow = self.overflow.saturating_add(1);
        }
    }
}

/// Cuts a long message at the last whole character within the limit, and gives the rest's memory back.
fn shortened(mut message: String) -> String {
    if message.len() > MESSAGE_LIMIT {
        let end = (0..=MESSAGE_LIMIT).rev().find(|&place| message.is_char_boundary(place));
        message.truncate(end.unwrap_or(0));
        message.shrink_to_fit();
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_errors_are_one_entry_in_the_order_they_came() {
        let ledger = Unclassified::new();
        for (type_name, message) in [("A", "x"), ("B", "x"), ("A", "y"), ("A", "x")] {
            ledger.record(type_name, || message.to_owned());
        }
        let entries = ledger.entries();
        let seen: Vec<_> =
            entries.iter().map(|entry| (entry.type_name, entry.message.as_str(), entry.count)).collect();
        assert_eq!(seen, [("A", "x", 2), ("B", "x", 1), ("A", "y", 1)]);
        assert_eq!((ledger.total(), ledger.overflow()), (4, 0));
    }

    #[test]
    fn beyond_the_limit_new_errors_are_only_counted() {
        let ledger = Unclassified::new();
        for id in 0..ENTRY_LIMIT + 5 {
            ledger.record("A", || format!("order {id}"));
        }
        ledger.record("A", || "order 0".to_owned());
        assert_eq!(ledger.entries().len(), ENTRY_LIMIT);
        assert_eq!(ledger.entries()[0].count, 2);
        assert_eq!((ledger.total(), ledger.overflow()), (ENTRY_LIMIT as u64 + 6, 5));
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        for (message, length) in [
            (String::new(), 0),
            ("a".repeat(MESSAGE_LIMIT), MESSAGE_LIMIT),
            ("a".repeat(MESSAGE_LIMIT + 1), MESSAGE_LIMIT),
            ("é".repeat(MESSAGE_LIMIT), MESSAGE_LIMIT),
            (format!("a{}", "é".repeat(MESSAGE_LIMIT)), MESSAGE_LIMIT - 1),
            (format!("a{}", "🦀".repeat(1_000_000)), MESSAGE_LIMIT - 3),
        ] {
            let cut = shortened(message.clone());
            assert_eq!(cut.len(), length);
            assert!(message.starts_with(&cut));
            assert!(cut.capacity() <= MESSAGE_LIMIT);
        }
    }

    #[test]
    fn a_message_may_record_an_error_or_panic_without_harm() {
        let ledger = Unclassified::new();
        ledger.record("outer", || {
            ledger.record("inner", String::new);
            String::new()
        });
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            ledger.record("bad", || panic!("a Display that panics"));
        }));
        assert!(panicked.is_err());
        assert_eq!((ledger.total(), ledger.entries().len()), (2, 2));
    }

    #[test]
    fn a_poisoned_lock_is_used_on() {
        let ledger = Unclassified::new();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _held = ledger.lock();
            panic!("while holding the lock");
        }));
        assert!(panicked.is_err() && ledger.ledger.is_poisoned());
        ledger.record("A", String::new);
        assert_eq!(ledger.total(), 1);
    }

    #[test]
    fn threads_lose_no_counts() {
        let ledger = Unclassified::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..500).for_each(|id| ledger.record("A", || (id % 40).to_string())));
            }
        });
        assert_eq!((ledger.total(), ledger.entries().len()), (2_000, ENTRY_LIMIT));
    }
}
