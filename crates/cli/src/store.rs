//! `steadfast store`: the server copies its store and looks through it. This program never opens one.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Subcommand;
use steadfast_client::wire::store::{NewBackup, Verified};

use crate::session::Session;
use crate::show::{Out, Table, counted, time};

#[derive(Subcommand)]
pub(crate) enum Store {
    /// Copy the store to a new file on the server's machine, while work goes on
    ///
    /// Examples:
    ///   steadfast store backup /var/backups/steadfast-2026-11-17.db
    #[command(verbatim_doc_comment)]
    Backup(Backup),
    /// Look through the store for what contradicts itself
    ///
    /// Ends with 1 when something was found. Nothing is changed, and work goes on.
    ///
    /// Examples:
    ///   steadfast store verify
    ///   steadfast store verify --json
    #[command(verbatim_doc_comment)]
    Verify,
}

#[derive(clap::Args)]
pub(crate) struct Backup {
    /// The file, on the server's machine; there must be none of this name
    to: PathBuf,
    /// Why, for the audit log
    #[arg(long, value_name = "WHY", default_value = "", hide_default_value = true)]
    because: String,
}

pub(crate) async fn run(command: Store, session: &Session) -> Result<ExitCode> {
    match command {
        Store::Backup(args) => backup(&args, session).await,
        Store::Verify => verify(session).await,
    }
}

async fn backup(args: &Backup, session: &Session) -> Result<ExitCode> {
    // The server may work in another folder than this program.
    let to = std::path::absolute(&args.to).context("cannot find out where this is")?;
    let backup = NewBackup { to: to.display().to_string() };
    let client = session.client.saying(&session.by, &args.because);
    let done = session.answer_slowly(client.back_up_store(&backup)).await?;
    session.out.show(&done, || {
        let took = time::span(Duration::from_millis(done.took_ms));
        format!("{}: {}, made in {took}", done.to, counted(done.bytes, "byte"))
    })?;
    Ok(ExitCode::SUCCESS)
}

async fn verify(session: &Session) -> Result<ExitCode> {
    let verified = session.answer_slowly(session.client.verify_store()).await?;
    session.out.show(&verified, || report(&verified, &session.out))?;
    Ok(if verified.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn report(verified: &Verified, out: &Out) -> String {
    let looked = format!("{} looked at", counted(verified.looked_at, "task"));
    if verified.findings.is_empty() {
        return format!("{looked}, the store is sound");
    }
    let mut table = Table::new(["TASK", "KIND", "FINDING"]);
    for finding in &verified.findings {
        let task = finding.task.clone().unwrap_or_else(|| "(the file)".to_owned());
        table.row([task, finding.kind.clone(), finding.words.clone()]);
    }
    let count = counted(verified.findings.len() as u64, "finding");
    format!("{}\n\n{looked}, {count}", out.table(&table))
}
