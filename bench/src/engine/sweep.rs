//! How long the supervisor's look takes that finds nothing, with few and with many tasks that run as they should.

use anyhow::{Result, ensure};
use steadfast_store::Overdue as _;

use super::disk::Disk;
use super::node::Counted;
use super::runtime;
use crate::clock::{now, unix_millis};
use crate::floor::Recording;

/// The most that one look asks for, as the supervisor does.
const BATCH: usize = 64;
/// Looks in one round.
const LOOKS: u32 = 500;
/// From now: what fills the store must not fall due before the end.
const LATER_MS: u64 = 3_600_000;

/// Microseconds for one look, by round.
#[derive(Clone, Debug, Default)]
pub struct Sweep {
    /// With few tasks.
    pub few: Vec<f64>,
    /// With many.
    pub many: Vec<f64>,
}

/// Measures with so many tasks, and so many.
///
/// # Errors
/// The files'.
pub fn sweep(disk: &Disk, recording: &Recording, few: u64, many: u64, rounds: usize) -> Result<Sweep> {
    let open = |name: &str, tasks: u64| {
        let path = disk.file(name);
        recording.add_running(&path, 0..tasks, unix_millis() + LATER_MS)?;
        Counted::open(&path)
    };
    let stores = [open("few.db", few)?, open("many.db", many)?];
    let runtime = runtime()?;
    let mut sweep = Sweep::default();
    for round in 0..=rounds {
        for turn in 0..2 {
            let place = (turn + round) % 2;
            let took = runtime.block_on(look(&stores[place]))?;
            // The first round warms up and is dropped.
            if round > 0 {
                [&mut sweep.few, &mut sweep.many][place].push(took);
            }
        }
    }
    Ok(sweep)
}

async fn look(store: &Counted) -> Result<f64> {
    let began = now();
    for _ in 0..LOOKS {
        let found = store.overdue(None, BATCH).await?;
        ensure!(found.is_empty(), "tasks that should be well are overdue");
    }
    Ok(now().saturating_duration_since(began).as_secs_f64() * 1e6 / f64::from(LOOKS))
}
