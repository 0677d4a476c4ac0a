//! All of it, many times: each run has a folder of its own, a driver that is made to die, one that finishes, and an audit.

mod abort;
mod again;
mod error;
mod kill;
mod point;
mod pool;
mod power;
mod table;

pub use abort::abort;
pub use again::again;
pub use error::error;
pub use kill::kill;
pub use point::point;
pub use power::{Power, power};
pub use table::{Section, print};

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use steadfast_engine::TaskState;

use crate::audit::{Report, audit};
use crate::child::{Driver, Ended};
use crate::driver::Orders;
use crate::folder::Folder;
use pool::each;

/// How many tasks a run submits, where nothing else is said.
pub const TASKS: u32 = 24;
/// And so many of those whose service is away at first.
pub const AWAY: u32 = 6;
/// In runs of which there are many, or long ones, the power is lost behind every so many-th promise only.
const SOME: usize = 7;

/// What came of one run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Which run.
    pub name: String,
    /// Whether what was to happen to it happened.
    pub fired: bool,
    /// Submissions that were acknowledged before it did.
    pub acknowledged: usize,
    /// Calls of services, over both processes, and effects.
    pub calls: usize,
    /// What they did.
    pub effects: usize,
    /// Tasks by how they ended.
    pub ended: BTreeMap<TaskState, usize>,
    /// What does not hold.
    pub findings: Vec<String>,
}

impl Outcome {
    fn of(name: String, fired: bool, report: Report) -> Self {
        let Report { acknowledged, calls, effects, ended, findings } = report;
        Self { name, fired, acknowledged, calls, effects, ended, findings }
    }

    /// A run that could not be made at all is a finding too.
    fn failed(name: String, error: &anyhow::Error) -> Self {
        Self { name, findings: vec![format!("{error:#}")], ..Self::default() }
    }
}

/// Makes runs, two at a time.
fn section<J: Sync>(
    name: &'static str,
    jobs: &[J],
    called: impl Fn(&J) -> String + Sync,
    run: impl Fn(&J, String) -> Result<Outcome> + Sync,
) -> Section {
    let outcomes = each(jobs, |job| {
        let name = called(job);
        run(job, name.clone()).unwrap_or_else(|error| Outcome::failed(name, &error))
    });
    Section { name, outcomes }
}

/// Has a driver finish what was begun in a folder, and audits it.
fn finish(driver: &Driver, folder: &Folder) -> Result<Report> {
    let ended = driver.run(folder.path(), Orders::default(), &[])?;
    ensure!(ended.is_well(), "the driver that finishes failed: {}", words(&ended));
    audit(folder.path())
}

fn words(ended: &Ended) -> String {
    format!("{:?}, {}", ended.code(), ended.stderr.trim())
}
