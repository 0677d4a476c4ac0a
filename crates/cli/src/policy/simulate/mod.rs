//! `steadfast policy simulate`: what a policy does to a service that goes down, before it is deployed.

mod json;
mod load;
mod text;
mod timeline;

use std::fs;
use std::io::{Write as _, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::ValueEnum;
use steadfast_resilience::Retry;
use steadfast_resilience::policy::{Policies, duration};
use steadfast_resilience::simulate::{self, Comparison, Report, Scenario, Variant, Waits};

use crate::talk;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A service or a retry policy of the file, or a preset: interactive, standard, background,
    /// costly-undo, non-critical
    name: String,
    /// The policy file; without one, the built-in policies
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// How long the service is down
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration::parse)]
    outage: Duration,
    /// Calls a second, of all clients together
    #[arg(long, value_name = "CALLS", default_value_t = 100.0, allow_negative_numbers = true)]
    rps: f64,
    /// Clients, each with a breaker and a budget of its own
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    clients: u32,
    /// Requests that the service can serve in a second [default: a quarter more than the calls, at least 50]
    #[arg(long, value_name = "REQUESTS", allow_negative_numbers = true)]
    capacity: Option<f64>,
    /// Requests that may wait in the service [default: without a limit]
    #[arg(long, value_name = "REQUESTS")]
    queue: Option<u32>,
    /// How long an answer takes beside the time in the queue
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = duration::parse)]
    answer_time: Duration,
    /// What callers see while the service is down
    #[arg(long, value_enum, default_value_t = Fault::Hang)]
    fault: Fault,
    /// How long the service needs after its return to be as fast as before
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration::parse)]
    warm_up: Duration,
    /// Another limit for each attempt than the policy has
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    attempt_timeout: Option<Duration>,
    /// How long to look on after the outage [default: 60s, or three outages if that is longer]
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    look_on: Option<Duration>,
    /// Other chances; the same seed gives the same figures
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Fail when more requests than this are sent for each call
    #[arg(long, value_name = "RATIO", value_parser = ratio, allow_negative_numbers = true)]
    max_amplification: Option<f64>,
    /// Fail when calls do not succeed again this soon after the service's return
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    max_recovery: Option<Duration>,
    /// Draw it too, into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// One JSON object with all figures, for programs
    #[arg(long)]
    json: bool,
}

fn ratio(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "give a number from 0 on, such as 1.1".to_owned())
}

/// What callers see while the service is down.
#[derive(Clone, Copy, ValueEnum)]
enum Fault {
    /// Requests are taken, and answered when the service is back
    Hang,
    /// Connections are refused
    Refuse,
    /// Every answer is a server error
    Error,
}

impl From<Fault> for simulate::Fault {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Hang => Self::Hang,
            Fault::Refuse => Self::Refuse,
            Fault::Error => Self::Error,
        }
    }
}

/// Everything there is to tell.
struct Simulated<'a> {
    args: &'a Args,
    waits: Waits,
    comparison: Comparison,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let simulated = simulate(args)?;
    if let Some(path) = &args.svg {
        let drawing = simulated.comparison.to_svg(&simulated.title(), &simulated.waits);
        fs::write(path, drawing)
            .with_context(|| format!("cannot write the drawing to {}", path.display()))?;
    }
    let text = if args.json { format!("{}\n", simulated.json()) } else { simulated.text() };
    stdout().lock().write_all(text.as_bytes())?;
    let missed = simulated.missed();
    missed.iter().for_each(|words| talk::line(words));
    Ok(if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn simulate(args: &Args) -> Result<Simulated<'_>> {
    let policies = args.file.as_ref().map_or_else(|| Ok(Policies::standard()), Policies::read)?;
    let mut policy = policies.named(&args.name)?;
    if let Some(limit) = args.attempt_timeout {
        policy = policy.attempt_timeout(limit);
    }
    let retry = policy.clone().build()?.retry();
    let none = || Retry::none().build();
    let waits = Waits::of(&retry.map_or_else(none, Ok)?, args.seed);
    let comparison = args.scenario().compare(&policy)?;
    Ok(Simulated { args, waits, comparison })
}

impl Args {
    fn scenario(&self) -> Scenario {
        let mut scenario = Scenario::outage(self.outage)
            .rps(self.rps)
            .clients(self.clients)
            .answer_time(self.answer_time)
            .fault(self.fault.into())
            .warm_up(self.warm_up)
            .seed(self.seed);
        if let Some(requests) = self.capacity {
            scenario = scenario.capacity(requests);
        }
        if let Some(requests) = self.queue {
            scenario = scenario.queue(requests);
        }
        if let Some(time) = self.look_on {
            scenario = scenario.look_on(time);
        }
        scenario
    }
}

impl Simulated<'_> {
    fn title(&self) -> String {
        let Args { name, clients, rps, outage, fault, .. } = self.args;
        let fault = match fault {
            Fault::Hang => "hangs",
            Fault::Refuse => "refuses connections",
            Fault::Error => "answers with errors",
        };
        let clients =
            if *clients == 1 { "1 client makes".to_owned() } else { format!("{clients} clients make") };
        let name = name.escape_debug();
        format!("{name}: {clients} {rps} calls/s to a service that {fault} for {}", duration::print(*outage))
    }

    fn as_written(&self) -> Option<&Report> {
        self.comparison.report(Variant::AsWritten)
    }

    /// What was demanded of the policy and does not hold, in words.
    fn missed(&self) -> Vec<String> {
        let Some(report) = self.as_written() else { return Vec::new() };
        let mut missed = Vec::new();
        if let Some(most) = self.args.max_amplification.filter(|most| report.amplification() > *most) {
            missed.push(format!(
                "missed: {:.2} requests for each call are more than {most}",
                report.amplification()
            ));
        }
        if let Some(most) = self.args.max_recovery.filter(|most| !report.recovers_within(*most)) {
            let within = duration::print(most);
            missed.push(match report.recovery() {
                Some(took) => {
                    format!("missed: calls succeed again after {}, not within {within}", text::seconds(took))
                }
                None => format!("missed: calls do not succeed again, and should within {within}"),
            });
        }
        missed
    }
}
