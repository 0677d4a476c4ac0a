//! The ways in which a driver is made to die.

use std::time::Duration;

use anyhow::Result;

use super::{Outcome, Section, TASKS, each, finish, words};
use crate::child::Driver;
use crate::folder::Folder;

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
