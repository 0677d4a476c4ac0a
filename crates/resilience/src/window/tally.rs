//! One count over a time window: ten buckets, each a single atomic word that says which time it belongs to.
//!
//! A word is `generation (16 bits) | tick (26) | count (22)`. A bucket whose tag is old counts as empty and is taken
//! over by the next writer in one compare-and-swap, so there is no moment at which a bucket is half cleared.
//!
//! Writers of one thread stay on one stripe. A tally starts with one stripe and grows to several the first time two
//! writers collide: a quiet breaker stays small, a busy one does not slow its callers down.

use std::sync::OnceLock;

use super::{BUCKETS, cyclic};
use crate::sync::{AtomicU64, Ordering};

const COUNT_BITS: u32 = 22;
const TICK_BITS: u32 = 26;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
const TICK_MASK: u64 = (1 << TICK_BITS) - 1;
const GENERATION_BITS: u32 = 64 - COUNT_BITS - TICK_BITS;
const GENERATION_MASK: u64 = (1 << GENERATION_BITS) - 1;

/// The furthest that a word can be ahead of a writer who was held up: eleven minutes at the shortest tick of 10 ms.
/// What seems further ahead is a word from long ago.
const TICKS_AHEAD: i64 = 1 << 16;
/// The same for generations: state changes during one call.
const GENERATIONS_AHEAD: i64 = 64;

/// Stripes once writers collide. More than cores are of no use, and 16 already keep 64 threads apart enough.
const STRIPES_MAX: usize = 16;

/// A count of one sort of event over the last ten ticks.
#[derive(Debug)]
pub(crate) struct Tally {
    first: Stripe,
    rest: OnceLock<Box<[Padded]>>,
}

/// The buckets, [`BUCKETS`] of them.
#[derive(Debug, Default)]
struct Stripe([AtomicU64; 10]);

/// Aligned so that no two stripes share a cache line, nor the pair of lines that the processor fetches together.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded(Stripe);

impl Tally {
    pub(crate) fn new() -> Self {
        Self { first: Stripe::default(), rest: OnceLock::new() }
    }

    /// Counts one event of `generation` at `tick`.
    #[inline]
    pub(crate) fn add(&self, generation: u64, tick: u64) {
        let stripe = match self.rest.get() {
            None => &self.first,
            Some(stripes) => mine(stripes),
        };
        if !stripe.try_add(generation, tick, 1) {
            self.add_contended(generation, tick);
        }
    }

    /// Counts `count` events at once.
    pub(crate) fn add_many(&self, generation: u64, tick: u64, count: u64) {
        while !self.first.try_add(generation, tick, count) {}
    }

    #[cold]
    fn add_contended(&self, generation: u64, tick: u64) {
        let stripes = self.rest.get_or_init(|| (0..stripe_count()).map(|_| Padded::default()).collect());
        let stripe = mine(stripes);
        while !stripe.try_add(generation, tick, 1) {}
    }

    /// Takes back one event counted a moment ago with [`add_many`](Self::add_many), if its bucket still stands.
    pub(crate) fn take_back(&self, generation: u64, tick: u64) {
        let word = self.first.word(tick);
        let tag = tag(generation, tick);
        let mut current = word.load(Ordering::Acquire);
        while current >> COUNT_BITS == tag && current & COUNT_MASK > 0 {
            match word.compare_exchange_weak(current, current - 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(seen) => current = seen,
            }
        }
    }

    /// The events of `generation` in the ten ticks that end with `tick`.
    pub(crate) fn sum(&self, generation: u64, tick: u64) -> u64 {
        let rest = self
            .rest
            .get()
            .map_or(0, |stripes| stripes.iter().map(|stripe| stripe.0.sum(generation, tick)).sum());
        self.first.sum(generation, tick) + rest
    }
}

impl Stripe {
    fn word(&self, tick: u64) -> &AtomicU64 {
        // The remainder of ten is below ten.
        let index = usize::try_from(tick % BUCKETS).unwrap_or(0);
        &self.0[index]
    }

