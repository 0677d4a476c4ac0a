//! Counts and times of calls as metrics, through the facade of the crate `metrics`.
//!
//! The handles that a successful call needs are made once; what happens seldom is looked up by its labels each time.
//! Nothing here is asked by the library: a metric that is wrong harms nobody's call.

mod cached;
mod circuit;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use metrics::{
    Counter, Gauge, Histogram, Key, KeyName, Label, Level, Metadata, Recorder, SharedString, Unit,
};

pub(crate) use circuit::{Refusals, state_changed};

use self::cached::Cached;
use super::metric::{self, Metric};
use super::watch::{Outcome, Watched};
use crate::classify::{Class, Verdict};
use crate::clock::{Moment, nanos};
use crate::pipeline::Inner;

/// Operations of one pipeline that have series of their own. Names are few by design; one with an id in it would make
/// a series for each call and fill the recorder's memory.
pub(super) const MAX_OPERATIONS: usize = 64;
/// The label of the operations beyond that.
pub(super) const OTHER: &str = "other";
/// The label of calls without a name.
pub(super) const UNNAMED: &str = "unnamed";

/// How often gauges are set while calls go on: finer than anybody scrapes.
const GAUGES_EVERY: Duration = Duration::from_secs(1);

const METADATA: Metadata<'static> = Metadata::new("steadfast_resilience", Level::INFO, None);

/// The metrics of one pipeline.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    handles: Cached<Handles>,
}

/// Calls quicker than the clock's step that are recorded with one that was not, and each time the gauges are set. The
/// Prometheus exporter keeps every sample of a histogram and allocates for each 64: recorded one by one they made a
/// quick call 1.7 times as long. So those who took milliseconds pay for those who took none.
const QUICK_WITH_ONE: u64 = 64;
const QUICK_WITH_GAUGES: u64 = 1_024;

/// What is made for one recorder.
struct Handles {
    unnamed: OfOperation,
    named: ArcSwap<HashMap<Box<str>, Arc<OfOperation>>>,
    pipeline: SharedString,
    budget_left: Option<Gauge>,
    /// When the gauges were last set.
    gauges_set: AtomicU64,
}

/// What the paths of a healthy program, and of one whose service is down, need.
struct OfOperation {
    operation: SharedString,
    succeeded: Counter,
    refused: Counter,
    attempts: Counter,
    success_seconds: Histogram,
    /// Successes that took no time by the clock and are not in the histogram yet.
    quick: AtomicU64,
}

impl Meter {
    #[inline]
    pub(super) fn succeeded(&self, call: &Watched<'_>, retries: u32, elapsed: Duration, now: Moment) {
        self.with(call, |handles, of| {
            of.succeeded.increment(1);
            of.attempts.increment(1);
            of.time(elapsed);
            if retries > 0 {
                handles.count(of, &metric::RETRIES, None);
            }
            handles.set_gauges_if_due(call.pipeline, now);
        });
    }

    /// An attempt failed, or was given up when there is no failure.
    pub(super) fn attempt_ended(&self, call: &Watched<'_>, number: u32, failure: Option<&Verdict>) {
        self.with(call, |handles, of| {
            of.attempts.increment(1);
            if number > 0 {
                handles.count(of, &metric::RETRIES, None);
            }
            let Some(failure) = failure else { return };
            handles.count(of, &metric::FAILURES, Some(failure.kind().as_str()));
            if failure.class() == Class::Throttled {
                handles.count(of, &metric::THROTTLED, None);
            }
        });
    }

    /// A call ended otherwise than by success.
    pub(super) fn ended(&self, call: &Watched<'_>, outcome: Outcome, elapsed: Duration, now: Moment) {
        self.with(call, |handles, of| {
            if outcome == Outcome::Refused {
                of.refused.increment(1);
            } else {
                handles.count(of, &metric::CALLS, Some(outcome.as_str()));
            }
            if matches!(outcome, Outcome::Failed | Outcome::Terminal) {
                let key = handles.key(of, &metric::CALL_SECONDS, Some(outcome.as_str()));
                metrics::with_recorder(|recorder| recorder.register_histogram(&key, &METADATA))
                    .record(elapsed.as_secs_f64());
            }
            handles.set_gauges_if_due(call.pipeline, now);
        });
    }

