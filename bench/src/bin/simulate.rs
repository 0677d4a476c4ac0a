//! `cargo xtask bench simulate`: how long the policy simulator takes for ten minutes of 200 clients.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use steadfast_bench::figure::{Figure, Reach};
use steadfast_bench::harness::median;
use steadfast_bench::{json, show, table};
use steadfast_resilience::pipeline::Builder;
use steadfast_resilience::simulate::Scenario;
use steadfast_resilience::{Pipeline, Retry};

/// Ten minutes in all, with an outage of ten seconds.
const OUTAGE: Duration = Duration::from_secs(10);
const LOOK_ON: Duration = Duration::from_secs(570);

/// Measures one run of 200 clients that make 800 calls a second for ten minutes of virtual time.
#[derive(Parser)]
struct Args {
    /// One line of JSON per figure instead of a table
    #[arg(long)]
    json: bool,
    /// Runs of each policy
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    let alone = |retry| policy().retry(retry).no_budget().no_breaker();
    let policies: [(&str, Builder); 3] = [
        ("the defaults", policy()),
        ("every second, retries alone", alone(Retry::fixed(Duration::from_secs(1)).max_retries(10))),
        ("exponential, retries alone", alone(exponential())),
    ];
    let mut figures = Vec::new();
    for (name, policy) in &policies {
        let times = (0..args.rounds).map(|round| run(policy, round.into())).collect::<Result<Vec<_>>>()?;
        let name = format!("200 clients, 10 min, 800 calls/s: {name}");
        figures.push(Figure::new(name, median(&times), "s").reach(Reach::AtMost(2.0)));
    }
    match args.json {
        true => figures.iter().for_each(|figure| println!("{}", json::line(figure))),
        false => table::figures(&figures).iter().for_each(|line| println!("{line}")),
    }
    Ok(show::verdict(&figures))
}

fn policy() -> Builder {
    Pipeline::builder("bench").attempt_timeout(Duration::from_secs(1))
}

/// The one of the guide.
fn exponential() -> steadfast_resilience::retry::Builder {
    let [min, delta, max] = [1, 10, 30].map(Duration::from_secs);
    Retry::exponential().min_backoff(min).delta_backoff(delta).max_backoff(max).max_retries(10)
}

/// One run in seconds.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn run(policy: &Builder, seed: u64) -> Result<f64> {
    let began = Instant::now();
    Scenario::outage(OUTAGE).rps(800.0).clients(200).look_on(LOOK_ON).seed(seed).run(policy)?;
    Ok(began.elapsed().as_secs_f64())
}
