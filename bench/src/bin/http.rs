//! `cargo xtask bench http`: 3-step tasks through the real server, beside the same calls without an engine, and beside Restate.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use steadfast_bench::engine::Disk;
use steadfast_bench::http::{self, Binary, Peer, Plan};
use steadfast_bench::{json, show, table};

/// Measures tasks over HTTP.
#[derive(Parser)]
struct Args {
    /// One line of JSON per figure instead of a table
    #[arg(long)]
    json: bool,
    /// Some seconds, without Restate: whether everything runs. No reach is judged
    #[arg(long)]
    quick: bool,
    /// Interleaved rounds; one more warms up
    #[arg(long)]
    rounds: Option<usize>,
    /// Seconds of load for each side in a round
    #[arg(long)]
    seconds: Option<u64>,
    /// Only the parts whose names begin so: speed, latency, overload
    #[arg(long)]
    only: Option<String>,
    /// Without Restate
    #[arg(long)]
    no_peer: bool,
    /// The binary `steadfast`; default: cargo builds it as releases are built
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Another build of it, measured beside: what a change has brought
    #[arg(long, value_name = "FILE")]
    beside: Option<PathBuf>,
    /// Where the files are made, on disk; default: beside this program
    #[arg(long)]
    folder: Option<PathBuf>,
    /// What the program says to itself: it is in a network of its own, and Restate is here
    #[arg(long, hide = true)]
    peer: Option<PathBuf>,
    /// What the program says to itself
    #[arg(long, hide = true, num_args = 1..)]
    child: Vec<String>,
}

impl Args {
    fn binary(&self) -> Result<Binary> {
        match &self.server {
            Some(path) => Ok(Binary::at(path.clone())),
            None if self.quick => Binary::beside()?.map_or_else(Binary::build, Ok),
            None => Binary::build(),
        }
    }

    fn plan(&self, binary: Binary, peer: Option<Peer>) -> Plan {
        let plan = if self.quick { Plan::quick(binary) } else { Plan::full(binary, peer) };
        Plan {
            rounds: self.rounds.unwrap_or(plan.rounds),
            each: self.seconds.map_or(plan.each, Duration::from_secs),
            only: self.only.clone().unwrap_or_default(),
            beside: self.beside.clone().map(Binary::at),
            ..plan
        }
    }
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    if !args.child.is_empty() {
        http::child(&args.child)?;
        return Ok(ExitCode::SUCCESS);
    }
    let binary = args.binary()?;
    let mut missing = None;
    let peer = match args.peer.clone() {
        Some(folder) => Some(Peer::at(folder)),
        None if args.quick || args.no_peer => None,
        None => match Peer::install() {
            Ok(peer) => beside(&binary, &peer)?,
            Err(error) => {
                missing = Some(format!("Missing: Restate ({error:#})."));
                None
            }
        },
    };
    let disk = Disk::new(args.folder.as_deref())?;
    let told = http::measure(&disk, &args.plan(binary, peer))?;
    let mut figures = told.figures;
    if args.quick {
        figures.iter_mut().for_each(|figure| figure.reach = None);
    }
    let notes = told.notes.into_iter().chain(missing);
    if args.json {
        figures.iter().for_each(|figure| println!("{}", json::line(figure)));
        notes.filter(|note| note.starts_with("Missing")).for_each(|note| eprintln!("{note}"));
    } else {
        println!("load {}\n", show::load());
        table::figures(&figures).iter().for_each(|line| println!("{line}"));
        println!();
        notes.for_each(|note| println!("{note}"));
    }
    Ok(show::verdict(&figures))
}

/// This program again, where Restate can be run.
fn beside(binary: &Binary, peer: &Peer) -> Result<Option<Peer>> {
    let own = std::env::args_os().skip(1);
    let more = ["--server".into(), binary.path().into(), "--peer".into(), peer.path().into()];
    let had = std::env::args_os().any(|word| word == "--server");
    let arguments: Vec<_> = own.chain(more.into_iter().skip(if had { 2 } else { 0 })).collect();
    match Peer::alone_in_a_network(&arguments)? {}
}
