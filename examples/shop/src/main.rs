//! The shop in one process: services, engine, storefront, and the story. `steadfast demo` is the same with a server.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use steadfast_shop::{Beat, Local, Report, Storefront, Story, Town, World};

/// The story's length where nothing is said.
const MINUTE: u64 = 60;

/// A shop whose services fail, and the story that shows what becomes of its orders.
///
/// Data goes to stdout, talk to stderr. It exits with 0 if all was as promised, else with 1.
#[derive(Debug, Parser)]
#[command(
    after_help = "Examples:\n  cargo run -p steadfast-shop\n  cargo run -p steadfast-shop -- --for 60s --json"
)]
struct Arguments {
    /// Tells the story within this many seconds, such as `60` or `60s`, and ends; without it the shop stays open.
    #[arg(long = "for", value_name = "SECONDS", value_parser = seconds)]
    lasts: Option<u64>,
    /// Prints the report as JSON.
    #[arg(long)]
    json: bool,
    /// The traffic's seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Orders in a second, from 1 to 200.
    #[arg(long, default_value_t = 40)]
    rate: u32,
    /// The port of the storefront; 0 is any that is free.
    #[arg(long, default_value_t = 7180)]
    port: u16,
    /// The file of the store; without it one that is removed in the end.
    #[arg(long, value_name = "FILE")]
    database: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<u64, String> {
    let digits = text.strip_suffix('s').unwrap_or(text);
    digits.parse().map_err(|_| "give a number of seconds, such as 60 or 60s".to_owned())
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => told(&*error),
    }
}

/// Whether all was as promised.
async fn run(arguments: &Arguments) -> Result<bool, Box<dyn Error>> {
    match &arguments.database {
        Some(file) => open(arguments, file).await,
        None => {
            let folder = Folder::new()?;
            open(arguments, &folder.file()).await
        }
    }
}

/// Opens the shop over this file.
async fn open(arguments: &Arguments, file: &Path) -> Result<bool, Box<dyn Error>> {
    let town = Arc::new(Town::start().await?);
    let engine = Arc::new(Local::start(file, &town).await?);
    let world = Arc::new(World::open(Arc::clone(&town), engine.clone()).await?);
    let storefront = Storefront::open(Arc::clone(&world), arguments.port).await?;
    eprintln!("the shop is at {}", storefront.url());
    for service in town.services() {
        eprintln!("{:>9} is at {}/ledger", service.kind().name(), service.url());
    }
    let lasts = Duration::from_secs(arguments.lasts.unwrap_or(MINUTE));
    let story = Story::default().seed(arguments.seed).orders_per_second(arguments.rate);
    let report = tokio::select! {
        report = story.run(&world, lasts, |beat| tell(&beat)) => report?,
        _ = tokio::signal::ctrl_c() => return Ok(false),
    };
    print(&report, arguments.json)?;
    if arguments.lasts.is_none() {
        eprintln!("the shop stays open at {}; Ctrl-C closes it", storefront.url());
        tokio::signal::ctrl_c().await?;
    }
    drop((storefront, world));
    engine.shut_down().await?;
    Ok(report.ok)
}

fn tell(beat: &Beat) {
    let seconds = Duration::from_millis(beat.at_ms).as_secs_f64();
    eprintln!("{seconds:>6.1} s  {}", beat.words);
}

fn print(report: &Report, as_json: bool) -> Result<(), Box<dyn Error>> {
    match as_json {
        true => println!("{}", serde_json::to_string_pretty(report)?),
        false => println!("{report}"),
    }
    Ok(())
}

fn told(error: &dyn Error) -> ExitCode {
    eprintln!("error: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        eprintln!("  because: {error}");
        cause = error.source();
    }
    ExitCode::FAILURE
}

/// A folder of this process alone, removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, std::io::Error> {
        let path = std::env::temp_dir().join(format!("steadfast-shop-{}", std::process::id()));
        // One that is there already is somebody else's.
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }

    fn file(&self) -> PathBuf {
        self.0.join("shop.db")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is left to the system's own cleaning of temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