    /// One try to count; false when another writer came between.
    #[inline]
    fn try_add(&self, generation: u64, tick: u64, count: u64) -> bool {
        let word = self.word(tick);
        let current = word.load(Ordering::Acquire);
        let tag = tag(generation, tick);
        let next = if current >> COUNT_BITS == tag {
            // Full at 4 million in a tenth of a window: the count stays there, far beyond any threshold.
            if current & COUNT_MASK > COUNT_MASK - count.min(COUNT_MASK) {
                current | COUNT_MASK
            } else {
                current + count
            }
        } else if is_newer(current, generation, tick) {
            // The outcome's bucket has already fallen out of the window, or its generation is over.
            return true;
        } else {
            tag << COUNT_BITS | count.min(COUNT_MASK)
        };
        word.compare_exchange_weak(current, next, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    fn sum(&self, generation: u64, tick: u64) -> u64 {
        self.0.iter().map(|word| counted(word.load(Ordering::Acquire), generation, tick)).sum()
    }
}

fn counted(word: u64, generation: u64, tick: u64) -> u64 {
    let (tag, count) = (word >> COUNT_BITS, word & COUNT_MASK);
    if tag >> TICK_BITS != generation & GENERATION_MASK {
        return 0;
    }
    // How old the bucket is; a little below zero when another thread's clock is ahead.
    let age = cyclic(tick, tag & TICK_MASK, TICK_BITS);
    if (-TICKS_AHEAD..BUCKETS.cast_signed()).contains(&age) { count } else { 0 }
}

fn tag(generation: u64, tick: u64) -> u64 {
    (generation & GENERATION_MASK) << TICK_BITS | tick & TICK_MASK
}

/// Whether a word is ahead of a writer: of a later generation, or of a later tick of the same one. Ticks and generations
/// count in circles, so that a word left alone for very long looks as if it were ahead, but then by a lot.
fn is_newer(word: u64, generation: u64, tick: u64) -> bool {
    if word & COUNT_MASK == 0 {
        return false; // never written
    }
    let tag = word >> COUNT_BITS;
    let generations = cyclic(tag >> TICK_BITS, generation & GENERATION_MASK, GENERATION_BITS);
    let ticks = cyclic(tag & TICK_MASK, tick & TICK_MASK, TICK_BITS);
    match generations {
        0 => (1..=TICKS_AHEAD).contains(&ticks),
        ahead => (1..=GENERATIONS_AHEAD).contains(&ahead) && ticks.abs() <= TICKS_AHEAD,
    }
}

#[inline]
fn mine(stripes: &[Padded]) -> &Stripe {
    // The number of stripes is a power of two.
    &stripes[thread_number() & (stripes.len() - 1)].0
}

pub(super) fn stripe_count() -> usize {
    let cores = std::thread::available_parallelism().map_or(4, usize::from);
    (2 * cores).next_power_of_two().clamp(2, STRIPES_MAX)
}

#[cfg(not(shuttle))]
#[inline]
pub(super) fn thread_number() -> usize {
    use std::cell::Cell;
    use std::sync::atomic::AtomicUsize;
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! { static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) }; }
    NUMBER.with(|number| {
        if number.get() == usize::MAX {
            number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    })
}

#[cfg(shuttle)]
pub(super) fn thread_number() -> usize {
    usize::from(shuttle::current::me())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_buckets_fall_out_one_by_one() {
        let tally = Tally::new();
        for tick in 100..110 {
            tally.add(1, tick);
        }
        assert_eq!(tally.sum(1, 109), 10);
        assert_eq!(tally.sum(1, 110), 9);
        assert_eq!(tally.sum(1, 118), 1);
        assert_eq!(tally.sum(1, 119), 0);
    }

    #[test]
    fn a_reused_bucket_starts_at_one() {
        let tally = Tally::new();
        for _ in 0..50 {
            tally.add(1, 3);
        }
        tally.add(1, 13);
        assert_eq!(tally.sum(1, 13), 1);
    }

    #[test]
    fn an_older_generation_neither_counts_nor_clears() {
        let tally = Tally::new();
        tally.add(2, 5);
        tally.add(1, 5);
        tally.add(1, 15);
        assert_eq!(tally.sum(2, 5), 1);
        assert_eq!(tally.sum(1, 5), 0);
        tally.add(3, 5);
        assert_eq!((tally.sum(3, 5), tally.sum(2, 5)), (1, 0));
    }

    #[test]
    fn an_outcome_that_already_fell_out_is_dropped() {
        let tally = Tally::new();
        tally.add(1, 25);
        tally.add(1, 15);
        assert_eq!(tally.sum(1, 25), 1);
    }

    #[test]
    fn a_clock_a_little_ahead_is_still_counted() {
        let tally = Tally::new();
        tally.add(1, 21);
        assert_eq!(tally.sum(1, 20), 1);
    }

    #[test]
    fn counts_stop_at_their_limit_instead_of_spilling() {
        let tally = Tally::new();
        tally.add_many(1, 5, COUNT_MASK - 1);
        tally.add(1, 5);
        assert_eq!(tally.sum(1, 5), COUNT_MASK);
        tally.add(1, 5);
        assert_eq!(tally.sum(1, 5), COUNT_MASK);
        tally.add_many(1, 5, u64::MAX);
        assert_eq!(tally.sum(1, 5), COUNT_MASK);
        tally.add_many(1, 6, u64::MAX);
        assert_eq!(tally.sum(1, 6), 2 * COUNT_MASK);
    }

    #[test]
    fn taking_back_undoes_one_count_and_never_goes_below_zero() {
        let tally = Tally::new();
        tally.add_many(1, 5, 1);
        tally.take_back(1, 5);
        tally.take_back(1, 5);
        assert_eq!(tally.sum(1, 5), 0);
        tally.add_many(1, 5, 1);
        tally.take_back(2, 5);
        assert_eq!(tally.sum(1, 5), 1);
    }

    #[test]
    fn ticks_and_generations_wrap_around() {
        let tally = Tally::new();
        tally.add(GENERATION_MASK, TICK_MASK);
        assert_eq!(tally.sum(GENERATION_MASK, TICK_MASK), 1);
        tally.add(GENERATION_MASK + 1, TICK_MASK + 1);
        assert_eq!(tally.sum(GENERATION_MASK + 1, TICK_MASK + 2), 1);
        // A bucket left alone while the circle turned: counted again, and not taken for a newer one.
        for (generation, tick) in
            [(7, 33_554_440), (7, 66_000_000), (7 + 32_768, 134_217_730), (7 + 65_500, 66_000_000)]
        {
            let tally = Tally::new();
            tally.add(7, 10);
            assert_eq!(tally.sum(generation, tick), 0, "{generation} {tick}");
            tally.add(generation, tick);
            assert_eq!(tally.sum(generation, tick), 1, "{generation} {tick}");
        }
        assert_eq!(cyclic(0, TICK_MASK, TICK_BITS), 1);
        assert_eq!(cyclic(TICK_MASK, 0, TICK_BITS), -1);
    }

    #[test]
    fn colliding_threads_lose_nothing() {
        let tally = Tally::new();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..50_000).for_each(|_| tally.add(1, 7)));
            }
        });
        assert_eq!(tally.sum(1, 7), 400_000);
    }
}
