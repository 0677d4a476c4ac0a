//! What the system's own books say of this process.

use std::time::Duration;

use anyhow::{Context, Result};

/// The name of the store's writer as the system shows it: it keeps 15 characters.
pub(crate) const WRITER: &str = "steadfast-write";

/// Processor time of the threads whose name begins so; of all that live, with an empty one.
pub(crate) fn cpu(name: &str) -> Result<Duration> {
    cpu_of("self", name)
}

/// The same of a process by its id.
pub(crate) fn cpu_of(process: &str, name: &str) -> Result<Duration> {
    let mut nanos = 0;
    for thread in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let path = thread?.path();
        // A thread may end while it is looked at.
        let Ok(comm) = std::fs::read_to_string(path.join("comm")) else { continue };
        if comm.starts_with(name) {
            let Ok(stat) = std::fs::read_to_string(path.join("schedstat")) else { continue };
            nanos += stat.split_whitespace().next().context("an empty schedstat")?.parse::<u64>()?;
        }
    }
    Ok(Duration::from_nanos(nanos))
}

/// Bytes in memory: all (`VmRSS`), or those that are not of files (`RssAnon`).
pub(crate) fn memory(what: &str) -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(what)).context("no such line")?;
    let kib: u64 = line.trim_matches(|c: char| !c.is_ascii_digit()).parse()?;
    Ok(kib * 1024)
}
