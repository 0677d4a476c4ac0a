//! T3: spans and metrics of a real pipeline as a collector gets them over HTTP.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test's own helpers")]

mod collector;

use std::time::Duration;

use collector::{Collector, Received};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{Metric, number_data_point};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use steadfast_otel::{Error, Telemetry};
use steadfast_resilience::clock::VirtualClock;
use steadfast_resilience::{Breaker, Classify, Kind, Pipeline, Retry, Verdict};
use tracing_subscriber::layer::SubscriberExt as _;

#[derive(Debug)]
struct Lost;

impl Classify for Lost {
    fn classify(&self) -> Verdict {
        Verdict::transient(Kind::CONNECTION_LOST)
    }
}

/// One call that succeeds with its third attempt, on a virtual clock, sent to a collector.
fn exported() -> Received {
    let collector = Collector::start();
    let telemetry = Telemetry::to(collector.url()).service("checkout").start().unwrap();
    let recorder = telemetry.recorder();
    let subscriber = tracing_subscriber::registry().with(telemetry.layer());
    tracing::subscriber::with_default(subscriber, || {
        metrics::with_local_recorder(&recorder, || {
            let clock = VirtualClock::new();
            let retry = Retry::fixed(Duration::from_secs(2)).no_jitter();
            let breaker = Breaker::standard();
            let payments = Pipeline::builder("payments").retry(retry).breaker(breaker).clock(&clock);
            let payments = payments.build().unwrap();
            let call = payments.call().named("charge");
            call.run_blocking(|attempt| if attempt.number() < 2 { Err(Lost) } else { Ok(()) }).unwrap();
            payments.breaker().unwrap().force_open(None, "test", "to see it");
        });
    });
    telemetry.shut_down().unwrap();
    collector.stop()
}

fn text(value: &Option<AnyValue>) -> String {
    match value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        other => panic!("{other:?}"),
    }
}

fn get(attributes: &[KeyValue], key: &str) -> Option<String> {
    attributes.iter().find(|attribute| attribute.key == key).map(|attribute| text(&attribute.value))
}

// T3
#[test]
fn a_collector_gets_the_call_and_its_attempts_as_spans() {
    let received = exported();
    let resources = received.traces.iter().flat_map(|request| &request.resource_spans);
    let mut spans: Vec<Span> = Vec::new();
    for resource in resources {
        let of = &resource.resource.as_ref().unwrap().attributes;
        assert_eq!(get(of, "service.name").as_deref(), Some("checkout"));
        spans.extend(resource.scope_spans.iter().flat_map(|scope| scope.spans.clone()));
    }
    let call = spans.iter().find(|span| span.name == "payments charge").unwrap();
    assert_eq!(get(&call.attributes, "outcome").as_deref(), Some("succeeded"));
    assert_eq!(get(&call.attributes, "retries").as_deref(), Some("2"));
    assert_eq!(get(&call.attributes, "operation_id").unwrap().len(), 32);
    assert!(call.parent_span_id.is_empty());
    let mut attempts: Vec<_> = spans.iter().filter(|span| span.name == "attempt").collect();
    attempts.sort_by_key(|span| get(&span.attributes, "attempt"));
    assert_eq!((spans.len(), attempts.len()), (4, 3), "{spans:?}");
    for (number, attempt) in attempts.iter().enumerate() {
        assert_eq!(attempt.parent_span_id, call.span_id);
        assert_eq!(attempt.trace_id, call.trace_id);
        assert_eq!(get(&attempt.attributes, "attempt"), Some(number.to_string()));
        let failed = attempt.status.as_ref().is_some_and(|status| status.code == StatusCode::Error as i32);
        assert_eq!(failed, number < 2, "{attempt:?}");
    }
    assert_eq!(get(&attempts[0].attributes, "kind").as_deref(), Some("connection-lost"));
    let events: Vec<_> = call.events.iter().map(|event| event.name.as_str()).collect();
    let retried = "attempt failed, will be tried again";
    assert_eq!(events, [retried, retried, "call succeeded"]);
}

