//! `steadfast schedule`: recurring work.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Subcommand, ValueEnum};
use serde_json::json;
use steadfast_client::wire::schedule::{self as wire, Declared, NewSchedule, Turned};
use steadfast_form::duration;

use crate::payload::Payload;
use crate::session::Session;
use crate::show::{Out, Table, time};

#[derive(Subcommand)]
pub(crate) enum Schedule {
    /// List the schedules, with their next and last runs
    ///
    /// Examples:
    ///   steadfast schedule list
    #[command(verbatim_doc_comment)]
    List,
    /// Declare a schedule; the same declaration again changes nothing
    ///
    /// Examples:
    ///   steadfast schedule set books close-the-books --when "30 2 * * MON-FRI" --zone Europe/Berlin
    ///   steadfast schedule set sweep sweep-carts --when "every 15m" --overlap skip --input '{"older": "1d"}'
    #[command(verbatim_doc_comment)]
    Set(Box<Set>),
    /// Begin no more runs until it is resumed
    ///
    /// Examples:
    ///   steadfast schedule pause books --because "the books are being moved"
    #[command(verbatim_doc_comment)]
    Pause(Name),
    /// Go on with a schedule that was paused
    ///
    /// Examples:
    ///   steadfast schedule resume books --because "the books are back"
    #[command(verbatim_doc_comment)]
    Resume(Name),
    /// Remove a schedule; tasks that it has begun go on
    ///
    /// Examples:
    ///   steadfast schedule remove books --because "nobody reads the books"
    #[command(verbatim_doc_comment)]
    Remove(Name),
}

#[derive(clap::Args)]
pub(crate) struct Name {
    /// What it is called
    name: String,
    /// Why: it is kept in the audit log
    #[arg(long, value_name = "WHY")]
    because: String,
}

#[derive(clap::Args)]
pub(crate) struct Set {
    /// What it is called
    name: String,
    /// What it runs
    workflow: String,
    /// When: five fields, such as "30 2 * * MON-FRI"; @hourly and the like; or an interval, such as "every 15m"
    #[arg(long, value_name = "WHEN")]
    when: String,
    /// Whose clock on the wall it goes by, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// Which version of the workflow [default: the active one, now]
    #[arg(long, value_name = "NUMBER")]
    version: Option<u32>,
    /// The input of its runs: JSON, @FILE, or - for stdin [default: null]
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    input: Option<Payload>,
    /// Whose tasks these are
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// What is done about runs that were missed: skip, once, or a number: so many of them run [default: once]
    #[arg(long, value_name = "WHAT", value_parser = missed)]
    missed: Option<wire::Missed>,
    /// What is done when the run before has not ended [default: allow]
    #[arg(long, value_enum)]
    overlap: Option<Overlap>,
    /// Begin each run by up to this much later
    #[arg(long, value_name = "TIME", value_parser = duration::parse_long)]
    jitter: Option<Duration>,
    /// No run before this
    #[arg(long, value_name = "WHEN", value_parser = time::read)]
    starts_at: Option<String>,
    /// No run at or after this
    #[arg(long, value_name = "WHEN", value_parser = time::read)]
    ends_at: Option<String>,
    /// Why, for the audit log
    #[arg(long, value_name = "WHY", default_value = "", hide_default_value = true)]
    because: String,
}

/// What is done when the run before has not ended.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Overlap {
    /// They run side by side
    Allow,
    /// It is skipped
    Skip,
    /// It waits for the end of that one
    Queue,
    /// That one is cancelled, and undoes what it did
    Cancel,
}

impl From<Overlap> for wire::Overlap {
    fn from(overlap: Overlap) -> Self {
        match overlap {
            Overlap::Allow => Self::Allow,
            Overlap::Skip => Self::Skip,
            Overlap::Queue => Self::QueueOne,
            Overlap::Cancel => Self::CancelPrevious,
        }
    }
}

fn missed(text: &str) -> Result<wire::Missed, String> {
    match text {
        "skip" => Ok(wire::Missed::Skip),
        "once" => Ok(wire::Missed::RunOnce),
        number => match number.parse() {
            Ok(most) => Ok(wire::Missed::RunAll { most }),
            Err(_) => Err("say skip, once, or a number".to_owned()),
        },
    }
}

pub(crate) async fn run(command: Schedule, session: &Session) -> Result<ExitCode> {
    let out = &session.out;
    let client = |because: &str| session.client.saying(&session.by, because);
    match command {
        Schedule::List => {
            let all = session.answer(session.client.schedules()).await?;
            out.show(&all, || out.table(&table(&all.schedules, out)))?;
        }
        Schedule::Set(args) => set(&args, session).await?,
        Schedule::Pause(Name { name, because }) => {
            let turned = session.answer(client(&because).pause_schedule(&name)).await?;
            out.show(&turned, || words(&turned, "paused", "was paused before"))?;
        }
        Schedule::Resume(Name { name, because }) => {
            let turned = session.answer(client(&because).resume_schedule(&name)).await?;
            out.show(&turned, || words(&turned, "resumed", "was not paused"))?;
        }
        Schedule::Remove(Name { name, because }) => {
            session.answer(client(&because).delete_schedule(&name)).await?;
            out.show(&json!({ "name": name, "removed": true }), || format!("schedule `{name}` is removed"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn words(turned: &Turned, changed: &str, same: &str) -> String {
    match turned.changed {
        true => format!("schedule `{}` is {changed}", turned.name),
        false => format!("schedule `{}` {same}", turned.name),
    }
}

async fn set(args: &Set, session: &Session) -> Result<()> {
    let schedule = NewSchedule {
        workflow: args.workflow.clone(),
        version: args.version,
        input: Payload::read_or_null(args.input.as_ref()).await?,
        when: args.when.clone(),
        time_zone: args.zone.clone(),
        namespace: args.namespace.clone(),
        missed: args.missed,
        overlap: args.overlap.map(Into::into),
        jitter_ms: args.jitter.map(|jitter| u64::try_from(jitter.as_millis()).unwrap_or(u64::MAX)),
        starts_at: args.starts_at.clone(),
        ends_at: args.ends_at.clone(),
    };
    let client = session.client.saying(&session.by, &args.because);
    let declared = session.answer(client.put_schedule(&args.name, &schedule)).await?;
    session.out.show(&declared, || {
        let how = match declared.declared {
            Declared::New => "is new",
            Declared::Same => "was declared so before",
            Declared::Changed => "is changed",
        };
        format!("schedule `{}` {how}", declared.name)
    })
}

fn table(schedules: &[wire::Schedule], out: &Out) -> Table {
    let mut table = Table::new([
        "SCHEDULE",
        "WORKFLOW",
        "WHEN",
        "ZONE",
        "NEXT",
        "LAST",
        "RUNS",
        "MISSED",
        "OVERLAPPED",
        "NOTE",
    ]);
    for schedule in schedules {
        let paused =
            schedule.paused_since.as_ref().map(|since| format!("paused since {}", out.wall.told(since)));
        let note: Vec<_> = paused.into_iter().chain(schedule.last_error.clone()).collect();
        let some = |number: u64| if number == 0 { String::new() } else { number.to_string() };
        table.row([
            schedule.name.clone(),
            format!("{} v{}", schedule.workflow, schedule.version),
            schedule.when.clone(),
            schedule.time_zone.clone(),
            out.wall.or_none(schedule.next.as_ref()),
            out.wall.or_none(schedule.last.as_ref().map(|last| &last.at)),
            schedule.runs.to_string(),
            some(schedule.skipped_missed),
            some(schedule.skipped_overlap),
            note.join("; "),
        ]);
    }
    table
}
