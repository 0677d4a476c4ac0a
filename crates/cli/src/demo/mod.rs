//! `steadfast demo`: the shop of `examples/shop` on a real server, all in this process, and a story that checks itself.
//! This file has the options and the order of events; `premises.rs` opens and closes everything, `folder.rs` is where it keeps its
//! files, `words.rs` what is said.

mod folder;
mod premises;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use steadfast_form::duration;
use steadfast_shop::{Beat, Report, SHORTEST, Story};
use tokio::signal::unix::{Signal, SignalKind, signal};

use self::folder::Folder;
use self::premises::Premises;
use crate::exit;
use crate::global::Global;
use crate::show::Out;
use crate::talk;

/// The longest story: an order that waits may take ten minutes, and one that was placed before an outage should live through it.
const LONGEST: Duration = Duration::from_secs(600);
/// Orders in a second: fewer tell nothing of a tenth of a second, and each is a transaction of its own, with a sync.
const RATES: std::ops::RangeInclusive<u32> = 10..=200;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Tell the story within this time, from 10s to 10m, and end; without it the story takes a minute and the shop stays open
    #[arg(long = "for", value_name = "TIME", value_parser = lasting)]
    lasts: Option<Duration>,
    /// Keep everything in this folder, to go on from there next time [default: a temporary one, removed in the end]
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// The port of the storefront; 0 is any that is free
    #[arg(long, value_name = "PORT", default_value_t = 7180)]
    port: u16,
    /// The port of the server's API; 0 is any that is free
    #[arg(long, value_name = "PORT", default_value_t = 7171)]
    api_port: u16,
    /// Orders a second, from 10 to 200
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = rate)]
    rate: u32,
    /// The seed of the traffic: the same orders at the same times
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// How long the story takes where nothing is said.
const MINUTE: Duration = Duration::from_secs(60);

fn lasting(text: &str) -> Result<Duration, String> {
    let time = duration::parse_long(text)?;
    if (SHORTEST..=LONGEST).contains(&time) {
        Ok(time)
    } else {
        Err("give a time from 10s to 10m".to_owned())
    }
}

fn rate(text: &str) -> Result<u32, String> {
    let rate = text.parse().ok().filter(|rate| RATES.contains(rate));
    rate.ok_or_else(|| format!("give a whole number from {} to {}", RATES.start(), RATES.end()))
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the threads that this needs")?;
    runtime.block_on(open(args, &Out::new(global)))
}

/// Opens the shop, and closes it again whatever came of the story. The folder goes last.
async fn open(args: &Args, out: &Out) -> Result<ExitCode> {
    let mut wishes = Wishes::listen()?;
    let folder = Folder::open(args.data.as_deref())?;
    let premises = Premises::open(&folder, args.port, args.api_port).await?;
    talk::line(&words::welcome(&premises, &folder));
    let told = tell(args, out, &premises, &mut wishes).await;
    tokio::select! {
        closed = premises.close() => closed?,
        () = wishes.stop() => talk::line("Stopped at once."),
    }
    told
}

/// Tells the story, and keeps the shop open if nothing else was asked for.
async fn tell(args: &Args, out: &Out, premises: &Premises, wishes: &mut Wishes) -> Result<ExitCode> {
    let story = Story::default().seed(args.seed).orders_per_second(args.rate);
    let lasts = args.lasts.unwrap_or(MINUTE);
    let say = |beat: Beat| talk::note(Duration::from_millis(beat.at_ms), &beat.words);
    let report = tokio::select! {
        report = story.run(premises.world(), lasts, say) => report?,
        () = wishes.stop() => {
            talk::line("\nStopped by Ctrl-C, so there are no figures.");
            return Ok(ExitCode::from(exit::INTERRUPTED));
        }
    };
    talk::line("");
    out.show(&report, || report.to_string())?;
    if args.lasts.is_none() {
        talk::line(&words::stays_open(premises));
        wishes.stop().await;
        talk::line("\nClosing.");
    }
    Ok(verdict(&report))
}

fn verdict(report: &Report) -> ExitCode {
    if report.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Somebody wants it to end: Ctrl-C, or SIGTERM.
struct Wishes {
    interrupt: Signal,
    terminate: Signal,
}

impl Wishes {
    fn listen() -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    async fn stop(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
