//! `cargo xtask bench shapes`: long lists and long chains, at three sizes each.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use steadfast_bench::engine::Disk;
use steadfast_bench::{json, shapes, show, table};

/// Measures what each entry of a long list or chain costs.
#[derive(Parser)]
struct Args {
    /// One line of JSON per figure instead of a table
    #[arg(long)]
    json: bool,
    /// Only the shapes whose names begin so: list, chain
    #[arg(long)]
    only: Option<String>,
    /// Where the files are made, on disk; default: beside this program
    #[arg(long)]
    folder: Option<PathBuf>,
    /// What the program says to itself
    #[arg(long, hide = true, num_args = 2)]
    child: Vec<String>,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    if let [shape, size] = &args.child[..] {
        shapes::child(shape, size.parse()?, &Disk::new(args.folder.as_deref())?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let figures = shapes::measure(args.only.as_deref().unwrap_or_default())?;
    if args.json {
        figures.iter().for_each(|figure| println!("{}", json::line(figure)));
    } else {
        println!("load {}\n", show::load());
        table::figures(&figures).iter().for_each(|line| println!("{line}"));
    }
    Ok(show::verdict(&figures))
}
