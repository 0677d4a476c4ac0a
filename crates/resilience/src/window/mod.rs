//! Counts over the recent past, in fixed memory, without locks: by time ([`Tally`]), by number of calls ([`Ring`]), and
//! from the beginning ([`Total`]).
//!
//! Each count carries the generation it belongs to. A writer of an older generation changes nothing that a reader
//! of the current one sees, whatever the interleaving: that is what makes late results harmless.

mod ring;
mod tally;
mod total;

pub(crate) use ring::{Mark, Ring};
pub(crate) use tally::Tally;
pub(crate) use total::Total;

/// Buckets of a time window: a tenth of the window falls out at a time.
pub(crate) const BUCKETS: u64 = 10;

/// What a window holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) successes: u64,
    pub(crate) failures: u64,
    /// How many of all calls were slow.
    pub(crate) slow: u64,
}

impl Counts {
    pub(crate) fn calls(self) -> u64 {
        self.successes + self.failures
    }
}

/// Whether `share` of `whole` is reached: `part / whole >= share`, for counts far below 2^52.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(crate) fn reaches(part: u64, whole: u64, share: f64) -> bool {
    part > 0 && part as f64 >= share * whole as f64
}

/// `a - b` on a circle of 2^`bits` numbers, between minus half of it and half of it.
fn cyclic(a: u64, b: u64, bits: u32) -> i64 {
    let shift = 64 - bits;
    (a.wrapping_sub(b) << shift).cast_signed() >> shift
}
