//! The facade of the crate `metrics` over OpenTelemetry's instruments.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};
use opentelemetry::KeyValue;
use opentelemetry::metrics::{self as otel, Meter};

/// Boundaries of histograms, which are of seconds: OpenTelemetry's own are made for milliseconds.
const SECONDS: [f64; 14] = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

/// Records metrics into OpenTelemetry's instruments.
pub struct OtelRecorder {
    meter: Meter,
    about: Mutex<HashMap<String, About>>,
    instruments: Mutex<Instruments>,
}

/// What was told of a metric before it was first used.
#[derive(Clone, Default)]
struct About {
    unit: &'static str,
    description: String,
}

/// One instrument for each name: its series differ by attributes.
#[derive(Default)]
struct Instruments {
    counters: HashMap<String, otel::Counter<u64>>,
    gauges: HashMap<String, otel::Gauge<f64>>,
    histograms: HashMap<String, otel::Histogram<f64>>,
}

impl OtelRecorder {
    pub(crate) fn new(meter: Meter) -> Self {
        Self { meter, about: Mutex::default(), instruments: Mutex::default() }
    }

    fn describe(&self, name: &KeyName, unit: Option<Unit>, description: &SharedString) {
        let unit = unit.map_or("", |unit| unit.as_canonical_label());
        let about = About { unit, description: description.to_string() };
        lock(&self.about).insert(name.as_str().to_owned(), about);
    }

    fn about(&self, key: &Key) -> About {
        lock(&self.about).get(key.name()).cloned().unwrap_or_default()
    }
}

impl Recorder for OtelRecorder {
    fn describe_counter(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        self.describe(&key, unit, &description);
    }

    fn describe_gauge(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        self.describe(&key, unit, &description);
    }

    fn describe_histogram(&self, key: KeyName, unit: Option<Unit>, description: SharedString) {
        self.describe(&key, unit, &description);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let about = self.about(key);
        let mut instruments = lock(&self.instruments);
        let instrument = instruments.counters.entry(key.name().to_owned()).or_insert_with(|| {
            let new = self.meter.u64_counter(key.name().to_owned()).with_description(about.description);
            new.with_unit(about.unit).build()
        });
        let (instrument, attributes) = (instrument.clone(), attributes(key));
        // A series that stands at zero is seen too.
        instrument.add(0, &attributes);
        Counter::from_arc(Arc::new(Counted { instrument, attributes, told: AtomicU64::new(0) }))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        let about = self.about(key);
        let mut instruments = lock(&self.instruments);
        let instrument = instruments.gauges.entry(key.name().to_owned()).or_insert_with(|| {
            let new = self.meter.f64_gauge(key.name().to_owned()).with_description(about.description);
            new.with_unit(about.unit).build()
        });
        let value = AtomicU64::new(0.0_f64.to_bits());
        let (instrument, attributes) = (instrument.clone(), attributes(key));
        Gauge::from_arc(Arc::new(Gauged { instrument, attributes, value }))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        let about = self.about(key);
        let mut instruments = lock(&self.instruments);
        let instrument = instruments.histograms.entry(key.name().to_owned()).or_insert_with(|| {
            let new = self.meter.f64_histogram(key.name().to_owned()).with_description(about.description);
            let new = new.with_boundaries(SECONDS.to_vec());
            new.with_unit(about.unit).build()
        });
        Histogram::from_arc(Arc::new(Spread { instrument: instrument.clone(), attributes: attributes(key) }))
    }
}

impl fmt::Debug for OtelRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtelRecorder").finish_non_exhaustive()
    }
}

fn attributes(key: &Key) -> Box<[KeyValue]> {
    key.labels().map(|label| KeyValue::new(label.key().to_owned(), label.value().to_owned())).collect()
}

/// What a panic elsewhere left behind is whole: each map changes in one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Counted {
    instrument: otel::Counter<u64>,
    attributes: Box<[KeyValue]>,
    /// What this handle has told so far, for those who tell the whole and not the difference.
    told: AtomicU64,
}

impl CounterFn for Counted {
    fn increment(&self, value: u64) {
        self.told.fetch_add(value, Ordering::Relaxed);
        self.instrument.add(value, &self.attributes);
    }

    fn absolute(&self, value: u64) {
        let before = self.told.fetch_max(value, Ordering::Relaxed);
        self.instrument.add(value.saturating_sub(before), &self.attributes);
    }
}

struct Gauged {
    instrument: otel::Gauge<f64>,
    attributes: Box<[KeyValue]>,
    /// The value's bits: OpenTelemetry's gauges are only set, those of the facade also go up and down.
    value: AtomicU64,
}

impl Gauged {
    fn change(&self, by: f64) {
        let add = |bits| Some((f64::from_bits(bits) + by).to_bits());
        let before = self.value.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        let before = before.unwrap_or_else(|bits| bits);
        self.instrument.record(f64::from_bits(before) + by, &self.attributes);
    }
}

impl GaugeFn for Gauged {
    fn increment(&self, value: f64) {
        self.change(value);
    }

    fn decrement(&self, value: f64) {
        self.change(-value);
    }

    fn set(&self, value: f64) {
        self.value.store(value.to_bits(), Ordering::Relaxed);
        self.instrument.record(value, &self.attributes);
    }
}

struct Spread {
    instrument: otel::Histogram<f64>,
    attributes: Box<[KeyValue]>,
}

impl HistogramFn for Spread {
    fn record(&self, value: f64) {
        self.instrument.record(value, &self.attributes);
    }
}
