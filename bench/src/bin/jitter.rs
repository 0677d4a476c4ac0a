//! `cargo xtask bench jitter`: clients that fight for one row, in virtual time, under each jitter; and the guide's
//! figures of it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Parser;
use steadfast_bench::chart::{self, contention::Group};
use steadfast_bench::contention::{self, Fight, JITTERS};
use steadfast_bench::figure::Figure;
use steadfast_bench::json;
use steadfast_bench::table::Table;

/// How many clients fight.
const CLIENTS: [u32; 2] = [100, 200];

/// Compares jitters: how many calls and how long until every client got through.
#[derive(Parser)]
struct Args {
    /// One line of JSON per figure instead of a table
    #[arg(long)]
    json: bool,
    /// Writes jitter-waits.svg and jitter-contention.svg into this folder
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Runs whose mean is taken
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Where the random numbers begin: the same seed gives the same figures
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let groups = JITTERS.into_iter().map(|(name, jitter)| {
        let [fewer, more] = CLIENTS.map(|clients| contention::mean(clients, jitter, args.runs, args.seed));
        Ok(Group { name, fights: [fewer?, more?] })
    });
    let groups = groups.collect::<Result<Vec<_>>>()?;
    if args.json {
        figures(&groups).iter().for_each(|figure| println!("{}", json::line(figure)));
    } else {
        println!("mean of {} runs, seed {}\n", args.runs, args.seed);
        table(&groups).lines().iter().for_each(|line| println!("{line}"));
    }
    match &args.svg {
        Some(folder) => draw(folder, &groups, &args),
        None => Ok(()),
    }
}

fn table(groups: &[Group]) -> Table {
    let mut table = Table::new(&["jitter", "100: calls", "time", "200: calls", "time"]);
    for group in groups {
        let cells = group
            .fights
            .iter()
            .flat_map(|fight| [format!("{:.0}", fight.calls), format!("{:.1} s", fight.seconds)]);
        table.row([group.name.to_owned()].into_iter().chain(cells));
    }
    table
}

/// Times and calls, each set against full jitter's, which comes last.
fn figures(groups: &[Group]) -> Vec<Figure> {
    let Some(full) = groups.last() else { return Vec::new() };
    let of_group = |group: &Group| {
        let pairs = CLIENTS.into_iter().zip(group.fights.into_iter().zip(full.fights));
        let of_pair = |(clients, (fight, best)): (u32, (Fight, Fight))| {
            let name = format!("{clients} clients, {} jitter", group.name);
            [
                Figure::new(name.clone(), fight.seconds, "s")
                    .against(full.name, fight.seconds / best.seconds),
                Figure::new(name, fight.calls, "calls").against(full.name, fight.calls / best.calls),
            ]
        };
        pairs.flat_map(of_pair).collect::<Vec<_>>()
    };
    groups.iter().flat_map(of_group).collect()
}

fn draw(folder: &Path, groups: &[Group], args: &Args) -> Result<()> {
    let charts = [
        ("jitter-waits.svg", chart::waits::draw(200, args.seed)?),
        ("jitter-contention.svg", chart::contention::draw(groups, args.runs)),
    ];
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    for (name, text) in charts {
        let path = folder.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}
