//! Killed from outside, after a while.

use std::time::Duration;

use anyhow::Result;

use super::{Outcome, Section, finish, section};
use crate::child::Driver;
use crate::driver::Orders;
use crate::folder::Folder;

/// Kills a driver after each of these times. One that has ended by then was not hit, and is audited all the same.
pub fn kill(driver: &Driver, orders: Orders, after: &[Duration]) -> Section {
    let what = if orders.away > 0 { "away/kill" } else { "kill" };
    section(what, after, |after| format!("after {after:?}"), |after, name| one(driver, orders, *after, name))
}

fn one(driver: &Driver, orders: Orders, after: Duration, name: String) -> Result<Outcome> {
    let folder = Folder::new()?;
    let fired = driver.run_and_kill(folder.path(), orders, after)?;
    Ok(Outcome::of(name, fired, finish(driver, &folder)?))
}
