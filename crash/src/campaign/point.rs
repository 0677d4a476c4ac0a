//! Dead at a point in the source.

use anyhow::Result;

use super::{Outcome, Section, finish, section, words};
use crate::child::Driver;
use crate::driver::Orders;
use crate::folder::Folder;

/// Has a driver die at each of these points, when it is passed the n-th time. A point that is never passed is a finding; one
/// that is not passed so often is not.
pub fn point(driver: &Driver, orders: Orders, points: &[(String, u32)]) -> Section {
    let what = if orders.away > 0 { "away/point" } else { "point" };
    let called = |(point, nth): &(String, u32)| format!("{point}={nth}");
    section(what, points, called, |(point, nth), name| one(driver, orders, point, *nth, name))
}

fn one(driver: &Driver, orders: Orders, point: &str, nth: u32, name: String) -> Result<Outcome> {
    let folder = Folder::new()?;
    let ended = driver.run(folder.path(), orders, &[("STEADFAST_FAILPOINT", name.clone())])?;
    let fired = ended.aborted() && ended.stderr.contains(&format!("failpoint {point} = {nth}: abort"));
    let mut outcome = Outcome::of(name, fired, finish(driver, &folder)?);
    if !fired && (nth == 1 || !ended.is_well()) {
        outcome.findings.push(format!("the point was not passed: {}", words(&ended)));
    }
    Ok(outcome)
}
