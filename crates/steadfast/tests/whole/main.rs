//! The engine as its users see it, over a store in memory or a file, in virtual time unless it says otherwise.
//!
//! One program for all of them: what an engine is made of is compiled once for each program that has one, and that takes half a
//! minute. `cargo nextest run -p steadfast --test whole waits::` runs those of one file.

#![expect(clippy::unwrap_used, reason = "tests")]

mod alerts;
mod bulk;
mod callbacks;
mod children;
mod common;
mod engine;
mod fan_out;
mod groups;
mod house;
mod labels;
mod operators;
mod outage;
mod replies;
mod schedules;
mod steps;
mod town;
mod transactions;
mod waits;
