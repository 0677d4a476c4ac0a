//! The floor: a bare loop that writes what the engine writes for a task, and does nothing else.
//!
//! One thread, one connection, prepared statements; the engine's own schema and settings; for each batch of tasks four
//! transactions: submitted and begun, and three completions. What it writes is not made up: [`Recording`] watches a task
//! of the engine and takes its rows after each of its commits.

mod fill;
mod recording;
mod run;

pub use recording::Recording;
pub(crate) use recording::TABLES;
pub use run::Floor;
