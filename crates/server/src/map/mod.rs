//! What the engine says, as it goes over the wire.

pub(crate) mod audit;
pub(crate) mod breaker;
pub(crate) mod bulk;
pub(crate) mod fold;
pub(crate) mod schedule;
pub(crate) mod state;
pub(crate) mod task;
pub(crate) mod why;

use steadfast::{Time, rfc3339};

/// A time as text, if there is one.
pub(crate) fn when(time: Option<Time>) -> Option<String> {
    time.map(rfc3339)
}

/// A name of the library's as one of the wire's: `half-open` is `half_open`.
pub(crate) fn snake(name: &str) -> String {
    name.replace(['-', ' '], "_")
}
