//! `steadfast policy list`: the policies that a server goes by.

use std::process::ExitCode;

use anyhow::Result;

use crate::session::Session;
use crate::show::{self, Table};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Show settings as a whole, however long they are
    #[arg(long)]
    full: bool,
}

pub(crate) async fn run(args: &Args, session: &Session) -> Result<ExitCode> {
    let all = session.answer(session.client.policies()).await?;
    session.out.show(&all, || {
        let mut table = Table::new(["POLICY", "SETTINGS"]);
        for policy in &all.policies {
            table.row([policy.name.clone(), show::value(&policy.settings, args.full)]);
        }
        session.out.table(&table)
    })?;
    Ok(ExitCode::SUCCESS)
}
