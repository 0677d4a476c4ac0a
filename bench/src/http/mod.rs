//! Tasks over HTTP, from a client's request to its answer: the real server with its HTTP agent, beside the same calls without
//! an engine, and beside Restate.
//!
//! Every side is a process of its own and is asked by the same client over as many connections. Each task is three calls, one
//! after the other, to the same service, which answers at once. The sides take turns; medians are told.

mod hop;
mod latency;
mod order;
mod ours;
mod overload;
mod peer;
mod process;
mod report;
mod service;
mod side;
mod speed;
mod wire;

pub use ours::Binary;
pub use peer::Peer;
pub use report::{Plan, Report, measure};

use anyhow::{Result, bail};
use tokio::runtime::{Builder, Runtime};

/// How many tasks are under way at a time.
const IN_FLIGHT: usize = 200;

/// Carries out what a child is told: to be the service, or the hop in front of one.
///
/// # Errors
/// It cannot listen, or is told something else.
pub fn child(words: &[String]) -> Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["service"] => service::run(),
        ["hop", service] => hop::run(service.parse()?),
        _ => bail!("no child `{}`", words.join(" ")),
    }
}

/// For the client and the service: one thread each, so that they cost as little as they can.
fn one_thread() -> Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}
