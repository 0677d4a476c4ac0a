//! What a service gets with each request.

use std::sync::Arc;
use std::time::Duration;

use steadfast_http::{Agent as _, Call, HttpAgent, Target};
use steadfast_runtime::Trace;
use steadfast_testkit::http::Server;
use steadfast_testkit::{Request, Script};

use crate::support::{agent, attempt, call};

/// What a service gets of this call.
async fn got(target: impl FnOnce(Target) -> Target, call: Call) -> Request {
    let service = Server::start(Script::succeed()).unwrap();
    agent(target(Target::new(format!("{}/v2", service.url())))).call(call).await.unwrap();
    service.ledger().entries()[0].request().clone()
}

fn pairs(headers: &[(&str, &str)]) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[tokio::test]
async fn a_service_gets_key_task_step_attempt_time_and_json() {
    let posted = Call {
        query: pairs(&[("q", "a b&c")]),
        body: Some(b"{\"cents\":7}".to_vec()),
        attempt: attempt(Duration::from_millis(1_500)),
        ..call("POST", "/charges/a%2Fb")
    };
    let request = got(|target| target, posted).await;
    assert_eq!((request.method(), request.path()), ("POST", "/v2/charges/a%2Fb?q=a+b%26c"));
    assert_eq!(request.body(), b"{\"cents\":7}");
    let mut headers: Vec<_> = request.headers().iter().filter(|(name, _)| name != "host").cloned().collect();
    headers.sort();
    let agent = concat!("steadfast/", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        headers,
        pairs(&[
            ("accept", "application/json"),
            ("content-length", "11"),
            ("content-type", "application/json"),
            ("idempotency-key", "00000000000000000000000000000abc"),
            ("steadfast-attempt", "3"),
            ("steadfast-step", "charge"),
            ("steadfast-task", "00000000-0000-0000-0000-000000000007"),
            ("steadfast-time-left", "1500"),
            ("user-agent", agent),
        ])
    );
}

#[tokio::test]
async fn without_a_body_there_is_no_content_type_and_an_undo_says_so() {
    let undo = Call { undo: true, callback: Some("https://me/cb/1".into()), ..call("DELETE", "/charges/7") };
    let request = got(|target| target, undo).await;
    assert_eq!(request.header("content-type"), None);
    assert_eq!(request.header("steadfast-undo"), Some("true"));
    assert_eq!(request.header("steadfast-callback-url"), Some("https://me/cb/1"));
}

#[tokio::test]
async fn a_steps_header_stands_in_the_place_of_the_services() {
    let target = |target: Target| {
        target.header("X-Tenant", "one").header("X-Region", "north").header("Accept", "text/csv")
    };
    let own = Call {
        headers: pairs(&[
            ("x-tenant", "two"),
            ("X-Tag", "a"),
            ("X-Tag", "b"),
            ("Content-Type", "application/merge-patch+json"),
        ]),
        body: Some(b"{}".to_vec()),
        ..call("PATCH", "/")
    };
    let request = got(target, own).await;
    let all = |name: &str| {
        request.headers().iter().filter(|(n, _)| n == name).map(|(_, v)| v.clone()).collect::<Vec<_>>()
    };
    assert_eq!(all("x-tenant"), ["two"]);
    assert_eq!(all("x-region"), ["north"]);
    assert_eq!(all("x-tag"), ["a", "b"]);
    assert_eq!(all("accept"), ["text/csv"]);
    assert_eq!(all("content-type"), ["application/merge-patch+json"]);
}

#[tokio::test]
async fn the_trace_goes_along_and_cannot_break_a_call() {
    let service = Server::start(Script::succeed()).unwrap();
    let trace = |call: &Call| {
        let own = format!("00-{:032x}-00f067aa0ba902b7-01", call.task.as_u128());
        pairs(&[
            ("traceparent", &own),
            ("tracestate", "a=b"),
            ("bad name", "x"),
            ("x-bad", "a\nb"),
            ("host", "evil"),
            ("steadfast-task", "evil"),
        ])
    };
    let agent = HttpAgent::builder()
        .target("pay", Target::new(service.url()))
        .trace(Arc::new(trace))
        .build()
        .unwrap();
    agent.call(call("GET", "/")).await.unwrap();
    let ledger = service.ledger();
    let request = ledger.entries()[0].request();
    assert_eq!(
        request.header("traceparent"),
        Some("00-00000000000000000000000000000007-00f067aa0ba902b7-01")
    );
    assert_eq!(request.header("tracestate"), Some("a=b"));
    assert_eq!(request.header("x-bad"), None);
    assert_eq!(request.header("host"), Some(&*service.address().to_string()));
    assert_eq!(request.header("steadfast-task"), Some("00000000-0000-0000-0000-000000000007"));
}

/// T3
#[tokio::test]
async fn the_trace_of_the_task_is_passed_on_with_a_span_for_each_try() {
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let trace = Trace::read(parent, Some("vendor=7")).map(Arc::new);
    let mut spans = Vec::new();
    for (number, undo) in [(1, false), (2, false), (2, true)] {
        let key = steadfast_resilience::IdempotencyKey::from_u128(if undo { 7 } else { 8 });
        let posted = Call { trace: trace.clone(), number, undo, key, ..call("POST", "/charges") };
        let request = got(|target| target, posted).await;
        let sent = request.header("traceparent").unwrap().to_owned();
        assert!(sent.starts_with("00-0af7651916cd43dd8448eb211c80319c-") && sent.ends_with("-01"), "{sent}");
        assert_eq!(request.header("tracestate"), Some("vendor=7"));
        spans.push(Trace::read(&sent, None).unwrap().span());
    }
    spans.push(0xb7ad_6b71_6920_3331);
    spans.sort_unstable();
    spans.dedup();
    assert_eq!(spans.len(), 4, "each has its own");
    assert_eq!(
        got(|target| target, call("POST", "/")).await.header("traceparent"),
        None,
        "no trace, no header"
    );
}
