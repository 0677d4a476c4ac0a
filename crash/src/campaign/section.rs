//! The ways in which a driver is made to die.

use std::time::Duration;

use anyhow::Result;

use super::{Outcome, Section, TASKS, each, finish, words};
use crate::child::Driver;
use crate::driver::CANNOT_OPEN;
use crate::folder::Folder;
use crate::shim::{self, Fault, Log, Shim};

/// In runs of which there are many, the power is lost behind every so many-th promise only.
const SOME: usize = 7;
/// Tasks of a run in which the log is copied into the file: some 30 pages each, and the log has 1000.
const LONG: u32 = 150;

/// Makes a section of runs; a run that cannot be made is a finding.
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

/// Killed from outside after a while.
pub fn kill(driver: &Driver, after: &[Duration]) -> Section {
    section(
        "kill",
        after,
        |after| format!("after {after:?}"),
        |after, name| {
            let folder = Folder::new()?;
            let fired = driver.run_and_kill(folder.path(), TASKS, *after)?;
            Ok(Outcome::of(name, fired, finish(driver, &folder)?))
        },
    )
}

/// Dead at a point in the source, when it is passed the n-th time. A point that is never passed is a finding.
pub fn point(driver: &Driver, points: &[(String, u32)]) -> Section {
    section(
        "point",
        points,
        |(point, nth)| format!("{point}={nth}"),
        |(_, nth), name| {
            let folder = Folder::new()?;
            let ended = driver.run(folder.path(), TASKS, &[("STEADFAST_FAILPOINT", name.clone())])?;
            let fired = ended.aborted()
                && ended.stderr.contains(&format!("failpoint {}: abort", name.replace('=', " = ")));
            let mut outcome = Outcome::of(name, fired, finish(driver, &folder)?);
            if !fired && (*nth == 1 || !ended.is_well()) {
                outcome.findings.push(format!("the point was not passed: {}", words(&ended)));
            }
            Ok(outcome)
        },
    )
}

/// Dead at the n-th call that changes or syncs a database file, in the midst of it.
pub fn abort(driver: &Driver, shim: &Shim, nths: &[u32]) -> Section {
    section(
        "abort",
        nths,
        |nth| format!("call {nth}"),
        |nth, name| {
            let folder = Folder::new()?;
            let fault = Fault { abort_at: Some(*nth), ..Fault::default() };
            let ended = driver.run(folder.path(), TASKS, &shim.env(folder.path(), &fault))?;
            let fired = ended.aborted() && ended.stderr.contains(&format!("shim: abort at call {nth}:"));
            let mut outcome = Outcome::of(name, fired, finish(driver, &folder)?);
            if !fired {
                outcome.findings.push(format!("there was no such call: {}", words(&ended)));
            }
            Ok(outcome)
        },
    )
}

/// The n-th sync fails. The driver goes on, or cannot open its store and is started again; then the power is lost too.
pub fn error(driver: &Driver, shim: &Shim, nths: &[u32]) -> Section {
    section(
        "error",
        nths,
        |nth| format!("sync {nth}"),
        |nth, name| {
            let (folder, record) = (Folder::new()?, Folder::new()?);
            let log = record.path().join("log");
            let fault = Fault { error_at: Some(*nth), log: Some(log.clone()), ..Fault::default() };
            let ended = driver.run(folder.path(), TASKS, &shim.env(folder.path(), &fault))?;
            let fired = ended.stderr.contains(&format!("shim: EIO at sync {nth} "));
            let mut outcome = Outcome::of(name, fired, finish(driver, &folder)?);
            if !fired {
                outcome.findings.push(format!("there was no such sync: {}", words(&ended)));
            }
            if !ended.is_well() && ended.code() != Some(i32::from(CANNOT_OPEN)) {
                outcome.findings.push(format!("the driver did not go on: {}", words(&ended)));
            }
            let log = Log::read(&log)?;
            outcome.findings.extend(shim::check(&log, &shim::cuts(&log, SOME), None)?.findings);
            Ok(outcome)
        },
    )
}

/// The power is lost, at many places of one record; with luck some of what was not synced is there. A shim that lies about
/// syncs must be found out: then it is a finding if nothing is lost.
pub fn power(driver: &Driver, shim: &Shim, runs: &[Power]) -> Section {
    section(
        "power",
        runs,
        |run| format!("{run:?}"),
        |run, name| {
            let (folder, record) = (Folder::new()?, Folder::new()?);
            let log = record.path().join("log");
            let fault = Fault { log: Some(log.clone()), lies: *run == Power::Lying, ..Fault::default() };
            let ended = driver.run(folder.path(), run.tasks(), &shim.env(folder.path(), &fault))?;
            let log = Log::read(&log)?;
            let lost = shim::check(&log, &shim::cuts(&log, run.every()), run.luck())?;
            let mut outcome = Outcome::of(name, lost.looked_for > 0, finish(driver, &folder)?);
            outcome.acknowledged = lost.looked_for;
            if !ended.is_well() {
                outcome.findings.push(format!("the driver failed: {}", words(&ended)));
            }
            match run {
                Power::Lying if !lost.findings.iter().any(|words| words.contains("is lost")) => {
                    outcome
                        .findings
                        .push("nothing was synced, and nothing was lost: the proof is blind".to_owned());
                }
                Power::Lying => {}
                _ => outcome.findings.extend(lost.findings),
            }
            Ok(outcome)
        },
    )
}

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
    fn tasks(self) -> u32 {
        match self {
            Self::Long | Self::LongLucky(_) => LONG,
            _ => TASKS,
        }
    }

    fn every(self) -> usize {
        match self {
            Self::Long | Self::LongLucky(_) => SOME,
            _ => 1,
        }
    }

    fn luck(self) -> Option<fastrand::Rng> {
        match self {
            Self::Lucky(seed) | Self::LongLucky(seed) => Some(fastrand::Rng::with_seed(seed)),
            _ => None,
        }
    }
}
