//! Dead in the midst of a write, and once more while that is recovered from.

use anyhow::Result;

use super::{Outcome, Section, TASKS, finish, section, words};
use crate::child::{Driver, Ended};
use crate::driver::Orders;
use crate::folder::Folder;
use crate::shim::{Fault, Shim};

/// Has a driver die at the first of these calls, and the one that is to finish at the second.
pub fn again(driver: &Driver, shim: &Shim, pairs: &[(u32, u32)]) -> Section {
    let called = |(first, second): &(u32, u32)| format!("call {first}, then {second}");
    section("again", pairs, called, |pair, name| one(driver, shim, *pair, name))
}

fn one(driver: &Driver, shim: &Shim, (first, second): (u32, u32), name: String) -> Result<Outcome> {
    let folder = Folder::new()?;
    let dead = die(driver, shim, &folder, TASKS, first)?;
    let dead_again = die(driver, shim, &folder, 0, second)?;
    let fired = dead.aborted() && dead_again.aborted();
    let mut outcome = Outcome::of(name, fired, finish(driver, &folder)?);
    // The second may have had little to do, and may have done it all.
    if !dead.aborted() || !(dead_again.aborted() || dead_again.is_well()) {
        outcome.findings.push(format!("it did not die: {}; {}", words(&dead), words(&dead_again)));
    }
    Ok(outcome)
}

fn die(driver: &Driver, shim: &Shim, folder: &Folder, tasks: u32, nth: u32) -> Result<Ended> {
    let fault = Fault { abort_at: Some(nth), ..Fault::default() };
    driver.run(folder.path(), Orders::tasks(tasks), &shim.env(folder.path(), &fault))
}
