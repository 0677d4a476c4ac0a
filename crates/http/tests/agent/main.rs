//! The agent against real services on loopback: well-behaved, failing, broken and hostile ones.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test's own helpers")]

mod connection;
mod effect;
mod environment;
mod guide;
mod header;
mod limit;
mod secret;
mod status;
mod support;
mod target;
#[cfg(feature = "tls")]
mod tls;
