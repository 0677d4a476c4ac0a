//! T3: metrics as a real Prometheus recorder renders them, after scripted runs.

#![expect(clippy::unwrap_used, reason = "a test's own helpers")]

use std::time::Duration;

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusRecorder};
use steadfast_resilience::clock::VirtualClock;
use steadfast_resilience::pipeline::{Attempt, Hedge};
use steadfast_resilience::telemetry::alert::Watcher;
use steadfast_resilience::telemetry::metric;
use steadfast_resilience::{Breaker, Classify, Kind, Pipeline, Retry, Verdict, pipeline};

#[derive(Debug)]
struct Fault(Verdict);

impl Classify for Fault {
    fn classify(&self) -> Verdict {
        self.0
    }
}

fn lost() -> Fault {
    Fault(Verdict::transient(Kind::CONNECTION_LOST))
}

fn busy() -> Fault {
    Fault(Verdict::throttled(Kind::THROTTLED))
}

fn recorder() -> PrometheusRecorder {
    PrometheusBuilder::new().set_buckets(&[0.01, 1.0, 10.0]).unwrap().build_recorder()
}

fn pipeline(clock: &VirtualClock) -> pipeline::Builder {
    let retry = Retry::schedule([3, 7].map(Duration::from_secs)).no_jitter();
    Pipeline::builder("payments").retry(retry).no_breaker().clock(clock)
}

/// The value of a series, by its name and a part of its labels; `None` when there is no such line.
fn value(text: &str, name: &str, labels: &[&str]) -> Option<f64> {
    let mut lines = text.lines().filter(|line| {
        line.starts_with(&format!("{name}{{")) && labels.iter().all(|label| line.contains(label))
    });
    let line = lines.next()?;
    assert_eq!(lines.next(), None, "one series of {name} {labels:?}");
    line.rsplit(' ').next()?.parse().ok()
}

#[track_caller]
fn check(text: &str, expected: &[(&str, &[&str], f64)]) {
    for (name, labels, number) in expected {
        assert_eq!(value(text, name, labels), Some(*number), "{name} {labels:?} in\n{text}");
    }
}

const PAYMENTS: &str = "pipeline=\"payments\"";
const CHARGE: &str = "operation=\"charge\"";
const UNNAMED: &str = "operation=\"unnamed\"";

/// Runs a call that takes 20 ms for each attempt and fails with these in turn, then succeeds.
fn call(pipeline: &Pipeline, clock: &VirtualClock, operation: &'static str, faults: Vec<Fault>) {
    let mut faults = faults.into_iter();
    let _ = pipeline.call().named(operation).run_blocking(|_| {
        clock.advance(Duration::from_millis(20));
        faults.next().map_or(Ok(()), Err)
    });
}

// T3
#[test]
fn a_scripted_run_is_counted_exactly() {
    let (clock, recorder) = (VirtualClock::new(), recorder());
    metrics::with_local_recorder(&recorder, || {
        let payments = pipeline(&clock).build().unwrap();
        call(&payments, &clock, "charge", vec![]);
        call(&payments, &clock, "charge", vec![lost(), busy()]);
        call(&payments, &clock, "charge", vec![lost(), lost(), busy()]);
        call(&payments, &clock, "charge", vec![Fault(Verdict::terminal(Kind::new("declined")))]);
        call(&payments, &clock, "charge", vec![Fault(Verdict::unclassified())]);
        call(&payments, &clock, "refund", vec![]);
        payments.run_blocking(|_| Ok::<_, Fault>(())).unwrap();
        payments.run_blocking(|_| Ok::<_, Fault>(())).unwrap();
        // Calls that took no time by the clock are passed on later: at the latest by a look.
        let _ = Watcher::new([]).watch(&payments).look(clock.now());
    });
    let text = recorder.handle().render();
    let charge = &[PAYMENTS, CHARGE];
    check(
        &text,
        &[
            ("steadfast_calls_total", &[PAYMENTS, CHARGE, "outcome=\"succeeded\""], 2.0),
            ("steadfast_calls_total", &[PAYMENTS, CHARGE, "outcome=\"failed\""], 2.0),
            ("steadfast_calls_total", &[PAYMENTS, CHARGE, "outcome=\"terminal\""], 1.0),
            ("steadfast_calls_total", &[PAYMENTS, CHARGE, "outcome=\"refused\""], 0.0),
            ("steadfast_calls_total", &[PAYMENTS, "operation=\"refund\"", "outcome=\"succeeded\""], 1.0),
            ("steadfast_calls_total", &[PAYMENTS, UNNAMED, "outcome=\"succeeded\""], 2.0),
            ("steadfast_attempts_total", charge, 9.0),
            ("steadfast_retries_total", charge, 4.0),
            ("steadfast_throttled_total", charge, 2.0),
            ("steadfast_failures_total", &[PAYMENTS, CHARGE, "kind=\"connection-lost\""], 3.0),
            ("steadfast_failures_total", &[PAYMENTS, CHARGE, "kind=\"throttled\""], 2.0),
            ("steadfast_failures_total", &[PAYMENTS, CHARGE, "kind=\"declined\""], 1.0),
            ("steadfast_unclassified_total", charge, 1.0),
        ],
    );
    // 20 ms, and 20 ms three times with waits of 3 s and 7 s.
    let seconds = [PAYMENTS, CHARGE, "outcome=\"succeeded\""];
    check(
        &text,
        &[
            ("steadfast_call_duration_seconds_count", &seconds, 2.0),
            ("steadfast_call_duration_seconds_sum", &seconds, 0.02 + 10.06),
            ("steadfast_call_duration_seconds_count", &[UNNAMED, "outcome=\"succeeded\""], 2.0),
            (
                "steadfast_call_duration_seconds_bucket",
                &[UNNAMED, "le=\"0.01\"", "outcome=\"succeeded\""],
                2.0,
            ),
            ("steadfast_call_duration_seconds_count", &[CHARGE, "outcome=\"failed\""], 2.0),
            ("steadfast_call_duration_seconds_count", &[CHARGE, "outcome=\"terminal\""], 1.0),
        ],
    );
}

