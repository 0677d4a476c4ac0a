//! `steadfast audit`: what operators have done.

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use steadfast_client::wire::audit::{AuditFilter, Audits};

use crate::session::Session;
use crate::show::{self, Out, Table};
use crate::talk;
use crate::task::list::{Page, say_more};

#[derive(Subcommand)]
pub(crate) enum Audit {
    /// List what operators have done, newest first
    ///
    /// Examples:
    ///   steadfast audit list --limit 20
    ///   steadfast audit list --task 0192f3a0 --detail
    ///   steadfast audit list --who ana@shop --action retry --json
    ///   steadfast audit list --action "breaker open"
    #[command(verbatim_doc_comment)]
    List(List),
}

#[derive(clap::Args)]
pub(crate) struct List {
    /// About this task
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// By this person
    #[arg(long)]
    who: Option<String>,
    /// Of this action, such as retry or "breaker open"
    #[arg(long, value_name = "NAME")]
    action: Option<String>,
    /// With what was before, what is so since, and what was given
    #[arg(long)]
    detail: bool,
    #[command(flatten)]
    page: Page,
}

pub(crate) async fn run(command: Audit, session: &Session) -> Result<ExitCode> {
    let Audit::List(args) = command;
    let task = match &args.task {
        Some(task) => Some(session.task_id(task).await?),
        None => None,
    };
    let filter = AuditFilter { task, by: args.who.clone(), action: args.action.clone() };
    let (audits, cursor) = args
        .page
        .fetch(async |paging| {
            let page = session.answer(session.client.audit(&filter, &paging)).await?;
            Ok((page.audits, page.cursor))
        })
        .await?;
    let audits = Audits { audits, cursor };
    if audits.audits.is_empty() && !session.out.json {
        talk::line("nobody has done anything like that");
    } else {
        session.out.show(&audits, || session.out.table(&table(&audits, &session.out, args.detail)))?;
    }
    if !session.out.json {
        say_more(audits.cursor.as_deref());
    }
    Ok(ExitCode::SUCCESS)
}

fn table(audits: &Audits, out: &Out, detail: bool) -> Table {
    let mut table = Table::new(["AT", "WHO", "ACTION", "ABOUT", "BECAUSE", "REFUSED", "DETAIL"]);
    for audit in &audits.audits {
        let told =
            if detail && !audit.detail.is_null() { show::value(&audit.detail, true) } else { String::new() };
        table.row([
            out.wall.told(&audit.at),
            audit.by.clone(),
            audit.action.clone(),
            audit.task.clone().or_else(|| audit.about.clone()).unwrap_or_default(),
            audit.because.clone(),
            audit.refused.clone().unwrap_or_default(),
            told,
        ]);
    }
    table
}
