//! Tasks a second with many in flight, side by side in turns.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use steadfast::resilience::clock::Clock;
use tokio::task::JoinSet;

use super::IN_FLIGHT;
use super::side::Side;
use super::wire::Line;
use crate::clock::now;
use crate::engine::number;

/// Between two turns: what one side has left to do, it does not do at the next one's cost.
const PAUSE: Duration = Duration::from_millis(700);

/// What was measured of one side, by round.
#[derive(Clone, Debug, Default)]
pub(super) struct Speed {
    /// Tasks a second.
    pub(super) rates: Vec<f64>,
    /// Microseconds of its processes for a task.
    pub(super) cpu: Vec<f64>,
}

/// Measures so many rounds of so long for each side.
pub(super) async fn speed(sides: &[Arc<Side>], rounds: usize, each: Duration) -> Result<Vec<Speed>> {
    let mut measured = vec![Speed::default(); sides.len()];
    // The first round warms up and is dropped.
    for round in 0..=rounds {
        crate::show::progress(round, rounds);
        for turn in 0..sides.len() {
            let place = (turn + round) % sides.len();
            let (rate, cpu) = one_round(&sides[place], each).await?;
            if round > 0 {
                measured[place].rates.push(rate);
                measured[place].cpu.push(cpu);
            }
            Clock::system().sleep(PAUSE).await;
        }
    }
    Ok(measured)
}

/// Tasks a second, and microseconds of processor for a task.
async fn one_round(side: &Arc<Side>, each: Duration) -> Result<(f64, f64)> {
    let mut lines = Vec::new();
    for _ in 0..IN_FLIGHT {
        lines.push(side.open().await?);
    }
    let (began, before) = (now(), side.cpu()?);
    let mut callers = JoinSet::new();
    for line in lines {
        callers.spawn(call(Arc::clone(side), line, began + each));
    }
    let mut done = 0;
    while let Some(calls) = callers.join_next().await {
        done += calls??;
    }
    let took = now().saturating_duration_since(began).as_secs_f64();
    let cpu = side.cpu()?.saturating_sub(before).as_secs_f64();
    Ok((number(done) / took, cpu * 1e6 / number(done)))
}

/// A caller: it asks for one task after the other until the end.
async fn call(side: Arc<Side>, mut line: Line, end: Instant) -> Result<u64> {
    let mut done = 0;
    while now() < end {
        side.one(&mut line).await?;
        done += 1;
    }
    Ok(done)
}
