//! The binary as a user runs it, against a real server on 127.0.0.1 with an engine in memory.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test's own helpers")]

mod ask;
mod bulk;
mod callback;
mod door;
mod house;
mod raw;
mod serve;
mod snapshot;
mod submit;
mod task;
mod town;
mod workflow;
mod world;
