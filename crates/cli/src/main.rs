//! The `steadfast` binary.
//! This file only reads the command line and gives the exit code; what a command does is in the module of its name.

mod audit;
mod breaker;
mod bulk;
mod clock;
mod command;
mod completions;
mod config;
mod demo;
mod exit;
mod global;
mod payload;
mod policy;
#[cfg(test)]
mod reference;
mod schedule;
mod serve;
mod service;
mod session;
mod show;
mod store;
mod talk;
mod task;
mod workflow;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser as _;

use self::command::{Cli, Command};
use self::global::Global;
use self::session::with_server;

/// What one thread takes, another one gives back: a task is made by a request and ends behind the store's writer. The allocators of
/// systems lock for that, and a server under load waits at those locks. See docs/decisions/2026-11-19-allocator.md.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let Cli { global, command } = Cli::parse();
    match run(&global, command) {
        Ok(code) => code,
        Err(error) => exit::tell(&error, global.json),
    }
}

fn run(global: &Global, command: Command) -> Result<ExitCode> {
    match command {
        Command::Task(command) => with_server(global, async |session| task::run(command, session).await),
        Command::Bulk(command) => with_server(global, async |session| bulk::run(command, session).await),
        Command::Workflow(command) => workflow::run(command, global),
        Command::Service(command) => {
            with_server(global, async |session| service::run(command, session).await)
        }
        Command::Breaker(command) => {
            with_server(global, async |session| breaker::run(command, session).await)
        }
        Command::Policy(command) => policy::run(command, global),
        Command::Audit(command) => with_server(global, async |session| audit::run(command, session).await),
        Command::Schedule(command) => {
            with_server(global, async |session| schedule::run(command, session).await)
        }
        Command::Store(command) => with_server(global, async |session| store::run(command, session).await),
        Command::Config(command) => config::run(command, global),
        Command::Serve(args) => serve::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Demo(args) => demo::run(&args, global),
    }
}
