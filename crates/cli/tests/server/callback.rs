//! Services that answer later, and a server that is killed in the middle of that [A4, W6].

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::thread::yield_now;

use steadfast_testkit::http::Server;
use steadfast_testkit::{Answer, Script};

use crate::serve::{Serving, out};

const FLOW: &str = r#"
workflow: order
returns: assess
steps:
  assess:
    service: fraud
    request: { method: POST, path: /assessments, body: { order: "${input.id}" } }
    callback: { within: 10m }
    nothing_to_undo: true
"#;

/// A service that takes all work on; one that hangs has not said so yet.
fn fraud(hangs: bool) -> Server {
    let takes_on = || Script::answer(Answer::new().status(202)).unwrap();
    Server::start(if hangs { Script::hang() } else { takes_on() }).unwrap()
}

fn settings(folder: &Path, listen: &str, fraud: &Server) {
    std::fs::create_dir_all(folder.join("flows")).unwrap();
    std::fs::write(folder.join("flows/order.yaml"), FLOW).unwrap();
    let text =
        format!("listen = \"{listen}\"\nworkflows = \"flows\"\n[service.fraud]\nurl = \"{}\"\n", fraud.url());
    std::fs::write(folder.join("steadfast.toml"), text).unwrap();
}

/// Looks again and again until it is there: the test runner ends what takes too long.
fn until<T>(look: impl Fn() -> Option<T>) -> T {
    loop {
        if let Some(found) = look() {
            return found;
        }
        yield_now();
    }
}

/// The URL that the service was given with its n-th request.
fn url(fraud: &Server, nth: usize) -> String {
    until(|| {
        let ledger = fraud.ledger();
        ledger.entries().get(nth)?.request().header("steadfast-callback-url").map(str::to_owned)
    })
}

/// Calls back; `None` if nobody listens.
fn call(url: &str, body: &str) -> Option<String> {
    let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut wire = TcpStream::connect(address).ok()?;
    let length = body.len();
    let head = format!("POST /{path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n");
    write!(wire, "{head}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}").ok()?;
    let mut answer = String::new();
    wire.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// A callback that arrives after a restart counts: whether or not the server knew that the service had taken the work on.
#[test]
fn a_callback_that_arrives_after_a_kill_and_a_restart_counts() {
    for (hangs, attempts) in [(false, 1), (true, 2)] {
        let folder = tempfile::tempdir().unwrap();
        let fraud = fraud(hangs);
        settings(folder.path(), "127.0.0.1:0", &fraud);
        let serving = Serving::start(folder.path());
        let submitted = serving.ask(&["task", "submit", "order", "--input", r#"{"id":7}"#, "--json"]);
        let submitted: serde_json::Value = serde_json::from_slice(&submitted.stdout).unwrap();
        let id = submitted["id"].as_str().unwrap();
        let url = url(&fraud, 0);
        if attempts == 1 {
            until(|| out(&serving.ask(&["task", "why", id])).contains("is to call back").then_some(()));
        }
        let listen = serving.url.strip_prefix("http://").unwrap().to_owned();
        drop(serving);
        assert_eq!(call(&url, "{}"), None, "it is killed, and nobody listens");

        settings(folder.path(), &listen, &fraud);
        let serving = Serving::start(folder.path());
        if attempts == 2 {
            assert_eq!(self::url(&fraud, 1), url, "asked again under the same key, at the same URL");
        }
        let answer = call(&url, r#"{"score":7}"#).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with(r#"{"state":"taken"}"#), "{answer}");
        let watched = serving.ask(&["task", "watch", id]);
        assert_eq!(watched.status.code(), Some(0), "{watched:?}");
        assert_eq!(fraud.ledger().attempts(), attempts);
        drop(serving);

        // What was acknowledged is durable.
        let serving = Serving::start(folder.path());
        let answer = call(&url, r#"{"score":7}"#).unwrap();
        assert!(answer.ends_with(r#"{"state":"repeated"}"#), "{answer}");
        drop(serving);
    }
}
