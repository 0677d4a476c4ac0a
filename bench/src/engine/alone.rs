//! How often a task that is alone waits for the disk.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::child::Running;
use super::disk::Disk;
use super::speed::number;

/// What was counted for one task.
#[derive(Clone, Copy, Debug)]
pub struct Alone {
    /// Commits, each of which waits for one sync of the log.
    pub commits: f64,
    /// Calls of `fsync` and `fdatasync` that the system saw, if strace is there: also those of checkpoints, which copy the
    /// log into the file now and then.
    pub syncs: Option<f64>,
}

/// Counts, with one task in flight.
///
/// # Errors
/// The children's.
pub fn alone(disk: &Disk, tasks: u64) -> Result<Alone> {
    let mut child = Running::start("alone", &disk.file("alone.db"), tasks, &[])?;
    let commits = child.value("commits")? / number(tasks);
    child.end()?;
    let syncs = match Command::new("strace").arg("-V").output() {
        Ok(found) if found.status.success() => {
            let (few, many) = (syncs(disk, "few", 0)?, syncs(disk, "many", tasks)?);
            Some(number(many.saturating_sub(few)) / number(tasks))
        }
        _ => None,
    };
    Ok(Alone { commits, syncs })
}

/// Syncs of a process that runs so many tasks, from its start to its end.
fn syncs(disk: &Disk, name: &str, tasks: u64) -> Result<u64> {
    let (file, log) = (disk.file(&format!("{name}.db")), disk.file(&format!("{name}.strace")));
    let log = log.display().to_string();
    let strace = ["strace", "-f", "-qq", "-e", "trace=fsync,fdatasync", "-o", &log];
    let mut child = Running::start("alone", &file, tasks, &strace)?;
    child.value("commits")?;
    child.end()?;
    count(Path::new(&log))
}

fn count(log: &Path) -> Result<u64> {
    let text = std::fs::read_to_string(log)?;
    // A call that is interrupted has a second line, without its opening bracket.
    let calls = text.lines().filter(|line| line.contains("fsync(") || line.contains("fdatasync("));
    Ok(u64::try_from(calls.count())?)
}
