//! `cargo xtask bench resilience`: retry, breaker and pipeline beside their peers, in nanoseconds and allocations.

use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Parser;
use steadfast_bench::alloc::Counting;
use steadfast_bench::figure::Figure;
use steadfast_bench::harness::{self, Measured, Plan};
use steadfast_bench::{json, ours, peers, reach, show, table};

#[global_allocator]
static COUNTING: Counting = Counting;

/// Measures the resilience library and its peers side by side.
#[derive(Parser)]
struct Args {
    /// One line of JSON per figure instead of tables
    #[arg(long)]
    json: bool,
    /// Interleaved rounds; one more warms up
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Calls for each case and round
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(1..))]
    calls: u32,
    /// Only the cases with this in their name, which is `set: case`; for profilers
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    let before = show::load();
    let bytes = Figure::new("registry, one breaker", ours::bytes_per_breaker()?, "bytes");
    let measured = measure(&args)?;
    let promises = reach::promises(&measured);
    if args.json {
        let plain = reach::plain(&measured);
        plain.iter().chain([&bytes]).chain(&promises).for_each(|figure| println!("{}", json::line(figure)));
        peers::missing()
            .iter()
            .for_each(|peer| eprintln!("missing: {peer} (built without `--features peers`)"));
    } else {
        println!(
            "{} rounds of {} calls; load before {before}, after {}\n",
            args.rounds,
            args.calls,
            show::load()
        );
        print(&measured, &bytes, &promises);
    }
    Ok(show::verdict(&promises))
}

fn measure(args: &Args) -> Result<Vec<Measured>> {
    let mut cases = ours::cases()?;
    cases.extend(peers::cases()?);
    cases.retain(|case| format!("{case:?}").contains(&args.only));
    ensure!(!cases.is_empty(), "no case has `{}` in its name", args.only);
    // By set, and within a set in the order in which they were added.
    cases.sort_by_key(|case| case.set);
    let plan = Plan { rounds: args.rounds.into(), calls: args.calls };
    harness::measure(cases, plan, |round| show::progress(round, plan.rounds))
}

fn print(measured: &[Measured], bytes: &Figure, promises: &[Figure]) {
    table::cases(measured).iter().for_each(|line| println!("{line}"));
    println!("\n{}: {:.0} {}\n", bytes.name, bytes.value, bytes.unit);
    table::figures(promises).iter().for_each(|line| println!("{line}"));
    if !peers::missing().is_empty() {
        println!("\nmissing: {} (built without `--features peers`)", peers::missing().join(", "));
    }
}
