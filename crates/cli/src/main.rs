//! The `steadfast` binary.
//! This file only reads the command line and gives the exit code; what a command does is in the module of its name.

mod clock;
mod demo;
mod policy;
mod talk;

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

/// What shells expect of a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

/// Work across services that fail: retries, circuit breakers and timeouts.
#[derive(Parser)]
#[command(name = "steadfast", version, arg_required_else_help = true)]
#[command(after_help = "Results go to stdout, everything else to stderr.\n\
                        Ends with 0 when all went well, 1 when it did not, 2 for a bad command line, 130 after Ctrl-C.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show what the library does while a service goes down and comes back (about 20 s)
    ///
    /// Starts a small service with a queue on a local port, calls it at a steady rate through one
    /// pipeline, takes it down and brings it back. Then does the same with three plain attempts for
    /// each call, and compares when calls succeed again and what reached the service.
    /// The show goes to stderr, the summary to stdout.
    #[command(verbatim_doc_comment)]
    Demo(demo::Args),
    /// Check policy files, and see what they do in an outage, before they are used
    #[command(subcommand)]
    Policy(policy::Policy),
}

fn main() -> ExitCode {
    let Cli { command } = Cli::parse();
    match run(command) {
        Ok(code) => code,
        Err(error) => {
            talk::line(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Demo(args) => show(args),
        // They compute and wait for nobody: Ctrl-C ends them as it ends any program.
        Command::Policy(command) => policy::run(command),
    }
}

/// Runs a show, which Ctrl-C ends in good order.
fn show(args: demo::Args) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the threads that this needs")?;
    runtime.block_on(async {
        tokio::select! {
            ended = demo::run(args) => ended.map(|()| ExitCode::SUCCESS),
            pressed = tokio::signal::ctrl_c() => {
                pressed.context("cannot listen for Ctrl-C")?;
                talk::line("\nStopped by Ctrl-C, so there is no summary.");
                Ok(ExitCode::from(INTERRUPTED))
            }
        }
    })
}
