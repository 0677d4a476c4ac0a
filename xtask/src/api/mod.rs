//! `cargo xtask api`: schemathesis asks a real server whatever docs/openapi.json allows and what it forbids, and follows its links from
//! answer to answer. No fault of the server, and no answer that is not documented: what it finds is a bug in one of the two.

mod service;
mod tool;
mod world;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use crate::command::Cmd;
use crate::step::Note;
use tool::Tool;
use world::World;

/// What CI has time for.
const QUICK: Duration = Duration::from_secs(45);
/// CI draws the same requests each time: what fails there was brought in by the change.
const QUICK_SEED: u64 = 1;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A slice that takes less than a minute; this is what CI runs
    #[arg(long)]
    quick: bool,
    /// For how many minutes it asks
    #[arg(long, default_value_t = 10, value_name = "MINUTES", conflicts_with = "quick")]
    minutes: u64,
    /// What the requests are drawn from: a run prints the one that it had
    #[arg(long)]
    seed: Option<u64>,
    /// Ask this binary, in the place of one that is built first
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let (time, drawn) = match args.quick {
        true => (QUICK, QUICK_SEED),
        false => (Duration::from_secs(args.minutes * 60), tool::any_seed()),
    };
    let seed = args.seed.unwrap_or(drawn);
    let tool = Tool::ready()?;
    let world = match &args.binary {
        Some(binary) => World::start(binary)?,
        None => {
            build().run()?;
            World::start(&crate::metadata::target_folder()?.join("release/steadfast"))?
        }
    };
    eprintln!("    seed {seed}; again: cargo xtask api --seed {seed}");
    tool.ask(&world, time, seed)?;
    world.end()
}

/// The step of CI.
pub(crate) fn quick() -> Result<Note> {
    run(&Args { quick: true, minutes: 0, seed: None, binary: None })?;
    Ok("a slice; more of it: `cargo xtask api`".to_owned())
}

/// What users build, and what `cargo xtask readme` runs: it is built once.
fn build() -> Cmd {
    Cmd::cargo("build --locked --release")
}
