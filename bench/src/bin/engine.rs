//! `cargo xtask bench engine`: what a 3-step task costs on a SQLite file, beside a bare loop that writes the same rows.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use steadfast_bench::engine::{self, Disk, Sizes};
use steadfast_bench::{json, show, table};

/// Measures the engine on a SQLite file.
#[derive(Parser)]
struct Args {
    /// One line of JSON per figure instead of a table
    #[arg(long)]
    json: bool,
    /// Some seconds and small sizes: whether everything runs. No reach is judged
    #[arg(long)]
    quick: bool,
    /// Interleaved rounds; one more warms up
    #[arg(long)]
    rounds: Option<usize>,
    /// Tasks of each round with 200 in flight
    #[arg(long)]
    tasks: Option<u64>,
    /// Open tasks that a restart finds
    #[arg(long)]
    open: Option<u64>,
    /// Finished tasks that a restart finds
    #[arg(long)]
    finished: Option<u64>,
    /// Only the parts whose names begin so: speed, alone, latency, held, idle, sweep, restart, restate
    #[arg(long)]
    only: Option<String>,
    /// Where the files are made, on disk; default: beside this program
    #[arg(long)]
    folder: Option<PathBuf>,
    /// What the program says to itself
    #[arg(long, hide = true, num_args = 1..)]
    child: Vec<String>,
}

impl Args {
    fn sizes(&self) -> Sizes {
        let sizes = if self.quick { Sizes::QUICK } else { Sizes::FULL };
        Sizes {
            rounds: self.rounds.unwrap_or(sizes.rounds),
            tasks: self.tasks.unwrap_or(sizes.tasks),
            open: self.open.unwrap_or(sizes.open),
            finished: self.finished.unwrap_or(sizes.finished),
            ..sizes
        }
    }
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    if !args.child.is_empty() {
        engine::child(&args.child)?;
        return Ok(ExitCode::SUCCESS);
    }
    let disk = Disk::new(args.folder.as_deref())?;
    let told = engine::measure(&disk, args.sizes(), args.only.as_deref().unwrap_or_default())?;
    let mut figures = told.figures;
    if args.quick {
        figures.iter_mut().for_each(|figure| figure.reach = None);
    }
    if args.json {
        figures.iter().for_each(|figure| println!("{}", json::line(figure)));
    } else {
        println!("load {}\n", show::load());
        table::figures(&figures).iter().for_each(|line| println!("{line}"));
        println!();
        told.notes.iter().for_each(|note| println!("{note}"));
    }
    Ok(show::verdict(&figures))
}
