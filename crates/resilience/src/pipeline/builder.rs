//! Building a pipeline: every setting with its default, checked together at the end.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::{Inner, OperationSettings, Pipeline};
use crate::breaker::{self, Breaker};
use crate::classify::Class;
use crate::clock::Clock;
use crate::limit::{self, Limit};
use crate::problem::{BuildError, Code, Findings};
use crate::random;
use crate::retry::{self, Budget, BudgetBuilder, On, Retry};
use crate::story;

/// How long an attempt may take when nothing else is said. A call without any limit holds its caller for ever.
pub(crate) const DEFAULT_ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// Settings of a [`Pipeline`], not yet checked.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct Builder {
    name: String,
    clock: Clock,
    retry: Option<retry::Builder>,
    /// Whether the retry was asked for, and is not merely the default.
    retry_is_explicit: bool,
    budget: Option<Source<BudgetBuilder, Budget>>,
    breaker: Option<Source<breaker::Builder, Breaker>>,
    limit: Option<Source<limit::Builder, Limit>>,
    attempt_timeout: Option<Duration>,
    server_timeout: Option<Duration>,
    complete_within: Option<Duration>,
    wait_for_breaker: bool,
    idempotent: bool,
    log_successes: bool,
    story_kept: usize,
    sdk_retries: u32,
    retry_despite_sdk: bool,
    seed: Option<u64>,
    reclassify: Vec<(On, Class)>,
    operations: HashMap<String, OperationSettings>,
}

/// Settings for a part of this pipeline's own, or a part shared with others.
#[derive(Clone, Debug)]
enum Source<S, T> {
    Own(S),
    Shared(T),
}

