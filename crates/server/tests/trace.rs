//! The trace of whoever submits goes along with the task: into each call of its steps, their undos and its children, over restarts.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::net::SocketAddr;

use steadfast::Trace;
use steadfast_server::{Config, Running};
use steadfast_testkit::http::Server;
use steadfast_testkit::{Answer, Ledger, Script};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const ID: &str = "0af7651916cd43dd8448eb211c80319c";
const ORDER: &str = "workflow: order\nsteps:\n  reserve:\n    service: stock\n    request: { method: POST, path: /reservations }\n    \
                     undo: { method: DELETE, path: /reservations/7 }\n  charge:\n    after: reserve\n    service: bank\n    \
                     request: { method: POST, path: /charges }\n    nothing_to_undo: true\n";
const PARENT: &str = "workflow: parent\nsteps:\n  ask:\n    child: order\n";

struct Place {
    folder: tempfile::TempDir,
    stock: Server,
    bank: Server,
}

fn json(status: u16) -> Answer {
    Answer::new().status(status).header("content-type", "application/json").body("{}")
}

impl Place {
    fn new(bank: impl Into<Script>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("flows")).unwrap();
        std::fs::write(folder.path().join("flows/order.yaml"), ORDER).unwrap();
        std::fs::write(folder.path().join("flows/parent.yaml"), PARENT).unwrap();
        let stock = Server::start(Script::answer(json(200)).unwrap()).unwrap();
        let bank = Server::start(bank).unwrap();
        let text = format!(
            "listen = \"127.0.0.1:0\"\nworkflows = \"flows\"\n[service.stock]\nurl = \"{}\"\n[service.bank]\nurl = \"{}\"\n",
            stock.url(),
            bank.url()
        );
        std::fs::write(folder.path().join("steadfast.toml"), text).unwrap();
        Self { folder, stock, bank }
    }

    async fn start(&self) -> Running {
        let config = Config::read(Some(&self.folder.path().join("steadfast.toml")), []).unwrap();
        steadfast_server::start(config, None, Vec::new()).await.unwrap()
    }
}

/// Submits with these headers; the status.
async fn submit(address: SocketAddr, path: &str, headers: &str, body: &str) -> u16 {
    let mut wire = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "POST /api/v1/{path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    wire.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    wire.read_to_string(&mut answer).await.unwrap();
    answer.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn traced() -> String {
    format!("traceparent: 00-{ID}-b7ad6b7169203331-01\r\ntracestate: vendor=7\r\n")
}

/// The spans in which calls were made; all of them are of one trace.
fn spans(ledger: &Ledger) -> Vec<u64> {
    let span = |entry: &steadfast_testkit::Entry| {
        let request = entry.request();
        let trace = Trace::read(request.header("traceparent")?, request.header("tracestate"))?;
        assert_eq!((format!("{:032x}", trace.id()).as_str(), trace.state()), (ID, Some("vendor=7")));
        Some(trace.span())
    };
    ledger.entries().iter().filter_map(span).collect()
}

/// T3
#[tokio::test(flavor = "multi_thread")]
async fn each_try_and_each_undo_is_a_span_of_the_trace_that_was_submitted_with() {
    // Once too busy, then it declines: reserve is undone.
    let place = Place::new(Script::status(503).then(Script::answer(json(402)).unwrap()));
    let running = place.start().await;
    let status =
        submit(running.address(), "tasks?wait=20s", &traced(), r#"{"workflow":"order","input":{}}"#).await;
    assert_eq!(status, 200);
    let all = [spans(&place.stock.ledger()), spans(&place.bank.ledger())];
    assert_eq!(all.each_ref().map(Vec::len), [2, 2], "reserved and undone; tried twice");
    let different: BTreeSet<_> = all.iter().flatten().collect();
    assert_eq!(different.len(), 4, "{all:?}");
    running.shut_down().await.unwrap();
}

/// T3: whoever works on the task later reads it from the store; a child is of the trace of its parent.
#[tokio::test(flavor = "multi_thread")]
async fn a_trace_outlives_the_process_and_goes_on_into_children() {
    let place = Place::new(Script::answer(json(200)).unwrap());
    let running = place.start().await;
    for (path, body) in [
        ("tasks", r#"{"workflow":"parent","input":{},"start_after_ms":1000}"#),
        (
            "tasks/batch",
            r#"{"tasks":[{"workflow":"order","input":{},"start_after_ms":1000},{"workflow":"order","start_after_ms":1000}]}"#,
        ),
    ] {
        let status = submit(running.address(), path, &traced(), body).await;
        assert!(matches!(status, 200 | 202), "{path}: {status}");
    }
    running.shut_down().await.unwrap();
    assert_eq!(place.stock.ledger().attempts(), 0, "nothing has begun before the process ended");
    let running = place.start().await;
    let ledger = place.bank.ledger_when(|ledger| ledger.attempts() == 3).await;
    assert_eq!(spans(&ledger).len(), 3, "{ledger}");
    running.shut_down().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_that_makes_no_sense_is_none_and_nobody_is_refused_for_it() {
    let place = Place::new(Script::answer(json(200)).unwrap());
    let running = place.start().await;
    for headers in
        ["", "traceparent: nonsense\r\n", &format!("{}{}", traced(), traced()), "tracestate: vendor=7\r\n"]
    {
        let status =
            submit(running.address(), "tasks?wait=20s", headers, r#"{"workflow":"order","input":{}}"#).await;
        assert_eq!(status, 200, "{headers}");
    }
    let ledger = place.bank.ledger();
    assert!(ledger.entries().iter().all(|entry| entry.request().header("traceparent").is_none()), "{ledger}");
    assert_eq!(ledger.attempts(), 4);
    running.shut_down().await.unwrap();
}
