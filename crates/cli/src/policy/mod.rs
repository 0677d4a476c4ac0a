//! `steadfast policy`: what can be said of policy files before they are used.

mod check;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Policy {
    /// Check policy files: everything that is wrong with them, and what hurts although it is valid
    ///
    /// Ends with 1 when a file is refused or a finding is an error; with --strict also for warnings.
    ///
    /// Examples:
    ///   steadfast policy check policies.toml
    ///   steadfast policy check --strict --json policies/*.yaml
    #[command(verbatim_doc_comment)]
    Check(check::Args),
    /// Print the JSON Schema of policy files, for editors
    Schema,
}

pub(crate) fn run(command: Policy) -> Result<ExitCode> {
    match command {
        Policy::Check(args) => check::run(&args),
        Policy::Schema => {
            print!("{}", steadfast_resilience::policy::json_schema());
            Ok(ExitCode::SUCCESS)
        }
    }
}
