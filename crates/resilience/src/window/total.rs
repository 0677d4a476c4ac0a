//! A count from the beginning, cheap to add to from many threads: it starts as one word and grows to one per thread the
//! first time two writers collide, as a [`Tally`](super::Tally) does.

use std::sync::OnceLock;

use super::tally::{stripe_count, thread_number};
use crate::sync::{AtomicU64, Ordering};

/// A count that only grows.
#[derive(Debug, Default)]
pub(crate) struct Total {
    first: AtomicU64,
    rest: OnceLock<Box<[Padded]>>,
}

/// Aligned so that no two stripes share a cache line, nor the pair of lines that the processor fetches together.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded(AtomicU64);

impl Total {
    /// Adds to the count.
    #[inline]
    pub(crate) fn add(&self, more: u64) {
        let word = match self.rest.get() {
            None => &self.first,
            Some(stripes) => mine(stripes),
        };
        let current = word.load(Ordering::Relaxed);
        let next = current.wrapping_add(more);
        if word.compare_exchange_weak(current, next, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            self.add_contended(more);
        }
    }

    #[cold]
    fn add_contended(&self, more: u64) {
        let stripes = self.rest.get_or_init(|| (0..stripe_count()).map(|_| Padded::default()).collect());
        mine(stripes).fetch_add(more, Ordering::Relaxed);
    }

    /// What was added so far. Adders that run at the same time may or may not be in it.
    pub(crate) fn sum(&self) -> u64 {
        let first = self.first.load(Ordering::Relaxed);
        let rest = self.rest.get().map_or(&[][..], |stripes| stripes);
        rest.iter().fold(first, |sum, stripe| sum.wrapping_add(stripe.0.load(Ordering::Relaxed)))
    }
}

#[inline]
fn mine(stripes: &[Padded]) -> &AtomicU64 {
    // The number of stripes is a power of two.
    &stripes[thread_number() & (stripes.len() - 1)].0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colliding_threads_lose_nothing() {
        let total = Total::default();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..50_000).for_each(|_| total.add(3)));
            }
        });
        assert_eq!(total.sum(), 1_200_000);
    }

    #[test]
    fn what_was_counted_before_the_stripes_stays() {
        let total = Total::default();
        total.add(5);
        total.add_contended(2);
        total.add(1);
        assert_eq!((total.sum(), total.first.load(Ordering::Relaxed)), (8, 5));
    }
}
