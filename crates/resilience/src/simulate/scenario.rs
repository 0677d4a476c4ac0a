//! What happens to the service, and who calls it.

use std::time::Duration;

use super::comparison::Comparison;
use super::report::Report;
use super::run;
use super::service::Fault;
use crate::pipeline::Builder;
use crate::problem::{BuildError, Code, Findings};

/// The service is 80 % busy when nothing else is said.
const SPARE: f64 = 1.25;
/// What any service can take: one that is seldom called is not a slow one.
const CAPACITY_MIN: f64 = 50.0;
/// How long callers go on before the outage, so that budgets and breakers know normal times.
pub(super) const BEFORE: Duration = Duration::from_secs(20);
/// The least time that is looked at after the outage.
const AFTER_MIN: Duration = Duration::from_secs(60);

/// Fewer calls a second are none within an hour; more are no single service's.
const RATE_MIN: f64 = 0.001;
const RATE_MAX: f64 = 1_000_000.0;
/// More clients than this need more memory than they tell.
const CLIENTS_MAX: u32 = 100_000;
/// The most calls of one run: some ten seconds of work.
const CALLS_MAX: f64 = 20_000_000.0;
/// The longest outage, and the longest time after it.
const TIME_MAX: Duration = Duration::from_secs(24 * 3600);

/// An outage of a model service, and the callers who live through it.
///
/// Every setting has a default: 100 calls a second from 10 clients to a service that could take a quarter more, hangs
/// while it is down and answers in 10 ms otherwise.
#[derive(Clone, Debug)]
#[must_use = "nothing is simulated until `run` or `compare`"]
pub struct Scenario {
    pub(super) outage: Duration,
    pub(super) rps: f64,
    pub(super) clients: u32,
    pub(super) capacity: Option<f64>,
    pub(super) queue: Option<u32>,
    pub(super) answer_time: Duration,
    pub(super) fault: Fault,
    pub(super) warm_up: Duration,
    pub(super) after: Option<Duration>,
    pub(super) seed: u64,
}

impl Scenario {
    /// The service is down for this long.
    pub fn outage(time: Duration) -> Self {
        Self {
            outage: time,
            rps: 100.0,
            clients: 10,
            capacity: None,
            queue: None,
            answer_time: Duration::from_millis(10),
            fault: Fault::Hang,
            warm_up: Duration::ZERO,
            after: None,
            seed: 1,
        }
    }

    /// Calls a second, of all clients together.
    pub fn rps(mut self, calls: f64) -> Self {
        self.rps = calls;
        self
    }

    /// Clients, each with a breaker and a budget of its own, as instances of a program have.
    pub fn clients(mut self, clients: u32) -> Self {
        self.clients = clients;
        self
    }

    /// Requests that the service can serve in a second. Default: a quarter more than the calls, and at least 50.
    pub fn capacity(mut self, requests: f64) -> Self {
        self.capacity = Some(requests);
        self
    }

    /// Requests that may wait in the service; one more is answered with "overloaded". Default: without a limit.
    pub fn queue(mut self, requests: u32) -> Self {
        self.queue = Some(requests);
        self
    }

    /// How long an answer takes beside the time in the queue. Default: 10 ms.
    pub fn answer_time(mut self, time: Duration) -> Self {
        self.answer_time = time;
        self
    }

    /// What callers see while the service is down. Default: [`Fault::Hang`].
    pub fn fault(mut self, fault: Fault) -> Self {
        self.fault = fault;
        self
    }

    /// How long the service needs after its return to be as fast as before; it begins with a tenth. Default: no time.
    pub fn warm_up(mut self, time: Duration) -> Self {
        self.warm_up = time;
        self
    }

    /// How long to look on after the outage. Default: a minute, or three times the outage if that is longer.
    pub fn look_on(mut self, time: Duration) -> Self {
        self.after = Some(time);
        self
    }

    /// Other chances. The same seed gives the same report. Default: 1.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Lives through it once with this policy.
    ///
    /// # Errors
    /// Settings of the policy or of the scenario that make no sense. Parts that the pipeline shares with others cannot
    /// take part: give it parts of its own.
    pub fn run(&self, policy: &Builder) -> Result<Report, BuildError> {
        let mut findings = Findings::default();
        self.check(&mut findings);
        findings.finish("scenario")?;
        run::run(self, policy)
    }

    /// Lives through it with this policy, and with the same one without its budget, without its breaker, and without
    /// both.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn compare(&self, policy: &Builder) -> Result<Comparison, BuildError> {
        Comparison::of(self, policy)
    }

    pub(super) fn capacity_or_default(&self) -> f64 {
        self.capacity.unwrap_or_else(|| (self.rps * SPARE).max(CAPACITY_MIN))
    }

    pub(super) fn after_or_default(&self) -> Duration {
        self.after.unwrap_or_else(|| AFTER_MIN.max(self.outage.saturating_mul(3)).min(TIME_MAX))
    }

    fn check(&self, findings: &mut Findings) {
        for (setting, value) in [("scenario.rps", Some(self.rps)), ("scenario.capacity", self.capacity)] {
            if let Some(value) = value.filter(|value| !(RATE_MIN..=RATE_MAX).contains(value)) {
                let message =
                    format!("{value} in a second cannot be: give a number from {RATE_MIN} to {RATE_MAX}");
                findings.error(Code::BadNumber, setting, message);
            }
        }
        if self.clients == 0 || self.clients > CLIENTS_MAX {
            let message = format!("give 1 to {CLIENTS_MAX} clients");
            findings.error(Code::OutOfRange, "scenario.clients", message);
        }
        for (setting, time) in
            [("scenario.outage", self.outage), ("scenario.look_on", self.after_or_default())]
        {
            if time < Duration::from_secs(1) || time > TIME_MAX {
                findings.error(Code::OutOfRange, setting, "give a time from 1 s to 24 h");
            }
        }
        for (setting, time) in
            [("scenario.warm_up", self.warm_up), ("scenario.answer_time", self.answer_time)]
        {
            if time > TIME_MAX {
                findings.error(Code::OutOfRange, setting, "give a time of up to 24 h");
            }
        }
        let time = BEFORE.saturating_add(self.outage).saturating_add(self.after_or_default());
        let calls = self.rps * time.as_secs_f64();
        if calls > CALLS_MAX {
            let message = format!(
                "{calls:.0} calls are more than the {CALLS_MAX:.0} that one run may have: lower rps, or look on for less time"
            );
            findings.error(Code::OutOfRange, "scenario.rps", message);
        }
    }
}
