//! `steadfast completions`.

use std::io::{Write as _, stdout};
use std::process::ExitCode;

use anyhow::Result;
use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::command::Cli;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Of which shell
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    // Into memory first: the generator panics when its writer fails.
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "steadfast", &mut text);
    stdout().lock().write_all(&text)?;
    Ok(ExitCode::SUCCESS)
}
