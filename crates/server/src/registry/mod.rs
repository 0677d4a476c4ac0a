//! Workflows and services of a server: which versions there are, where they came from, and what new tasks are of.
//!
//! A workflow comes as a text, from a folder or over the API. Its meaning is compared with the version that is in force: the same
//! changes nothing, another one becomes the next version and is stored before anybody can submit to it. Old versions stay for as
//! long as the store has them, since running tasks stay on theirs. What cannot be built any more is told, and its tasks wait.

mod apply;
mod check;
mod folder;
mod house;
mod number;
mod world;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use serde_json::Value;
use steadfast::resilience::Pipeline;
use steadfast::resilience::policy::Live;
use steadfast::{Engine, EngineBuilder, Opened, PutText, Service, Time, Workflow, WorkflowText};
use steadfast_flow::{FlowFile, Format};
use steadfast_http::{DEFAULT_CONNECT_TIMEOUT, EnvSecrets, FolderSecrets, HttpAgent, Target};

use crate::config::{AlertsConfig, Config, ServiceConfig};
use crate::trace;
use crate::webhook::Webhooks;
pub(crate) use folder::watch;
use number::{Numbered, number};
use world::World;

/// Where the API takes answers that come later.
const CALLBACKS: &str = "/api/v1/callbacks/";

/// Where a workflow came from that an earlier process had.
const STORED: &str = "store";

/// Workflows and services of a server. Clones are one and the same.
#[derive(Clone)]
pub struct Registry {
    inner: Arc<Inner>,
}

struct Inner {
    config: ArcSwap<Config>,
    live: Live,
    agent: Arc<HttpAgent>,
    webhooks: Webhooks,
    flows: Mutex<Flows>,
    /// Held while a workflow is added, so that two do not take one number.
    adding: tokio::sync::Mutex<()>,
    engine: OnceLock<Engine>,
    /// Where the server listens.
    address: OnceLock<SocketAddr>,
    /// What services are limited to, from when a workflow has first named them to the next start.
    in_force: Mutex<BTreeMap<String, Limits>>,
    /// See [`Registry::news`].
    news: AtomicU64,
    /// The files of the folder, as they were read at the start.
    read: Mutex<BTreeMap<PathBuf, String>>,
}

/// What only a restart changes of a service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limits {
    pub(crate) most_running: Option<usize>,
    pub(crate) most_per_second: Option<f64>,
    pub(crate) ramp: bool,
}

impl Limits {
    fn of(config: &ServiceConfig) -> Self {
        let ServiceConfig { most_running, most_per_second, ramp, .. } = *config;
        Self { most_running, most_per_second, ramp }
    }
}

/// All versions of all workflows, by name.
type Flows = BTreeMap<String, BTreeMap<u32, Flow>>;

/// One version of a workflow.
#[derive(Clone)]
pub(crate) struct Flow {
    pub(crate) file: Arc<FlowFile>,
    /// Where it came from: a file's name, `api`, or `store` for one that an earlier process had.
    pub(crate) from: Arc<str>,
    /// What tasks are worked on by; why not, if it cannot be built.
    pub(crate) built: Result<Workflow<Value, Value>, Arc<str>>,
}

/// What became of a workflow that was handed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) name: String,
    pub(crate) version: u32,
    /// Whether it is a new version; and whether there was none before.
    pub(crate) is_new: bool,
    pub(crate) is_first: bool,
}

/// Why a workflow was not taken.
#[derive(Debug)]
pub(crate) enum NotApplied {
    /// The text makes no sense; everything that is wrong with it.
    Bad(steadfast_flow::Error),
    /// The version that it names has another meaning.
    Taken(String),
    /// The engine or the store said no.
    Engine(steadfast::Error),
}

impl std::fmt::Display for NotApplied {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bad(error) => error.fmt(f),
            Self::Taken(words) => f.write_str(words),
            Self::Engine(error) => error.fmt(f),
        }
    }
}

