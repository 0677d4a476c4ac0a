//! `cargo xtask bench telemetry`: what metrics and a subscriber cost a pipeline, in nanoseconds and allocations.

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use steadfast_bench::alloc::Counting;
use steadfast_bench::figure::Figure;
use steadfast_bench::harness::{self, Measured, Plan};
use steadfast_bench::{json, reach, show, table, watched};

#[global_allocator]
static COUNTING: Counting = Counting;

/// Measures a pipeline with and without a recorder of metrics, under a subscriber that wants warnings.
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
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    let warnings = tracing_subscriber::fmt().with_max_level(tracing_subscriber::filter::LevelFilter::WARN);
    warnings.with_writer(std::io::stderr).init();
    let plan = Plan { rounds: args.rounds.into(), calls: args.calls };
    let measured = harness::measure(watched::cases()?, plan, |round| show::progress(round, plan.rounds))?;
    let promises = watched::promises(&measured);
    if args.json {
        let plain = reach::plain(&measured);
        plain.iter().chain(&promises).for_each(|figure| println!("{}", json::line(figure)));
    } else {
        println!("{} rounds of {} calls; load {}\n", args.rounds, args.calls, show::load());
        print(&measured, &promises);
    }
    Ok(show::verdict(&promises))
}

fn print(measured: &[Measured], promises: &[Figure]) {
    table::cases(measured).iter().for_each(|line| println!("{line}"));
    println!();
    table::figures(promises).iter().for_each(|line| println!("{line}"));
}
