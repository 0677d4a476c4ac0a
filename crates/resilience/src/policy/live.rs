//! Policies that follow their file while calls go on.
//!
//! A pipeline is one and the same for its name, for ever: a reload puts other settings into it and leaves breaker,
//! budget, limit and counts. A call keeps the settings that it began with.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use arc_swap::ArcSwap;

use super::service::Service;
use super::{Changes, Error, Policies, text_of};
use crate::breaker::Breaker;
use crate::clock::Clock;
use crate::limit::Limit;
use crate::log;
use crate::pipeline::{Builder, Inner as Settings, Pipeline};
use crate::problem::Findings;
use crate::retry::{Budget, BudgetBuilder};

/// The shortest time between two looks at a file: nobody saves more often, and a file system has other work.
const LOOK_MIN: Duration = Duration::from_millis(20);

/// Policies that can change, and the pipelines made of them. Clones are one and the same.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("steadfast-live-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("policies.toml");
/// # std::fs::write(&path, "[service.payments]\nattempt_timeout = \"2s\"")?;
/// use steadfast_resilience::policy::Live;
///
/// let live = Live::open(&path)?;
/// let payments = live.pipeline("payments");
/// std::fs::write(&path, "[service.payments]\nattempt_timeout = \"5s\"")?;
/// let changes = live.reload()?; // or let `live.watch(..)` do it
/// assert_eq!(changes.to_string(), "service.payments.attempt_timeout: 2s -> 5s");
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Live {
    inner: Arc<Inner>,
}

struct Inner {
    path: Option<PathBuf>,
    clock: Clock,
    policies: ArcSwap<Policies>,
    slots: Mutex<HashMap<String, Slot>>,
    /// The file's text that is in force: what a watch compares with.
    text: Mutex<Option<String>>,
}

/// One pipeline, and what of it outlives its settings.
struct Slot {
    settings: Arc<ArcSwap<Settings>>,
    parts: Parts,
}

/// What keeps its state through a reload.
struct Parts {
    breaker: Breaker,
    budget: Budget,
    /// Made when the file first has one.
    limit: Mutex<Option<Limit>>,
}

impl Live {
    /// Policies from a file, to be reloaded from there.
    ///
    /// # Errors
    /// Everything that is wrong with the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref().to_owned();
        let text = text_of(&path, &path.display().to_string())?;
        let live = Self::new(Policies::of_text(&text, &path)?, Some(path), Clock::system());
        *live.in_force() = Some(text);
        Ok(live)
    }

    /// Policies made by the program, to be changed with [`apply`](Self::apply); on this clock.
    pub fn with_clock(policies: Policies, clock: impl Into<Clock>) -> Self {
        Self::new(policies, None, clock.into())
    }

    fn new(policies: Policies, path: Option<PathBuf>, clock: Clock) -> Self {
        log::policies_hurt(&policies, None);
        let policies = ArcSwap::from_pointee(policies);
        let (slots, text) = (Mutex::default(), Mutex::default());
        Self { inner: Arc::new(Inner { path, clock, policies, slots, text }) }
    }

    /// The policies in force.
    #[must_use]
    pub fn policies(&self) -> Policies {
        (**self.inner.policies.load()).clone()
    }

    /// The pipeline of this service, made at the first time; the same one, breaker and budget included, each time after.
    #[must_use]
    pub fn pipeline(&self, service: &str) -> Pipeline {
        let mut slots = self.slots();
        let slot = slots.entry(service.to_owned()).or_insert_with(|| {
            let policies = self.inner.policies.load();
            if let Some(near) = policies.nearest_service(service) {
                log::service_not_in_file(service, policies.file(), near);
            }
            Slot::new(service, &policies, &self.inner.clock)
        });
        Pipeline::live(service, &slot.settings)
    }

    /// Reads the file again and takes it over as a whole.
    ///
    /// # Errors
    /// Everything that is wrong with the file; nothing has changed then.
    pub fn reload(&self) -> Result<Changes, Error> {
        match &self.inner.path {
            Some(path) => self.take_over(text_of(path, &path.display().to_string())?, path),
            None => Ok(Changes::default()),
        }
    }

    /// Takes this text of the file over.
    fn take_over(&self, text: String, path: &Path) -> Result<Changes, Error> {
        let changes = self.apply(Policies::of_text(&text, path)?);
        *self.in_force() = Some(text);
        Ok(changes)
    }

    /// Takes other policies over as a whole. State, counts and budgets stay; calls under way end by the settings that they
    /// began with.
    pub fn apply(&self, policies: Policies) -> Changes {
        log::policies_hurt(&policies, Some(&self.inner.policies.load()));
        let slots = self.slots();
        let changes = policies.changes_since(&self.inner.policies.load());
        for (name, slot) in &*slots {
            slot.take_over(name, &policies, &self.inner.clock);
        }
        self.inner.policies.store(Arc::new(policies));
        log::policies_changed(&changes);
        changes
    }

    /// Looks at the file every so often, on a thread of its own, and takes it over when it has changed: however it was
    /// saved, by rename, in place or by a symbolic link that was moved. A broken file is reported once, in the log and to
    /// `told`, and changes nothing. A `told` that panics is logged, and the watch goes on. Ends when the [`Watch`] is
    /// dropped.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn watch(
        &self,
        every: Duration,
        told: impl Fn(&Result<Changes, Error>) + Send + 'static,
    ) -> std::io::Result<Watch> {
        let (stop, stopped) = mpsc::channel::<()>();
        let (mut follower, every) = (Follower::new(self), every.max(LOOK_MIN));
        let thread = std::thread::Builder::new().name("steadfast-policies".to_owned()).spawn(move || {
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                if let Some(outcome) = follower.look() {
                    let tell = std::panic::AssertUnwindSafe(|| told(&outcome));
                    if std::panic::catch_unwind(tell).is_err() {
                        log::policy_listener_panicked();
                    }
                }
            }
        })?;
        Ok(Watch { stop: Some(stop), thread: Some(thread) })
    }

    /// The file's text, or why there is none: what a watch compares.
    fn text(&self) -> Option<Result<String, String>> {
        let path = self.inner.path.as_ref()?;
        let name = path.display().to_string();
        Some(text_of(path, &name).map_err(|error| error.to_string()))
    }

    fn in_force(&self) -> MutexGuard<'_, Option<String>> {
        self.inner.text.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<String, Slot>> {
        self.inner.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn new(name: &str, policies: &Policies, clock: &Clock) -> Self {
        let service = &policies.service(name).service;
        let standard = (Breaker::standard(), BudgetBuilder::default());
        let breaker = service.breaker.clone().unwrap_or(standard.0);
        let budget = service.budget.clone().unwrap_or(standard.1);
        // All were checked when the file was read.
        let findings = &mut Findings::default();
        let breaker = breaker.clock(clock.clone()).build_within(name, findings);
        let budget = budget.build_within(findings);
        let limit = service.limit.clone().map(|limit| limit.build_within(findings));
        let parts = Parts { breaker, budget, limit: Mutex::new(limit) };
        let settings = parts.settings(name, policies, clock);
        Self { settings: Arc::new(ArcSwap::from_pointee(settings)), parts }
    }

    fn take_over(&self, name: &str, policies: &Policies, clock: &Clock) {
        self.parts.reconfigure(&policies.service(name).service, clock);
        let mut settings = self.parts.settings(name, policies, clock);
        settings.keep_seen(&self.settings.load());
        self.settings.store(Arc::new(settings));
    }
}

