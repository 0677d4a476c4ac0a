//! `steadfast demo`: a real service goes down and comes back, once behind the library's defaults and once without.
//! This file only tells the order of the show; each part has a file of its name.

mod client;
mod contender;
mod ledger;
mod live;
mod play;
mod recovery;
mod report;
mod script;
mod service;
mod worker;

use std::io::Write as _;

use anyhow::{Context, Result};

use self::contender::{ATTEMPT_TIMEOUT, Contender};
use self::ledger::LOSES_ONE_IN;
use self::report::Report;
use self::script::{MAX_SECONDS, MIN_SECONDS, Script};
use crate::talk;

/// Ten failures in a row trip the breaker. At fewer calls a second that takes so long that in the shortest show it
/// would still be open at the end.
const MIN_RATE: u32 = 50;
/// Each request is a connection of its own. With three attempts of 300 ms each, a call keeps two files open for 0.9 s of
/// its time: 720 files at this rate, well within the usual limit of 1024.
const MAX_RATE: u32 = 400;

/// What the show is like.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Args {
    /// Length of each of the two runs in seconds, from 4 to 45
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = seconds)]
    seconds: u32,
    /// Calls a second, from 50 to 400
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = rate)]
    rate: u32,
    /// Print the summary as one JSON object
    #[arg(long)]
    json: bool,
}

fn seconds(text: &str) -> Result<u32, String> {
    within(text, MIN_SECONDS, MAX_SECONDS, "seconds")
}

fn rate(text: &str) -> Result<u32, String> {
    within(text, MIN_RATE, MAX_RATE, "calls a second")
}

fn within(text: &str, least: u32, most: u32, unit: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("give a whole number of {unit} from {least} to {most}")),
    }
}

/// Runs the demo.
pub(crate) async fn run(args: Args) -> Result<()> {
    let script = Script::of_seconds(args.seconds);
    introduce(script, args.rate);
    talk::line(&format!("\nRun 1 of 2: {}.", Contender::Steadfast.title()));
    let steadfast = play::play(script, args.rate, Contender::Steadfast).await?;
    talk::line(&format!("\nRun 2 of 2: {}.", Contender::ThreeAttempts.title()));
    let three_attempts = play::play(script, args.rate, Contender::ThreeAttempts).await?;
    talk::line("");
    print(&Report { script, rate: args.rate, steadfast, three_attempts }, args.json)
}

fn introduce(script: Script, rate: u32) {
    talk::line(&talk::folded(
        &format!(
            "A service on a local port is called {rate} times a second for {:?}. It is up for {:.1?}, down for {:.1?}, \
             and up again. It can serve a quarter more requests than that, one after the other. The others wait in its \
             queue, where they stay when their callers give up: it does not know. Even while up it loses one answer \
             in {LOSES_ONE_IN}, after the work was done.",
            script.length(),
            script.down_at(),
            script.outage(),
        ),
        0,
    ));
    talk::line(&talk::folded(
        &format!(
            "Two settings are shortened for the show: an attempt may take {ATTEMPT_TIMEOUT:?} (default 10s), and the \
             breaker is open for {:.1?} at first (default 5s). Each line below is about one half second.",
            script.open_for(),
        ),
        0,
    ));
}

fn print(report: &Report, json: bool) -> Result<()> {
    let text = if json { format!("{}\n", report.to_json()) } else { report.to_table() };
    std::io::stdout().write_all(text.as_bytes()).context("cannot write the summary to stdout")
}
