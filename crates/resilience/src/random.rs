//! Randomness for waits and open times: the one module that asks for it, so that a seed replays a run. (Keys come from
//! `key`, which must never repeat and takes no seed.)

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::nanos;

/// Random numbers for the waits of one call, or the open times of one breaker.
#[derive(Clone, Debug)]
pub struct Rng(fastrand::Rng);

impl Rng {
    /// The same numbers for the same seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// Other numbers each time.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the module for it")]
    pub fn from_entropy() -> Self {
        Self(fastrand::Rng::new())
    }

    /// A number from 0 (included) to 1 (excluded).
    pub fn unit(&mut self) -> f64 {
        self.0.f64()
    }

    /// A duration from `low` to `high`, both included; `low` when they are the wrong way round.
    pub fn between(&mut self, low: Duration, high: Duration) -> Duration {
        let (low, high) = (nanos(low), nanos(high));
        if low >= high {
            return Duration::from_nanos(low);
        }
        Duration::from_nanos(self.0.u64(low..=high))
    }
}

/// Hands a fresh [`Rng`] to each call.
#[derive(Debug, Default)]
pub(crate) struct Source {
    seed: Option<u64>,
    handed_out: AtomicU64,
}

impl Source {
    pub(crate) fn new(seed: Option<u64>) -> Self {
        Self { seed, handed_out: AtomicU64::new(0) }
    }

    pub(crate) fn rng(&self) -> Rng {
        match self.seed {
            None => Rng::from_entropy(),
            Some(seed) => {
                let nth = self.handed_out.fetch_add(1, Ordering::Relaxed);
                Rng::seeded(seed ^ nth.wrapping_mul(0x9E37_79B9_7F4A_7C15))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_replays_and_calls_differ() {
        let draw = |seed| {
            let source = Source::new(Some(seed));
            (0..4).map(|_| source.rng().unit().to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        let one = draw(7);
        assert!(one.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn between_takes_bounds_in_any_shape() {
        let mut rng = Rng::seeded(1);
        assert_eq!(rng.between(Duration::from_secs(2), Duration::from_secs(1)), Duration::from_secs(2));
        assert_eq!(rng.between(Duration::MAX, Duration::MAX).as_nanos(), u128::from(u64::MAX));
        let drawn = rng.between(Duration::ZERO, Duration::from_nanos(1));
        assert!(drawn <= Duration::from_nanos(1));
    }
}
