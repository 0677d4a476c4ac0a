//! Idempotency keys: one per operation, the same for each of its attempts.

use std::cell::Cell;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names one operation to the service, so that a repeated request is carried out once.
///
/// Made once per call and the same in every attempt. It prints as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdempotencyKey(u128);

impl IdempotencyKey {
    /// A key that nobody else has: unique in this process, and by 128 random bits across processes.
    #[must_use]
    pub fn fresh() -> Self {
        Self::numbered(next_number())
    }

    /// The key with this number in this process.
    fn numbered(number: u64) -> Self {
        // A random base and a counter, not two random numbers: a generator with 64 bits of state would repeat
        // itself among a few billion keys, and a repeated key drops somebody's payment.
        Self(mix(process_base().wrapping_add(u128::from(number))))
    }

    /// A key from a number of your own, such as an order's id.
    #[must_use]
    pub const fn from_u128(number: u128) -> Self {
        Self(number)
    }

    /// The key as a number.
    #[must_use]
    pub const fn as_u128(self) -> u128 {
        self.0
    }

    /// The key for one member of a group of operations: the same name gives the same key.
    #[must_use]
    pub fn member(self, name: &str) -> Self {
        // FNV-1a over the name, started from the key: stable over processes and versions, unlike std's hashers.
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013B;
        // The key is spread first: neighbouring keys and names that differ in one letter must not meet.
        let start = mix(self.0 ^ 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D);
        let hash = name.bytes().fold(start, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME));
        Self(mix(hash ^ name.len() as u128))
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdempotencyKey({:032x})", self.0)
    }
}

/// A call's key, made only when somebody looks at it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallKey {
    Given(IdempotencyKey),
    Numbered(u64),
}

impl CallKey {
    pub(crate) fn get(self) -> IdempotencyKey {
        match self {
            Self::Given(key) => key,
            Self::Numbered(number) => IdempotencyKey::numbered(number),
        }
    }
}

/// Numbers a thread takes at once from the shared counter, so that threads do not meet there on every call.
const BLOCK: u64 = 1 << 16;

/// A number that no other call of this process has.
#[inline]
pub(crate) fn next_number() -> u64 {
    static BLOCKS: AtomicU64 = AtomicU64::new(0);
    thread_local! { static NEXT: Cell<u64> = const { Cell::new(0) }; }
    NEXT.with(|next| {
        let mut number = next.get();
        if number % BLOCK == 0 {
            number = BLOCKS.fetch_add(1, Ordering::Relaxed).wrapping_mul(BLOCK);
        }
        next.set(number.wrapping_add(1));
        number
    })
}

fn process_base() -> u128 {
    static BASE: OnceLock<u128> = OnceLock::new();
    *BASE.get_or_init(|| {
        // `RandomState` is seeded with 128 bits by the operating system.
        let state = RandomState::new();
        u128::from(state.hash_one(0_u64)) << 64 | u128::from(state.hash_one(1_u64))
    })
}

/// Spreads neighbouring numbers over the whole range; one to one, so different numbers stay different.
const fn mix(number: u128) -> u128 {
    let spread = number.wrapping_mul(0xDA94_2042_E4DD_58B5_9E37_79B9_7F4A_7C15);
    spread ^ (spread >> 64)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_are_unique_over_threads_and_blocks() {
        let threads: Vec<_> = (0..4)
            .map(|_| std::thread::spawn(|| (0..100_000).map(|_| IdempotencyKey::fresh()).collect::<Vec<_>>()))
            .collect();
        let all: HashSet<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert_eq!(all.len(), 400_000);
    }

    #[test]
    fn members_of_neighbouring_keys_do_not_meet() {
        let keys = (0..500).flat_map(|key| {
            (0..100).map(move |name| IdempotencyKey::from_u128(key).member(&name.to_string()))
        });
        assert_eq!(keys.collect::<HashSet<_>>().len(), 50_000);
    }

    #[test]
    fn members_have_keys_of_their_own_that_never_change() {
        let key = IdempotencyKey::from_u128(7);
        assert_eq!(key.member("reserve"), key.member("reserve"));
        assert_ne!(key.member("reserve"), key.member("charge"));
        assert_ne!(key.member("reserve"), IdempotencyKey::from_u128(8).member("reserve"));
        // Pinned: a stored key must mean the same after an upgrade.
        assert_eq!(key.member("reserve").to_string(), "8c0797996ed2f1bddb1d7e791f5eba33");
    }
}
