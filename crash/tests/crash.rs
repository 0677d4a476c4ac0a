//! A slice of the crash proof; `cargo xtask crash` runs all of it.

use std::time::Duration;

use steadfast_crash::campaign::{self, Section};
use steadfast_crash::child::Driver;

fn driver() -> Driver {
    Driver::at(env!("CARGO_BIN_EXE_steadfast-crash-driver"))
}

/// Everything held, and at least so many runs were hit.
fn check(section: Section, at_least: usize) {
    let (fired, findings) = (section.fired(), campaign::print(&[section]));
    assert_eq!(findings, 0);
    assert!(fired >= at_least, "only {fired} were hit");
}

#[test]
fn a_killed_process_loses_nothing() {
    let after: Vec<_> = (1..=8).map(|step| Duration::from_millis(step * 12)).collect();
    check(campaign::kill(&driver(), &after), 6);
}

#[cfg(feature = "failpoints")]
#[test]
fn a_process_that_dies_at_any_point_loses_nothing() {
    let points: Vec<_> = steadfast_crash::point::all().unwrap().into_iter().map(|name| (name, 1)).collect();
    let count = points.len();
    check(campaign::point(&driver(), &points), count);
}
