//! What goes over the wire: plain JSON, one module for each noun.
//!
//! Names are `snake_case`. Times are text as in RFC 3339, such as `2026-11-17T05:00:00.250Z`; a number that is a time span ends in
//! `_ms`. A request with a field that nobody knows is refused, so that a slip of the pen is not taken as silence; an answer may
//! have fields that this version does not know, and they are passed over. What is not there is left out.
//!
//! These types say nothing of how the server works: it maps its own to them.

pub mod ask;
pub mod audit;
pub mod breaker;
pub mod bulk;
pub mod callback;
pub mod event;
pub mod filter;
pub mod policy;
pub mod problem;
pub mod schedule;
pub mod service;
pub mod state;
pub mod step;
pub mod store;
pub mod submit;
pub mod task;
pub mod why;
pub mod workflow;

/// Says whether a value is the one that is meant when nothing is said: then it is left out.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Reads a value that must be said, if only as `null`: for what nobody should do by forgetting a field.
pub(crate) fn said<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::Deserialize<'de>,
{
    serde::Deserialize::deserialize(from)
}
