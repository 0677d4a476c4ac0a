//! `cargo xtask`: every developer command of Steadfast in one place.
//! This file only reads the command line; what a command does is in the file of its name.

mod api;
mod bench;
mod cargo;
mod ci;
mod command;
mod coverage;
mod crash;
mod deny;
mod docs;
mod large;
mod layering;
mod metadata;
mod mutants;
mod readme;

mod shuttle;
mod step;
mod table;
mod tools;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::command::Failed;
use crate::step::Step;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "Every developer command of Steadfast.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Everything CI runs, step by step; stops at the first failure
    Ci {
        /// Go on after a failing step and report all failures at the end
        #[arg(long)]
        keep_going: bool,
    },
    /// Install nextest and cargo-deny if they are missing; say what else is
    Tools,
    /// Check the formatting (`cargo fmt --all` mends it)
    Fmt,
    /// Clippy on all targets and features, warnings denied
    Clippy,
    /// The resilience crate with no feature, and with each feature alone
    Features,
    /// Build the API docs, warnings and broken links denied
    Doc,
    /// All tests, with nextest (`-- ARGS` go to nextest)
    Test {
        /// Passed on to `cargo nextest run`
        #[arg(last = true)]
        extra: Vec<String>,
    },
    /// The crash proof: processes that die anywhere, syncs that fail, power that is lost
    Crash(crash::Args),
    /// schemathesis over docs/openapi.json against a real server
    Api(api::Args),
    /// All examples in the API docs
    Doctest,
    /// The breaker's atomics under shuttle's schedules
    Shuttle,
    /// Which crate may depend on which
    Layering,
    /// Bans, licences, sources and advisories of dependencies
    Deny,
    /// Every row of docs/coverage.md against the tests that exist
    Coverage,
    /// Run the commands that README.md and the guide show
    Readme {
        /// Only those of this page, such as docs/guide/quick-start.md
        page: Option<String>,
    },
    /// Tests whose sizes CI keeps small, at the sizes that were promised
    Large,
    /// Mutate retry and breaker: do the tests notice?
    Mutants(mutants::Args),
    /// Run a benchmark by name, side by side with its peers
    Bench(bench::Args),
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(error.downcast_ref::<Failed>().map_or(1, Failed::exit_code))
        }
    }
}

fn run(command: Command) -> Result<()> {
    metadata::go_to_root()?;
    match command {
        Command::Ci { keep_going } => ci::run(keep_going),
        Command::Tools => Step::new("tools", tools::ready).alone(),
        Command::Fmt => Step::new("fmt", cargo::fmt).alone(),
        Command::Clippy => Step::new("clippy", cargo::clippy).alone(),
        Command::Features => Step::new("features", cargo::features).alone(),
        Command::Doc => Step::new("doc", docs::doc).alone(),
        Command::Test { extra } => cargo::test_with(&extra),
        Command::Crash(args) => crash::run(&args),
        Command::Api(args) => api::run(&args),
        Command::Doctest => Step::new("doctest", docs::doctest).alone(),
        Command::Shuttle => Step::new("shuttle", shuttle::run).alone(),
        Command::Layering => Step::new("layering", layering::run).alone(),
        Command::Deny => Step::new("deny", deny::run).alone(),
        Command::Coverage => Step::new("coverage", coverage::run).alone(),
        Command::Readme { page: None } => Step::new("readme", readme::run).alone(),
        Command::Readme { page: Some(page) } => readme::only(&page),
        Command::Large => large::run(),
        Command::Mutants(args) => mutants::run(&args),
        Command::Bench(args) => bench::run(&args),
    }
}
