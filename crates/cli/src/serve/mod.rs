//! `steadfast serve`: a server until it is told to stop.

mod log;
mod telemetry;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow};
use steadfast_server::{Config, Running};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::talk;
use telemetry::Telemetry;

/// The settings that are used where nothing is said, if they are there.
pub(crate) const FILE: &str = "steadfast.toml";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The settings [default: steadfast.toml in the current folder, if it is there]
    #[arg(long, short, value_name = "FILE", env = "STEADFAST_CONFIG")]
    config: Option<PathBuf>,
    /// Where to listen, in the place of the settings' `listen`
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// The folder for the store, in the place of the settings' `data`
    #[arg(long, value_name = "FOLDER")]
    data: Option<String>,
    /// A folder with workflow files, in the place of the settings' `workflows`
    #[arg(long, value_name = "FOLDER")]
    workflows: Option<String>,
}

impl Args {
    /// The settings: the file, then the environment, then the command line.
    fn settings(&self) -> Result<Config> {
        let said = self.config.clone();
        let file = said.or_else(|| Some(PathBuf::from(FILE)).filter(|file| file.exists()));
        read(file.as_deref(), self.overrides())
    }

    fn overrides(&self) -> Vec<(String, String)> {
        let said = [("LISTEN", &self.listen), ("DATA", &self.data), ("WORKFLOWS", &self.workflows)];
        said.into_iter()
            .filter_map(|(key, value)| Some((format!("STEADFAST_{key}"), value.clone()?)))
            .collect()
    }
}

/// Reads settings with the variables of the environment, which these win over.
pub(crate) fn read(file: Option<&Path>, said: Vec<(String, String)>) -> Result<Config> {
    let mut variables = steadfast_server::variables();
    variables.retain(|(name, _)| !said.iter().any(|(own, _)| own == name));
    variables.extend(said);
    Config::read(file, variables).map_err(|error| anyhow!("{error}"))
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let config = args.settings()?;
    let telemetry = Telemetry::begin(&config)?;
    log::begin(&config, &telemetry)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the threads that this needs")?;
    match runtime.block_on(serve(config, args.overrides(), &telemetry)) {
        Ok(End::AtOnce) => {
            // Neither a thread that stands still nor a collector that does not answer is waited for.
            runtime.shutdown_background();
            std::mem::forget(telemetry);
            Ok(ExitCode::from(crate::exit::INTERRUPTED))
        }
        ended => {
            drop(runtime);
            // After what runs has said its last: it sends from threads of its own, and waits for them.
            telemetry.end();
            ended.map(|_| ExitCode::SUCCESS)
        }
    }
}

/// How a server has ended that was told to.
enum End {
    InOrder,
    AtOnce,
}

async fn serve(config: Config, said: Vec<(String, String)>, telemetry: &Telemetry) -> Result<End> {
    let (store, file) = (config.store.clone(), config.file.clone());
    let mut signals = Signals::listen()?;
    let metrics = telemetry.measure().map_err(|error| anyhow!("{error}"))?;
    let running =
        steadfast_server::start(config, Some(metrics), said).await.map_err(|error| anyhow!("{error}"))?;
    talk::line(&format!("Steadfast listens on http://{}, its store is {store}.", running.address()));
    talk::line("Ctrl-C stops it in good order; a second one at once.");
    loop {
        match signals.next().await {
            Wish::Reload => match &file {
                Some(_) => running.reload(),
                None => tracing::warn!("asked to read the settings again, and there is no file"),
            },
            Wish::Stop => return stop(running, &mut signals).await,
        }
    }
}

/// Lets what runs end; a second wish ends it at once.
async fn stop(running: Running, signals: &mut Signals) -> Result<End> {
    talk::line("Stopping: what runs may end, the rest goes on with the next start.");
    tokio::select! {
        ended = running.shut_down() => {
            let left = ended.map_err(|error| anyhow!("{error}"))?;
            talk::line(&format!("Stopped. {left} attempts were cut off."));
            Ok(End::InOrder)
        }
        () = signals.stop() => {
            talk::line("Stopped at once: what ran goes on with the next start.");
            Ok(End::AtOnce)
        }
    }
}

/// What somebody wants of the server.
enum Wish {
    Reload,
    Stop,
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    fn listen() -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Wish {
        tokio::select! {
            _ = self.interrupt.recv() => Wish::Stop,
            _ = self.terminate.recv() => Wish::Stop,
            _ = self.hang_up.recv() => Wish::Reload,
        }
    }

    async fn stop(&mut self) {
        while let Wish::Reload = self.next().await {}
    }
}
