//! Two recorders as one: Prometheus' and a collector's.

use std::sync::Arc;

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};

/// Two recorders that hear the same.
pub(super) struct Both<A, B>(pub(super) A, pub(super) B);

struct Pair<M>(M, M);

impl CounterFn for Pair<Counter> {
    fn increment(&self, value: u64) {
        self.0.increment(value);
        self.1.increment(value);
    }

    fn absolute(&self, value: u64) {
        self.0.absolute(value);
        self.1.absolute(value);
    }
}

impl GaugeFn for Pair<Gauge> {
    fn increment(&self, value: f64) {
        self.0.increment(value);
        self.1.increment(value);
    }

    fn decrement(&self, value: f64) {
        self.0.decrement(value);
        self.1.decrement(value);
    }

    fn set(&self, value: f64) {
        self.0.set(value);
        self.1.set(value);
    }
}

impl HistogramFn for Pair<Histogram> {
    fn record(&self, value: f64) {
        self.0.record(value);
        self.1.record(value);
    }
}

impl<A: Recorder, B: Recorder> Recorder for Both<A, B> {
    fn describe_counter(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        self.0.describe_counter(key.clone(), unit, description.clone());
        self.1.describe_counter(key, unit, description);
    }

    fn describe_gauge(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        self.0.describe_gauge(key.clone(), unit, description.clone());
        self.1.describe_gauge(key, unit, description);
    }

    fn describe_histogram(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        self.0.describe_histogram(key.clone(), unit, description.clone());
        self.1.describe_histogram(key, unit, description);
    }

    fn register_counter(&self, key: &Key, about: &Metadata<'_>) -> Counter {
        let pair = Pair(self.0.register_counter(key, about), self.1.register_counter(key, about));
        Counter::from_arc(Arc::new(pair))
    }

    fn register_gauge(&self, key: &Key, about: &Metadata<'_>) -> Gauge {
        let pair = Pair(self.0.register_gauge(key, about), self.1.register_gauge(key, about));
        Gauge::from_arc(Arc::new(pair))
    }

    fn register_histogram(&self, key: &Key, about: &Metadata<'_>) -> Histogram {
        let pair = Pair(self.0.register_histogram(key, about), self.1.register_histogram(key, about));
        Histogram::from_arc(Arc::new(pair))
    }
}