// T3, B6
#[test]
fn a_breakers_state_transitions_and_refusals_are_seen() {
    let (clock, recorder) = (VirtualClock::new(), recorder());
    let text = || recorder.handle().render();
    let state = |expected: f64| {
        check(&text(), &[("steadfast_breaker_state", &["breaker=\"payments\""], expected)]);
    };
    metrics::with_local_recorder(&recorder, || {
        let settings = Breaker::consecutive(1).open_for(Duration::from_secs(5)).successes_to_close(1);
        let payments = pipeline(&clock).no_retry().breaker(settings).build().unwrap();
        payments.run_blocking(|_| Ok::<_, Fault>(())).unwrap();
        state(0.0);
        let _ = payments.run_blocking(|_| Err::<(), _>(lost()));
        state(2.0);
        for _ in 0..3 {
            let _ = payments.run_blocking(|_| Ok::<_, Fault>(()));
        }
        let breaker = payments.breaker().unwrap();
        assert_eq!((breaker.report().refused, payments.report().refused), (3, 3));
        clock.advance(Duration::from_secs(60));
        payments.run_blocking(|_| Ok::<_, Fault>(())).unwrap();
        state(0.0);
        breaker.force_open(None, "test", "to see it");
        state(3.0);
        breaker.force_closed("test", "to see it");
        state(-1.0);
    });
    let text = text();
    let changes = |from: &str, to: &str| {
        let (from, to) = (format!("from=\"{from}\""), format!("to=\"{to}\""));
        value(&text, "steadfast_breaker_transitions_total", &["breaker=\"payments\"", &from, &to])
    };
    assert_eq!(changes("closed", "open"), Some(1.0), "{text}");
    assert_eq!((changes("open", "half-open"), changes("half-open", "closed")), (Some(1.0), Some(1.0)));
    check(
        &text,
        &[
            ("steadfast_breaker_refusals_total", &["breaker=\"payments\""], 3.0),
            ("steadfast_calls_total", &[PAYMENTS, "outcome=\"refused\""], 3.0),
        ],
    );
}

// T3
#[test]
fn the_budget_left_follows_retries_and_recovers() {
    let (clock, recorder) = (VirtualClock::new(), recorder());
    let left =
        |expected| check(&recorder.handle().render(), &[("steadfast_budget_left", &[PAYMENTS], expected)]);
    metrics::with_local_recorder(&recorder, || {
        let retry = Retry::fixed(Duration::from_millis(10)).no_jitter();
        let payments = pipeline(&clock).retry(retry).build().unwrap();
        payments.run_blocking(|_| Ok::<_, Fault>(())).unwrap();
        left(3.0);
        call(&payments, &clock, "charge", vec![lost(), lost()]);
        left(1.0);
        clock.advance(Duration::from_secs(60));
        payments.run_blocking(|_| Ok::<_, Fault>(())).unwrap();
        left(3.0);
    });
}

