//! `steadfast bulk run`: a bulk from its preview to its end.

use std::io::{IsTerminal as _, Write as _, stderr, stdin};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use steadfast_client::wire::bulk::{Bulk, BulkState};

use super::new::{New, prepare};
use super::{preview, refused, text};
use crate::exit::BadLine;
use crate::session::Session;
use crate::show::counted;
use crate::show::progress::Bar;
use crate::talk;

/// How often it is asked how far a bulk has come: it counts no more often than a few times a second.
const LOOK_EVERY: Duration = Duration::from_millis(300);

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    new: New,
    /// Begin without asking
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(args: &Args, session: &Session) -> Result<ExitCode> {
    if !args.yes && !stdin().is_terminal() {
        return Err(BadLine(
            "there is nobody to ask: say --yes, or `bulk prepare` and `bulk begin`".to_owned(),
        )
        .into());
    }
    let prepared = prepare(&args.new, session).await?;
    let bulk = &prepared.bulk;
    talk::line(&preview(&prepared));
    if bulk.tasks == 0 {
        session.out.show(bulk, || "there is no task to ask".to_owned())?;
        return Ok(ExitCode::SUCCESS);
    }
    if !args.yes && !agreed(&format!("{}: {}?", super::asked(bulk), counted(bulk.tasks, "task"))).await? {
        talk::line(&format!("nothing was asked; `steadfast bulk begin {}` does it later", bulk.id));
        return Ok(ExitCode::FAILURE);
    }
    let begun = session.answer(session.client.begin_bulk(&bulk.id)).await?;
    to_the_end(begun, session).await
}

/// Asks whoever sits there.
async fn agreed(question: &str) -> Result<bool> {
    let _ = write!(stderr(), "{question} [y/N] ");
    let _ = stderr().flush();
    // Apart, so that Ctrl-C is heard meanwhile.
    let line = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        stdin().read_line(&mut line).map(|_| line)
    });
    Ok(matches!(line.await??.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Sees a bulk through that was begun.
pub(super) async fn to_the_end(mut bulk: Bulk, session: &Session) -> Result<ExitCode> {
    let bar = Bar::new(bulk.tasks);
    while !matches!(bulk.state, BulkState::Over | BulkState::Stopped) {
        bar.set(bulk.asked, bulk.tasks, &format!("{} done, {} refused", bulk.done, refused(&bulk)));
        session.clock.sleep(LOOK_EVERY).await;
        bulk = session.answer(session.client.bulk(&bulk.id)).await?;
    }
    drop(bar);
    session.out.show(&bulk, || text(&bulk))?;
    if bulk.state == BulkState::Stopped {
        talk::line(&format!("somebody has stopped it; `steadfast bulk begin {}` goes on", bulk.id));
    }
    let all = bulk.state == BulkState::Over && bulk.done == bulk.tasks;
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
