//! `cargo xtask bench engine`: what a 3-step task costs on a SQLite file, beside a bare loop that writes the same rows.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use steadfast_bench::engine::{Disk, speed};
use steadfast_bench::figure::{Figure, Reach};
use steadfast_bench::floor::Recording;
use steadfast_bench::harness::median;
use steadfast_bench::{json, show, table};

/// Measures the engine on a SQLite file.
#[derive(Parser)]
struct Args {
    /// One line of JSON per figure instead of a table
    #[arg(long)]
    json: bool,
    /// Interleaved rounds; one more warms up
    #[arg(long, default_value_t = 7)]
    rounds: u16,
    /// Tasks of each round
    #[arg(long, default_value_t = 6_000)]
    tasks: u64,
    /// Where the files are made, on disk; default: beside this program
    #[arg(long)]
    folder: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    let disk = Disk::new(args.folder.as_deref())?;
    let recording = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?
        .block_on(Recording::of_a_task(&disk.file("recording.db")))?;
    println!("{} rows, {} writes, {} bytes", recording.rows, recording.writes, recording.bytes);
    let rounds = args.rounds.into();
    let s = speed(&disk, &recording, rounds, args.tasks, |round| show::progress(round, rounds))?;
    println!("{s:#?}");
    let figures = vec![Figure::new("tasks/s", median(&s.engine), "tasks/s").against("floor", median(&s.engine)/median(&s.floor)).reach(Reach::RatioAtLeast(0.6))];
    match args.json {
        true => figures.iter().for_each(|figure| println!("{}", json::line(figure))),
        false => table::figures(&figures).iter().for_each(|line| println!("{line}")),
    }
    Ok(show::verdict(&figures))
}
