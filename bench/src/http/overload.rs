//! More than a server takes: callers that never wait, many more than it has places. What it takes it must do, what it refuses it
//! must refuse as it says: 429, with the time after which to come again.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use steadfast::resilience::clock::Clock;
use tokio::task::JoinSet;

use super::ours::{Binary, start};
use super::side::Side;
use super::wire::Line;
use crate::clock::now;
use crate::engine::{Disk, number};

/// Fewer places than there are callers, and fewer open tasks than they would make.
const LIMITS: &str = "[limits]\nrequests = 64\nopen_tasks = 2000";
/// Callers that ask again as soon as they are answered, whatever they were told.
const CALLERS: usize = 300;
/// How long accepted work may take after the last caller is gone: it takes a second, or something is lost.
const WITHIN: Duration = Duration::from_secs(60);
/// Between two looks at what is not done yet.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// What was seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Overload {
    /// Tasks that were accepted, by id.
    accepted: Vec<String>,
    /// 429 with `Retry-After`.
    pub(super) refused: u64,
    /// 429 without.
    pub(super) unexplained: u64,
    /// Any other answer.
    pub(super) other: u64,
    /// Accepted, and not completed in time.
    pub(super) unfinished: u64,
    /// Calls that the service saw beyond those of the accepted tasks, or too few of them.
    pub(super) astray: u64,
    /// Tasks that were completed in a second, while callers were refused and until all was done.
    pub(super) rate: f64,
}

impl Overload {
    pub(super) fn accepted(&self) -> f64 {
        number(u64::try_from(self.accepted.len()).unwrap_or(u64::MAX))
    }
}

/// Asks a server of its own for too much, for so long; then waits for all that it took.
pub(super) async fn overload(
    binary: &Binary,
    disk: &Disk,
    service: SocketAddr,
    each: Duration,
) -> Result<Overload> {
    let side = Arc::new(start(binary, disk, "overload", service, LIMITS)?);
    let before = calls(service).await?;
    let began = now();
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        callers.spawn(push(Arc::clone(&side), began + each));
    }
    let mut seen = Overload::default();
    while let Some(one) = callers.join_next().await {
        let one = one??;
        seen.accepted.extend(one.accepted);
        seen.refused += one.refused;
        seen.unexplained += one.unexplained;
        seen.other += one.other;
    }
    ensure!(
        seen.refused > 0,
        "{CALLERS} callers were not too many: nothing was refused, and so nothing shown"
    );
    let mut line = side.open().await?;
    until_done(&mut line).await?;
    seen.rate = seen.accepted() / now().saturating_duration_since(began).as_secs_f64();
    for id in &seen.accepted {
        let answer = line.get(&format!("/api/v1/tasks/{id}")).await?;
        let task: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        seen.unfinished += u64::from(task["state"] != "completed");
    }
    let made = calls(service).await? - before;
    seen.astray = made.abs_diff(3 * u64::try_from(seen.accepted.len())?);
    Ok(seen)
}

/// A caller that does not do as it is told.
async fn push(side: Arc<Side>, end: Instant) -> Result<Overload> {
    let (mut line, mut seen) = (side.open().await?, Overload::default());
    while now() < end {
        let answer = line.post("/api/v1/tasks", side.body()?).await?;
        match answer.status {
            202 => {
                let task: Value = serde_json::from_slice(&answer.body)?;
                seen.accepted.push(task["id"].as_str().context("a task without an id")?.to_owned());
            }
            429 if answer.says_when => seen.refused += 1,
            429 => seen.unexplained += 1,
            _ => seen.other += 1,
        }
    }
    Ok(seen)
}

/// Waits until no task is open any more. What is open all the same is found by whoever looks at each.
async fn until_done(line: &mut Line) -> Result<()> {
    let give_up = now() + WITHIN;
    loop {
        let mut open = false;
        for state in ["pending", "running", "waiting"] {
            let answer = line.get(&format!("/api/v1/tasks?state={state}&limit=1")).await?;
            let page: Value = serde_json::from_slice(&answer.body)?;
            open |= page["tasks"].as_array().is_none_or(|tasks| !tasks.is_empty());
        }
        if !open || now() > give_up {
            return Ok(());
        }
        Clock::system().sleep(LOOK_AGAIN).await;
    }
}

/// How many calls the service has had.
async fn calls(service: SocketAddr) -> Result<u64> {
    let answer = Line::open(service).await?.get("/").await?;
    Ok(String::from_utf8_lossy(&answer.body).parse()?)
}
