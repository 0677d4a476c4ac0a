//! `cargo xtask bench outage`: a service dies under load and comes back, in virtual time and then over a real socket.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use steadfast_bench::engine::Disk;
use steadfast_bench::outage::{Plan, report};
use steadfast_bench::{json, show, table};

/// Takes a service away and gives it back, and looks at what its callers do.
#[derive(Parser)]
struct Args {
    /// One line of JSON per figure instead of a table
    #[arg(long)]
    json: bool,
    /// In real time, too, the service is away for a minute, with the breaker of the virtual drills
    #[arg(long)]
    long: bool,
    /// In real time the engine has a fine clock, and not the coarse one that programs have: to tell its jitter from others
    #[arg(long)]
    fine_clock: bool,
    /// Only the parts whose names begin so: virtual, real
    #[arg(long)]
    only: Option<String>,
    /// Writes outage.svg into this folder, and measures nothing
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Where the files are made, on disk; default: beside this program
    #[arg(long)]
    folder: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    if let Some(folder) = &args.svg {
        draw(folder)?;
        return Ok(ExitCode::SUCCESS);
    }
    let wanted = |part: &str| part.starts_with(args.only.as_deref().unwrap_or_default());
    let mut figures = Vec::new();
    if wanted("virtual") {
        figures.extend(report::in_virtual_time()?);
    }
    if wanted("real") {
        let plan = if args.long { Plan::real_and_long() } else { Plan::real() };
        let plan = Plan { fine_clock: args.fine_clock, ..plan };
        figures.extend(report::in_real_time(&Disk::new(args.folder.as_deref())?, plan)?);
    }
    if args.json {
        figures.iter().for_each(|figure| println!("{}", json::line(figure)));
    } else {
        println!("load {}\n", show::load());
        table::figures(&figures).iter().for_each(|line| println!("{line}"));
    }
    Ok(show::verdict(&figures))
}

fn draw(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let path = folder.join("outage.svg");
    std::fs::write(&path, report::drawing()?).with_context(|| format!("cannot write {}", path.display()))?;
    eprintln!("wrote {}", path.display());
    Ok(())
}
