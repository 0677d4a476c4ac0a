//! The engine measured: tasks a second beside the bare loop of [`crate::floor`], caps for what a task costs the store, its
//! time from end to end, restart, supervision, memory.
//!
//! Everything happens in a folder on disk that is removed in the end. What needs a process of its own, such as memory and
//! restart, runs in a child: this program with [`child`]'s hidden argument.

mod disk;
mod flow;
mod process;
mod speed;

pub use disk::Disk;
pub use flow::{Order, Receipt, order};
pub use speed::{Speed, speed};

use anyhow::Result;
use tokio::runtime::{Builder, Runtime};

pub(crate) use disk::bytes;

/// As a program that uses the engine has it.
fn runtime() -> Result<Runtime> {
    Ok(Builder::new_multi_thread().enable_time().build()?)
}
