//! Killed from outside, after a while.

use std::time::Duration;

use anyhow::Result;

use super::{Outcome, Section, TASKS, finish, section};
use crate::child::Driver;
use crate::folder::Folder;

/// Kills a driver after each of these times. One that has ended by then was not hit, and is audited all the same.
pub fn kill(driver: &Driver, after: &[Duration]) -> Section {
    section("kill", after, |after| format!("after {after:?}"), |after, name| one(driver, *after, name))
}

fn one(driver: &Driver, after: Duration, name: String) -> Result<Outcome> {
    let folder = Folder::new()?;
    let fired = driver.run_and_kill(folder.path(), TASKS, after)?;
    Ok(Outcome::of(name, fired, finish(driver, &folder)?))
}
