//! What can be seen from outside: counts of a pipeline's calls ([`Report`]), metrics ([`metric`]) and alerts ([`alert`]).
//!
//! Logs and spans come with the feature `tracing` and need nothing from here. The guide's chapter
//! [Watching](https://github.com/steadfast-rs/steadfast/blob/main/docs/guide/watching.md) shows how they belong together.

pub mod alert;
#[cfg(feature = "metrics")]
mod meter;
#[cfg(not(feature = "metrics"))]
#[path = "unmetered.rs"]
mod meter;
pub mod metric;
mod report;
mod watch;

#[cfg(feature = "simulate")]
pub(crate) use meter::unmetered;
pub(crate) use meter::{Refusals, state_changed};
pub use report::Report;
pub(crate) use watch::{Outcome, Watch, Watched};