impl Parts {
    /// What a part refuses would have been refused when the file was read.
    fn reconfigure(&self, service: &Service, clock: &Clock) {
        if let Some(settings) = &service.breaker {
            let _ = self.breaker.reconfigure(settings);
        }
        if let Some(settings) = &service.budget {
            let _ = self.budget.reconfigure(settings, clock.now());
        }
        let mut limit = self.limit();
        match (&service.limit, &*limit) {
            (Some(settings), Some(limit)) => drop(limit.reconfigure(settings)),
            (Some(settings), None) => *limit = Some(settings.clone().build_within(&mut Findings::default())),
            (None, Some(limit)) => limit.lift(),
            (None, None) => {}
        }
    }

    fn settings(&self, name: &str, policies: &Policies, clock: &Clock) -> Settings {
        let entry = policies.service(name);
        let service = &entry.service;
        let mut builder: Builder = entry.builder(name).clock(clock.clone());
        if service.breaker.is_some() {
            builder = builder.shared_breaker(&self.breaker);
        }
        if service.budget.is_some() {
            builder = builder.shared_budget(&self.budget);
        }
        if let (Some(_), Some(limit)) = (&service.limit, &*self.limit()) {
            builder = builder.shared_limit(limit);
        }
        builder.settings_of_live()
    }

    fn limit(&self) -> MutexGuard<'_, Option<Limit>> {
        self.limit.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a watch does at each look, without the waiting in between.
pub(super) struct Follower {
    live: Live,
    /// What was taken over, or refused.
    seen: Option<Result<String, String>>,
    /// What was there at the last look, and is not taken over yet.
    found: Option<Result<String, String>>,
}

impl Follower {
    pub(super) fn new(live: &Live) -> Self {
        let seen = live.in_force().clone().map(Ok);
        Self { found: live.text(), seen, live: live.clone() }
    }

    /// Takes the file over if it has changed; `None` when it has not, so that a broken one is told once. A file that is
    /// being written is half of one, and half of one can be valid: what two looks in a row find is whole.
    pub(super) fn look(&mut self) -> Option<Result<Changes, Error>> {
        let text = self.live.text();
        let settled = text == self.found;
        self.found.clone_from(&text);
        if !settled || text == self.seen {
            return None;
        }
        self.seen.clone_from(&text);
        // What was compared is taken over, and not what is there by now.
        let outcome = match (text, &self.live.inner.path) {
            (Some(Ok(text)), Some(path)) => self.live.take_over(text, path),
            _ => self.live.reload(),
        };
        if let Err(error) = &outcome {
            log::policies_refused(error);
        }
        Some(outcome)
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("path", &self.inner.path).finish_non_exhaustive()
    }
}

/// Follows a file until it is dropped.
#[derive(Debug)]
#[must_use = "the file is followed until this is dropped"]
pub struct Watch {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.stop.take());
        // Dropped by its own listener, it ends when that returns.
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}
