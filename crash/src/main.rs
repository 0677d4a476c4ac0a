//! `steadfast-crash [--quick]`: the whole crash proof, or a slice of it. Leaves with 1 if anything is lost.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use steadfast_crash::campaign::{self, AWAY, Power, Section, TASKS};
use steadfast_crash::child::Driver;
use steadfast_crash::driver::Orders;
use steadfast_crash::point;
use steadfast_crash::shim::Shim;
use steadfast_resilience::clock::Clock;

/// How much later each kill comes: a run takes some 400 ms.
const STEP_MS: u64 = 7;
/// The same while a service is away: a run takes some two seconds.
const AWAY_STEP_MS: u64 = 45;

/// How much of everything.
struct Scale {
    /// Kills from outside, each a little later than the one before.
    kills: u64,
    /// The times at which points are died at.
    point_times: &'static [u32],
    /// Kills while a service is away, and the times at which points are died at then.
    away_kills: u64,
    away_times: &'static [u32],
    /// Calls of the disk that are died at.
    aborts: Vec<u32>,
    /// Calls of the disk that are died at, and then those of the process that recovers.
    again: Vec<(u32, u32)>,
    /// Syncs that fail.
    errors: Vec<u32>,
    /// Losses of power.
    power: Vec<Power>,
}

impl Scale {
    fn whole() -> Self {
        let seeds = || 1..=5;
        let mut power = vec![Power::Strict, Power::Long, Power::Lying];
        power.extend(seeds().map(Power::Lucky).chain(seeds().map(Power::LongLucky)));
        Self {
            kills: 50,
            point_times: &[1, 2, 5, 10, 20, 50],
            away_kills: 40,
            away_times: &[1, 2, 3, 5, 8],
            aborts: (1..=500).collect(),
            again: (1..=200).map(pair).collect(),
            errors: (1..=50).collect(),
            power,
        }
    }

    /// At most a minute on two cores.
    fn quick() -> Self {
        Self {
            kills: 8,
            point_times: &[1, 5],
            away_kills: 8,
            away_times: &[1, 3],
            aborts: (1..=50).map(|step| step * 10 - 3).collect(),
            again: (1..=20).map(|step| pair(step * 10)).collect(),
            errors: (1..=12).chain([20, 30, 40]).collect(),
            power: vec![Power::Strict, Power::Long, Power::Lucky(1), Power::LongLucky(1), Power::Lying],
        }
    }
}

/// A call to die at, and one for the process that recovers, which has less to write: early and late, in all mixtures.
fn pair(nth: u32) -> (u32, u32) {
    (nth * 2, 1 + nth * 7 % 90)
}

fn main() -> Result<ExitCode> {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let scale = match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => Scale::whole(),
        ["--quick"] => Scale::quick(),
        _ => bail!("steadfast-crash [--quick]"),
    };
    if !cfg!(feature = "failpoints") {
        bail!("built without the feature `failpoints`: type `cargo xtask crash`");
    }
    let (clock, began) = (Clock::system(), Clock::system().now());
    let findings = campaign::print(&run(&scale)?);
    println!("{findings} findings, {:.1} s", clock.now().since(began).as_secs_f64());
    Ok(if findings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run(scale: &Scale) -> Result<Vec<Section>> {
    let (driver, shim) = (Driver::beside_this()?, Shim::build()?);
    let (all, away) = (Orders::tasks(TASKS), Orders::away(AWAY));
    let kills =
        |count: u64, step_ms| (1..=count).map(|nth| Duration::from_millis(nth * step_ms)).collect::<Vec<_>>();
    let (parking, points): (Vec<_>, Vec<_>) =
        point::all()?.into_iter().partition(|name| point::is_away(name));
    Ok(vec![
        campaign::kill(&driver, all, &kills(scale.kills, STEP_MS)),
        campaign::kill(&driver, away, &kills(scale.away_kills, AWAY_STEP_MS)),
        campaign::point(&driver, all, &at(&points, scale.point_times)),
        campaign::point(&driver, away, &at(&parking, scale.away_times)),
        campaign::abort(&driver, &shim, &scale.aborts),
        campaign::again(&driver, &shim, &scale.again),
        campaign::error(&driver, &shim, &scale.errors),
        campaign::power(&driver, &shim, &scale.power),
    ])
}

/// Each point, at each of these times.
fn at(points: &[String], times: &[u32]) -> Vec<(String, u32)> {
    points.iter().flat_map(|name| times.iter().map(|nth| (name.clone(), *nth))).collect()
}
