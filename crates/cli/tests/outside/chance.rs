//! Chance that a seed replays, without an order: what is drawn depends on nothing but the seed and on what it is drawn for.

use std::hash::{BuildHasher as _, Hasher as _};

/// Where all numbers of a test come from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed {
    seed: u64,
    pub(crate) faults: bool,
}

impl Seed {
    /// That of `STEADFAST_SEED`, or another one each time. It is printed, with how to run the test with it again.
    pub(crate) fn any(test: &str) -> Self {
        let said = std::env::var("STEADFAST_SEED").ok();
        let drawn = || std::collections::hash_map::RandomState::new().build_hasher().finish() % 1_000_000;
        let seed = said.map_or_else(drawn, |text| text.parse().unwrap());
        eprintln!(
            "seed {seed}; again: STEADFAST_SEED={seed} cargo test -p steadfast-cli --test outside {test} -- --exact"
        );
        Self { seed, faults: true }
    }

    /// The same, in a world where no call fails.
    pub(crate) fn without_faults(self) -> Self {
        Self { faults: false, ..self }
    }

    /// A number below this, for what is named.
    pub(crate) fn below(self, most: u64, what: &str, which: u64) -> u64 {
        let mut state = self.seed ^ which.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for byte in what.bytes() {
            state = mixed(state ^ u64::from(byte));
        }
        mixed(state) % most
    }
}

/// The finish of splitmix64: every bit of what goes in moves every bit of what comes out.
fn mixed(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}
