//! The API over a real socket, asked by the client.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test's own helpers")]

mod bad;
mod breaker;
mod bulk;
mod callback;
mod deed;
mod document;
mod door;
mod event;
mod house;
mod operate;
mod overload;
mod raw;
mod submit;
mod task;
mod world;
