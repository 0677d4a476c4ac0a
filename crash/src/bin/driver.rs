//! `steadfast-crash-driver FOLDER TASKS AWAY`: submits so many tasks to the store in the folder, and so many whose service is
//! away at first, and works until all is at rest.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use steadfast_crash::driver::{self, CANNOT_OPEN, Orders};
use steadfast_resilience::clock::Clock;

/// Longer than whoever starts it waits: for one whose parent has died.
const LIMIT: Duration = Duration::from_secs(60);

fn main() -> Result<ExitCode> {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let [folder, tasks, away] = args.as_slice() else { bail!("steadfast-crash-driver FOLDER TASKS AWAY") };
    let (tasks, away) =
        (tasks.parse().context("TASKS is a number")?, away.parse().context("AWAY is a number")?);
    let folder = Path::new(folder);
    let store = match driver::open(folder) {
        Ok(store) => store,
        Err(error) => {
            eprintln!("cannot open: {error:#}");
            return Ok(ExitCode::from(CANNOT_OPEN));
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    runtime.block_on(async {
        tokio::select! {
            done = driver::work(store, folder, Orders { tasks, away }) => done,
            () = Clock::system().sleep(LIMIT) => bail!("not done after {LIMIT:?}"),
        }
    })?;
    Ok(ExitCode::SUCCESS)
}
