//! A pipeline: timeout, retry, budget, breaker and fallback around the operations of one service.
//!
//! The order is fixed, from the outside in:
//!
//! | part | does | why there |
//! |---|---|---|
//! | fallback | stands in when the service cannot be had | after everything else was tried |
//! | retry | tries again, waits in between | sees each attempt's outcome |
//! | budget | limits retries to a share of what succeeds | a retry must be paid for before it waits |
//! | limit | keeps calls within a number and a rate | a place is held while an attempt runs, never while a call waits |
//! | breaker | refuses while the service is down | sees every attempt; a refusal costs no attempt, no budget and no turn |
//! | attempt timeout | ends an attempt that takes too long | its end is a failure for breaker and retry |
//! | operation | yours | |
//!
//! Doors: [`Pipeline::run`] for async, [`Pipeline::run_mut`] for `&mut` captures, [`Pipeline::run_blocking`], a
//! `tower::Layer` (feature `tower`), and `Pipeline::send` for requests of `reqwest` (feature `reqwest`). They share one breaker and one budget. Nothing is held while a call waits.

mod attempt;
mod blocking;
mod builder;
mod call;
mod fallback;
mod flow;
mod group;
#[cfg(feature = "tokio")]
mod hedge;
mod held;
mod nesting;
#[cfg(feature = "tokio")]
mod run;
#[cfg(feature = "reqwest")]
mod send;
#[cfg(test)]
mod tests;
#[cfg(feature = "tower")]
mod tower;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

pub use attempt::Attempt;
pub use builder::Builder;
#[cfg(feature = "policy")]
pub(crate) use builder::DEFAULT_ATTEMPT_TIMEOUT;
pub use call::Call;
pub use fallback::{LastGood, WithFallback};
#[cfg(feature = "simulate")]
pub(crate) use flow::{Begin, Next};
pub use group::Group;
#[cfg(feature = "tokio")]
pub use hedge::{Hedge, WithHedge};
#[cfg(feature = "tokio")]
pub use run::{Operation, Run};
#[cfg(feature = "reqwest")]
pub use send::{SendError, Sending};
#[cfg(feature = "tower")]
pub use tower::{Layer, ResponseFuture, Service};

use crate::breaker::Breaker;
use crate::classify::{Class, ErrorsOnly, Unclassified, UnclassifiedEntry, Verdict};
use crate::clock::{Clock, Moment};
use crate::limit::Limit;
use crate::log;
use crate::problem::{BuildError, Problem};
use crate::random;
use crate::retry::{Budget, On, Retry};
use crate::telemetry::{Report, Watch};
use held::Source;
use nesting::Nesting;

/// A call that somebody else drives, step by step.
#[cfg(feature = "simulate")]
pub(crate) type Driven<'p> = flow::Flow<held::Held<'p>>;

/// Everything between a caller and one service. Clones are one and the same pipeline.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use steadfast_resilience::Pipeline;
///
/// let payments = Pipeline::standard("payments");
/// let receipt = payments.run(|attempt| async move { Ok::<_, std::io::Error>(attempt.number()) }).await?;
/// assert_eq!(receipt, 0);
/// # Ok::<(), steadfast_resilience::Error<std::io::Error>>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Pipeline {
    name: Arc<str>,
    source: Source,
}

pub(crate) struct Inner {
    pub(crate) name: Arc<str>,
    pub(crate) clock: Clock,
    pub(crate) retry: Option<Retry>,
    pub(crate) budget: Option<Budget>,
    pub(crate) breaker: Option<Breaker>,
    pub(crate) limit: Option<Limit>,
    pub(crate) attempt_timeout: Option<Duration>,
    pub(crate) server_timeout: Option<Duration>,
    pub(crate) complete_within: Option<Duration>,
    pub(crate) wait_for_breaker: bool,
    pub(crate) idempotent: bool,
    pub(crate) log_successes: bool,
    /// How many attempts a call's story keeps.
    pub(crate) story_kept: usize,
    /// Calls that the service's own SDK makes of one; 1 when it does not retry.
    pub(crate) sdk_calls: u32,
    pub(crate) randomness: random::Source,
    /// Failures that mean something else here than the program says, by kind or code.
    pub(crate) reclassify: Vec<(On, Class)>,
    /// What operations do differently, by name.
    pub(crate) operations: HashMap<String, OperationSettings>,
    /// What was seen so far; a reload keeps it.
    pub(crate) seen: Arc<Seen>,
    warnings: Vec<Problem>,
}

/// What a pipeline has seen.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) unclassified: Unclassified,
    /// The largest product of nested retries.
    nested_calls: AtomicU32,
    /// Counts of calls, and how they reach the metrics.
    pub(crate) watch: Watch,
}

/// What one operation does differently, as a policy file says.
#[derive(Clone, Debug, Default)]
pub(crate) struct OperationSettings {
    pub(crate) retry: Option<Retry>,
    pub(crate) attempt_timeout: Option<Duration>,
    pub(crate) server_timeout: Option<Duration>,
    pub(crate) complete_within: Option<Duration>,
    pub(crate) idempotent: Option<bool>,
    pub(crate) reclassify: Vec<(On, Class)>,
}

impl Pipeline {
    /// Settings for the service of this name, all at their defaults.
    pub fn builder(name: impl Into<String>) -> Builder {
        Builder::new(name.into())
    }

