//! A folder on disk, removed in the end.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::TempDir;

/// A folder on disk. A file system in memory would make every sync free, and is refused.
#[derive(Debug)]
pub struct Disk(TempDir);

impl Disk {
    /// A new one beside this program, which was built on a disk, or in the given place.
    ///
    /// # Errors
    /// It cannot be made, or is in memory.
    pub fn new(place: Option<&Path>) -> Result<Self> {
        let program = std::env::current_exe()?;
        let place = place.or_else(|| program.parent()).context("this program is in no folder")?;
        let folder = TempDir::with_prefix_in("steadfast-bench-", place)?;
        on_disk(folder.path())?;
        Ok(Self(folder))
    }

    /// One in memory, for what the disk's own waits would hide; `None` where there is no such place.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn in_memory() -> Result<Option<Self>> {
        let place = Path::new("/dev/shm");
        let folder = place.is_dir().then(|| TempDir::with_prefix_in("steadfast-bench-", place));
        Ok(folder.transpose()?.map(Self))
    }

    /// A path in it.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// The bytes of a database without its log, which is copied into it now and then. Close it first.
///
/// # Errors
/// There is none.
pub(crate) fn bytes(path: &Path) -> Result<u64> {
    Ok(std::fs::metadata(path).with_context(|| path.display().to_string())?.len())
}

#[cfg(target_os = "linux")]
fn on_disk(path: &Path) -> Result<()> {
    /// The number of tmpfs in linux/magic.h.
    const TMPFS: i64 = 0x0102_1994;

    let kind = rustix::fs::statfs(path)?.f_type;
    anyhow::ensure!(kind != TMPFS, "{} is in memory: give a --folder on disk", path.display());
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn on_disk(_: &Path) -> Result<()> {
    Ok(())
}
