//! The power is lost, at many places of one run. A disk that lies about syncs must be found out.

use anyhow::Result;

use super::{Outcome, SOME, Section, TASKS, finish, section, words};
use crate::child::Driver;
use crate::driver::{DATABASE, Orders};
use crate::folder::Folder;
use crate::shim::{self, Fault, Log, Lost, Shim};

/// Tasks of a run in which the log is copied into the file: some 30 pages each, and the log has 1000.
const LONG: u32 = 150;
/// So often the file is synced at least in such a run: once when it is made, then each time that the log is copied.
const LONG_SYNCS: usize = 3;

/// How the power is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// Of what was not synced nothing is there.
    Strict,
    /// Any part of it may be, by this seed.
    Lucky(u64),
    /// So many tasks that the log is copied into the file meanwhile; nothing that was not synced is there.
    Long,
    /// As that, with luck.
    LongLucky(u64),
    /// Syncs are not made: this must be found out.
    Lying,
}

impl Power {
    fn is_long(self) -> bool {
        matches!(self, Self::Long | Self::LongLucky(_))
    }

    fn luck(self) -> Option<fastrand::Rng> {
        match self {
            Self::Lucky(seed) | Self::LongLucky(seed) => Some(fastrand::Rng::with_seed(seed)),
            _ => None,
        }
    }
}

/// Loses the power in each of these ways. Acknowledgements are counted once for each place at which they were looked for.
pub fn power(driver: &Driver, shim: &Shim, runs: &[Power]) -> Section {
    section("power", runs, |run| format!("{run:?}"), |run, name| one(driver, shim, *run, name))
}

fn one(driver: &Driver, shim: &Shim, run: Power, name: String) -> Result<Outcome> {
    let (folder, record) = (Folder::new()?, Folder::new()?);
    let log = record.path().join("log");
    let fault = Fault { log: Some(log.clone()), lies: run == Power::Lying, ..Fault::default() };
    let (tasks, every) = if run.is_long() { (LONG, SOME) } else { (TASKS, 1) };
    let ended = driver.run(folder.path(), Orders::tasks(tasks), &shim.env(folder.path(), &fault))?;
    let log = Log::read(&log)?;
    let lost = shim::check(&log, &shim::cuts(&log, every), run.luck())?;
    let mut outcome = Outcome::of(name, lost.looked_for > 0, finish(driver, &folder)?);
    outcome.acknowledged = lost.looked_for;
    if !ended.is_well() {
        outcome.findings.push(format!("the driver failed: {}", words(&ended)));
    }
    if run.is_long() && log.syncs(|name| name == DATABASE) < LONG_SYNCS {
        outcome.findings.push("the log was not copied into the file".to_owned());
    }
    outcome.findings.extend(judge(run, lost));
    Ok(outcome)
}

fn judge(run: Power, lost: Lost) -> Vec<String> {
    match run {
        Power::Lying if lost.findings.iter().any(|words| words.contains("is lost")) => Vec::new(),
        Power::Lying => vec!["nothing was synced, and nothing was lost: the proof is blind".to_owned()],
        _ => lost.findings,
    }
}
