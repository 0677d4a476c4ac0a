//! `steadfast workflow`: workflow files, and the workflows that a server knows.

mod apply;
mod check;
mod show;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use steadfast_client::wire::workflow as wire;

use crate::global::Global;
use crate::session::{Session, with_server};
use crate::show::Table;

#[derive(Subcommand)]
pub(crate) enum Workflow {
    /// Check workflow files without a server: everything that is wrong with them
    ///
    /// Ends with 1 when a file is refused. Whether the services exist is in a server's settings: give them with
    /// --config, or ask a server that runs with `steadfast workflow apply --dry-run`.
    ///
    /// Examples:
    ///   steadfast workflow check workflows/*.yaml
    ///   steadfast workflow check --config steadfast.toml place-order.yaml
    ///   steadfast workflow check --json place-order.yaml
    #[command(verbatim_doc_comment)]
    Check(check::Args),
    /// Hand workflow files in: new ones, and new versions; tasks that run stay on theirs
    ///
    /// Examples:
    ///   steadfast workflow apply place-order.yaml --dry-run
    ///   steadfast workflow apply workflows/*.yaml
    #[command(verbatim_doc_comment)]
    Apply(apply::Args),
    /// List the workflows that the server knows
    ///
    /// Examples:
    ///   steadfast workflow list
    #[command(verbatim_doc_comment)]
    List,
    /// Show a workflow: its steps, and the graph that they are
    ///
    /// Examples:
    ///   steadfast workflow show place-order
    ///   steadfast workflow show place-order --version 2
    #[command(verbatim_doc_comment)]
    Show(show::Args),
}

pub(crate) fn run(command: Workflow, global: &Global) -> Result<ExitCode> {
    match command {
        Workflow::Check(args) => check::run(&args, global.json),
        Workflow::Apply(args) => with_server(global, async |session| apply::run(&args, session).await),
        Workflow::List => with_server(global, async |session| list(session).await),
        Workflow::Show(args) => with_server(global, async |session| show::run(&args, session).await),
    }
}

async fn list(session: &Session) -> Result<ExitCode> {
    let all = session.answer(session.client.workflows()).await?;
    session.out.show(&all, || session.out.table(&table(&all.workflows)))?;
    Ok(ExitCode::SUCCESS)
}

fn table(workflows: &[wire::Workflow]) -> Table {
    let mut table = Table::new(["WORKFLOW", "ACTIVE", "VERSIONS", "FROM"]);
    for workflow in workflows {
        let active = workflow.versions.iter().find(|version| version.version == workflow.active);
        let versions: Vec<_> = workflow.versions.iter().map(|version| version.version.to_string()).collect();
        table.row([
            workflow.name.clone(),
            workflow.active.to_string(),
            versions.join(" "),
            active.map(|version| version.from.clone()).unwrap_or_default(),
        ]);
    }
    table
}
