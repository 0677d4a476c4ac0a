//! The drills in their order, and what was promised for them (DESIGN.md, "Numbers to reach").

use std::time::Duration;

use anyhow::Result;
use tokio::runtime::{Builder, Runtime};

use super::{Away, Plan, Seen, drill, even, judge};
use crate::chart;
use crate::engine::Disk;
use crate::figure::Figure;

/// How long the even sender is at work: about as long as a backlog drains.
const EVENLY: Duration = Duration::from_secs(60);
/// How the service is away, each with the name of its drills.
const WAYS: [(Away, &str); 2] = [(Away::Refusing, "refusing"), (Away::Hanging, "hanging")];

/// The drills in virtual time: a minute each, and one without the ramp, of which nothing is promised.
///
/// # Errors
/// The engine's.
pub fn in_virtual_time() -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (how, name) in WAYS {
        crate::show::part(&format!("virtual, {name}"));
        let plan = Plan { how, ..Plan::default() };
        figures.extend(judge::figures(&plan, &virtually(&plan)?, &format!("virtual, {name}"), None));
    }
    crate::show::part("virtual, without the ramp");
    let plan = Plan { ramped: false, ..Plan::default() };
    let seen = virtually(&plan)?;
    figures.extend(
        judge::most(&plan, &seen, "virtual, without the ramp", None)
            .map(|figure| Figure { reach: None, ..figure }),
    );
    Ok(figures)
}

/// The drills in real time: over a file, with calls that cross a socket.
///
/// # Errors
/// The engine's, the file's and the socket's.
pub fn in_real_time(disk: &Disk, plan: Plan) -> Result<Vec<Figure>> {
    crate::show::part("real, an even sender");
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let (mut figures, even) =
        judge::evenly(&plan, &runtime.block_on(even::run(&plan, EVENLY))?, "real, an even sender");
    for (how, name) in WAYS {
        crate::show::part(&format!("real, {name}"));
        let plan = Plan { how, ..plan };
        let address = format!("sqlite:{}", disk.file(&format!("{name}.db")).display());
        let runtime = Builder::new_multi_thread().enable_all().build()?;
        let seen = runtime.block_on(drill::run(&plan, &address))?;
        figures.extend(judge::figures(&plan, &seen, &format!("real, {name}"), Some(even)));
    }
    Ok(figures)
}

/// The guide's drawing: fewer tasks come once the service is back, so that the backlog is soon gone.
///
/// # Errors
/// The engine's.
pub fn drawing() -> Result<String> {
    let plan = Plan { rate_after: 80, ..Plan::default() };
    let at_once = Plan { ramped: false, ..plan };
    Ok(chart::outage::draw(&plan, &virtually(&plan)?, &virtually(&at_once)?))
}

fn virtually(plan: &Plan) -> Result<Seen> {
    paused()?.block_on(drill::run(plan, "memory:"))
}

/// A runtime whose time goes on by itself as soon as nobody has anything to do.
fn paused() -> Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().start_paused(true).build()?)
}
