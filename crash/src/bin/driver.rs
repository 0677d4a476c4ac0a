//! `steadfast-crash-driver FOLDER TASKS`: submits so many tasks to the store in the folder and works until all is at rest.

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
    let [folder, tasks] = args.as_slice() else { bail!("steadfast-crash-driver FOLDER TASKS") };
    let (folder, tasks) = (Path::new(folder), tasks.parse().context("TASKS is a number")?);
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
            done = driver::work(store, folder, Orders { tasks }) => done,
            () = Clock::system().sleep(LIMIT) => bail!("not done after {LIMIT:?}"),
        }
    })?;
    Ok(ExitCode::SUCCESS)
}
