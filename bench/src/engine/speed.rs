//! Tasks a second with many in flight, round by round beside the floor.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, ensure};
use rusqlite::{Connection, OpenFlags};
use steadfast::{Engine, Outcome, Workflow};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::disk::{Disk, bytes};
use super::flow::{Order, Receipt, order};
use super::process::{WRITER, cpu};
use super::runtime;
use crate::clock::now;
use crate::floor::{Floor, Recording};

/// How many tasks are under way at a time, and in one commit of the floor.
pub(crate) const IN_FLIGHT: u64 = 200;

/// What was measured, by round where there are rounds.
#[derive(Clone, Debug, Default)]
pub struct Speed {
    /// Tasks a second of the engine.
    pub engine: Vec<f64>,
    /// Tasks a second of the floor.
    pub floor: Vec<f64>,
    /// Microseconds of the writer's thread for a task.
    pub writer: Vec<f64>,
    /// Microseconds of all threads of the engine for a task.
    pub all: Vec<f64>,
    /// Bytes of the engine's file for a task.
    pub engine_bytes: f64,
    /// Bytes of the floor's file for a task.
    pub floor_bytes: f64,
    /// Rows in the engine's file for a task.
    pub engine_rows: f64,
    /// Rows in the floor's file for a task.
    pub floor_rows: f64,
}

/// Measures so many rounds of so many tasks.
///
/// # Errors
/// The engine's and the files'.
pub fn speed(disk: &Disk, recording: &Recording, rounds: usize, tasks: u64) -> Result<Speed> {
    let runtime = runtime()?;
    let mut speed = Speed::default();
    let mut engine = Bench::start(&runtime, &disk.file("speed.db"))?;
    let mut floor = Floor::new(&disk.file("floor.db"), recording.clone())?;
    let batches = usize::try_from(tasks / IN_FLIGHT)?;
    let tasks = tasks / IN_FLIGHT * IN_FLIGHT;
    // The first round warms up and is dropped.
    for round in 0..=rounds {
        crate::show::progress(round, rounds);
        let (ours, theirs) = match round % 2 {
            0 => {
                let ours = engine.run(&runtime, tasks)?;
                (ours, floor.run(batches, IN_FLIGHT)?)
            }
            _ => {
                let theirs = floor.run(batches, IN_FLIGHT)?;
                (engine.run(&runtime, tasks)?, theirs)
            }
        };
        if round > 0 {
            let theirs: f64 = theirs.iter().map(std::time::Duration::as_secs_f64).sum();
            speed.engine.push(number(tasks) / ours.seconds);
            speed.floor.push(number(tasks) / theirs);
            speed.writer.push(ours.writer * 1e6 / number(tasks));
            speed.all.push(ours.all * 1e6 / number(tasks));
        }
    }
    let (engine_tasks, floor_tasks) = (number(engine.tasks), number(floor.tasks));
    let engine_file = engine.close(&runtime)?;
    floor.close()?;
    let floor_file = disk.file("floor.db");
    speed.engine_bytes = number(bytes(&engine_file)?) / engine_tasks;
    speed.floor_bytes = number(bytes(&floor_file)?) / floor_tasks;
    speed.engine_rows = number(rows(&engine_file)?) / engine_tasks;
    speed.floor_rows = number(rows(&floor_file)?) / floor_tasks;
    Ok(speed)
}

/// Rows of tasks in a file.
fn rows(path: &Path) -> Result<u64> {
    let reader = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let count = |table: &str| {
        reader.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0))
    };
    let counts = crate::floor::TABLES.iter().map(|(table, _)| count(table));
    Ok(counts.sum::<rusqlite::Result<i64>>()?.unsigned_abs())
}

/// A count for a division.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(crate) fn number(count: u64) -> f64 {
    count as f64
}

/// An engine on a file.
struct Bench {
    engine: Engine,
    flow: Workflow<Order, Receipt>,
    path: PathBuf,
    tasks: u64,
}

/// What one round took, in seconds.
struct Took {
    seconds: f64,
    writer: f64,
    all: f64,
}

impl Bench {
    fn start(runtime: &Runtime, path: &Path) -> Result<Self> {
        let flow = order(None)?;
        let address = format!("sqlite:{}", path.display());
        let engine = runtime.block_on(Engine::builder(address).workflow(&flow).start())?;
        Ok(Self { engine, flow, path: path.to_owned(), tasks: 0 })
    }

    /// Runs tasks, so many in flight: each caller submits one, waits for its end and goes on with the next.
    fn run(&mut self, runtime: &Runtime, tasks: u64) -> Result<Took> {
        let next = Arc::new(AtomicU64::new(self.tasks));
        self.tasks += tasks;
        let end = self.tasks;
        let before = (now(), cpu(WRITER)?, cpu("")?);
        runtime.block_on(async {
            let mut callers = JoinSet::new();
            for _ in 0..IN_FLIGHT {
                callers.spawn(call(self.engine.clone(), self.flow.clone(), Arc::clone(&next), end));
            }
            while let Some(done) = callers.join_next().await {
                done??;
            }
            Ok::<_, anyhow::Error>(())
        })?;
        Ok(Took {
            seconds: now().saturating_duration_since(before.0).as_secs_f64(),
            writer: cpu(WRITER)?.saturating_sub(before.1).as_secs_f64(),
            all: cpu("")?.saturating_sub(before.2).as_secs_f64(),
        })
    }

    fn close(self, runtime: &Runtime) -> Result<PathBuf> {
        runtime.block_on(self.engine.shut_down())?;
        Ok(self.path)
    }
}

async fn call(engine: Engine, flow: Workflow<Order, Receipt>, next: Arc<AtomicU64>, end: u64) -> Result<()> {
    let order = Order::chair();
    loop {
        let nth = next.fetch_add(1, Ordering::Relaxed);
        if nth >= end {
            return Ok(());
        }
        let task = engine.submit(&flow, &order).key(format!("order-{nth:08}")).await?;
        let outcome = task.outcome().await?;
        ensure!(matches!(outcome, Outcome::Completed(_)), "task {} has not completed", task.id());
    }
}