    #[cfg(feature = "tokio")]
    pub(super) fn hedged(&self, call: &Watched<'_>) {
        self.with(call, |handles, of| {
            of.attempts.increment(1);
            handles.count(of, &metric::HEDGES, None);
        });
    }

    pub(super) fn unclassified(&self, call: &Watched<'_>) {
        self.with(call, |handles, of| handles.count(of, &metric::UNCLASSIFIED, None));
    }

    /// Brings everything up to date now.
    pub(super) fn set_gauges(&self, pipeline: &Inner, now: Moment) {
        self.handles.with(
            |recorder| Handles::new(recorder, pipeline, now),
            |handles| {
                handles.set_gauges(pipeline, now);
            },
        );
    }

    #[inline]
    fn with(&self, call: &Watched<'_>, see: impl FnOnce(&Handles, &OfOperation)) {
        let make = |recorder: &dyn Recorder| Handles::new(recorder, call.pipeline, call.pipeline.clock.now());
        self.handles.with(make, |handles| {
            if call.operation.is_empty() {
                see(handles, &handles.unnamed);
            } else {
                handles.with_named(call.operation, |of| see(handles, of));
            }
        });
    }
}

impl Handles {
    #[cold]
    fn new(recorder: &dyn Recorder, pipeline: &Inner, now: Moment) -> Self {
        describe(recorder);
        let name = SharedString::from(pipeline.name.to_string());
        let gauge = |name: &SharedString| {
            let label = vec![Label::new("pipeline", name.clone())];
            recorder.register_gauge(&Key::from_parts(metric::BUDGET_LEFT.name, label), &METADATA)
        };
        let handles = Self {
            unnamed: OfOperation::new(recorder, &name, UNNAMED.into()),
            named: ArcSwap::default(),
            budget_left: pipeline.budget.as_ref().map(|_| gauge(&name)),
            pipeline: name,
            gauges_set: AtomicU64::new(0),
        };
        handles.set_gauges(pipeline, now);
        if let Some(breaker) = &pipeline.breaker {
            circuit::set_state(breaker.name(), breaker.state());
        }
        handles
    }

    fn with_named(&self, operation: &str, see: impl FnOnce(&OfOperation)) {
        let named = self.named.load();
        if let Some(of) =
            named.get(operation).or_else(|| named.get(OTHER).filter(|_| named.len() > MAX_OPERATIONS))
        {
            return see(of);
        }
        see(&self.add_named(operation));
    }

    #[cold]
    fn add_named(&self, operation: &str) -> Arc<OfOperation> {
        let mut added = None;
        self.named.rcu(|named| {
            let name = if named.len() < MAX_OPERATIONS { operation } else { OTHER };
            let mut more = HashMap::clone(named);
            let of = more.entry(name.into()).or_insert_with(|| {
                metrics::with_recorder(|recorder| {
                    Arc::new(OfOperation::new(recorder, &self.pipeline, name.to_owned().into()))
                })
            });
            added = Some(Arc::clone(of));
            more
        });
        added.unwrap_or_else(|| {
            let name = SharedString::from(OTHER);
            metrics::with_recorder(|recorder| Arc::new(OfOperation::new(recorder, &self.pipeline, name)))
        })
    }

    /// The key of a metric of an operation; `more` is the value of its third label.
    fn key(&self, of: &OfOperation, metric: &Metric, more: Option<&'static str>) -> Key {
        key(metric, &self.pipeline, &of.operation, more)
    }

