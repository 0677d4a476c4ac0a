//! The last N calls, exactly: a ring of marks. Writing is two atomic steps; counting reads the whole ring and is done
//! only after a failure.
//!
//! `head` is `generation (24 bits) | number of the last call (38)`; both count in circles. A slot holds the same and a mark, so that a reader can tell a
//! slot of an older lap or generation from a current one.

use super::{Counts, cyclic};
use crate::sync::{AtomicU64, Ordering};

const CALLS_BITS: u32 = 38;
const CALLS_MASK: u64 = (1 << CALLS_BITS) - 1;
const GENERATION_BITS: u32 = 24;
const GENERATION_MASK: u64 = (1 << GENERATION_BITS) - 1;
const MARK_BITS: u32 = 2;

/// How one call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Success,
    Failure,
    SlowSuccess,
    SlowFailure,
}

/// A window over the last calls.
#[derive(Debug)]
pub(crate) struct Ring {
    head: AtomicU64,
    slots: Box<[AtomicU64]>,
}

impl Ring {
    /// A window over the last `size` calls.
    pub(crate) fn new(size: usize) -> Self {
        Self { head: AtomicU64::new(0), slots: (0..size.max(1)).map(|_| AtomicU64::new(0)).collect() }
    }

    fn size(&self) -> u64 {
        self.slots.len() as u64
    }

    /// Marks one call of `generation`.
    pub(crate) fn add(&self, generation: u64, mark: Mark) {
        let generation = generation & GENERATION_MASK;
        let mut head = self.head.load(Ordering::Acquire);
        let number = loop {
            let number = match ahead(head >> CALLS_BITS, generation) {
                0 => (head & CALLS_MASK).wrapping_add(1) & CALLS_MASK,
                newer if newer > 0 => return,
                _ => 1,
            };
            let next = generation << CALLS_BITS | number;
            match self.head.compare_exchange_weak(head, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break number,
                Err(seen) => head = seen,
            }
        };
        self.store(generation, number, mark);
    }

    fn store(&self, generation: u64, number: u64, mark: Mark) {
        let slot = self.slot(number);
        let mine = (generation << CALLS_BITS | number) << MARK_BITS | mark as u64;
        let mut current = slot.load(Ordering::Acquire);
        // A writer that was held up for a whole lap must not put its old mark over a newer one.
        while !is_newer(current >> MARK_BITS, generation, number) {
            match slot.compare_exchange_weak(current, mine, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(seen) => current = seen,
            }
        }
    }

    fn slot(&self, number: u64) -> &AtomicU64 {
        &self.slots[usize::try_from(number % self.size()).unwrap_or(0)]
    }

    /// Marks as many calls as counted elsewhere, spread evenly; if they are more than fit, in the same proportion.
    pub(crate) fn fill(&self, generation: u64, counted: Counts) {
        let calls = counted.calls();
        let fit = calls.min(self.size());
        let of_these = |part: u64| (part * fit).checked_div(calls).unwrap_or(0);
        let (failures, slow) = (of_these(counted.failures), of_these(counted.slow));
        for call in 0..fit {
            let one_more = |part: u64| (call + 1) * part / fit > call * part / fit;
            self.add(
                generation,
                match (one_more(failures), one_more(slow)) {
                    (false, false) => Mark::Success,
                    (true, false) => Mark::Failure,
                    (false, true) => Mark::SlowSuccess,
                    (true, true) => Mark::SlowFailure,
                },
            );
        }
    }

    /// The calls of `generation` among the last ones.
    pub(crate) fn counts(&self, generation: u64) -> Counts {
        let generation = generation & GENERATION_MASK;
        let head = self.head.load(Ordering::Acquire);
        let mut counts = Counts::default();
        if head >> CALLS_BITS != generation {
            return counts;
        }
        let last = head & CALLS_MASK;
        for slot in &self.slots {
            let word = slot.load(Ordering::Acquire);
            let (of, number) = (word >> MARK_BITS >> CALLS_BITS, word >> MARK_BITS & CALLS_MASK);
            let age = cyclic(last, number, CALLS_BITS);
            if of == generation && (0..self.size().cast_signed()).contains(&age) && word != 0 {
                count(&mut counts, word & ((1 << MARK_BITS) - 1));
            }
        }
        counts
    }
}

fn count(counts: &mut Counts, mark: u64) {
    let failed = mark == Mark::Failure as u64 || mark == Mark::SlowFailure as u64;
    let slow = mark == Mark::SlowSuccess as u64 || mark == Mark::SlowFailure as u64;
    counts.failures += u64::from(failed);
    counts.successes += u64::from(!failed);
    counts.slow += u64::from(slow);
}

/// How many generations `a` is ahead of `b`.
fn ahead(a: u64, b: u64) -> i64 {
    cyclic(a, b, GENERATION_BITS)
}

fn is_newer(tag: u64, generation: u64, number: u64) -> bool {
    match ahead(tag >> CALLS_BITS, generation) {
        0 => cyclic(tag & CALLS_MASK, number, CALLS_BITS) > 0,
        newer => newer > 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_calls_count() {
        let ring = Ring::new(3);
        ring.add(1, Mark::Failure);
        for _ in 0..2 {
            ring.add(1, Mark::Success);
        }
        assert_eq!(ring.counts(1), Counts { successes: 2, failures: 1, slow: 0 });
        ring.add(1, Mark::SlowSuccess);
        assert_eq!(ring.counts(1), Counts { successes: 3, failures: 0, slow: 1 });
        ring.add(1, Mark::SlowFailure);
        assert_eq!(ring.counts(1), Counts { successes: 2, failures: 1, slow: 2 });
    }

    #[test]
    fn a_new_generation_starts_empty_and_old_ones_change_nothing() {
        let ring = Ring::new(4);
        ring.add(1, Mark::Failure);
        ring.add(2, Mark::Success);
        ring.add(1, Mark::Failure);
        assert_eq!(ring.counts(2), Counts { successes: 1, failures: 0, slow: 0 });
        assert_eq!(ring.counts(1), Counts::default());
        assert_eq!(ring.counts(3), Counts::default());
    }

    #[test]
    fn a_writer_held_up_for_a_lap_does_not_overwrite() {
        let ring = Ring::new(2);
        for _ in 0..4 {
            ring.add(1, Mark::Success);
        }
        ring.store(1, 2, Mark::Failure);
        assert_eq!(ring.counts(1), Counts { successes: 2, failures: 0, slow: 0 });
    }

    #[test]
    fn colliding_threads_leave_exactly_the_window() {
        let ring = Ring::new(100);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| ring.add(1, Mark::Success)));
            }
        });
        assert_eq!(ring.counts(1).calls(), 100);
    }

    #[test]
    fn call_numbers_wrap_around() {
        let ring = Ring::new(4);
        ring.add(1, Mark::Failure);
        ring.head.store(1 << CALLS_BITS | (CALLS_MASK - 1), Ordering::Release);
        for _ in 0..6 {
            ring.add(1, Mark::Success);
        }
        assert_eq!(ring.counts(1), Counts { successes: 4, failures: 0, slow: 0 });
    }

    #[test]
    fn generations_wrap_around() {
        let ring = Ring::new(4);
        ring.add(GENERATION_MASK, Mark::Failure);
        ring.add(GENERATION_MASK + 1, Mark::Success);
        assert_eq!(ring.counts(GENERATION_MASK + 1).successes, 1);
    }
}
