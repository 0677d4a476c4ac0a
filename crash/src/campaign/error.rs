//! A disk that fails once, and then loses its power too.

use anyhow::Result;

use super::{Outcome, SOME, Section, TASKS, finish, section, words};
use crate::child::Driver;
use crate::driver::{CANNOT_OPEN, Orders};
use crate::folder::Folder;
use crate::shim::{self, Fault, Log, Shim};

/// So many tasks make at least one sync, also where a slow disk has many in one commit.
const TASKS_FOR_SYNC: u32 = 2;

/// Fails each of these syncs, in a run of its own. The driver must go on by itself, unless it could not open its store.
pub fn error(driver: &Driver, shim: &Shim, nths: &[u32]) -> Section {
    section("error", nths, |nth| format!("sync {nth}"), |nth, name| one(driver, shim, *nth, name))
}

fn one(driver: &Driver, shim: &Shim, nth: u32, name: String) -> Result<Outcome> {
    let (folder, record) = (Folder::new()?, Folder::new()?);
    let log = record.path().join("log");
    let fault = Fault { error_at: Some(nth), log: Some(log.clone()), ..Fault::default() };
    let ended = driver.run(
        folder.path(),
        Orders::tasks(TASKS.max(nth * TASKS_FOR_SYNC)),
        &shim.env(folder.path(), &fault),
    )?;
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
}