    #[cold]
    fn count(&self, of: &OfOperation, metric: &Metric, more: Option<&'static str>) {
        let key = self.key(of, metric, more);
        metrics::with_recorder(|recorder| recorder.register_counter(&key, &METADATA)).increment(1);
    }

    #[inline]
    fn set_gauges_if_due(&self, pipeline: &Inner, now: Moment) {
        let last = self.gauges_set.load(Ordering::Relaxed);
        if now.as_nanos().saturating_sub(last) >= nanos(GAUGES_EVERY) {
            self.set_gauges(pipeline, now);
        }
    }

    #[cold]
    #[expect(clippy::cast_precision_loss, reason = "a budget is far below 2^52")]
    fn set_gauges(&self, pipeline: &Inner, now: Moment) {
        self.gauges_set.store(now.as_nanos(), Ordering::Relaxed);
        if let (Some(gauge), Some(budget)) = (&self.budget_left, &pipeline.budget) {
            gauge.set(budget.left(now) as f64);
        }
        self.unnamed.record_quick(QUICK_WITH_GAUGES);
        self.named.load().values().for_each(|of| of.record_quick(QUICK_WITH_GAUGES));
    }
}

impl OfOperation {
    fn new(recorder: &dyn Recorder, pipeline: &SharedString, operation: SharedString) -> Self {
        let counter = |metric: &Metric, more| {
            recorder.register_counter(&key(metric, pipeline, &operation, more), &METADATA)
        };
        let outcome = |outcome: Outcome| counter(&metric::CALLS, Some(outcome.as_str()));
        let seconds = key(&metric::CALL_SECONDS, pipeline, &operation, Some(Outcome::Succeeded.as_str()));
        Self {
            succeeded: outcome(Outcome::Succeeded),
            refused: outcome(Outcome::Refused),
            attempts: counter(&metric::ATTEMPTS, None),
            success_seconds: recorder.register_histogram(&seconds, &METADATA),
            quick: AtomicU64::new(0),
            operation,
        }
    }

    #[inline]
    fn time(&self, elapsed: Duration) {
        if elapsed.is_zero() {
            self.quick.fetch_add(1, Ordering::Relaxed);
        } else {
            self.success_seconds.record(elapsed.as_secs_f64());
            self.record_quick(QUICK_WITH_ONE);
        }
    }

    /// Puts up to this many of the quick calls into the histogram.
    fn record_quick(&self, most: u64) {
        let take = |quick: u64| quick.checked_sub(quick.min(most)).filter(|_| quick > 0);
        if let Ok(quick) = self.quick.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            let taken = usize::try_from(quick.min(most)).unwrap_or(usize::MAX);
            self.success_seconds.record_many(0.0, taken);
        }
    }
}

fn key(
    metric: &Metric,
    pipeline: &SharedString,
    operation: &SharedString,
    more: Option<&'static str>,
) -> Key {
    let values = [Some(pipeline.clone()), Some(operation.clone()), more.map(SharedString::from)];
    let labels = metric.labels.iter().zip(values);
    let labels: Vec<_> = labels.filter_map(|(name, value)| Some(Label::new(*name, value?))).collect();
    Key::from_parts(metric.name, labels)
}

fn describe(recorder: &dyn Recorder) {
    for metric in metric::ALL {
        let name = KeyName::from_const_str(metric.name);
        let unit = (metric.unit == "seconds").then_some(Unit::Seconds);
        let about = SharedString::from(metric.about);
        match metric.kind {
            metric::Kind::Counter => recorder.describe_counter(name, unit, about),
            metric::Kind::Gauge => recorder.describe_gauge(name, unit, about),
            metric::Kind::Histogram => recorder.describe_histogram(name, unit, about),
        }
    }
}

/// Does something of which nothing is measured.
#[cfg(feature = "simulate")]
pub(crate) fn unmetered<T>(work: impl FnOnce() -> T) -> T {
    metrics::with_local_recorder(&metrics::NoopRecorder, work)
}
