//! Limits: nothing that a service sends costs more than was allowed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use steadfast_http::{Agent as _, OVERSIZED, Target};
use steadfast_resilience::{Class, Effect};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::Notify;

use crate::support::{Raw, agent, answer, call, get, read_request, why};

/// What the system and hyper may hold of a connection at most, beside what we read: socket buffers of some MiB on each side.
const IN_BETWEEN: u64 = 24 * 1024 * 1024;

/// A service that sends a head, and then this without an end; how much it got rid of before the caller closed the connection.
struct Endless {
    service: Raw,
    sent: Arc<AtomicU64>,
    closed: Arc<Notify>,
}

impl Endless {
    async fn start(head: &'static str, piece: impl Into<Vec<u8>>) -> Self {
        let (sent, closed) = (Arc::new(AtomicU64::new(0)), Arc::new(Notify::new()));
        let (count, told, piece) = (Arc::clone(&sent), Arc::clone(&closed), Arc::<[u8]>::from(piece.into()));
        let service = Raw::start(move |mut stream| {
            let (count, told, piece) = (Arc::clone(&count), Arc::clone(&told), Arc::clone(&piece));
            async move {
                read_request(&mut stream).await;
                stream.write_all(head.as_bytes()).await.unwrap();
                while stream.write_all(&piece).await.is_ok() {
                    count.fetch_add(piece.len() as u64, Ordering::SeqCst);
                }
                told.notify_one();
            }
        })
        .await;
        Self { service, sent, closed }
    }

    /// How much it has sent, when the connection is closed.
    async fn sent(&self) -> u64 {
        self.closed.notified().await;
        self.sent.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn an_endless_answer_is_stopped_at_its_limit() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
    let endless = Endless::start(head, vec![b' '; 64 * 1024]).await;
    let fault = agent(Target::new(endless.service.url()).max_response(100_000))
        .call(call("POST", "/"))
        .await
        .unwrap_err();
    assert_eq!((fault.verdict.class(), fault.verdict.kind()), (Class::Neutral, OVERSIZED));
    assert_eq!((fault.verdict.effect(), fault.verdict.code()), (Effect::Possible, Some(200)));
    assert!(
        fault.message.contains("more than 100000 bytes: have it answer with less, or raise `max_response`")
    );
    let sent = endless.sent().await;
    assert!(sent < IN_BETWEEN, "{sent} bytes were taken from it");
}

#[tokio::test]
async fn an_answer_that_names_ten_gigabytes_is_not_even_read() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 10000000000\r\n\r\n";
    let endless = Endless::start(head, vec![b'x'; 64 * 1024]).await;
    let (kind, effect, words) = why(get(&endless.service.url()).await);
    assert_eq!((kind, effect), (OVERSIZED, Effect::Possible));
    assert!(words.contains("more than 8388608 bytes") && words.ends_with("[SF527]"), "{words}");
    assert!(endless.sent().await < IN_BETWEEN);
}

#[tokio::test]
async fn an_endless_chunked_answer_is_stopped_too() {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = [b"8000\r\n".to_vec(), vec![b'x'; 0x8000], b"\r\n".to_vec()].concat();
    let endless = Endless::start(head, chunk).await;
    let target = Target::new(endless.service.url()).max_response(1);
    assert_eq!(why(agent(target).call(call("GET", "/")).await).0, OVERSIZED);
    assert!(endless.sent().await < IN_BETWEEN);
}

#[tokio::test]
async fn of_an_endless_failure_the_beginning_is_read() {
    let endless = Endless::start("HTTP/1.1 500 X\r\n\r\n", "all is lost\n").await;
    let (.., words) = why(get(&endless.service.url()).await);
    assert!(
        words.starts_with("`pay` answered 500 Internal Server Error: all is lost all is lost"),
        "{words}"
    );
    assert!(endless.sent().await < IN_BETWEEN);
}

#[tokio::test]
async fn an_endless_head_is_given_up() {
    let endless =
        Endless::start("HTTP/1.1 200 OK\r\n", "x-more: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n").await;
    let (_, effect, words) = why(get(&endless.service.url()).await);
    assert_eq!(effect, Effect::Possible, "{words}");
    assert!(endless.sent().await < IN_BETWEEN);
}

#[tokio::test]
async fn an_answer_as_large_as_allowed_is_read() {
    let body = "x".repeat(100_000);
    let service = Raw::answering(answer(200, "", &body)).await;
    let reply = agent(Target::new(service.url()).max_response(100_000)).call(call("GET", "/")).await.unwrap();
    assert_eq!(reply.body, Value::String(body));
    let (kind, ..) = why(agent(Target::new(service.url()).max_response(99_999)).call(call("GET", "/")).await);
    assert_eq!(kind, OVERSIZED);
}

#[tokio::test]
async fn an_answer_is_json_text_or_nothing() {
    for (headers, body, expected) in [
        ("content-type: application/json\r\n", "{\"id\":7}", json!({ "id": 7 })),
        ("content-type: text/plain\r\n", "{\"id\":7}", json!("{\"id\":7}")),
        ("", "plain", json!("plain")),
        ("content-type: application/json\r\n", "", json!(null)),
        ("", "", json!(null)),
    ] {
        let service = Raw::answering(answer(200, headers, body)).await;
        assert_eq!(get(&service.url()).await.unwrap().body, expected, "{headers:?} {body:?}");
    }
    let nothing = Raw::answering("HTTP/1.1 204 No Content\r\n\r\n").await;
    assert_eq!(get(&nothing.url()).await.unwrap().body, Value::Null);
}
