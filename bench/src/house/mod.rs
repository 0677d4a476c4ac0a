//! Keeping house, measured beside work that goes on: how long a commit waits while a million tasks are removed, and how much slower
//! tasks are while the file is copied.

mod backup;
mod load;
mod retention;

use anyhow::Result;

pub use backup::{Backup, backup};
pub use retention::{Retention, retention};

use crate::engine::Disk;
use crate::figure::{Figure, Reach};
use crate::floor::Recording;
use crate::harness::median;

/// The longest that a commit may be kept waiting, in milliseconds.
const MOST_MS: f64 = 50.0;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Finished tasks that are removed.
    pub finished: u64,
    /// Seconds without anything beside the work, for comparison.
    pub seconds: u64,
    /// Finished tasks in the file that is copied.
    pub copied: u64,
    /// Copies, each beside as long a time without one.
    pub copies: usize,
}

impl Sizes {
    /// All that was promised.
    pub const FULL: Self = Self { finished: 1_000_000, seconds: 30, copied: 200_000, copies: 5 };
    /// Whether everything runs.
    pub const QUICK: Self = Self { finished: 2_000, seconds: 1, copied: 2_000, copies: 1 };
}

/// Measures the parts whose names begin so.
///
/// # Errors
/// The engine's and the files'.
pub fn measure(disk: &Disk, sizes: Sizes, only: &str) -> Result<Vec<Figure>> {
    let recording = crate::engine::runtime()?.block_on(Recording::of_a_task(&disk.file("recording.db")))?;
    let mut figures = Vec::new();
    if "retention".starts_with(only) {
        crate::show::part("retention");
        figures.extend(of_retention(&retention(disk, &recording, sizes.finished, sizes.seconds)?));
        if let Some(memory) = Disk::in_memory()? {
            crate::show::part("retention, without a disk");
            let found = retention(&memory, &recording, sizes.finished, sizes.seconds)?;
            figures.push(without_disk(&found));
        }
    }
    if "backup".starts_with(only) {
        crate::show::part("backup");
        figures.extend(of_backup(&backup(disk, &recording, sizes.copied, sizes.copies)?));
    }
    Ok(figures)
}

fn of_retention(found: &Retention) -> Vec<Figure> {
    let during = format!("slowest submission while {} tasks are removed", found.removed);
    // A disk that keeps a commit waiting for longer by itself is no fault of who removes tasks.
    let (alone, most) = (found.alone.worst, found.alone.worst.max(MOST_MS));
    let alone = format!("nothing beside it: {alone:.1} ms, or {MOST_MS} ms");
    let during = Figure::new(during, found.during.worst, "ms").against(alone, found.during.worst / most);
    vec![
        during.reach(Reach::RatioAtMost(1.0)),
        Figure::new("the same, p50", found.during.half, "ms")
            .against(format!("{:.2} ms", found.alone.half), found.during.half / found.alone.half),
        Figure::new("the same, p99.9", found.during.most, "ms")
            .against(format!("{:.2} ms", found.alone.most), found.during.most / found.alone.most),
        Figure::new("submissions measured meanwhile", found.during.count, "tasks"),
        Figure::new("tasks removed", found.per_second, "tasks/s"),
    ]
}

/// What removing tasks costs others by itself: their file is in memory.
fn without_disk(found: &Retention) -> Figure {
    let name = format!("slowest submission while {} tasks are removed, without a disk", found.removed);
    let alone = format!("nothing beside it: {:.1} ms", found.alone.worst);
    let ratio = found.during.worst / found.alone.worst;
    Figure::new(name, found.during.worst, "ms").against(alone, ratio).reach(Reach::AtMost(MOST_MS))
}

fn of_backup(found: &Backup) -> Vec<Figure> {
    let ratios: Vec<_> =
        found.during.iter().zip(&found.before).map(|(during, before)| during / before).collect();
    let before = format!("before: {:.0}", median(&found.before));
    vec![
        Figure::new(
            "3-step tasks, 200 in flight, while the file is copied",
            median(&found.during),
            "tasks/s",
        )
        .against(before, median(&ratios))
        .reach(Reach::RatioAtLeast(0.8)),
        Figure::new("slowest task meanwhile", found.worst, "ms")
            .against(format!("before: {:.0} ms", found.worst_before), found.worst / found.worst_before),
        Figure::new("a copy", found.mib, "MiB"),
        Figure::new("the same, took", median(&found.seconds), "s"),
    ]
}
