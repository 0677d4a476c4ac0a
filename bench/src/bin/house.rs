//! `cargo xtask bench house`: what removing a million tasks and copying the file cost those who work meanwhile.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use steadfast_bench::engine::Disk;
use steadfast_bench::house::{self, Sizes};
use steadfast_bench::{json, show, table};

/// Measures the housekeeping beside work that goes on.
#[derive(Parser)]
struct Args {
    /// One line of JSON per figure instead of a table
    #[arg(long)]
    json: bool,
    /// Some seconds and small sizes: whether everything runs. No reach is judged
    #[arg(long)]
    quick: bool,
    /// Finished tasks that are removed
    #[arg(long)]
    finished: Option<u64>,
    /// Finished tasks in the file that is copied
    #[arg(long)]
    copied: Option<u64>,
    /// Copies that count
    #[arg(long)]
    copies: Option<usize>,
    /// Only the parts whose names begin so: retention, backup
    #[arg(long)]
    only: Option<String>,
    /// Where the files are made, on disk; default: beside this program
    #[arg(long)]
    folder: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    let sizes = if args.quick { Sizes::QUICK } else { Sizes::FULL };
    let sizes = Sizes {
        finished: args.finished.unwrap_or(sizes.finished),
        copied: args.copied.unwrap_or(sizes.copied),
        copies: args.copies.unwrap_or(sizes.copies),
        ..sizes
    };
    let disk = Disk::new(args.folder.as_deref())?;
    let mut figures = house::measure(&disk, sizes, args.only.as_deref().unwrap_or_default())?;
    if args.quick {
        figures.iter_mut().for_each(|figure| figure.reach = None);
    }
    if args.json {
        figures.iter().for_each(|figure| println!("{}", json::line(figure)));
    } else {
        println!("load {}\n", show::load());
        table::figures(&figures).iter().for_each(|line| println!("{line}"));
    }
    Ok(show::verdict(&figures))
}
