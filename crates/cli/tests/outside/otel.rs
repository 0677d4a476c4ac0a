//! T3: a server of files sends spans and metrics to a collector, and the trace goes from who submits through the task into each call.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use steadfast_testkit::http::Server;
use steadfast_testkit::{Answer, Ledger, Script};

use crate::serving::Premises;

const ID: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";
const FLOW: (&str, &str) = (
    "pay.yaml",
    "workflow: pay\nsteps:\n  charge:\n    service: bank\n    request: { method: POST, path: /charges }\n    \
     nothing_to_undo: true\n",
);

fn answering(status: u16) -> Answer {
    Answer::new().status(status).header("content-type", "application/json").body("{}")
}

/// What a collector got at this path.
fn got(collector: &Server, path: &str) -> Vec<u8> {
    let ledger: Ledger = collector.ledger().only(|entry| entry.request().path() == path);
    ledger.entries().iter().flat_map(|entry| entry.request().body().to_vec()).collect()
}

fn has(bytes: &[u8], part: impl AsRef<[u8]>) -> bool {
    let part = part.as_ref();
    bytes.windows(part.len()).any(|window| window == part)
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn a_collector_sees_the_way_from_who_submits_to_the_services() {
    let collector = Server::start(Script::answer(answering(200).body("")).unwrap()).unwrap();
    let bank = Server::start(Script::status(503).then(Script::answer(answering(200)).unwrap())).unwrap();
    let settings = format!(
        "[service.bank]\nurl = \"{}\"\n[telemetry]\notlp = \"{}\"\nname = \"till\"\n",
        bank.url(),
        collector.url()
    );
    let premises = Premises::new(&settings, &[FLOW]);
    let serving = premises.open();
    let address = serving.url.trim_start_matches("http://").to_owned();

    let body = r#"{"workflow":"pay","input":{}}"#;
    let mut wire = TcpStream::connect(address).unwrap();
    write!(
        wire,
        "POST /api/v1/tasks?wait=20s HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         traceparent: 00-{ID}-{SPAN}-01\r\ntracestate: vendor=7\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    wire.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    serving.terminate();
    assert_eq!(serving.ended().0, Some(0));

    let (traces, metrics) = (got(&collector, "/v1/traces"), got(&collector, "/v1/metrics"));
    let asked = bank.ledger();
    assert_eq!(asked.attempts(), 2);
    for entry in asked.entries() {
        let sent = entry.request().header("traceparent").unwrap();
        let span = sent.strip_prefix(&format!("00-{ID}-")).and_then(|rest| rest.strip_suffix("-01")).unwrap();
        assert!(
            has(&traces, bytes(span)),
            "the span that the bank was called in is at the collector: {sent}"
        );
        assert_eq!(entry.request().header("tracestate"), Some("vendor=7"));
    }
    for name in ["submit pay", "pay charge", "attempt", "till"] {
        assert!(has(&traces, name), "no span `{name}`");
    }
    assert!(has(&traces, bytes(ID)) && has(&traces, bytes(SPAN)), "the span of who submitted is the parent");
    assert!(has(&metrics, "steadfast_attempts_total") && has(&metrics, "till"));
}
