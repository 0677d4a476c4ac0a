//! What a node holds in memory, and what it does when there is nothing to do.

use anyhow::Result;

use super::child::Running;
use super::disk::Disk;
use super::speed::number;

/// Bytes that a process has grown by for each task.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// Tasks that the node owned in the end.
    pub owned: f64,
    /// Bytes for each task.
    pub bytes: f64,
}

/// A node with nothing to do.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// Bytes in memory, all in all.
    pub bytes: f64,
    /// Calls of the store in a second.
    pub calls: f64,
    /// The share of one processor.
    pub cpu: f64,
}

/// Measures so many tasks of one kind: `waiting` in memory, `released` for long, or `running`.
///
/// # Errors
/// The child's.
pub fn held(disk: &Disk, kind: &str, tasks: u64) -> Result<Held> {
    let mut child = Running::start(kind, &disk.file(&format!("{kind}.db")), tasks, &[])?;
    let held = Held { owned: child.value("owned")?, bytes: child.value("grown")?.max(0.0) / number(tasks) };
    child.kill()?;
    Ok(held)
}

/// Looks at a node that has nothing to do for so many seconds.
///
/// # Errors
/// The child's.
pub fn idle(disk: &Disk, seconds: u64) -> Result<Idle> {
    let mut child = Running::start("idle", &disk.file("idle.db"), seconds, &[])?;
    let per_second = |value: f64| value / number(seconds);
    let (calls, cpu) = (per_second(child.value("calls")?), per_second(child.value("cpu")?));
    let bytes = child.value("memory")?;
    child.kill()?;
    Ok(Idle { bytes, calls, cpu })
}
