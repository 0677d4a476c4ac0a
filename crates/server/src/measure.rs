//! What is measured beside the calls of pipelines: one table, from which the text for Prometheus and the reference are made.

use std::fmt::Write as _;

use steadfast::Stats;
use steadfast::resilience::telemetry::metric::{self, Kind};

/// One figure.
struct Measure {
    name: &'static str,
    kind: &'static str,
    labels: &'static [&'static str],
    about: &'static str,
}

const fn measure(
    name: &'static str,
    kind: &'static str,
    labels: &'static [&'static str],
    about: &'static str,
) -> Measure {
    Measure { name, kind, labels, about }
}

/// The name of the count of requests.
pub(crate) const REQUESTS: &str = "steadfast_http_requests_total";
/// The name of the times of requests.
pub(crate) const REQUEST_SECONDS: &str = "steadfast_http_request_seconds";

/// The name of the count of answers by callback.
pub(crate) const CALLBACKS: &str = "steadfast_callbacks_total";

const ROUTE: &[&str] = &["method", "route", "status"];

/// Of the HTTP API.
const HTTP: [Measure; 3] = [
    measure(
        REQUESTS,
        "counter",
        ROUTE,
        "Requests that were answered. `route` is as in the OpenAPI document, and empty where there is none.",
    ),
    measure(
        REQUEST_SECONDS,
        "histogram",
        ROUTE,
        "How long they took, waiting for the end of a task included.",
    ),
    measure(
        CALLBACKS,
        "counter",
        &["outcome"],
        "Answers of services that called back: taken, repeated, stored (to be acted on), refused.",
    ),
];

/// Where a figure of the engine is.
type Of = fn(&Stats) -> u64;

const fn counter(name: &'static str, of: Of, about: &'static str) -> (Measure, Of) {
    (measure(name, "counter", &[], about), of)
}

const fn gauge(name: &'static str, of: Of, about: &'static str) -> (Measure, Of) {
    (measure(name, "gauge", &[], about), of)
}

/// Of the engine.
const ENGINE: [(Measure, Of); 17] = [
    gauge("steadfast_engine_owned_tasks", |stats| stats.owned, "Tasks that this node holds in memory."),
    gauge("steadfast_engine_running_attempts", |stats| stats.running, "Attempts under way in this process."),
    gauge(
        "steadfast_engine_stuck_handlers",
        |stats| stats.stuck,
        "Blocking handlers that still run although their attempt has ended.",
    ),
    counter(
        "steadfast_engine_stale_writes_total",
        |stats| stats.stale_writes,
        "Writes that were refused since somebody else had the task.",
    ),
    counter(
        "steadfast_engine_late_answers_total",
        |stats| stats.late_answers,
        "Answers that changed nothing.",
    ),
    counter("steadfast_engine_lease_lapses_total", |stats| stats.lapses, "Times that the lease was lost."),
    counter(
        "steadfast_engine_recovered_total",
        |stats| stats.recovered,
        "Attempts and deadlines that the supervisor moved on.",
    ),
    counter("steadfast_engine_store_errors_total", |stats| stats.store_errors, "Store calls that failed."),
    counter(
        "steadfast_engine_unknown_workflows_total",
        |stats| stats.unknown_workflows,
        "Claimed tasks whose workflow nobody here knows.",
    ),
    counter("steadfast_engine_handler_panics_total", |stats| stats.panics, "Handlers that panicked."),
    counter(
        "steadfast_engine_alerts_delivered_total",
        |stats| stats.delivered,
        "Alerts that were delivered.",
    ),
    counter(
        "steadfast_engine_alerts_lost_total",
        |stats| stats.lost_alerts,
        "Alerts that could not be stored.",
    ),
    counter(
        "steadfast_engine_undeliverable_total",
        |stats| stats.undeliverable,
        "Messages that were given up, and are kept.",
    ),
    counter("steadfast_engine_replied_total", |stats| stats.replied, "Replies that hooks have taken."),
    counter(
        "steadfast_engine_handed_in_total",
        |stats| stats.handed_in,
        "Submissions handed in by other programs that became tasks.",
    ),
    counter(
        "steadfast_engine_not_taken_total",
        |stats| stats.not_taken,
        "Submissions handed in by other programs that could not.",
    ),
    counter(
        "steadfast_engine_held_up_total",
        |stats| stats.held_up,
        "Times that another program has held the store.",
    ),
];

/// What the engine has counted, as text for Prometheus.
pub(crate) fn tell(text: &mut String, stats: &Stats) {
    for (Measure { name, kind, about, .. }, of) in &ENGINE {
        let value = of(stats);
        // Writing into a text cannot fail, here and below.
        let _ = write!(text, "# HELP {name} {about}\n# TYPE {name} {kind}\n{name} {value}\n");
    }
}

/// The reference of what `/metrics` tells, as Markdown.
#[must_use]
pub fn metrics_reference() -> String {
    let mut text = String::from(
        "# Metrics\n\n\
         What `GET /metrics` of a server tells, in the text form of Prometheus. Made of the code by a test of `steadfast-server`; do not \
         edit. Histograms have buckets. [Watching](../guide/watching.md) has the queries that matter.\n",
    );
    let calls = metric::ALL.iter().map(|one| {
        let kind = match one.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            _ => "histogram",
        };
        measure(one.name, kind, one.labels, one.about)
    });
    let parts = [
        ("Calls to services", "One pipeline for each service.", calls.collect::<Vec<_>>()),
        (
            "Engine",
            "Of this process, since it was started.",
            ENGINE.into_iter().map(|(one, _)| one).collect(),
        ),
        ("HTTP API", "Requests to this server.", HTTP.into_iter().collect()),
    ];
    for (name, about, measures) in parts {
        let _ =
            write!(text, "\n## {name}\n\n{about}\n\n| metric | kind | labels | tells |\n|---|---|---|---|\n");
        for Measure { name, kind, labels, about } in measures {
            let labels: Vec<_> = labels.iter().map(|label| format!("`{label}`")).collect();
            let _ = writeln!(text, "| `{name}` | {kind} | {} | {about} |", labels.join(", "));
        }
    }
    text
}
