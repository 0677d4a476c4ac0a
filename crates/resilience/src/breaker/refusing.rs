//! Breakers that have refused a call, by number: what a refusal looks up when somebody reads it.
//!
//! A refusal is made for every call to a service that is down, and read for few of them. It carries a number instead of
//! a counted reference, so that making one touches no memory that callers share.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock, Weak};

use super::core::Core;

static REFUSING: LazyLock<RwLock<HashMap<u64, Weak<Core>>>> = LazyLock::new(RwLock::default);

/// A number for a breaker, which no other one in this process has.
pub(super) fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Makes a breaker known under its number.
pub(super) fn add(core: &Arc<Core>) {
    let mut refusing = REFUSING.write().unwrap_or_else(PoisonError::into_inner);
    refusing.insert(core.number, Arc::downgrade(core));
}

/// The breaker with this number; `None` when it is gone.
pub(super) fn find(number: u64) -> Option<Arc<Core>> {
    REFUSING.read().unwrap_or_else(PoisonError::into_inner).get(&number)?.upgrade()
}

/// Whether there is anything under this number: of a breaker that is gone, nothing must be left.
#[cfg(test)]
pub(super) fn knows(number: u64) -> bool {
    REFUSING.read().unwrap_or_else(PoisonError::into_inner).contains_key(&number)
}

/// Forgets a breaker.
pub(super) fn remove(number: u64) {
    REFUSING.write().unwrap_or_else(PoisonError::into_inner).remove(&number);
}
