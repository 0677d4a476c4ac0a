//! From the due time of a task to its answer, at 50 a second.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use steadfast::resilience::clock::Clock;
use tokio::task::JoinSet;

use super::side::Side;
use super::wire::Line;
use crate::clock::now;
use crate::harness::median;

/// Between two tasks: 50 a second.
const PAUSE: Duration = Duration::from_millis(20);

/// What was measured of one side.
#[derive(Clone, Debug, Default)]
pub(super) struct Latency {
    /// Medians in milliseconds, by round.
    pub(super) medians: Vec<f64>,
    all: Vec<f64>,
}

impl Latency {
    /// The slowest in a hundred.
    pub(super) fn slow(&mut self) -> f64 {
        self.all.sort_by(f64::total_cmp);
        self.all.get(self.all.len() * 99 / 100).copied().unwrap_or_default()
    }
}

/// Measures so many rounds of so many tasks for each side.
pub(super) async fn latency(sides: &[Arc<Side>], rounds: usize, tasks: u32) -> Result<Vec<Latency>> {
    let mut measured = vec![Latency::default(); sides.len()];
    // The first round warms up and is dropped.
    for round in 0..=rounds {
        crate::show::progress(round, rounds);
        for turn in 0..sides.len() {
            let place = (turn + round) % sides.len();
            let took = one_round(&sides[place], tasks).await?;
            if round > 0 {
                measured[place].medians.push(median(&took));
                measured[place].all.extend(took);
            }
        }
    }
    Ok(measured)
}

/// Whoever waits for an answer does not keep the next task from being asked for.
async fn one_round(side: &Arc<Side>, tasks: u32) -> Result<Vec<f64>> {
    let lines: Arc<Mutex<Vec<Line>>> = Arc::default();
    let mut asking = JoinSet::new();
    let start = now();
    for nth in 0..tasks {
        let due = start + PAUSE * nth;
        Clock::system().sleep(due.saturating_duration_since(now())).await;
        let (side, lines) = (Arc::clone(side), Arc::clone(&lines));
        let due = now().max(due);
        asking.spawn(async move {
            let idle = lines.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut line = match idle {
                Some(line) => line,
                None => side.open().await?,
            };
            side.one(&mut line).await?;
            let took = now().saturating_duration_since(due);
            lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            Ok::<_, anyhow::Error>(took.as_secs_f64() * 1e3)
        });
    }
    let mut took = Vec::new();
    while let Some(one) = asking.join_next().await {
        took.push(one??);
    }
    Ok(took)
}
