//! Building a retry: every setting with its default, checked once at the end.

use std::sync::Arc;
use std::time::Duration;

use super::policy::{FailedTry, Hook, Policy};
use super::strategy::Strategy;
use super::{Jitter, Nested, On, Retry, Rule, Settings};
use crate::classify::Kind;
use crate::problem::{BuildError, Code, Findings, Problem};

/// Retries when nothing else is said: three, so four calls.
const DEFAULT_RETRIES: u32 = 3;
/// Longest hint that is waited for when nothing else is said. Beyond it a caller is better told than kept.
const DEFAULT_MAX_HINT: Duration = Duration::from_secs(30);
/// How long a service that throttles without saying for how long is left alone at least.
const DEFAULT_MIN_THROTTLED: Duration = Duration::from_secs(1);

/// Settings of a [`Retry`], not yet checked.
///
/// Start with a strategy ([`Retry::exponential`] and the others) or a preset ([`Retry::interactive`] and the others).
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is built or given to a pipeline"]
pub struct Builder {
    settings: Settings,
}

impl Retry {
    /// Waits that double: `min(max_backoff, min_backoff + (2^n - 1) * random(0.8..1.2) * delta_backoff)` after failure
    /// n, the first being 0. Defaults: 100 ms, 200 ms, 10 s; 3 retries.
    pub fn exponential() -> Builder {
        Builder::new(Strategy::standard_exponential())
    }

    /// The same wait each time, +/- 20 %.
    pub fn fixed(wait: Duration) -> Builder {
        Builder::new(Strategy::Fixed(wait))
    }

    /// Waits that grow by `step`: `first`, `first + step`, `first + 2 step`, ... each +/- 20 %.
    pub fn incremental(first: Duration, step: Duration) -> Builder {
        Builder::new(Strategy::Incremental { first, step })
    }

    /// A list of waits, each +/- 20 %, such as 3 s, 7 s, 13 s. After the last there is no retry.
    pub fn schedule(waits: impl IntoIterator<Item = Duration>) -> Builder {
        let waits: Arc<[Duration]> = waits.into_iter().collect();
        let retries = u32::try_from(waits.len()).unwrap_or(u32::MAX);
        Builder::new(Strategy::Schedule(waits)).max_retries(retries)
    }

    /// One retry without a wait, for a rare glitch; then no more.
    pub fn immediate() -> Builder {
        Builder::new(Strategy::Immediate).max_retries(1)
    }

    /// Waits as long as the service asks for (`Retry-After` and the like), and as `fallback` says when it does not.
    pub fn adaptive(fallback: Builder) -> Builder {
        let Settings { strategy, .. } = fallback.settings.clone();
        let mut settings = fallback.settings;
        settings.strategy = Strategy::Adaptive(Box::new(strategy));
        Builder { settings }
    }

    /// A strategy of your own. Its waits are taken as they are.
    pub fn custom(policy: impl Policy + 'static) -> Builder {
        Builder::new(Strategy::Custom(Arc::new(policy))).no_jitter()
    }

    /// No retry at all.
    pub fn none() -> Builder {
        Self::exponential().max_retries(0)
    }
}

impl Builder {
    fn new(strategy: Strategy) -> Self {
        Self {
            settings: Settings {
                name: None,
                strategy,
                jitter: Jitter::SPECIFIED,
                fast_first: false,
                max_retries: Some(DEFAULT_RETRIES),
                max_elapsed: None,
                max_hint: DEFAULT_MAX_HINT,
                min_throttled: DEFAULT_MIN_THROTTLED,
                repeat_effects: false,
                nested: Nested::Report,
                rules: Vec::new(),
                hook: None,
                misplaced_backoff: None,
            },
        }
    }

    /// The same settings with another strategy. One with a number of retries of its own brings that along.
    #[cfg(feature = "policy")]
    pub(crate) fn with_strategy(mut self, strategy: Strategy) -> Self {
        if let Some(length) = strategy.length() {
            self.settings.max_retries = Some(length);
        }
        self.settings.strategy = strategy;
        self
    }

    pub(super) fn from_settings(settings: Settings) -> Self {
        Self { settings }
    }

