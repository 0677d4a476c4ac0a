//! `steadfast bulk`: the same asked of many tasks. They are found and fixed first, and asked only when that is begun.

mod new;
mod run;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use steadfast_client::wire::bulk::{self as wire, BulkState, Prepared};
use steadfast_client::wire::filter::Paging;

use crate::session::Session;
use crate::show::{Fields, Table, counted};
use crate::talk;

/// The most bulks of one list, and the most tasks of one that are shown: a page of the server.
const MOST: i64 = 1_000;

#[derive(Subcommand)]
pub(crate) enum Bulk {
    /// Find tasks and fix them, and ask nothing of them yet
    ///
    /// Examples:
    ///   steadfast bulk prepare resume --state failed --service payments --because "the bank is back"
    ///   steadfast bulk prepare retry --step charge --state failed --most 10 --because "try ten first"
    #[command(verbatim_doc_comment)]
    Prepare(Box<new::New>),
    /// Prepare, show, ask you, begin, and see it through
    ///
    /// Ends with 0 when all tasks have done it, 1 when some refused or you said no.
    ///
    /// Examples:
    ///   steadfast bulk run resume --state failed --service payments --rate 50 --because "the bank is back"
    ///   steadfast bulk run cancel --label batch=7 --yes --because "a wrong import"
    #[command(verbatim_doc_comment)]
    Run(Box<run::Args>),
    /// Begin a bulk that was prepared, or go on with one that was stopped
    ///
    /// Examples:
    ///   steadfast bulk begin 0192f3a0-5b1c-7d2e-8f00-0123456789ab
    ///   steadfast bulk begin 0192f3a0-5b1c-7d2e-8f00-0123456789ab --wait
    #[command(verbatim_doc_comment)]
    Begin(Begin),
    /// Stop a bulk; it can go on later
    ///
    /// Examples:
    ///   steadfast bulk stop 0192f3a0-5b1c-7d2e-8f00-0123456789ab
    #[command(verbatim_doc_comment)]
    Stop(One),
    /// List the newest bulks
    ///
    /// Examples:
    ///   steadfast bulk list --limit 5
    #[command(verbatim_doc_comment)]
    List(List),
    /// Show a bulk: how far it has come, and who refused why
    ///
    /// Examples:
    ///   steadfast bulk show 0192f3a0-5b1c-7d2e-8f00-0123456789ab --tasks 20
    #[command(verbatim_doc_comment)]
    Show(Show),
}

#[derive(clap::Args)]
pub(crate) struct One {
    /// The id of the bulk
    id: String,
}

#[derive(clap::Args)]
pub(crate) struct Begin {
    /// The id of the bulk
    id: String,
    /// See it through to its end
    #[arg(long)]
    wait: bool,
}

#[derive(clap::Args)]
pub(crate) struct List {
    /// At most so many
    #[arg(long, value_name = "NUMBER", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=MOST))]
    limit: u32,
}

#[derive(clap::Args)]
pub(crate) struct Show {
    /// The id of the bulk
    id: String,
    /// The ids of so many of its tasks, too
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=MOST))]
    tasks: Option<u32>,
}

pub(crate) async fn run(command: Bulk, session: &Session) -> Result<ExitCode> {
    let (client, out) = (&session.client, &session.out);
    match command {
        Bulk::Prepare(new) => {
            let prepared = new::prepare(&new, session).await?;
            out.show(&prepared, || preview(&prepared))?;
            talk::line(&format!("nothing is asked yet: `steadfast bulk begin {}` does", prepared.bulk.id));
        }
        Bulk::Run(args) => return run::run(&args, session).await,
        Bulk::Begin(args) => {
            let bulk = session.answer(client.begin_bulk(&args.id)).await?;
            if args.wait {
                return run::to_the_end(bulk, session).await;
            }
            out.show(&bulk, || text(&bulk))?;
        }
        Bulk::Stop(One { id }) => {
            let bulk = session.answer(client.stop_bulk(&id)).await?;
            out.show(&bulk, || text(&bulk))?;
        }
        Bulk::List(args) => {
            let all = session.answer(client.bulks(Some(args.limit))).await?;
            out.show(&all, || out.table(&table(&all.bulks)))?;
        }
        Bulk::Show(args) => show(&args, session).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn show(args: &Show, session: &Session) -> Result<()> {
    let bulk = session.answer(session.client.bulk(&args.id)).await?;
    let Some(limit) = args.tasks else { return session.out.show(&bulk, || text(&bulk)) };
    let page = Paging { limit: Some(limit), cursor: None };
    let tasks = session.answer(session.client.bulk_tasks(&args.id, &page)).await?;
    let told = serde_json::json!({ "bulk": bulk, "tasks": tasks.tasks, "cursor": tasks.cursor });
    session.out.show(&told, || format!("{}\n\n{}", text(&bulk), tasks.tasks.join("\n")))
}

/// How far a bulk has come, as it is written.
fn state(state: BulkState) -> &'static str {
    match state {
        BulkState::Preparing => "preparing",
        BulkState::Prepared => "prepared",
        BulkState::Running => "running",
        BulkState::Stopped => "stopped",
        BulkState::Over => "over",
    }
}

fn refused(bulk: &wire::Bulk) -> u64 {
    bulk.refused.values().sum()
}

/// What is asked, and for what.
fn asked(bulk: &wire::Bulk) -> String {
    match &bulk.about {
        Some(about) => format!("{} {about}", bulk.action),
        None => bulk.action.clone(),
    }
}

fn text(bulk: &wire::Bulk) -> String {
    let mut fields = Fields::default();
    fields.add("bulk", &bulk.id).add("state", state(bulk.state)).add("action", asked(bulk));
    fields.add("of", format!("{}: {}", counted(bulk.tasks, "task"), bulk.looked_for));
    fields.add("by", format!("{}: {}", bulk.by, bulk.because));
    fields.add("rate", format!("{} tasks a second at most", bulk.rate));
    fields.add("asked", format!("{}, of which {} have done it", bulk.asked, bulk.done));
    for (why, count) in &bulk.refused {
        fields.add("refused", format!("{count}: {why}"));
    }
    fields.text()
}

fn preview(prepared: &Prepared) -> String {
    let Prepared { bulk, first } = prepared;
    let shown = first.iter().map(|id| format!("\n  {id}")).collect::<String>();
    let more = bulk.tasks.saturating_sub(first.len() as u64);
    let more = if more > 0 { format!("\n  and {more} more") } else { String::new() };
    format!("{}\n\nits first tasks:{shown}{more}", text(bulk))
}

fn table(bulks: &[wire::Bulk]) -> Table {
    let mut table =
        Table::new(["BULK", "STATE", "ACTION", "TASKS", "ASKED", "DONE", "REFUSED", "BY", "BECAUSE", "OF"]);
    for bulk in bulks {
        table.row([
            bulk.id.clone(),
            state(bulk.state).to_owned(),
            asked(bulk),
            bulk.tasks.to_string(),
            bulk.asked.to_string(),
            bulk.done.to_string(),
            refused(bulk).to_string(),
            bulk.by.clone(),
            bulk.because.clone(),
            bulk.looked_for.clone(),
        ]);
    }
    table
}
