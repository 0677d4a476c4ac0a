//! How much slower tasks are while the file is copied.

use anyhow::Result;
use steadfast::resilience::clock::Clock;

use super::load::Load;
use crate::clock::{now, unix_millis};
use crate::engine::{Disk, number, runtime};
use crate::floor::Recording;

/// As many as in the measure of speed.
const IN_FLIGHT: usize = 200;

/// What was measured, copy by copy.
#[derive(Clone, Debug, Default)]
pub struct Backup {
    /// Tasks a second while nothing is copied, for as long as the copy after it took.
    pub before: Vec<f64>,
    /// Tasks a second during each copy.
    pub during: Vec<f64>,
    /// How long each took.
    pub seconds: Vec<f64>,
    /// How large the last one is.
    pub mib: f64,
    /// The slowest task during one, in milliseconds.
    pub worst: f64,
    /// The slowest task without.
    pub worst_before: f64,
}

/// Copies a file with so many finished tasks, so many times, while tasks run.
///
/// # Errors
/// The engine's and the file's.
pub fn backup(disk: &Disk, recording: &Recording, finished: u64, copies: usize) -> Result<Backup> {
    let path = disk.file("backup.db");
    recording.add_finished(&path, 1..finished + 1, unix_millis())?;
    runtime()?.block_on(async {
        let mut load = Load::start(&path).await?;
        load.run(IN_FLIGHT);
        let (clock, mut found) = (Clock::system(), Backup::default());
        let mut length = std::time::Duration::from_secs(2);
        // The first warms up and is dropped: it says how long the times without a copy are to be.
        for nth in 0..=copies {
            crate::show::progress(nth, copies);
            load.took();
            let (began, done) = (now(), load.done());
            clock.sleep(length).await;
            let before = number(load.done() - done) / now().saturating_duration_since(began).as_secs_f64();
            let worst_before = load.took().into_iter().fold(0.0, f64::max);
            let (began, done, copy) = (now(), load.done(), disk.file("copy.db"));
            let made = load.engine.backup(&copy).await?;
            length = now().saturating_duration_since(began);
            let during = number(load.done() - done) / length.as_secs_f64();
            let worst = load.took().into_iter().fold(0.0, f64::max);
            std::fs::remove_file(&copy)?;
            if nth > 0 {
                found.before.push(before);
                found.during.push(during);
                found.seconds.push(length.as_secs_f64());
                found.worst_before = found.worst_before.max(worst_before);
                found.worst = found.worst.max(worst);
            }
            found.mib = number(made.bytes) / f64::from(1 << 20);
        }
        load.end().await?;
        Ok(found)
    })
}