    /// The policy's name in logs, where several pipelines share one or a pipeline has several. Policies in files have
    /// theirs. Default: none, and logs show the pipeline's.
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.settings.name = Some(name.into());
        self
    }

    /// Settings that differ from those that had the name.
    #[cfg(feature = "policy")]
    pub(crate) fn unnamed(mut self) -> Self {
        self.settings.name = None;
        self
    }

    /// The first wait of the exponential strategy. No effect on the others, which is an error.
    pub fn min_backoff(self, wait: Duration) -> Self {
        self.exponential_part("retry.min_backoff", |min, _, _| *min = wait)
    }

    /// What doubles in the exponential strategy.
    pub fn delta_backoff(self, wait: Duration) -> Self {
        self.exponential_part("retry.delta_backoff", |_, delta, _| *delta = wait)
    }

    /// The longest wait of the exponential strategy.
    pub fn max_backoff(self, wait: Duration) -> Self {
        self.exponential_part("retry.max_backoff", |_, _, max| *max = wait)
    }

    fn exponential_part(
        mut self,
        setting: &'static str,
        set: impl FnOnce(&mut Duration, &mut Duration, &mut Duration),
    ) -> Self {
        let mut strategy = &mut self.settings.strategy;
        while let Strategy::Adaptive(fallback) = strategy {
            strategy = fallback;
        }
        if let Strategy::Exponential { min, delta, max } = strategy {
            set(min, delta, max);
        } else {
            self.settings.misplaced_backoff = Some(setting);
        }
        self
    }

    /// How waits are spread. Default: +/- 20 %.
    pub fn jitter(mut self, jitter: Jitter) -> Self {
        self.settings.jitter = jitter;
        self
    }

    /// Switches jitter off: callers that fail together come back together.
    pub fn no_jitter(self) -> Self {
        self.jitter(Jitter::None)
    }

    /// Makes the first wait zero, and only the first.
    pub fn fast_first(mut self) -> Self {
        self.settings.fast_first = true;
        self
    }

    /// At most this many retries, so one call more. Default: 3.
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.settings.max_retries = Some(retries);
        self
    }

    /// Retries without a limit on their number. Needs another end: [`max_elapsed`](Self::max_elapsed), or
    /// `complete_within` in the pipeline. A breaker is none: while other calls succeed it stays closed.
    pub fn unlimited_retries(mut self) -> Self {
        self.settings.max_retries = None;
        self
    }

    /// The limit over all attempts and waits. A wait that would end after it is not begun. Default: none.
    pub fn max_elapsed(mut self, limit: Duration) -> Self {
        self.settings.max_elapsed = Some(limit);
        self
    }

    /// No limit over all attempts and waits, where the settings that these began with have one.
    pub fn no_max_elapsed(mut self) -> Self {
        self.settings.max_elapsed = None;
        self
    }

    /// The longest hint of a service that is waited for. A longer one means stop. Default: 30 s.
    pub fn max_hint(mut self, limit: Duration) -> Self {
        self.settings.max_hint = limit;
        self
    }

    /// The shortest wait after a service throttled without saying for how long. Default: 1 s.
    pub fn min_throttled(mut self, wait: Duration) -> Self {
        self.settings.min_throttled = wait;
        self
    }

    /// Retries operations that are not idempotent even when the request may have taken effect.
    pub fn repeat_effects(mut self) -> Self {
        self.settings.repeat_effects = true;
        self
    }

    /// How this retry behaves below another one. Default: it retries, and reports the product.
    pub fn when_nested(mut self, nested: Nested) -> Self {
        self.settings.nested = nested;
        self
    }

    /// At most this many retries after errors of this kind.
    pub fn kind_retries(self, kind: Kind, retries: u32) -> Self {
        self.rule(On::Kind(kind), None, Some(retries))
    }

    /// Errors of this kind have a strategy and a count of their own; `how`'s other settings are not used.
    pub fn on_kind(self, kind: Kind, how: Builder) -> Self {
        self.rule(On::Kind(kind), Some(how.settings.strategy), how.settings.max_retries)
    }

    /// Errors with this code have a strategy and a count of their own; `how`'s other settings are not used.
    pub fn on_code(self, code: i32, how: Builder) -> Self {
        self.rule(On::Code(code), Some(how.settings.strategy), how.settings.max_retries)
    }

    fn rule(mut self, on: On, strategy: Option<Strategy>, max_retries: Option<u32>) -> Self {
        self.settings.rules.push(Rule { on, strategy, max_retries });
        self
    }

    /// Runs after each failed try, with what happens next. A panic in it goes on to the caller. A retry that is granted here can still be refused by the
    /// breaker when its wait is over.
    pub fn after_failed_try(mut self, hook: impl Fn(&FailedTry<'_>) + Send + Sync + 'static) -> Self {
        self.settings.hook = Some(Hook::new(hook));
        self
    }

    /// Checks the settings and makes nothing; returns the warnings, which [`build`](Self::build) does not show.
    ///
    /// # Errors
    /// Every setting that makes no sense, with what to do about it.
    pub fn check(&self) -> Result<Vec<Problem>, BuildError> {
        let mut findings = Findings::default();
        let _ = self.clone().build_within(false, &mut findings);
        findings.finish("retry")
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// Every setting that makes no sense, with what to do about it.
    pub fn build(self) -> Result<Retry, BuildError> {
        let mut findings = Findings::default();
        let retry = self.build_within(false, &mut findings);
        findings.finish("retry").map(|_| retry)
    }

    /// Checks the settings as a part of something larger, which may end the retries by other means.
    pub(crate) fn build_within(self, ends_elsewhere: bool, findings: &mut Findings) -> Retry {
        let settings = self.settings;
        settings.check(findings);
        if settings.max_retries.is_none() && settings.max_elapsed.is_none() && !ends_elsewhere {
            findings.error(
                Code::Endless,
                "retry.max_retries",
                "retries without a limit need another end: set max_elapsed, or complete_within in the pipeline",
            );
        }
        Retry { settings: Arc::new(settings) }
    }
}

impl From<Retry> for Builder {
    fn from(retry: Retry) -> Self {
        retry.to_builder()
    }
}

impl Settings {
    fn check(&self, findings: &mut Findings) {
        self.jitter.check(findings);
        check_strategy(&self.strategy, findings);
        for rule in &self.rules {
            if let Some(strategy) = &rule.strategy {
                check_strategy(strategy, findings);
            }
        }
        if let Some(setting) = self.misplaced_backoff {
            findings.error(
                Code::Contradiction,
                setting,
                "min_backoff, delta_backoff and max_backoff belong to the exponential strategy: choose that one, or remove them",
            );
        }
        if self.max_elapsed.is_some_and(|limit| limit.is_zero()) {
            findings.error(
                Code::OutOfRange,
                "retry.max_elapsed",
                "a limit of zero ends before the first try: give a time above 0",
            );
        }
        self.check_effects(findings);
    }

    fn check_effects(&self, findings: &mut Findings) {
        if self.max_retries == Some(0) && (self.fast_first || !self.rules.is_empty()) {
            findings.warn(
                Code::NoEffect,
                "retry.max_retries",
                "with 0 retries, fast_first and rules by kind have no effect",
            );
        }
        if let (Some(length), Some(max)) = (self.strategy.length(), self.max_retries)
            && max > length
        {
            findings.warn(
                Code::NoEffect,
                "retry.max_retries",
                format!("{max} retries can never happen: the strategy ends after {length}"),
            );
        }
        for (place, rule) in self.rules.iter().enumerate() {
            if let (Some(own), Some(all)) = (rule.max_retries, self.max_retries)
                && own > all
                && all > 0
            {
                findings.warn(
                    Code::NoEffect,
                    "retry.on_kind",
                    format!(
                        "{own} retries for {} can never happen: max_retries ends all of them at {all}",
                        rule.on
                    ),
                );
            }
            if self.rules[..place].iter().any(|earlier| earlier.on == rule.on) {
                findings.warn(
                    Code::NoEffect,
                    "retry.on_kind",
                    format!(
                        "the rule for {} comes second and is never reached: remove one of the two",
                        rule.on
                    ),
                );
            }
        }
        let shortest = self.strategy.shortest_first(self.jitter);
        if let Some(limit) = self.max_elapsed
            && shortest >= limit
            && !self.fast_first
        {
            findings.warn(
                Code::NoEffect,
                "retry.max_elapsed",
                format!("no wait fits into {limit:?}: the first one is {shortest:?} or longer"),
            );
        }
    }
}

fn check_strategy(strategy: &Strategy, findings: &mut Findings) {
    match strategy {
        Strategy::Fixed(wait) if wait.is_zero() => findings.error(
            Code::RepeatedImmediate,
            "retry.fixed",
            "a wait of zero repeats at once, again and again: choose the strategy `immediate` for one such retry",
        ),
        Strategy::Incremental { first, step } if first.is_zero() && step.is_zero() => findings.error(
            Code::RepeatedImmediate,
            "retry.incremental",
            "with first and step both zero every retry is immediate: give one of them a time",
        ),
        Strategy::Schedule(waits) if waits.is_empty() => {
            findings.error(
                Code::Empty,
                "retry.schedule",
                "a schedule needs at least one wait: choose the strategy `none` for no retry",
            );
        }
        Strategy::Schedule(waits) if waits.iter().skip(1).any(Duration::is_zero) => findings.error(
            Code::RepeatedImmediate,
            "retry.schedule",
            "only the first wait may be zero: there is at most one immediate retry",
        ),
        Strategy::Exponential { min, max, .. } if min > max => findings.error(
            Code::Contradiction,
            "retry.max_backoff",
            format!("max_backoff {max:?} is below min_backoff {min:?}: raise one or lower the other"),
        ),
        Strategy::Exponential { min, delta, .. } if min.is_zero() && delta.is_zero() => findings.error(
            Code::RepeatedImmediate,
            "retry.min_backoff",
            "with min_backoff and delta_backoff both zero every retry is immediate: give one of them a time",
        ),
        Strategy::Adaptive(fallback) => check_strategy(fallback, findings),
        _ => {}
    }
}
