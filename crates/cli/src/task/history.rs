//! `steadfast task history`.

use anyhow::Result;
use steadfast_client::wire::task::{Change, History};

use super::follow::told;
use crate::session::Session;
use crate::show::{Out, Table};
use crate::talk;

/// Changes that are asked for at a time.
const PAGE: u32 = 100;
/// The most changes of one answer: a task that has more goes on from where it was.
const MOST: i64 = 10_000;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Its id, or the beginning or the end of it
    id: String,
    /// Only what came behind this revision
    #[arg(long, value_name = "REVISION")]
    after: Option<u64>,
    /// At most so many changes
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=MOST))]
    limit: u32,
}

pub(crate) async fn run(args: &Args, session: &Session) -> Result<()> {
    let id = session.task_id(&args.id).await?;
    let history = fetch(&id, args, session).await?;
    session.out.show(&history, || session.out.table(&table(&history.changes, &session.out)))?;
    if let (Some(after), false) = (history.after, session.out.json) {
        talk::line(&format!("there is more: give the same again with --after {after}"));
    }
    Ok(())
}

async fn fetch(id: &str, args: &Args, session: &Session) -> Result<History> {
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let (mut changes, mut after) = (Vec::new(), args.after);
    loop {
        let left = u32::try_from(limit - changes.len()).unwrap_or(PAGE).min(PAGE);
        let page = session.answer(session.client.history(id, after, Some(left))).await?;
        changes.extend(page.changes);
        if changes.len() >= limit || page.after.is_none() {
            return Ok(History { changes, after: page.after });
        }
        after = page.after;
    }
}

fn table(changes: &[Change], out: &Out) -> Table {
    let mut table = Table::new(["REVISION", "AT", "TASK", "CHANGE"]);
    for change in changes {
        let mut told: Vec<_> = change.steps.iter().map(|step| told(step, &out.bare())).collect();
        told.extend(change.cause.clone());
        table.row([
            change.revision.to_string(),
            out.wall.told(&change.at),
            change.state.map(|state| state.to_string()).unwrap_or_default(),
            told.join("; "),
        ]);
    }
    table
}
