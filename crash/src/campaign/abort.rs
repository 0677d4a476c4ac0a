//! Dead in the midst of a write.

use anyhow::Result;

use super::{Outcome, Section, TASKS, finish, section, words};
use crate::child::Driver;
use crate::driver::Orders;
use crate::folder::Folder;
use crate::shim::{Fault, Shim};

/// A task makes at least so many calls, also where a slow disk has many in one commit.
const CALLS: u32 = 8;

/// Has a driver die at each of these calls that change or sync a database file; of a write the first half is made.
pub fn abort(driver: &Driver, shim: &Shim, nths: &[u32]) -> Section {
    section("abort", nths, |nth| format!("call {nth}"), |nth, name| one(driver, shim, *nth, name))
}

fn one(driver: &Driver, shim: &Shim, nth: u32, name: String) -> Result<Outcome> {
    let folder = Folder::new()?;
    let fault = Fault { abort_at: Some(nth), ..Fault::default() };
    let ended =
        driver.run(folder.path(), Orders::tasks(TASKS.max(nth / CALLS)), &shim.env(folder.path(), &fault))?;
    let fired = ended.aborted() && ended.stderr.contains(&format!("shim: abort at call {nth}:"));
    let mut outcome = Outcome::of(name, fired, finish(driver, &folder)?);
    if !fired {
        outcome.findings.push(format!("there was no such call: {}", words(&ended)));
    }
    Ok(outcome)
}
