//! `steadfast policy`: what can be said of policy files before they are used, and which are in force at a server.

mod check;
mod list;
mod simulate;

use std::io::{Write as _, stdout};
use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

use crate::global::Global;
use crate::session::with_server;

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
    /// Show what a policy does to a service that goes down and comes back
    ///
    /// Runs the real retry, budget and breaker code in virtual time against a model of a service: a
    /// queue that is worked off in its order, also for callers who have given up. Shows the waits,
    /// the load on the service, and when calls succeed again; with and without budget and breaker.
    /// Ends with 1 when --max-amplification or --max-recovery is missed.
    ///
    /// Examples:
    ///   steadfast policy simulate background --attempt-timeout 1s --outage 10s --rps 800 --clients 200
    ///   steadfast policy simulate payments --file policies.toml --max-recovery 15s
    #[command(verbatim_doc_comment)]
    Simulate(Box<simulate::Args>),
    /// Print the JSON Schema of policy files, for editors
    ///
    /// Examples:
    ///   steadfast policy schema > policy.schema.json
    #[command(verbatim_doc_comment)]
    Schema,
    /// List the policies that the server goes by
    ///
    /// Examples:
    ///   steadfast policy list
    ///   steadfast policy list --json
    #[command(verbatim_doc_comment)]
    List(list::Args),
}

pub(crate) fn run(command: Policy, global: &Global) -> Result<ExitCode> {
    // What is done here computes and waits for nobody: Ctrl-C ends it as it ends any program.
    match command {
        Policy::Check(args) => check::run(&args),
        Policy::Simulate(args) => simulate::run(&args),
        Policy::List(args) => with_server(global, async |session| list::run(&args, session).await),
        Policy::Schema => {
            stdout().lock().write_all(steadfast_resilience::policy::json_schema().as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