impl Builder {
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            clock: Clock::system(),
            retry: Some(Retry::standard()),
            retry_is_explicit: false,
            budget: Some(Source::Own(BudgetBuilder::default())),
            breaker: Some(Source::Own(Breaker::standard())),
            limit: None,
            attempt_timeout: Some(DEFAULT_ATTEMPT_TIMEOUT),
            server_timeout: None,
            complete_within: None,
            wait_for_breaker: false,
            idempotent: true,
            log_successes: false,
            story_kept: story::KEPT,
            sdk_retries: 0,
            retry_despite_sdk: false,
            seed: None,
            reclassify: Vec::new(),
            operations: HashMap::new(),
        }
    }

    /// What a policy file says of failures.
    #[cfg(feature = "policy")]
    pub(crate) fn reclassify(mut self, rules: Vec<(On, Class)>) -> Self {
        self.reclassify = rules;
        self
    }

    /// What a policy file says of operations.
    #[cfg(feature = "policy")]
    pub(crate) fn operations(mut self, operations: HashMap<String, OperationSettings>) -> Self {
        self.operations = operations;
        self
    }

    /// The settings alone, for a pipeline that a policy file can change; they were checked when the file was read.
    #[cfg(feature = "policy")]
    pub(crate) fn settings_of_live(self) -> Inner {
        let mut findings = Findings::default();
        let inner = self.assemble(&mut findings);
        Inner { warnings: findings.finish("live").unwrap_or_default(), ..inner }
    }

    /// When and how often to try again. Default: [`Retry::standard`].
    pub fn retry(mut self, retry: impl Into<retry::Builder>) -> Self {
        self.retry = Some(retry.into());
        self.retry_is_explicit = true;
        self
    }

    /// Never tries again.
    pub fn no_retry(mut self) -> Self {
        self.retry = None;
        self
    }

    /// The retry budget. Default: a tenth of the successes of the last 10 s, or 3 retries if that is more.
    pub fn budget(mut self, budget: BudgetBuilder) -> Self {
        self.budget = Some(Source::Own(budget));
        self
    }

    /// A budget shared with other pipelines to the same service.
    pub fn shared_budget(mut self, budget: &Budget) -> Self {
        self.budget = Some(Source::Shared(budget.clone()));
        self
    }

    /// Retries as often as the retry policy says, also when nothing succeeds. Feeds outages: see the guide.
    pub fn no_budget(mut self) -> Self {
        self.budget = None;
        self
    }

    /// The circuit breaker. Default: [`Breaker::standard`].
    pub fn breaker(mut self, breaker: breaker::Builder) -> Self {
        self.breaker = Some(Source::Own(breaker));
        self
    }

    /// A breaker shared with other pipelines, or taken from a registry.
    pub fn shared_breaker(mut self, breaker: &Breaker) -> Self {
        self.breaker = Some(Source::Shared(breaker.clone()));
        self
    }

    /// No circuit breaker.
    pub fn no_breaker(mut self) -> Self {
        self.breaker = None;
        self
    }

    /// How many calls may be under way, and begin in a second. Default: no limit.
    pub fn limit(mut self, limit: limit::Builder) -> Self {
        self.limit = Some(Source::Own(limit));
        self
    }

    /// A limit shared with other pipelines, such as one for all services behind the same gateway.
    pub fn shared_limit(mut self, limit: &Limit) -> Self {
        self.limit = Some(Source::Shared(limit.clone()));
        self
    }

    /// How long one attempt may take. Default: 10 s.
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.attempt_timeout = Some(limit);
        self
    }

    /// An attempt may take for ever.
    pub fn no_attempt_timeout(mut self) -> Self {
        self.attempt_timeout = None;
        self
    }

    /// A time limit that is sent with the request, for the service to honour: see `Attempt::server_timeout`.
    pub fn server_timeout(mut self, limit: Duration) -> Self {
        self.server_timeout = Some(limit);
        self
    }

    /// A deadline for every call: attempts and waits together take no longer.
    pub fn complete_within(mut self, limit: Duration) -> Self {
        self.complete_within = Some(limit);
        self
    }

    /// Instead of failing when the breaker refuses, waits for its next probe where the deadline leaves room for it. A call
    /// without a deadline does not wait.
    pub fn wait_for_breaker(mut self) -> Self {
        self.wait_for_breaker = true;
        self
    }

    /// The operations must not be repeated once a request may have taken effect. Default: they may, because every
    /// attempt carries the same idempotency key.
    pub fn not_idempotent(mut self) -> Self {
        self.idempotent = false;
        self
    }

    /// The service's own SDK retries this often. Ours is then off, unless
    /// [`retry_despite_sdk`](Self::retry_despite_sdk) asks for it.
    pub fn sdk_retries(mut self, retries: u32) -> Self {
        self.sdk_retries = retries;
        self
    }

    /// Retries although the SDK does too; the numbers of calls multiply.
    pub fn retry_despite_sdk(mut self) -> Self {
        self.retry_despite_sdk = true;
        self
    }

    /// Logs successful calls too. Failed ones always are.
    pub fn log_successes(mut self) -> Self {
        self.log_successes = true;
        self
    }

    /// Keeps no attempts, for calls by the million whose stories nobody reads.
    #[cfg(feature = "simulate")]
    pub(crate) fn without_stories(mut self) -> Self {
        self.story_kept = 0;
        self
    }

    /// Where the time comes from. Default: the system's clock. A breaker of this pipeline's own takes it over.
    pub fn clock(mut self, clock: impl Into<Clock>) -> Self {
        self.clock = clock.into();
        self
    }

    /// Makes every random number of this pipeline repeatable.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Checks the settings, each and together.
    ///
    /// # Errors
    /// Every setting that makes no sense, with what to do about it. Settings that merely have no effect are
    /// [`Pipeline::warnings`].
    pub fn build(self) -> Result<Pipeline, BuildError> {
        let mut findings = Findings::default();
        let name = self.name.clone();
        let inner = self.assemble(&mut findings);
        let warnings = findings.finish(&name)?;
        Ok(Pipeline::fixed(Inner { warnings, ..inner }))
    }

    /// The defaults need no check: a test builds them with one.
    pub(super) fn build_defaults(self) -> Pipeline {
        Pipeline::fixed(self.assemble(&mut Findings::default()))
    }

    fn assemble(self, findings: &mut Findings) -> Inner {
        self.check(findings);
        let ends_elsewhere = self.complete_within.is_some();
        let retry_is_on = self.sdk_retries == 0 || self.retry_despite_sdk;
        let retry =
            self.retry.map(|retry| retry.build_within(ends_elsewhere, findings)).filter(|_| retry_is_on);
        let sdk_calls = self.sdk_retries.saturating_add(1);
        if let (Some(retry), true) = (&retry, self.sdk_retries > 0) {
            warn_multiplied(retry, sdk_calls, findings);
        }
        let budget = self.budget.map(|source| match source {
            Source::Own(settings) => settings.build_within(findings),
            Source::Shared(budget) => budget,
        });
        let breaker = self.breaker.map(|source| match source {
            Source::Own(mut settings) => {
                settings.set_clock_if_default(&self.clock);
                settings.set_seed_if_none(self.seed);
                settings.build_within(&self.name, findings)
            }
            Source::Shared(breaker) => breaker,
        });
        let limit = self.limit.map(|source| match source {
            Source::Own(settings) => settings.build_within(findings),
            Source::Shared(limit) => limit,
        });
        Inner {
            name: self.name.into(),
            clock: self.clock,
            retry,
            budget,
            breaker,
            limit,
            attempt_timeout: self.attempt_timeout,
            server_timeout: self.server_timeout,
            complete_within: self.complete_within,
            wait_for_breaker: self.wait_for_breaker,
            idempotent: self.idempotent,
            log_successes: self.log_successes,
            story_kept: self.story_kept,
            sdk_calls,
            randomness: random::Source::new(self.seed),
            reclassify: self.reclassify,
            operations: self.operations,
            seen: Arc::default(),
            warnings: Vec::new(),
        }
    }

    fn check(&self, findings: &mut Findings) {
        findings.check_name("pipeline.name", &self.name, "it is the service's in logs and errors");
        for (setting, limit) in [
            ("pipeline.attempt_timeout", self.attempt_timeout),
            ("pipeline.server_timeout", self.server_timeout),
            ("pipeline.complete_within", self.complete_within),
        ] {
            if limit.is_some_and(|limit| limit.is_zero()) {
                findings.error(
                    Code::OutOfRange,
                    setting,
                    "no call fits into a time of zero: give a time above 0",
                );
            }
        }
        if let (Some(attempt), Some(whole)) = (self.attempt_timeout, self.complete_within)
            && attempt > whole
            && attempt != DEFAULT_ATTEMPT_TIMEOUT
        {
            findings.warn(
                Code::NoEffect,
                "pipeline.attempt_timeout",
                "it is longer than complete_within, which always comes first",
            );
        }
        if let (Some(theirs), Some(ours)) = (self.server_timeout, self.attempt_timeout)
            && theirs > ours
        {
            findings.warn(
                Code::NoEffect,
                "pipeline.server_timeout",
                "it is longer than attempt_timeout, so the shorter one is sent: lower it to say what you mean",
            );
        }
        self.check_waiting(findings);
    }

    fn check_waiting(&self, findings: &mut Findings) {
        if let Some(Source::Own(breaker)) = &self.breaker {
            self.check_breaker(breaker.settings(), findings);
        }
        if let Some(Source::Shared(breaker)) = &self.breaker
            && !breaker.clock().is_same(&self.clock)
        {
            findings.error(
                Code::Contradiction,
                "pipeline.clock",
                "the shared breaker runs on another clock: build both with the same one",
            );
        }
        if self.wait_for_breaker && self.breaker.is_none() {
            findings.warn(Code::NoEffect, "pipeline.wait_for_breaker", "there is no breaker to wait for");
        }
        if self.retry_despite_sdk && self.sdk_retries == 0 {
            findings.warn(
                Code::NoEffect,
                "pipeline.retry_despite_sdk",
                "no SDK retries were declared with sdk_retries",
            );
        }
        if self.retry.is_some() && self.retry_is_explicit && self.sdk_retries > 0 && !self.retry_despite_sdk {
            findings.warn(
                Code::NoEffect,
                "pipeline.retry",
                "sdk_retries leaves retrying to the SDK: remove the retry, or ask for both with retry_despite_sdk",
            );
        }
        if self.retry.is_none() && matches!(self.budget, Some(Source::Shared(_))) {
            findings.warn(Code::NoEffect, "pipeline.budget", "without retries a budget limits nothing");
        }
    }
}

