//! How long a new process takes to go on with what an old one has left.

use anyhow::Result;

use super::child::Running;
use super::disk::Disk;
use crate::clock::{now, unix_millis};
use crate::floor::Recording;

/// Seconds from the start of a process.
#[derive(Clone, Copy, Debug)]
pub struct Restart {
    /// Until its node is at work.
    pub started: f64,
    /// Until its first attempt.
    pub attempt: f64,
}

/// Fills a file with tasks that are open, whose owner has died, and tasks that have ended; then starts processes on it,
/// each of which is killed once it has begun its first attempt.
///
/// # Errors
/// The children's and the file's.
pub fn restart(
    disk: &Disk,
    recording: &Recording,
    open: u64,
    finished: u64,
    rounds: usize,
) -> Result<Vec<Restart>> {
    let path = disk.file("restart.db");
    recording.add_finished(&path, 0..finished, unix_millis())?;
    recording.add_running(&path, finished..finished + open, unix_millis())?;
    let mut all = Vec::new();
    for _ in 0..rounds {
        let began = now();
        let seconds = || now().saturating_duration_since(began).as_secs_f64();
        let mut child = Running::start("restart", &path, 0, &[])?;
        child.value("started")?;
        let started = seconds();
        child.value("attempt")?;
        all.push(Restart { started, attempt: seconds() });
        child.kill()?;
    }
    Ok(all)
}
