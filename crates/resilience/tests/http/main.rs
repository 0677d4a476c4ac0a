//! Requests of `reqwest` through a pipeline, and health checks over HTTP, against a real server on this machine.

#![expect(clippy::unwrap_used, reason = "a test's own helpers")]

mod health;
mod send;
mod server;