impl Builder {
    /// Limits of the breaker beside those of an attempt.
    fn check_breaker(&self, breaker: &breaker::Settings, findings: &mut Findings) {
        if breaker.timeout.is_some() {
            findings.warn(
                Code::NoEffect,
                "breaker.timeout",
                "in a pipeline attempt_timeout is the limit: set that one",
            );
        }
        let Some(attempt) = self.attempt_timeout else { return };
        if breaker.half_open_limit < attempt {
            findings.warn(
                Code::NoEffect,
                "breaker.half_open_limit",
                format!(
                    "a probe that takes longer than {:?} is given up although attempt_timeout lets it run for {attempt:?}: raise one or lower the other",
                    breaker.half_open_limit
                ),
            );
        }
        if let Some(slow) = breaker.slow.filter(|slow| slow.over >= attempt) {
            findings.warn(
                Code::NoEffect,
                "breaker.slow",
                format!(
                    "no call can succeed after more than {:?}: attempt_timeout ends it at {attempt:?}",
                    slow.over
                ),
            );
        }
    }
}

fn warn_multiplied(retry: &Retry, sdk_calls: u32, findings: &mut Findings) {
    let calls = retry.max_calls().saturating_mul(sdk_calls);
    findings.warn(
        Code::Multiplied,
        "pipeline.sdk_retries",
        format!("the SDK's {sdk_calls} calls and ours multiply: one operation can become {calls} calls"),
    );
}
