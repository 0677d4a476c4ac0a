//! The client against a server that answers as the test says, byte by byte.

#![expect(clippy::unwrap_used, reason = "a test's own helpers")]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use steadfast_client::wire::event::Event;
use steadfast_client::wire::state::TaskState;
use steadfast_client::wire::submit::Submit;
use steadfast_client::{Client, Kind};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// A server that gives one answer to each connection, and keeps what it was asked.
struct Scripted {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    async fn start(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut bytes = Vec::new();
                let mut part = [0; 4096];
                while !is_whole(&bytes) {
                    let read = stream.read(&mut part).await.unwrap();
                    assert!(read > 0);
                    bytes.extend_from_slice(&part[..read]);
                }
                kept.lock().unwrap().push(String::from_utf8(bytes).unwrap());
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        Self { address, asked }
    }

    fn client(&self) -> Client {
        Client::new(&format!("http://{}", self.address)).unwrap()
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}

fn answer(status: &str, media_type: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

fn problem(status: u16, transient: bool, after: Option<u64>) -> String {
    let body = json!({ "status": status, "code": "SF546", "detail": "not now", "transient": transient, "retry_after_ms": after });
    answer(&format!("{status} X"), "application/problem+json", &body.to_string())
}

fn submitted() -> String {
    answer("202 Accepted", "application/json", r#"{"id": "a-task", "of_a_later_version": 1}"#)
}

fn plain() -> Submit {
    Submit::new("echo", json!(1))
}

#[tokio::test]
async fn a_submission_without_a_key_is_made_again_only_if_nothing_was_done() {
    let refused = Scripted::start(vec![problem(429, true, Some(1)), submitted()]).await;
    assert_eq!(refused.client().submit(&plain()).await.unwrap().id, "a-task");
    assert_eq!(refused.asked().len(), 2);

    let unknown = Scripted::start(vec![problem(503, true, Some(1)), submitted()]).await;
    let error = unknown.client().submit(&plain()).await.unwrap_err();
    assert_eq!((error.kind(), error.is_transient()), (Kind::Problem, true));
    assert_eq!(unknown.asked().len(), 1, "it may have been stored");
}

#[tokio::test]
async fn a_submission_under_a_key_is_made_again_word_for_word() {
    let server = Scripted::start(vec![problem(503, true, Some(1)), submitted()]).await;
    server.client().submit(&plain().key("order-7")).await.unwrap();
    let asked = server.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0], asked[1]);
    assert!(asked[0].starts_with("POST /api/v1/tasks HTTP/1.1") && asked[0].contains(r#""key":"order-7""#));
}

#[tokio::test]
async fn how_long_the_server_asks_to_be_left_alone_is_heeded() {
    let server = Scripted::start(vec![problem(429, true, Some(300)), submitted()]).await;
    let clock = steadfast_resilience::clock::Clock::system();
    let began = clock.now();
    server.client().submit(&plain()).await.unwrap();
    let took = clock.now().since(began);
    assert!(took >= Duration::from_millis(290), "{took:?}");
}

#[tokio::test]
async fn what_does_not_pass_is_not_tried_again() {
    let server = Scripted::start(vec![problem(422, false, None), submitted()]).await;
    let error = server.client().submit(&plain().key("order-7")).await.unwrap_err();
    assert_eq!((error.code(), error.problem().unwrap().status), (Some("SF546"), 422));
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere =
        "HTTP/1.1 307 X\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let server = Scripted::start(vec![elsewhere.to_owned()]).await;
    let error = server.client().workflows().await.unwrap_err();
    assert_eq!(error.problem().unwrap().status, 307);
    assert!(error.to_string().contains("is this its address?"), "{error}");
}

#[tokio::test]
async fn an_answer_of_somebody_else_is_told_as_such() {
    let page = answer("200 OK", "text/html", "<html>hello</html>");
    let server = Scripted::start(vec![page]).await;
    let error = server.client().workflows().await.unwrap_err();
    assert_eq!(error.kind(), Kind::BadAnswer, "{error}");
    let gone = Client::builder("http://127.0.0.1:1").retries(0).build().unwrap();
    let error = gone.workflows().await.unwrap_err();
    assert_eq!((error.kind(), error.is_transient()), (Kind::Unreachable, true));
    assert!(error.to_string().contains("http://127.0.0.1:1 cannot be reached"), "{error}");
}

#[tokio::test]
async fn a_stream_that_breaks_is_taken_up_where_it_was() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let change = |revision: u64| {
        format!(
            "id: {revision}\nevent: change\ndata: {{\"revision\":{revision},\"at\":\"2026-11-17T05:00:00Z\"}}\n\n"
        )
    };
    let end = "event: end\ndata: {\"state\":\"completed\"}\n\n";
    let server = Scripted::start(vec![
        // The second change does not come whole.
        format!("{head}: hello\n\n{}id: 2\nevent: chan", change(1)),
        format!("{head}{}{}event: of_a_later_version\ndata: x\n\n{end}", change(2), change(5)),
    ])
    .await;
    let mut events = server.client().events("a-task", None);
    let mut seen = Vec::new();
    let ended = loop {
        match events.next().await.unwrap().unwrap() {
            Event::Changed(change) => seen.push(change.revision),
            Event::Ended(outcome) => break outcome.state,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((seen, ended), (vec![1, 2, 5], TaskState::Completed));
    assert_eq!((events.next().await.unwrap(), events.place()), (None, Some(5)));
    let asked = server.asked();
    assert!(!asked[0].contains("last-event-id") && asked[1].contains("last-event-id: 1\r\n"), "{asked:?}");
}

/// Who watches a task need not begin anew because the server is.
#[tokio::test]
async fn a_stream_outlives_a_server_that_is_away_for_a_moment() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let end = "event: end\ndata: {\"state\":\"completed\"}\n\n";
    let change = "id: 1\nevent: change\ndata: {\"revision\":1,\"at\":\"2026-11-17T05:00:00Z\"}\n\n";
    let answers = vec![format!("{head}{change}"), String::new(), String::new(), format!("{head}{end}")];
    let server = Scripted::start(answers).await;
    let client = Client::builder(&format!("http://{}", server.address)).retries(0).build().unwrap();
    let mut events = client.events("a-task", None);
    assert!(matches!(events.next().await.unwrap(), Some(Event::Changed(_))));
    assert!(matches!(events.next().await.unwrap(), Some(Event::Ended(_))));
    assert_eq!(server.asked().len(), 4);
    // One that was never there is told of at once.
    let nobody = Scripted::start(vec![String::new()]).await;
    let client = Client::builder(&format!("http://{}", nobody.address)).retries(0).build().unwrap();
    assert_eq!(client.events("a-task", None).next().await.unwrap_err().kind(), Kind::Unreachable);
}

#[tokio::test]
async fn a_name_with_signs_in_it_is_one_part_of_the_address() {
    let server = Scripted::start(vec![answer("204 No Content", "text/plain", "")]).await;
    server.client().delete_schedule("a/b c?d").await.unwrap();
    assert!(
        server.asked()[0].starts_with("DELETE /api/v1/schedules/a%2Fb%20c%3Fd HTTP/1.1"),
        "{:?}",
        server.asked()
    );
}
