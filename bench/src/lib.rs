//! Steadfast measured beside its peers, in one run on one machine. `cargo xtask bench NAME` builds and runs a binary.
//!
//! A figure has a value and, where we promised something, a reach. A benchmark prints a table, or with `--json` one
//! line per figure, and fails when a figure misses its reach. A peer that is not there is named, never made up.

pub mod alloc;
pub mod case;
pub mod chart;
pub mod clock;
pub mod contention;
mod cpu;
#[cfg(feature = "engine")]
pub mod engine;
pub mod figure;
#[cfg(feature = "engine")]
pub mod floor;
pub mod harness;
#[cfg(feature = "engine")]
pub mod house;
#[cfg(feature = "http")]
pub mod http;
pub mod json;
pub mod op;
pub mod ours;
#[cfg(feature = "engine")]
pub mod outage;
pub mod peers;
pub mod reach;
#[cfg(feature = "engine")]
pub mod shapes;
pub mod show;
pub mod table;
#[cfg(feature = "telemetry")]
pub mod watched;
