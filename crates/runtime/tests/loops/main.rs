//! The loops at work: nodes over a store, in virtual time unless it says otherwise.
//!
//! One program for all of them: what a node is made of is compiled once for each program that has one, and that takes half a
//! minute. `cargo nextest run -p steadfast-runtime --test loops signals::` runs those of one file.

mod alerts;
mod bulks;
mod callbacks;
mod circuits;
mod common;
mod deaths;
mod faults;
mod find;
mod heartbeats;
mod hooks;
mod house;
mod intake;
mod leases;
mod limits;
mod operators;
mod random;
mod register;
mod replies;
mod schedules;
mod shutdown;
mod signals;
mod survivors;
mod tasks;
mod waits;
mod why;