/// The number of the point with these attributes.
fn number(metric: &Metric, labels: &[(&str, &str)]) -> f64 {
    let points = match metric.data.as_ref().unwrap() {
        Data::Sum(sum) => &sum.data_points,
        Data::Gauge(gauge) => &gauge.data_points,
        other => panic!("{other:?}"),
    };
    let fits = |attributes: &[KeyValue]| {
        labels.iter().all(|(key, value)| get(attributes, key).as_deref() == Some(*value))
    };
    let point = points.iter().find(|point| fits(&point.attributes)).unwrap_or_else(|| panic!("{metric:?}"));
    match point.value.unwrap() {
        number_data_point::Value::AsDouble(value) => value,
        number_data_point::Value::AsInt(value) => f64::from(i32::try_from(value).unwrap()),
    }
}

// T3
#[test]
fn a_collector_gets_the_metrics_with_their_labels() {
    let received = exported();
    let resources = received.metrics.iter().flat_map(|request| &request.resource_metrics);
    let all: Vec<_> =
        resources.flat_map(|resource| &resource.scope_metrics).flat_map(|scope| &scope.metrics).collect();
    let find =
        |name: &str| *all.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("{name}"));
    let charge = [("pipeline", "payments"), ("operation", "charge")];
    for (name, expected) in [("steadfast_attempts_total", 3.0), ("steadfast_retries_total", 2.0)] {
        assert_eq!(number(find(name), &charge), expected, "{name}");
    }
    assert_eq!(number(find("steadfast_calls_total"), &[charge[1], ("outcome", "succeeded")]), 1.0);
    assert_eq!(number(find("steadfast_failures_total"), &[charge[1], ("kind", "connection-lost")]), 2.0);
    assert_eq!(number(find("steadfast_breaker_state"), &[("breaker", "payments")]), 3.0);
    let opened = [("breaker", "payments"), ("from", "closed"), ("to", "forced open")];
    assert_eq!(number(find("steadfast_breaker_transitions_total"), &opened), 1.0);
    let seconds = find("steadfast_call_duration_seconds");
    assert_eq!(seconds.unit, "s");
    let Some(Data::Histogram(histogram)) = &seconds.data else { panic!("{seconds:?}") };
    let point = histogram.data_points.iter().find(|point| point.count == 1).unwrap();
    assert_eq!(point.sum, Some(4.0), "two waits of 2 s");
    assert!(!find("steadfast_calls_total").description.is_empty());
}

#[test]
fn what_cannot_be_sent_at_the_end_is_an_error() {
    let collector = Collector::start();
    let url = collector.url();
    let _ = collector.stop();
    let telemetry = Telemetry::to(url).timeout(Duration::from_millis(500)).start().unwrap();
    metrics::with_local_recorder(&telemetry.recorder(), || metrics::counter!("lost").increment(1));
    let error = telemetry.shut_down().unwrap_err();
    assert!(matches!(error, Error::ShutDown { what: "metrics", .. }), "{error:?}");
}

#[test]
fn spans_that_cannot_be_sent_at_the_end_are_an_error_too() {
    let collector = Collector::start();
    let url = collector.url();
    let _ = collector.stop();
    let telemetry = Telemetry::to(url).timeout(Duration::from_millis(500)).start().unwrap();
    let subscriber = tracing_subscriber::registry().with(telemetry.layer());
    tracing::subscriber::with_default(subscriber, || drop(tracing::info_span!("lost")));
    let error = telemetry.shut_down().unwrap_err();
    assert!(error.to_string().contains("the last spans could not be sent"), "{error:?}");
}

#[test]
fn an_address_that_makes_no_sense_is_refused() {
    for address in ["not an address", "", "ftp://here", "https://here", "http://"] {
        let error = Telemetry::to(address).start().unwrap_err();
        assert!(matches!(&error, Error::Address { endpoint } if endpoint == address), "{error}");
        assert!(error.to_string().contains("http://localhost:4318"), "{error}");
    }
}
