//! A slice of the crash proof; `cargo xtask crash` runs all of it.

use std::time::Duration;

use steadfast_crash::campaign::{self, AWAY, Power, Section, TASKS};
use steadfast_crash::child::Driver;
use steadfast_crash::driver::Orders;
use steadfast_crash::shim::Shim;

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
    check(campaign::kill(&driver(), Orders::tasks(TASKS), &after), 6);
}

/// B17: nor does one that is killed while its tasks are parked, probe and are let go.
#[test]
fn a_process_that_is_killed_while_a_service_is_away_loses_nothing() {
    let after: Vec<_> = (1..=8).map(|step| Duration::from_millis(step * 150)).collect();
    check(campaign::kill(&driver(), Orders::away(AWAY), &after), 6);
}

#[cfg(feature = "failpoints")]
#[test]
fn a_process_that_dies_at_any_point_loses_nothing() {
    use steadfast_crash::point;
    let once = |name: String| (name, 1);
    let (away, others): (Vec<_>, Vec<_>) =
        point::all().unwrap().into_iter().partition(|name| point::is_away(name));
    for (orders, points) in [(Orders::tasks(TASKS), others), (Orders::away(AWAY), away)] {
        let points: Vec<_> = points.into_iter().map(once).collect();
        check(campaign::point(&driver(), orders, &points), points.len());
    }
}

#[test]
fn a_process_that_dies_while_it_writes_loses_nothing() {
    let nths: Vec<_> = (1..=40).map(|step| step * 7).collect();
    check(campaign::abort(&driver(), &Shim::build().unwrap(), &nths), nths.len());
}

#[test]
fn a_sync_that_fails_loses_nothing() {
    let nths: Vec<_> = (1..=12).collect();
    check(campaign::error(&driver(), &Shim::build().unwrap(), &nths), nths.len());
}

#[test]
fn what_was_acknowledged_survives_the_loss_of_power_and_a_disk_that_lies_is_found_out() {
    let runs = [Power::Strict, Power::Lucky(1), Power::Lying];
    check(campaign::power(&driver(), &Shim::build().unwrap(), &runs), runs.len());
}
