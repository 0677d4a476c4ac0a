//! How long a commit has to wait while tasks are removed.

use std::time::Duration;

use anyhow::{Result, ensure};
use steadfast::resilience::clock::Clock;

use super::load::Load;
use crate::clock::{now, unix_millis};
use crate::engine::{Disk, number, runtime};
use crate::floor::Recording;

/// They ended longer ago than tasks are kept.
const AGO_MS: u64 = 40 * 24 * 3_600_000;
/// How often somebody submits a task.
const EVERY: Duration = Duration::from_millis(4);

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// Without anything beside it.
    pub alone: Waits,
    /// While tasks are removed.
    pub during: Waits,
    /// How many were.
    pub removed: u64,
    /// How many in a second.
    pub per_second: f64,
}

/// How long submissions took, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// Half of them at most.
    pub half: f64,
    /// All but one of a thousand at most.
    pub most: f64,
    /// The slowest.
    pub worst: f64,
    /// How many there were.
    pub count: f64,
}

impl Waits {
    fn of(mut millis: Vec<f64>) -> Result<Self> {
        ensure!(!millis.is_empty(), "nothing was submitted");
        millis.sort_by(f64::total_cmp);
        let at = |share: usize| millis[(millis.len() * share / 1_000).min(millis.len() - 1)];
        let count = number(u64::try_from(millis.len())?);
        Ok(Self { half: at(500), most: at(999), worst: at(1_000), count })
    }
}

/// Fills a file with so many tasks, has them removed, and submits others meanwhile.
///
/// # Errors
/// The engine's and the file's.
pub fn retention(disk: &Disk, recording: &Recording, finished: u64, seconds: u64) -> Result<Retention> {
    let path = disk.file("retention.db");
    recording.add_finished(&path, 1..finished + 1, unix_millis() - AGO_MS)?;
    runtime()?.block_on(async {
        let mut load = Load::start(&path).await?;
        load.submit_every(EVERY);
        // Half of the time before and half of it after, since the disk changes its mind.
        let clock = Clock::system();
        clock.sleep(Duration::from_secs(1)).await;
        load.took();
        clock.sleep(Duration::from_millis(500 * seconds)).await;
        let mut alone = load.took();
        let began = now();
        let cleaned = load.engine.clean_up().await?;
        let took = now().saturating_duration_since(began).as_secs_f64();
        let during = Waits::of(load.took())?;
        ensure!(cleaned.removed == finished, "{} of {finished} were removed", cleaned.removed);
        clock.sleep(Duration::from_millis(500 * seconds)).await;
        alone.extend(load.took());
        load.end().await?;
        let per_second = number(cleaned.removed) / took;
        Ok(Retention { alone: Waits::of(alone)?, during, removed: cleaned.removed, per_second })
    })
}
