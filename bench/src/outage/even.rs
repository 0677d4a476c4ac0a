//! The floor: calls over the same socket that are sent evenly, with nothing else at work. How unevenly they arrive is the machine's.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Result;
use steadfast::resilience::clock::Clock;
use steadfast::resilience::ramp::{Pace, Ramp};
use tokio::task::JoinSet;

use super::remote::{Watch, locked};
use super::wire::Wire;
use super::{Plan, Seen};

/// A stage in which every ramp is at its height.
const HIGHEST: u32 = 40;

/// Sends calls for so long, as fast as a ramp at its height lets them go.
///
/// # Errors
/// The socket's.
pub(super) async fn run(plan: &Plan, lasts: Duration) -> Result<Seen> {
    let watch = Watch::start();
    let wire = Wire::start(plan, &watch)?;
    let ramp = Ramp::begin(Some(f64::from(plan.rate)), Clock::tokio().now(), plan.seed).at_stage(HIGHEST);
    let pace = Arc::new(Mutex::new(Pace::default()));
    locked(&pace).set(Some(ramp.gap()));
    let (mut due, mut calls) = (1.0, JoinSet::new());
    let mut nth = 0_u64;
    while due < 1.0 + lasts.as_secs_f64() {
        watch.sleep_until(due).await;
        due += ramp.gap().as_secs_f64();
        let (wire, pace, clock, key) =
            (wire.clone(), Arc::clone(&pace), Clock::tokio(), format!("even-{nth}"));
        nth += 1;
        calls.spawn(async move {
            let turn = clock.now();
            loop {
                let begun = locked(&pace).begin(turn, clock.now());
                match begun {
                    Ok(()) => break,
                    Err(later) => clock.sleep_until(later).await,
                }
            }
            wire.call(key).await
        });
    }
    while let Some(call) = calls.join_next().await {
        call?.map_err(|failure| anyhow::anyhow!("an even call failed: {failure:?}"))?;
    }
    Ok(Seen { died: 0.0, back: 0.0, calls: wire.calls(), sent: wire.sent(), ..Seen::default() })
}