impl Registry {
    /// The services of these settings; workflows come with [`open`](Self::open).
    ///
    /// # Errors
    /// Everything that is wrong with the services' addresses, in words.
    pub fn new(config: Config) -> Result<Self, String> {
        let agent = targets(&config)
            .into_iter()
            .fold(trace::of_calls(with_secrets(&config)), |agent, (name, target)| agent.target(name, target));
        let agent = agent.build().map_err(|error| error.to_string())?;
        let webhooks = Webhooks::new(&config, with_secrets(&config))?;
        let live = Live::with_clock(config.policies.clone(), steadfast::resilience::clock::Clock::system());
        let inner = Inner {
            config: ArcSwap::from_pointee(config),
            live,
            agent: Arc::new(agent),
            webhooks,
            flows: Mutex::default(),
            adding: tokio::sync::Mutex::default(),
            engine: OnceLock::new(),
            address: OnceLock::new(),
            in_force: Mutex::default(),
            news: AtomicU64::new(0),
            read: Mutex::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The server listens there: services call back at that address, unless the settings name another one.
    pub(crate) fn listens(&self, address: SocketAddr) {
        let _ = self.inner.address.set(address);
        self.set_callbacks(&self.config());
    }

    fn set_callbacks(&self, config: &Config) {
        let listens = || self.inner.address.get().map(|address| format!("http://{address}"));
        let base = config.callback_url.clone().or_else(listens);
        self.inner.agent.set_callbacks(base.map(|base| format!("{base}{CALLBACKS}")));
    }

    /// Opens the store, takes over the workflows that it has and those of the folder, and begins to work.
    ///
    /// # Errors
    /// The store's; files of the folder that make no sense, with everything that is wrong with them.
    pub async fn open(&self, builder: EngineBuilder) -> Result<Engine, String> {
        let words = |error: steadfast::Error| format!("{error:?}");
        let mut opened = builder.open().map_err(words)?;
        self.take_over(opened.workflow_texts().await.map_err(words)?);
        self.build_all();
        let folder = self.config().workflows.clone();
        if let Some(folder) = folder {
            self.read_folder(&mut opened, &folder).await?;
        }
        for workflow in self.built() {
            opened = opened.workflow(&workflow);
        }
        let engine = opened.start().await.map_err(words)?;
        let _ = self.inner.engine.set(engine.clone());
        Ok(engine)
    }

    /// Takes over the files of the folder, all or none: what does not make sense is refused before anything is stored.
    async fn read_folder(&self, opened: &mut Opened, folder: &std::path::Path) -> Result<(), String> {
        let mut new = Vec::new();
        for (path, file) in folder::read(folder)? {
            let numbered = self.numbered(&file).map_err(|words| format!("{path}: {words}"))?;
            self.inner
                .read
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(PathBuf::from(&path), file.text().to_owned());
            let from: Arc<str> = Arc::from(path);
            if let Numbered::New { version, .. } = numbered {
                new.push((Arc::clone(&from), text_of(&file, version)));
                self.keep(version, file, &from);
            } else {
                self.came_from(&file, numbered.version(), &from);
            }
        }
        self.build_all();
        if let broken @ [_, ..] = &*self.broken() {
            return Err(broken.join("\n"));
        }
        for (path, text) in new {
            let (name, version) = (Arc::clone(&text.name), text.version);
            let put = opened.put_text(text).await.map_err(|error| error.to_string())?;
            tracing::info!(workflow = %name, version, from = %path, "a workflow has come");
            if let PutText::Stands(_) = put {
                return Err(format!("{path}: version {version} of `{name}` was stored by somebody else"));
            }
        }
        Ok(())
    }

    /// Takes over other settings: services and webhooks, their addresses, and policies. What cannot change while it works is told.
    ///
    /// # Errors
    /// Everything that is wrong with the services' addresses, in words. Nothing has changed then.
    pub fn reload(&self, config: Config) -> Result<Vec<String>, String> {
        if let gone @ [_, ..] = &*self.still_called(&config) {
            return Err(gone.join("\n"));
        }
        let before = self.config();
        self.inner.agent.set(targets(&config)).map_err(|error| error.to_string())?;
        if let Err(words) = self.inner.webhooks.set(&config) {
            // They were fit a moment ago.
            let _ = self.inner.agent.set(targets(&before));
            return Err(words);
        }
        self.set_callbacks(&config);
        let changes = self.inner.live.apply(config.policies.clone());
        let mut told: Vec<_> = changes.all().iter().map(ToString::to_string).collect();
        told.extend(taken_over(&before, &config));
        told.extend(needs_restart(&before, &config));
        if told.is_empty() {
            told.push("nothing changed".to_owned());
        }
        self.inner.config.store(Arc::new(config));
        self.inner.news.fetch_add(1, Ordering::Relaxed);
        Ok(told)
    }

    /// Services and retry policies that these settings do not have, and that tasks of this server need.
    fn still_called(&self, config: &Config) -> Vec<String> {
        let flows = self.flows();
        let retries = config.policies.retries();
        let mut gone: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, versions) in &*flows {
            for (version, flow) in versions.iter().filter(|(_, flow)| flow.built.is_ok()) {
                let services =
                    flow.file.services().into_iter().filter(|name| !config.services.contains_key(*name));
                let policies = flow.file.retries().into_iter().filter(|name| !retries.contains(name));
                let keys = services
                    .map(|name| format!("service.{name}"))
                    .chain(policies.map(|name| format!("retry.{name}")));
                for key in keys {
                    gone.entry(key).or_default().push(format!("`{name}` version {version}"));
                }
            }
        }
        let told = gone.into_iter().map(|(key, users)| {
            format!(
                "{key}: it is gone, and tasks of {} need it: leave it in, or start the server anew, which has such tasks wait",
                users.join(", ")
            )
        });
        told.collect()
    }

    /// What a service is limited to until the next start.
    pub(crate) fn limits_of(&self, name: &str, config: &ServiceConfig) -> Limits {
        let in_force = self.inner.in_force.lock().unwrap_or_else(PoisonError::into_inner);
        in_force.get(name).copied().unwrap_or_else(|| Limits::of(config))
    }

    /// The files of the folder, as they were read at the start; who asks has them.
    fn take_read(&self) -> BTreeMap<PathBuf, String> {
        std::mem::take(&mut *self.inner.read.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn config(&self) -> Arc<Config> {
        self.inner.config.load_full()
    }

    pub(crate) fn webhooks(&self) -> &Webhooks {
        &self.inner.webhooks
    }

    pub(crate) fn live(&self) -> &Live {
        &self.inner.live
    }

    /// All versions of all workflows, as they are now.
    pub(crate) fn snapshot(&self) -> Flows {
        self.flows().clone()
    }

    /// The workflow of this name: in this version, or the one that new tasks are of.
    pub(crate) fn workflow(&self, name: &str, version: Option<u32>) -> Option<Workflow<Value, Value>> {
        let flows = self.flows();
        let versions = flows.get(name)?;
        let flow = match version {
            Some(version) => versions.get(&version)?,
            None => versions.values().rev().find(|flow| flow.built.is_ok())?,
        };
        flow.built.clone().ok()
    }

    /// The service of this name, as steps call it.
    pub(crate) fn service(&self, name: &str) -> Option<Service> {
        self.service_by(name, self.inner.live.pipeline(name))
    }

    /// The same with the retry policy of this name, and the service's own breaker, budget and limit. It is as the policy was when the
    /// workflow was built.
    pub(crate) fn service_with_retry(&self, name: &str, retry: &str) -> Option<Service> {
        let (policies, own) = (self.inner.live.policies(), self.inner.live.pipeline(name));
        let mut pipeline = policies.pipeline(name).retry(policies.retry(retry)?);
        if let Some(breaker) = own.breaker() {
            pipeline = pipeline.shared_breaker(&breaker);
        }
        if let Some(budget) = own.budget() {
            pipeline = pipeline.shared_budget(&budget);
        }
        if let Some(limit) = own.limit() {
            pipeline = pipeline.shared_limit(&limit);
        }
        self.service_by(name, pipeline.build().ok()?)
    }

    fn service_by(&self, name: &str, pipeline: Pipeline) -> Option<Service> {
        let config = self.config();
        let named = Limits::of(config.services.get(name)?);
        let mut in_force = self.inner.in_force.lock().unwrap_or_else(PoisonError::into_inner);
        let own = *in_force.entry(name.to_owned()).or_insert(named);
        drop(in_force);
        let service = Service::new(pipeline);
        let service = own.most_running.into_iter().fold(service, Service::most_running);
        let service = if own.ramp { service } else { service.without_ramp() };
        match own.most_per_second {
            Some(rate) => service.most_per_second(rate).ok(),
            None => Some(service),
        }
    }

    fn numbered(&self, file: &FlowFile) -> Result<Numbered, String> {
        let flows = self.flows();
        let digests: BTreeMap<_, _> = flows
            .get(file.name())
            .into_iter()
            .flatten()
            .map(|(version, flow)| (*version, flow.file.digest()))
            .collect();
        number(file.name(), file.version(), &file.digest(), &digests)
    }

    fn keep(&self, version: u32, file: FlowFile, from: &Arc<str>) {
        let name = file.name().to_owned();
        let built = Err(Arc::from("it was not built yet"));
        let flow = Flow { file: Arc::new(file), from: Arc::clone(from), built };
        self.flows().entry(name).or_default().insert(version, flow);
    }

    /// Where the newest version of a workflow came from, and which one that file says that it is.
    fn comes_from(&self, name: &str) -> Option<(Arc<str>, Option<u32>)> {
        let flows = self.flows();
        let (_, newest) = flows.get(name)?.last_key_value()?;
        Some((Arc::clone(&newest.from), newest.file.version()))
    }

    fn came_from(&self, file: &FlowFile, version: u32, from: &Arc<str>) {
        if let Some(flow) = self.flows().get_mut(file.name()).and_then(|versions| versions.get_mut(&version))
        {
            flow.from = Arc::clone(from);
        }
    }

    /// Builds one; its children are those that are in force.
    fn build(&self, file: &FlowFile, version: u32) -> Result<Workflow<Value, Value>, steadfast_flow::Error> {
        let agent: Arc<dyn steadfast_flow::Agent> = Arc::<HttpAgent>::clone(&self.inner.agent);
        let built = file.build(version, &World(self), agent)?;
        Ok(Workflow::untyped(Arc::new(built)))
    }

    /// Builds all that are not built, children before those who ask for them.
    fn build_all(&self) {
        let mut progress = true;
        while progress {
            progress = false;
            for (name, version, file) in self.unbuilt() {
                let built = self.build(&file, version).map_err(|error| Arc::from(error.to_string()));
                progress |= built.is_ok();
                self.set_built(&name, version, built);
            }
        }
    }

    /// All workflows that could be built, and a word on those that could not.
    fn built(&self) -> Vec<Workflow<Value, Value>> {
        let flows = self.flows();
        let mut built = Vec::new();
        for (name, versions) in &*flows {
            for (version, flow) in versions {
                match &flow.built {
                    Ok(workflow) => built.push(workflow.clone()),
                    Err(why) => {
                        tracing::warn!(workflow = %name, version, "tasks of it wait, since it cannot be built: {why}");
                    }
                }
            }
        }
        built
    }

    fn flows(&self) -> MutexGuard<'_, Flows> {
        self.inner.flows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry").field("workflows", &self.flows().len()).finish_non_exhaustive()
    }
}

/// A version as it is stored.
fn text_of(file: &FlowFile, version: u32) -> WorkflowText {
    let format = match file.format() {
        Format::Json => "json",
        _ => "yaml",
    };
    WorkflowText {
        name: Arc::from(file.name()),
        version,
        digest: Arc::from(file.digest()),
        format: Arc::from(format),
        text: Arc::from(file.text()),
        at: Time::from_millis(0),
    }
}

/// An agent that knows where secrets are.
fn with_secrets(config: &Config) -> steadfast_http::Builder {
    match &config.secrets {
        Some(folder) => HttpAgent::builder().secrets(FolderSecrets::new(folder)),
        None => HttpAgent::builder().secrets(EnvSecrets),
    }
}

fn targets(config: &Config) -> Vec<(String, Target)> {
    let target = |(name, service): (&String, &ServiceConfig)| {
        let attempt =
            config.policies.pipeline(name).build().ok().and_then(|pipeline| pipeline.attempt_timeout());
        (name.clone(), target(service, attempt))
    };
    config.services.iter().map(target).collect()
}

/// A connection that is not made in time had no effect, and an attempt that is cut off may have had one: the former has to end first.
fn connect_timeout(service: &ServiceConfig, attempt: Option<Duration>) -> Duration {
    let own = service.connect_timeout.unwrap_or(DEFAULT_CONNECT_TIMEOUT);
    attempt.map_or(own, |attempt| own.min(attempt / 4 * 3))
}

fn target(service: &ServiceConfig, attempt: Option<Duration>) -> Target {
    let bytes = |size: u64| usize::try_from(size).unwrap_or(usize::MAX);
    let mut target = Target::new(&service.url);
    for (name, value) in &service.headers {
        target = target.header(name, value);
    }
    for secret in &service.secrets {
        target = target.allow_secret(secret);
    }
    if let Some(size) = service.max_request {
        target = target.max_request(bytes(size));
    }
    if let Some(size) = service.max_response {
        target = target.max_response(bytes(size));
    }
    target = target.connect_timeout(connect_timeout(service, attempt));
    if let Some(pem) = &service.root_certificates {
        target = target.root_certificates(pem.as_str());
    }
    if service.http2 { target.http2_prior_knowledge() } else { target }
}

/// Services and webhooks that are others from now on: where they are, what goes to them, whom they are trusted by.
fn taken_over(before: &Config, after: &Config) -> Vec<String> {
    let mut told = Vec::new();
    for (name, service) in &after.services {
        match before.services.get(name) {
            None => told.push(format!("service.{name}: is new")),
            Some(was) => {
                // These are told apart: they wait for a restart.
                let mut same = was.clone();
                (same.most_running, same.most_per_second, same.ramp) =
                    (service.most_running, service.most_per_second, service.ramp);
                told.extend(
                    (same != *service).then(|| format!("service.{name}: is called as it is set up now")),
                );
            }
        }
    }
    let gone = before.services.keys().filter(|name| !after.services.contains_key(*name));
    told.extend(gone.map(|name| format!("service.{name}: is gone")));
    let webhooks = after.alerts.webhooks.iter();
    let other = webhooks
        .filter(|(name, webhook)| before.alerts.webhooks.get(*name).is_some_and(|was| was != *webhook));
    told.extend(other.map(|(name, _)| format!("alerts.webhook.{name}: is told as it is set up now")));
    let gone = before.alerts.webhooks.keys().filter(|name| !after.alerts.webhooks.contains_key(*name));
    told.extend(gone.map(|name| format!("alerts.webhook.{name}: is told no more")));
    told
}

/// Settings that only a restart changes, of those that have changed.
fn needs_restart(before: &Config, after: &Config) -> Vec<String> {
    let limits = |config: &Config, name: &str| config.services.get(name).map(Limits::of);
    let tries = |config: &Config| {
        let AlertsConfig { tries, within, first_wait, longest_wait, .. } = config.alerts;
        (tries, within, first_wait, longest_wait)
    };
    let mut keys = vec![
        ("listen".to_owned(), before.listen != after.listen),
        ("store".to_owned(), before.store != after.store),
        ("workflows".to_owned(), before.workflows != after.workflows),
        ("secrets".to_owned(), before.secrets != after.secrets),
        ("grace".to_owned(), before.grace != after.grace),
        ("retention".to_owned(), (before.keep, before.keep_keys) != (after.keep, after.keep_keys)),
        ("limits".to_owned(), before.limits != after.limits),
        ("log".to_owned(), before.log != after.log),
        ("telemetry".to_owned(), before.otlp != after.otlp),
        ("alerts: tries, within, first_wait, longest_wait".to_owned(), tries(before) != tries(after)),
    ];
    let is_new = |name: &&String| !before.alerts.webhooks.contains_key(*name);
    let new = after.alerts.webhooks.keys().filter(is_new);
    keys.extend(new.map(|name| (format!("alerts.webhook.{name}"), true)));
    keys.extend(before.services.keys().filter(|name| after.services.contains_key(*name)).map(|name| {
        (
            format!("service.{name}: most_running, most_per_second, ramp"),
            limits(before, name) != limits(after, name),
        )
    }));
    keys.into_iter()
        .filter(|(_, changed)| *changed)
        .map(|(key, _)| format!("{key}: changed in the file, and takes effect after a restart"))
        .collect()
}
