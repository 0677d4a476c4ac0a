//! Building a breaker: every setting with its default, checked once at the end.

use std::sync::Arc;
use std::time::Duration;

use super::Breaker;
use super::control::Control;
use super::core::Core;
use super::event::{Change, Listener};
use super::settings::{Settings, Slow, Span};
use crate::classify::Kind;
use crate::clock::Clock;
use crate::problem::{BuildError, Findings, Problem};
use crate::random::Rng;
use crate::retry::Budget;

/// Settings of a [`Breaker`], not yet checked.
///
/// Start with [`Breaker::standard`], or with the rule that matters most: [`Breaker::ratio`], [`Breaker::failures`],
/// [`Breaker::consecutive`]. The last two start without the other rules.
#[derive(Clone)]
#[must_use = "a builder does nothing until it is built or given to a pipeline"]
pub struct Builder {
    settings: Settings,
    clock: Clock,
    seed: Option<u64>,
    listeners: Vec<Listener>,
    #[cfg(test)]
    plant: super::plant::Plant,
}

impl Breaker {
    /// Trips when half of at least 20 calls within 30 s failed, or 10 in a row; open for 5 s, up to 60 s when
    /// recoveries fail.
    pub fn standard() -> Builder {
        Builder::new(Settings::default())
    }

    /// Trips when this share of the calls in the window failed. Also after 10 failures in a row, so that quiet
    /// services trip too.
    pub fn ratio(share: f64) -> Builder {
        Builder::new(Settings { ratio: Some(share), ..Settings::default() })
    }

    /// Trips after this many failures in a row.
    pub fn consecutive(failures: u32) -> Builder {
        Builder::new(Settings { ratio: None, consecutive: Some(failures), ..Settings::default() })
    }

    /// Trips after this many failures within the window.
    pub fn failures(failures: u32) -> Builder {
        Builder::new(Settings {
            ratio: None,
            consecutive: None,
            failures: Some(failures),
            ..Settings::default()
        })
    }
}

impl Builder {
    fn new(settings: Settings) -> Self {
        Self {
            settings,
            clock: Clock::system(),
            seed: None,
            listeners: Vec::new(),
            #[cfg(test)]
            plant: super::plant::Plant::None,
        }
    }

    /// Looks back on the calls of this long, in ten buckets: the oldest tenth falls out at once. Default: 30 s.
    pub fn within(mut self, window: Duration) -> Self {
        self.settings.span = Span::Time(window);
        self
    }

    /// Looks back on this many last calls instead. Every caller then writes to one place, which costs some of the
    /// speed of the time window. Thresholds by kind look back on 30 s then.
    pub fn last_calls(mut self, calls: usize) -> Self {
        self.settings.span = Span::Calls(calls);
        self
    }

    /// Trips when this share of the calls in the window failed. Default: 0.5; off after [`Breaker::failures`] and
    /// [`Breaker::consecutive`].
    pub fn ratio(mut self, share: f64) -> Self {
        self.settings.ratio = Some(share);
        self
    }

    /// A share of failed calls does not trip it.
    pub fn no_ratio(mut self) -> Self {
        self.settings.ratio = None;
        self
    }

    /// The fewest calls in the window for a ratio to mean anything. Default: 20.
    pub fn min_calls(mut self, calls: u32) -> Self {
        self.settings.min_calls = calls;
        self
    }

    /// Trips also after this many failures in a row. Default: 10.
    pub fn consecutive(mut self, failures: u32) -> Self {
        self.settings.consecutive = Some(failures);
        self
    }

    /// A row of failures does not trip it.
    pub fn no_consecutive(mut self) -> Self {
        self.settings.consecutive = None;
        self
    }

    /// Trips also after this many failures within the window. Default: off.
    pub fn failures(mut self, failures: u32) -> Self {
        self.settings.failures = Some(failures);
        self
    }

    /// No number of failures in the window trips it.
    pub fn no_failures(mut self) -> Self {
        self.settings.failures = None;
        self
    }

    /// Trips also when `share` of the calls took longer than `over`. Default: off.
    pub fn slow(mut self, over: Duration, share: f64) -> Self {
        self.settings.slow = Some(Slow { over, ratio: share });
        self
    }

    /// Slow calls do not trip it.
    pub fn no_slow(mut self) -> Self {
        self.settings.slow = None;
        self
    }

    /// Trips also after this many failures of one kind within the window.
    pub fn kind(mut self, kind: Kind, failures: u32) -> Self {
        self.settings.kinds.push((kind, failures));
        self
    }

    /// Trips on one failure of this kind, such as a service that says it is switched off.
    pub fn trip_at_once(mut self, kind: Kind) -> Self {
        self.settings.at_once.push(kind);
        self
    }

    /// Failures of this kind say nothing about the service.
    pub fn ignore(mut self, kind: Kind) -> Self {
        self.settings.ignored.push(kind);
        self
    }

    /// Whether one failure of class lasting trips at once. Default: yes.
    pub fn lasting_trips(mut self, trips: bool) -> Self {
        self.settings.lasting_trips = trips;
        self
    }

    /// A service that asks to be left alone for this long or longer trips it at once, and holds it open for at least
    /// the time it asks for. Default: 10 s.
    pub fn trip_on_hint(mut self, least: Duration) -> Self {
        self.settings.trip_on_hint = Some(least);
        self
    }

