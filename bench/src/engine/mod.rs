//! The engine measured: tasks a second beside the bare loop of [`crate::floor`], caps for what a task costs the store, its
//! time from end to end, restart, supervision, memory.
//!
//! Everything happens in a folder on disk that is removed in the end. What needs a process of its own, such as memory and
//! restart, runs in a child: this program with a hidden argument.

mod alone;
mod child;
mod disk;
mod flow;
mod held;
mod latency;
mod node;
pub(crate) mod process;
mod report;
mod restart;
mod restate;
mod speed;
mod sweep;

pub use alone::{Alone, alone};
pub use child::child;
pub use disk::Disk;
pub use flow::{Order, Receipt, order};
pub use held::{Held, Idle, held, idle};
pub use latency::{Latency, latency};
pub use report::{Report, Sizes, measure};
pub use restart::{Restart, restart};
pub use restate::Restate;
pub use speed::{Speed, speed};
pub use sweep::{Sweep, sweep};

use anyhow::Result;
use tokio::runtime::{Builder, Runtime};

pub(crate) use disk::bytes;
pub(crate) use speed::number;

/// As a program that uses the engine has it.
pub(crate) fn runtime() -> Result<Runtime> {
    Ok(Builder::new_multi_thread().enable_time().build()?)
}
