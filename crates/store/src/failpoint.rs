//! Points at which a test has the process die, as a loss of power would have it: no unwinding, no destructors.
//!
//! `STEADFAST_FAILPOINT=writer.before_commit=5` aborts at the fifth time that this point is passed. All of it is compiled
//! only with the feature `failpoints`; without it a point is nothing at all. The crate `fail` was not taken: it panics,
//! and cannot abort.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The variable that says which point, and at which time.
const VARIABLE: &str = "STEADFAST_FAILPOINT";

struct Armed {
    name: String,
    nth: u64,
    passed: AtomicU64,
}

/// Passes a point, or dies there.
pub fn hit(name: &str) {
    static ARMED: OnceLock<Option<Armed>> = OnceLock::new();
    let armed = ARMED.get_or_init(|| std::env::var(VARIABLE).ok().as_deref().and_then(read));
    if let Some(armed) = armed
        && armed.name == name
        && armed.passed.fetch_add(1, Ordering::SeqCst) + 1 == armed.nth
    {
        eprintln!("failpoint {name} = {}: abort", armed.nth);
        std::process::abort();
    }
}

fn read(text: &str) -> Option<Armed> {
    let (name, nth) = text.split_once('=')?;
    Some(Armed { name: name.to_owned(), nth: nth.parse().ok()?, passed: AtomicU64::new(0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_named_with_its_time() {
        let armed = read("writer.before_commit=5").unwrap();
        assert_eq!((armed.name.as_str(), armed.nth), ("writer.before_commit", 5));
        assert!(read("writer.before_commit").is_none());
        assert!(read("writer.before_commit=often").is_none());
    }
}
