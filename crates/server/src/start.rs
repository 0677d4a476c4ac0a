//! A server from its start to its end.
//!
//! Start: settings, store, workflows, engine, then the door. End: the door is shut for new requests, what runs may end within the
//! grace, and the rest goes on when a server is started again.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use steadfast::resilience::clock::Clock;
use steadfast::{Engine, Settings};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::config::Config;
use crate::limits::Limits;
use crate::metrics::add_up;
use crate::registry::{self, Registry};
use crate::reload::{self, Source};
use crate::state::{Metrics, State};
use crate::trace;

/// Why a server did not start, with what to do.
#[derive(Debug)]
pub struct StartError(String);

impl StartError {
    pub(crate) fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StartError {}

/// A server at work. It stops when it is dropped, at once; [`shut_down`](Self::shut_down) stops it in good order.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    engine: Engine,
    registry: Registry,
    source: Option<Source>,
    stop: watch::Sender<bool>,
    door: JoinHandle<std::io::Result<()>>,
    watches: Vec<JoinHandle<()>>,
}

/// Starts a server. Must be called inside of a tokio runtime. What was said beside the file, such as on a command line, wins over the
/// file when that is read again.
///
/// # Errors
/// Settings, workflows or a store that cannot be used; an address that somebody else listens on.
pub async fn start(
    config: Config,
    metrics: Option<Metrics>,
    said: Vec<(String, String)>,
) -> Result<Running, StartError> {
    make_folder(&config)?;
    // The door first: a second server on the same port must not open the store.
    let listener = TcpListener::bind(config.listen).await.map_err(|error| {
        StartError(format!(
            "cannot listen on {}: {error}; is another server running? Set `listen` to another port",
            config.listen
        ))
    })?;
    let address = listener.local_addr().map_err(|error| StartError(format!("cannot listen: {error}")))?;
    let limits = limits(&config);
    let source = config.file.clone().map(|file| Source { file, said, text: config.text.clone() });
    let workflows = config.workflows.clone();
    let mut settings = settings(&config);
    let store = config.store.clone();
    let registry = Registry::new(config).map_err(StartError)?;
    registry.webhooks().listen(&mut settings.alerts);
    trace::of_steps(&mut settings);
    registry.listens(address);
    let engine = registry.open(Engine::builder(store).settings(settings)).await.map_err(StartError)?;
    let (stop, stopping) = watch::channel(false);
    let adds_up = metrics.clone().map(|metrics| tokio::spawn(add_up(metrics, Clock::system())));
    let state = State::new(engine.clone(), registry.clone(), limits, metrics, stopping.clone());
    let door = tokio::spawn(crate::serve(listener, crate::router(state.clone()), state, stopped(stopping)));
    let watches = watches(&registry, workflows, source.clone()).into_iter().chain(adds_up).collect();
    Ok(Running { address, engine, registry, source, stop, door, watches })
}

/// The folder of the embedded store, made if it is not there.
fn make_folder(config: &Config) -> Result<(), StartError> {
    let Some(path) = config.store.strip_prefix("sqlite:") else { return Ok(()) };
    let path = PathBuf::from(path.strip_prefix("//").unwrap_or(path));
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    std::fs::create_dir_all(folder).map_err(|error| {
        StartError(format!(
            "cannot make the folder {} for the store: {error}; set `data` to another one",
            folder.display()
        ))
    })
}

fn settings(config: &Config) -> Settings {
    let mut settings = Settings::default();
    settings.grace = config.grace;
    settings.keep = config.keep;
    settings.keep_keys = config.keep_keys;
    settings.most_open = config.limits.open_tasks;
    settings.most_owned = config.limits.owned_tasks;
    settings
}

fn limits(config: &Config) -> Limits {
    let mut limits = Limits::default();
    limits.most_in_flight = config.limits.requests;
    limits.most_streams = config.limits.streams;
    limits.body = config.limits.body;
    limits.grace = config.grace;
    limits
}

fn watches(registry: &Registry, workflows: Option<PathBuf>, source: Option<Source>) -> Vec<JoinHandle<()>> {
    let folder =
        workflows.map(|folder| tokio::spawn(registry::watch(registry.clone(), folder, Clock::system())));
    let settings =
        source.map(|source| tokio::spawn(reload::watch(registry.clone(), source, Clock::system())));
    folder.into_iter().chain(settings).collect()
}

/// Ends when the server is told to stop, or is gone.
async fn stopped(mut stopping: watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stop| *stop).await;
}

impl Running {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its engine.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Its workflows and services.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Reads the settings again, now; what was told of that is in the log.
    pub fn reload(&self) {
        if let Some(source) = &self.source {
            reload::take_over(&self.registry, source);
        }
    }

    /// Stops in good order: no new requests, and what runs may end within the grace of the settings. Returns how many attempts were cut
    /// off: they go on when a server is started again.
    ///
    /// # Errors
    /// The store's, in words; the server has stopped all the same.
    pub async fn shut_down(mut self) -> Result<usize, StartError> {
        let _ = self.stop.send(true);
        for watch in self.watches.drain(..) {
            watch.abort();
            // It holds the engine until it is gone, and the store is free only then.
            let _ = watch.await;
        }
        let left = self.engine.clone().shut_down().await;
        if let Ok(Err(error)) = (&mut self.door).await {
            tracing::warn!("the door did not close well: {error}");
        }
        left.map_err(|error| StartError(error.to_string()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.door.abort();
        self.watches.iter().for_each(JoinHandle::abort);
    }
}