    /// What a service asks for does not trip it.
    pub fn no_trip_on_hint(mut self) -> Self {
        self.settings.trip_on_hint = None;
        self
    }

    /// The longest that a service can ask it to stay open. Default: 10 minutes.
    pub fn max_hold(mut self, limit: Duration) -> Self {
        self.settings.max_hold = limit;
        self
    }

    /// How long it stays open the first time ([`growing_by`](Self::growing_by) for the next), lengthened by up to 10 % at random. Default: 5 s.
    pub fn open_for(mut self, time: Duration) -> Self {
        self.settings.open.first = time;
        self.settings.open.cap = self.settings.open.cap.max(time);
        self
    }

    /// The open time is multiplied by this with each failed recovery. Default: 1.5. Doubling would make callers wait
    /// for about as long as the outage took, after it is over. A recovery that does not last is a failed one too: the
    /// breaker has to stay closed for twice as long as it was open, or else the next open time grows on.
    pub fn growing_by(mut self, factor: f64) -> Self {
        self.settings.open.growth = factor;
        self
    }

    /// The open time grows with each failed recovery, up to this. Default: 60 s, or `open_for` if that is longer.
    pub fn growing_to(mut self, cap: Duration) -> Self {
        self.settings.open.cap = cap;
        self
    }

    /// Calls that go through at once while half-open. Default: 1. A terminal error counts
    /// as a probe's success: the service answered.
    pub fn half_open_permits(mut self, calls: u16) -> Self {
        self.settings.permits = calls;
        self
    }

    /// Probes that must succeed in a row to close it. Default: 3.
    pub fn successes_to_close(mut self, probes: u16) -> Self {
        self.settings.successes_to_close = probes;
        self
    }

    /// When all half-open places are taken and no probe has answered for this long, it opens again. Default: 30 s.
    pub fn half_open_limit(mut self, limit: Duration) -> Self {
        self.settings.half_open_limit = limit;
        self
    }

    /// A call through [`Breaker::run`] that takes longer is dropped and counts as a failure. Default: none. In a
    /// pipeline, `attempt_timeout` does the same.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.settings.timeout = Some(limit);
        self
    }

    /// Logs successful calls too. Failed ones always are.
    pub fn log_successes(mut self) -> Self {
        self.settings.log_successes = true;
        self
    }

    /// Adds up the calls of all instances that share this breaker's state, so that a fault thinly spread over them
    /// still trips. See [`share`](super::share).
    pub fn together(mut self) -> Self {
        self.settings.together = true;
        self
    }

    /// Told of every state change: see [`Breaker::on_change`].
    pub fn on_change(mut self, listener: impl Fn(&Change) + Send + Sync + 'static) -> Self {
        self.listeners.push(Arc::new(listener));
        self
    }

    /// Where the time comes from. Default: the system's clock.
    pub fn clock(mut self, clock: impl Into<Clock>) -> Self {
        self.clock = clock.into();
        self
    }

    /// Makes the spread of the open times repeatable.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    #[cfg(test)]
    pub(crate) fn plant(mut self, plant: super::plant::Plant) -> Self {
        self.plant = plant;
        self
    }

    /// Checks the settings and makes nothing; returns the warnings, which [`build`](Self::build) does not show.
    ///
    /// # Errors
    /// Every setting that makes no sense, with what to do about it.
    pub fn check(&self) -> Result<Vec<Problem>, BuildError> {
        let mut findings = Findings::default();
        self.settings.check(&mut findings);
        findings.finish("breaker")
    }

    /// Checks the settings and makes the breaker.
    ///
    /// # Errors
    /// Every setting that makes no sense, with what to do about it.
    pub fn build(self, name: &str) -> Result<Breaker, BuildError> {
        let mut findings = Findings::default();
        findings.check_name("breaker.name", name, "it is the resource's in logs, errors and events");
        let breaker = self.build_within(name, &mut findings);
        findings.finish(name).map(|_| breaker)
    }

    pub(crate) fn build_within(self, name: &str, findings: &mut Findings) -> Breaker {
        self.settings.check(findings);
        self.make(name, &self.shared_settings(), None)
    }

    /// The settings, to be shared by all breakers that are made of them.
    pub(super) fn shared_settings(&self) -> Arc<Settings> {
        Arc::new(self.settings.clone())
    }

    /// Makes one without a check: the registry has checked once for all.
    pub(super) fn make(&self, name: &str, settings: &Arc<Settings>, budget: Option<Budget>) -> Breaker {
        let rng = self.seed.map_or_else(Rng::from_entropy, Rng::seeded);
        let control = Control::new(rng, self.clock.now());
        let mut core = Core::new(name, Arc::clone(settings), control);
        core.budget = budget;
        #[cfg(test)]
        {
            core.plant = self.plant;
        }
        for listener in &self.listeners {
            core.announcer.listen(Arc::clone(listener));
        }
        Breaker { core: Arc::new(core), clock: self.clock.clone() }
    }

    pub(crate) fn set_seed_if_none(&mut self, seed: Option<u64>) {
        self.seed = self.seed.or(seed);
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn set_clock_if_default(&mut self, clock: &Clock) {
        if self.clock.is_system() {
            self.clock = clock.clone();
        }
    }
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder").field("settings", &self.settings).finish_non_exhaustive()
    }
}