    /// A pipeline with every setting at its default: three retries between 100 ms and 10 s with full jitter, a budget
    /// of 10 %, [`Breaker::standard`], 10 s for an attempt. A blank name becomes `unnamed`.
    #[must_use]
    pub fn standard(name: impl Into<String>) -> Self {
        let name: String = name.into();
        Builder::new(if name.trim().is_empty() { "unnamed".to_owned() } else { name }).build_defaults()
    }

    /// Options for one call: a deadline, another classifier, a fallback, ...
    pub fn call(&self) -> Call<'_, ErrorsOnly> {
        Call::new(self)
    }

    /// A pipeline whose settings a policy file can change.
    #[cfg(feature = "policy")]
    pub(crate) fn live(name: &str, settings: &Arc<arc_swap::ArcSwap<Inner>>) -> Self {
        Self { name: name.into(), source: Source::Live(Arc::clone(settings)) }
    }

    /// A call to be driven step by step.
    #[cfg(feature = "simulate")]
    pub(crate) fn drive(&self) -> Driven<'_> {
        flow::Flow::new(self.source.hold(), None)
    }

    fn fixed(inner: Inner) -> Self {
        Self { name: Arc::clone(&inner.name), source: Source::Fixed(Arc::new(inner)) }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The breaker, if there is one.
    #[must_use]
    pub fn breaker(&self) -> Option<Breaker> {
        self.source.hold().breaker.clone()
    }

    /// The retry settings, if there are any.
    #[must_use]
    pub fn retry(&self) -> Option<Retry> {
        self.source.hold().retry.clone()
    }

    /// How long each attempt may take, where that is limited.
    #[must_use]
    pub fn attempt_timeout(&self) -> Option<Duration> {
        self.source.hold().attempt_timeout
    }

    /// The retry budget, if there is one.
    #[must_use]
    pub fn budget(&self) -> Option<Budget> {
        self.source.hold().budget.clone()
    }

    /// The limit on calls, if there is one.
    #[must_use]
    pub fn limit(&self) -> Option<Limit> {
        self.source.hold().limit.clone()
    }

    /// Settings that can never take effect, or that hurt. Not errors: it works as told.
    #[must_use]
    pub fn warnings(&self) -> Vec<Problem> {
        self.source.hold().warnings.clone()
    }

    /// Errors that nobody classified, so that the rules can be revised.
    #[must_use]
    pub fn unclassified(&self) -> Vec<UnclassifiedEntry> {
        self.source.hold().seen.unclassified.entries()
    }

    /// The most calls that nested retries, as seen so far, can make of one operation here; `None` when this pipeline's
    /// retries were never seen inside of others.
    #[must_use]
    pub fn nested_calls(&self) -> Option<u32> {
        match self.source.hold().seen.nested_calls.load(Ordering::Relaxed) {
            0 => None,
            calls => Some(calls),
        }
    }

    /// What became of its calls, from the beginning. A reload of policies keeps the counts.
    ///
    /// ```
    /// use steadfast_resilience::Pipeline;
    ///
    /// let files = Pipeline::standard("files");
    /// files.run_blocking(|_| Ok::<_, std::io::Error>(()))?;
    /// let report = files.report();
    /// assert_eq!((report.calls(), report.succeeded, report.retries), (1, 1, 0));
    /// # Ok::<(), steadfast_resilience::Error<std::io::Error>>(())
    /// ```
    #[must_use]
    pub fn report(&self) -> Report {
        self.source.hold().seen.watch.report()
    }

    /// Brings the metrics up to date that calls set only now and then.
    pub(crate) fn set_gauges(&self, now: Moment) {
        let inner = self.source.hold();
        inner.seen.watch.set_gauges(&inner, now);
    }

    /// The time on this pipeline's clock, for deadlines.
    #[must_use]
    pub fn now(&self) -> Moment {
        self.source.hold().clock.now()
    }
}

/// What a failure means where the settings say so: the first rule that fits.
fn reclassified<'r>(verdict: Verdict, rules: impl IntoIterator<Item = &'r (On, Class)>) -> Verdict {
    let rule = rules.into_iter().find(|(on, _)| on.matches(&verdict));
    rule.map_or(verdict, |(_, class)| verdict.with_class(*class))
}

impl Inner {
    /// What failures mean: first by the settings of the operation, then by those of the service.
    fn rules_for(&self, operation: &str) -> impl Iterator<Item = &(On, Class)> {
        let operation = self.operations.get(operation);
        operation.map_or(&[][..], |settings| &settings.reclassify).iter().chain(&self.reclassify)
    }

    /// Goes on with what another one has seen.
    #[cfg(feature = "policy")]
    pub(crate) fn keep_seen(&mut self, other: &Self) {
        self.seen = Arc::clone(&other.seen);
    }

    #[cold]
    fn report_nesting(&self, nesting: Nesting) {
        if self.seen.nested_calls.fetch_max(nesting.calls, Ordering::Relaxed) < nesting.calls {
            log::nested(&self.name, nesting.calls);
        }
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline")
            .field("name", &self.name)
            .field("retry", &self.retry())
            .field("breaker", &self.breaker())
            .field("budget", &self.budget())
            .finish_non_exhaustive()
    }
}

impl TryFrom<Builder> for Pipeline {
    type Error = BuildError;

    fn try_from(builder: Builder) -> Result<Self, BuildError> {
        builder.build()
    }
}
