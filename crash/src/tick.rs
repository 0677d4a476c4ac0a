//! Recurring work of the driver: schedules with one instant each, soon after they are declared. However often the process dies,
//! each has one task in the end.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use steadfast_engine::schedule::{Overlap, Rules};
use steadfast_engine::{Time, schedule};
use steadfast_resilience::clock::Clock;
use steadfast_runtime::Node;
use steadfast_runtime::schedule::{Declaration, TimeZone};
use steadfast_store::{Payload, Schedules as _};
use steadfast_store_sqlite::Sqlite;

use crate::driver::{MOST_TRIES, PAUSE};
use crate::world;

/// The instants that were declared, or were to be: a line before each try.
pub const TICKS: &str = "ticks";
/// How many schedules there are.
pub const COUNT: u64 = 5;
/// So long after its declaration the first instant comes: nobody is to be so slow that it has passed by then.
const AHEAD: Duration = Duration::from_millis(100);
/// Between two of their instants: while others submit.
const APART: Duration = Duration::from_millis(15);
/// The number in the input of their tasks: one that completes.
const NUMBER: u32 = 8;

/// What the schedule of this number is called.
#[must_use]
pub fn name(nth: u64) -> String {
    format!("tick-{nth}")
}

/// Declares those that are not there, and waits until all have begun their run.
///
/// # Errors
/// A store that refuses again and again.
pub async fn all(node: Arc<Node<Sqlite>>, store: Sqlite, folder: &Path) -> Result<()> {
    for nth in 0..COUNT {
        declare(&node, &store, folder, nth).await?;
    }
    for _ in 0..MOST_TRIES {
        if let Ok(schedules) = node.schedules().await
            && schedules.iter().all(|one| one.next.is_none())
        {
            return Ok(());
        }
        Clock::system().sleep(PAUSE).await;
    }
    bail!("there are still instants to come")
}

async fn declare(node: &Node<Sqlite>, store: &Sqlite, folder: &Path, nth: u64) -> Result<()> {
    for _ in 0..MOST_TRIES {
        match once(node, store, folder, nth).await {
            Ok(()) => return Ok(()),
            Err(error) => eprintln!("{}: {error:#}", name(nth)),
        }
        Clock::system().sleep(PAUSE).await;
    }
    bail!("{} was refused {MOST_TRIES} times", name(nth))
}

async fn once(node: &Node<Sqlite>, store: &Sqlite, folder: &Path, nth: u64) -> Result<()> {
    if store.schedule(Arc::from(name(nth))).await?.is_some() {
        return Ok(());
    }
    let instant = node.now() + AHEAD + APART * u32::try_from(nth)?;
    let mut file = world::append(&folder.join(TICKS))?;
    file.write_all(format!("{}\n", schedule::key(&name(nth), instant)).as_bytes()).context("a note")?;
    let workflow = node.workflow(world::workflow_of(NUMBER), 1).context("no such workflow")?;
    let declaration = Declaration {
        workflow,
        namespace: Arc::from(""),
        input: Payload::from(NUMBER.to_string().into_bytes()),
        rules: at(instant)?,
        zone: TimeZone::utc(),
        overlap: Overlap::Skip,
    };
    node.declare_schedule(&name(nth), declaration).await?;
    // On a machine that stood still its one instant may have passed before it was declared: there is nothing to begin then.
    if node.now() >= instant {
        let listed = node.schedules().await?;
        let of = listed.iter().find(|one| *one.name == name(nth));
        if of.is_some_and(|one| one.next.is_none() && one.runs == 0 && one.skipped_missed == 0) {
            node.remove_schedule(&name(nth)).await?;
            bail!("its instant had passed before it was declared");
        }
    }
    Ok(())
}

/// One instant.
fn at(instant: Time) -> Result<Rules> {
    let every = Rules::new("every 1s".parse()?);
    Ok(Rules { starts_at: Some(instant), ends_at: Some(instant + Duration::from_secs(1)), ..every })
}