#[test]
fn a_recorder_installed_after_the_first_calls_is_found_and_so_is_the_next() {
    let clock = VirtualClock::new();
    let payments = pipeline(&clock).build().unwrap();
    payments.run_blocking(|_| Ok::<_, Fault>(())).unwrap();
    let recorders = [recorder(), recorder(), recorder()];
    for recorder in &recorders {
        metrics::with_local_recorder(recorder, || {
            call(&payments, &clock, "charge", vec![]);
            call(&payments, &clock, "charge", vec![]);
            payments.run_blocking(|_| Ok::<_, Fault>(())).unwrap();
        });
    }
    for recorder in &recorders {
        let text = recorder.handle().render();
        check(
            &text,
            &[
                ("steadfast_calls_total", &[CHARGE, "outcome=\"succeeded\""], 2.0),
                ("steadfast_calls_total", &[UNNAMED, "outcome=\"succeeded\""], 1.0),
            ],
        );
    }
    assert_eq!(payments.report().succeeded, 10, "the pipeline's own counts need no recorder");
}

#[test]
fn names_without_end_share_one_series() {
    let (clock, recorder) = (VirtualClock::new(), recorder());
    metrics::with_local_recorder(&recorder, || {
        let payments = pipeline(&clock).build().unwrap();
        for id in 0..200 {
            let call = payments.call().named(format!("order {id}"));
            call.run_blocking(|_| Ok::<_, Fault>(())).unwrap();
        }
        payments.call().named("order 7").run_blocking(|_| Ok::<_, Fault>(())).unwrap();
    });
    let text = recorder.handle().render();
    check(
        &text,
        &[
            ("steadfast_calls_total", &["operation=\"other\"", "succeeded"], 136.0),
            ("steadfast_calls_total", &["operation=\"order 7\"", "succeeded"], 2.0),
        ],
    );
    let series = text.lines().filter(|line| line.starts_with("steadfast_attempts_total{")).count();
    assert_eq!(series, 64 + 1 + 1, "named, other, unnamed");
}

#[test]
fn every_metric_is_described_and_what_is_rendered_is_in_the_table() {
    let (clock, recorder) = (VirtualClock::new(), recorder());
    metrics::with_local_recorder(&recorder, || {
        let payments = pipeline(&clock).breaker(Breaker::consecutive(3)).build().unwrap();
        let late = |attempt: Attempt| {
            let clock = clock.clone();
            async move {
                clock.timer(Duration::from_secs(if attempt.hedge() == 0 { 5 } else { 1 })).await;
                Ok::<_, Fault>(())
            }
        };
        let hedge = Hedge::after(Duration::from_secs(1));
        clock.block_on(payments.call().named("charge").hedge(hedge).run(late)).unwrap();
        call(&payments, &clock, "charge", vec![busy()]);
        call(&payments, &clock, "charge", vec![Fault(Verdict::unclassified())]);
        call(&payments, &clock, "charge", vec![lost(), lost(), lost()]);
        let _ = payments.run_blocking(|_| Ok::<_, Fault>(()));
    });
    let text = recorder.handle().render();
    for metric in metric::ALL {
        assert!(
            text.contains(&format!("# HELP {} {}", metric.name, metric.about)),
            "{} in\n{text}",
            metric.name
        );
        let kind = format!("{:?}", metric.kind).to_lowercase();
        assert!(text.contains(&format!("# TYPE {} {kind}", metric.name)), "{} in\n{text}", metric.name);
    }
    for line in text.lines().filter(|line| line.starts_with("steadfast_")) {
        let (name, labels) = line.split_once('{').unwrap();
        let metric = metric::ALL.iter().find(|metric| name.starts_with(metric.name)).unwrap();
        for label in metric.labels {
            assert!(labels.contains(&format!("{label}=\"")), "{label} in {line}");
        }
    }
}

/// The rows of the guide's table of metrics: name, kind and labels.
fn guide() -> Vec<(String, String, String)> {
    let guide = include_str!("../../../docs/guide/watching.md");
    let rows = guide.lines().filter(|line| line.starts_with("| `steadfast_") && !line.contains("::"));
    let row = |line: &str| {
        let cells: Vec<_> = line.split('|').map(|cell| cell.trim().replace('`', "")).collect();
        (cells[1].clone(), cells[2].clone(), cells[3].clone())
    };
    rows.map(row).collect()
}

#[test]
fn the_guides_table_is_the_codes_name_for_name() {
    let code: Vec<_> = metric::ALL
        .iter()
        .map(|metric| {
            let kind = format!("{:?}", metric.kind).to_lowercase();
            (metric.name.to_owned(), kind, metric.labels.join(", "))
        })
        .collect();
    assert_eq!(guide(), code);
}
