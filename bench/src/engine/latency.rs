//! From the due time of a task to its result, at a low rate.

use std::time::Duration;

use anyhow::{Result, ensure};
use steadfast::resilience::clock::Clock;
use steadfast::{Engine, Outcome};
use tokio::task::JoinSet;

use super::disk::Disk;
use super::flow::{Order, order};
use super::runtime;
use crate::clock::now;
use crate::floor::{Floor, Recording};
use crate::harness::median;

/// Between two tasks: 50 a second.
const PAUSE: Duration = Duration::from_millis(20);

/// Medians in milliseconds, by round.
#[derive(Clone, Debug, Default)]
pub struct Latency {
    /// The engine's tasks.
    pub engine: Vec<f64>,
    /// The bare loop, one task after the other.
    pub floor: Vec<f64>,
    /// The bare loop at the same rate: the processor and the disk have been idle before each task.
    pub paced: Vec<f64>,
    /// The slowest in a hundred of the engine's.
    pub slow: f64,
}

/// Measures so many rounds of so many tasks each.
///
/// # Errors
/// The engine's and the files'.
pub fn latency(disk: &Disk, recording: &Recording, rounds: usize, tasks: usize) -> Result<Latency> {
    let runtime = runtime()?;
    let flow = order(None)?;
    let address = format!("sqlite:{}", disk.file("latency.db").display());
    let engine = runtime.block_on(Engine::builder(address).workflow(&flow).start())?;
    let mut floor = Floor::new(&disk.file("latency-floor.db"), recording.clone())?;
    let (mut latency, mut all) = (Latency::default(), Vec::new());
    for round in 0..=rounds {
        // In a task of the runtime, as a handler of a server would be.
        let (engine, flow) = (engine.clone(), flow.clone());
        let ours = runtime.block_on(runtime.spawn(async move {
            let mut calling = JoinSet::new();
            let start = now();
            for nth in 0..u32::try_from(tasks)? {
                let due = start + PAUSE * nth;
                Clock::system().sleep(due.saturating_duration_since(now())).await;
                let (engine, flow) = (engine.clone(), flow.clone());
                let due = now().max(due);
                calling.spawn(async move {
                    let key = format!("order-{:08}", round * 100_000 + usize::try_from(nth)?);
                    let task = engine.submit(&flow, &Order::chair()).key(key).await?;
                    let outcome = task.outcome().await?;
                    ensure!(matches!(outcome, Outcome::Completed(_)), "a task has not completed");
                    Ok(now().saturating_duration_since(due))
                });
            }
            let mut took = Vec::new();
            while let Some(done) = calling.join_next().await {
                took.push(millis(done??));
            }
            Ok::<_, anyhow::Error>(took)
        }))??;
        let bare: Vec<_> = floor.run(tasks, 1)?.into_iter().map(millis).collect();
        let paced = runtime.block_on(async {
            let mut took = Vec::new();
            for _ in 0..tasks {
                Clock::system().sleep(PAUSE).await;
                took.extend(floor.run(1, 1)?.into_iter().map(millis));
            }
            Ok::<_, anyhow::Error>(took)
        })?;
        // The first round warms up and is dropped.
        if round > 0 {
            latency.engine.push(median(&ours));
            latency.floor.push(median(&bare));
            latency.paced.push(median(&paced));
            all.extend(ours);
        }
    }
    runtime.block_on(engine.shut_down())?;
    all.sort_by(f64::total_cmp);
    latency.slow = all.get(all.len() * 99 / 100).copied().unwrap_or_default();
    Ok(latency)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
