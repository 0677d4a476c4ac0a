//! Assertions. Each panics in the caller's line, and tells what was expected, what was, and the whole ledger.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::{Ending, Ledger, MAX_ENTRIES};

/// They return the ledger, so that they can be chained.
impl Ledger {
    /// There were this many calls.
    ///
    /// # Panics
    /// If there were not, with the whole ledger.
    #[track_caller]
    pub fn assert_attempts(&self, expected: u64) -> &Self {
        // Calls are counted when they are left out, too: only a part of a full ledger is not known.
        if self.is_part {
            self.check_complete();
        }
        let found = self.attempts();
        self.check(found == expected, || format!("expected {}, found {found}", plural(expected, "attempt")))
    }

    /// The waits between the calls were exactly these: for virtual time, and strategies without jitter.
    ///
    /// # Panics
    /// If they were not, with the whole ledger.
    #[track_caller]
    pub fn assert_waits(&self, expected: &[Duration]) -> &Self {
        let exactly: Vec<_> = expected.iter().map(|wait| *wait..=*wait).collect();
        self.assert_waits_between(&exactly)
    }

    /// The waits between the calls were within these bounds, one for each wait.
    ///
    /// # Panics
    /// If they were not, with the whole ledger.
    #[track_caller]
    pub fn assert_waits_between(&self, expected: &[RangeInclusive<Duration>]) -> &Self {
        self.check_complete();
        let found = self.waits();
        let fits = |(wait, bounds): (&Option<Duration>, &RangeInclusive<Duration>)| {
            wait.is_some_and(|wait| bounds.contains(&wait))
        };
        let all_fit = found.len() == expected.len() && found.iter().zip(expected).all(fits);
        self.check(all_fit, || format!("expected waits of {}, found {}", Bounds(expected), Waits(&found)))
    }

    /// Every call had an idempotency key, and it was the same in all of them.
    ///
    /// # Panics
    /// If that is not so, or there was no call, with the whole ledger.
    #[track_caller]
    pub fn assert_one_key(&self) -> &Self {
        self.check_complete();
        let without = self.entries.iter().filter(|entry| entry.key().is_none()).count();
        let keys = self.keys().len();
        self.check(without == 0 && keys == 1, || match self.entries.len() {
            0 => "expected one idempotency key in all calls, found no call".to_owned(),
            _ => format!(
                "expected one idempotency key in all calls, found {} and {} without one",
                plural(keys as u64, "key"),
                plural(without as u64, "call")
            ),
        })
    }

    /// No call began later than this, since the service was started.
    ///
    /// # Panics
    /// If one did, with the whole ledger.
    #[track_caller]
    pub fn assert_nothing_after(&self, last: Duration) -> &Self {
        self.check_complete();
        let late = self.entries.iter().filter(|entry| entry.began > last).count();
        self.check(late == 0, || {
            format!("expected nothing after {last:?}, found {}", plural(late as u64, "call"))
        })
    }

    /// Never more than this many calls were under way at the same time.
    ///
    /// # Panics
    /// If more were, with the whole ledger.
    #[track_caller]
    pub fn assert_at_most_at_once(&self, limit: usize) -> &Self {
        self.check_complete();
        let most = self.most_at_once();
        self.check(most <= limit, || format!("expected at most {limit} at once, found {most}"))
    }

    /// The calls ended like this, in the order in which they came.
    ///
    /// # Panics
    /// If they did not, with the whole ledger.
    #[track_caller]
    pub fn assert_endings(&self, expected: &[Ending]) -> &Self {
        self.check_complete();
        let words = |endings: &[Ending]| endings.iter().map(Ending::to_string).collect::<Vec<_>>().join("; ");
        let found = self.endings();
        self.check(found == expected, || format!("expected: {}\nfound: {}", words(expected), words(&found)))
    }

    /// An assertion that needs every call must not pass on a part of them.
    #[track_caller]
    fn check_complete(&self) {
        self.check(self.left_out == 0, || {
            format!(
                "the ledger is full: it keeps {MAX_ENTRIES} calls, and {} more came. Make fewer calls in this test, or \
                 count with `attempts()`",
                self.left_out
            )
        });
    }

    #[track_caller]
    #[expect(clippy::panic, reason = "this is how an assertion fails")]
    fn check(&self, holds: bool, words: impl FnOnce() -> String) -> &Self {
        if !holds {
            panic!("{}\n\n{self}", words());
        }
        self
    }
}

fn plural(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

struct Bounds<'b>(&'b [RangeInclusive<Duration>]);

impl fmt::Display for Bounds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.0.iter().map(|bounds| match (bounds.start(), bounds.end()) {
            (start, end) if start == end => format!("{start:?}"),
            (start, end) => format!("{start:?} to {end:?}"),
        });
        write!(f, "[{}]", words.collect::<Vec<_>>().join(", "))
    }
}

struct Waits<'w>(&'w [Option<Duration>]);

impl fmt::Display for Waits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |wait: &Option<Duration>| match wait {
            Some(wait) => format!("{wait:?}"),
            None => "none (the call before is under way)".to_owned(),
        };
        write!(f, "[{}]", self.0.iter().map(word).collect::<Vec<_>>().join(", "))
    }
}
