//! The server proved from outside: the real binary as a process of its own, and web services with books in the process of the test.
//! What is asserted is what the services have seen, what the system says of the process, and what stands in its files.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test's own helpers")]

mod chance;
mod crowd;
mod killed;
#[cfg(feature = "otel")]
mod otel;
mod secret;
mod serving;
mod stopped;
mod tls;
mod town;
mod webhook;
mod wire;
mod wrong;
