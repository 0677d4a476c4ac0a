//! The scripted server over a real wire, asked by a plain client.

mod client;

use std::io::ErrorKind;
use std::net::TcpListener;
use std::time::Duration;

use client::{Client, get};
use steadfast_testkit::http::{MAX_BODY, Server};
use steadfast_testkit::{Answer, Ending, Error, KEPT_BODY, Script};
use tokio::net::TcpStream;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

async fn status(server: &Server) -> u16 {
    get(server.address(), "/", &[]).await.map_or(0, |got| got.status)
}

// F1
#[tokio::test]
async fn scripts_are_followed_call_by_call() {
    let script = Script::fail().times(2).then(Script::overloaded()).then(Script::terminal());
    let server = Server::start(script.then(Script::status(201)).then(Script::succeed())).unwrap();
    let mut found = Vec::new();
    for _ in 0..7 {
        found.push(status(&server).await);
    }
    assert_eq!(found, [500, 500, 503, 400, 201, 200, 200]);
    server.ledger().assert_attempts(7).assert_at_most_at_once(1);
}

#[tokio::test]
async fn a_throttled_call_is_told_when_to_come_back() {
    let server = Server::start(Script::throttle(s(7)).then(Script::throttle(ms(1_250)))).unwrap();
    let whole = get(server.address(), "/", &[]).await.unwrap();
    assert_eq!((whole.status, whole.header("retry-after")), (429, Some("7")));
    assert_eq!(whole.header("retry-after-ms"), None);
    let part = get(server.address(), "/", &[]).await.unwrap();
    assert_eq!((part.header("retry-after"), part.header("retry-after-ms")), (Some("2"), Some("1250")));
}

#[tokio::test]
async fn a_slow_call_is_answered_after_its_time() {
    let server = Server::start(Script::slow(ms(30)).then(Script::fail().after(ms(30)))).unwrap();
    assert_eq!((status(&server).await, status(&server).await), (200, 500));
    for entry in server.ledger().entries() {
        assert!(entry.took().unwrap() >= ms(30), "{}", server.ledger());
    }
}

#[tokio::test]
async fn a_call_that_hangs_ends_when_its_caller_leaves() {
    let server = Server::start(Script::hang()).unwrap();
    let mut client = Client::connect(server.address()).await.unwrap();
    client.ask("GET /", &[]).await.unwrap();
    server.ledger_when(|ledger| ledger.under_way() == 1).await;
    drop(client);
    let ledger = server.ledger_when(|ledger| ledger.under_way() == 0).await;
    ledger.assert_endings(&[Ending::CallerLeft]);
}

#[tokio::test]
async fn a_caller_that_leaves_in_the_middle_of_its_request_is_written_down() {
    let server = Server::start(Script::succeed()).unwrap();
    let mut client = Client::connect(server.address()).await.unwrap();
    client.send("POST /half HTTP/1.1\r\nhost: here\r\ncontent-length: 10\r\n\r\n12345").await.unwrap();
    server.ledger_when(|ledger| ledger.entries().iter().any(|entry| entry.request().body_size() == 5)).await;
    drop(client);
    let ledger = server.ledger_when(|ledger| ledger.under_way() == 0).await;
    ledger.assert_endings(&[Ending::CallerLeft]);
    assert_eq!(status(&server).await, 200);
}

#[tokio::test]
async fn a_connection_is_dropped_without_an_answer() {
    let parts = [Script::dropped(), Script::answer_lost(), Script::switched_off(), Script::succeed()];
    let server = Server::start(Script::sequence(parts)).unwrap();
    for _ in 0..3 {
        assert!(get(server.address(), "/", &[]).await.is_none());
    }
    assert_eq!(status(&server).await, 200);
    let endings = [Ending::Dropped, Ending::Dropped, Ending::Refused, Ending::Answered(200)];
    server.ledger().assert_endings(&endings);
}

#[tokio::test]
async fn a_server_that_is_off_refuses_connections_and_keeps_its_port() {
    let server = Server::start(Script::succeed()).unwrap();
    let mut kept = Client::connect(server.address()).await.unwrap();
    kept.ask("GET /", &[]).await.unwrap();
    assert_eq!(kept.receive().await.unwrap().status, 200);
    for _ in 0..3 {
        server.switch_off();
        let refused = TcpStream::connect(server.address()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        let stranger = TcpListener::bind(server.address()).map(drop);
        assert!(stranger.is_err() || cfg!(not(target_os = "linux")), "the port is held");
        server.switch_on();
        assert_eq!(status(&server).await, 200);
    }
    assert!(kept.is_closed().await, "idle connections are closed, too");
    server.ledger().assert_attempts(4);
}

#[tokio::test]
async fn switching_off_ends_requests_that_hang_and_those_that_are_slow() {
    let server = Server::start(Script::hang().then(Script::slow(s(3_600)))).unwrap();
    let mut clients = Vec::new();
    for _ in 0..2 {
        let mut client = Client::connect(server.address()).await.unwrap();
        client.ask("GET /", &[]).await.unwrap();
        clients.push(client);
    }
    server.ledger_when(|ledger| ledger.under_way() == 2).await;
    server.switch_off();
    // Done when it returns: nothing has to be waited for.
    server.ledger().assert_endings(&[Ending::Interrupted; 2]);
    for mut client in clients {
        assert!(client.receive().await.is_none());
    }
}

#[tokio::test]
async fn a_script_that_comes_to_be_off_refuses_connections() {
    let server = Server::start(Script::switched_off()).unwrap();
    let is_refused = async || {
        let connected = TcpStream::connect(server.address()).await;
        connected.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
    };
    assert!(is_refused().await);
    server.follow(Script::succeed().then(Script::switched_off()));
    assert_eq!(status(&server).await, 200);
    // The door shuts by itself, a moment after the last call before it.
    while !is_refused().await {}
    server.ledger().assert_endings(&[Ending::Answered(200)]);
}

#[tokio::test]
async fn a_script_that_is_off_for_a_time_takes_connections_again() {
    let server = Server::start(Script::switched_off().lasting(ms(20)).then(Script::fail())).unwrap();
    let first = loop {
        match status(&server).await {
            0 => {}
            status => break status,
        }
    };
    assert_eq!(first, 500);
    assert!(server.ledger().entries()[0].began() >= ms(20), "{}", server.ledger());
}

#[tokio::test]
async fn another_script_can_be_followed_while_it_runs() {
    let server = Server::start(Script::fail()).unwrap();
    assert_eq!(status(&server).await, 500);
    server.follow(Script::succeed());
    assert_eq!(status(&server).await, 200);
}

#[tokio::test]
async fn only_marked_requests_meet_the_script() {
    let server = Server::start(Script::fail().only_marked("x-fault", "on")).unwrap();
    for (header, status) in [("x-fault: on", 500), ("X-FAULT: On", 500), ("x-fault: off", 200), ("a: b", 200)]
    {
        assert_eq!(get(server.address(), "/", &[header]).await.unwrap().status, status, "{header}");
    }
    // One that is off for marked requests still takes connections: it cannot know who comes.
    server.follow(Script::switched_off().only_if(|request| request.path() == "/off"));
    assert!(get(server.address(), "/off", &[]).await.is_none());
    assert_eq!(status(&server).await, 200);
}

#[tokio::test]
async fn the_ledger_has_method_path_headers_body_key_and_attempt() {
    let server = Server::start(Script::succeed()).unwrap();
    let mut client = Client::connect(server.address()).await.unwrap();
    let head = "POST /charges?dry=1 HTTP/1.1\r\nhost: here\r\nIdempotency-Key: \"k-1\"\r\nX-Attempt: 2\r\n";
    client.send(&format!("{head}content-length: 5\r\n\r\nhello")).await.unwrap();
    client.receive().await.unwrap();
    let ledger = server.ledger();
    ledger.assert_one_key().assert_endings(&[Ending::Answered(200)]);
    let entry = &ledger.entries()[0];
    assert_eq!((entry.request().method(), entry.request().path()), ("POST", "/charges?dry=1"));
    assert_eq!((entry.key(), entry.attempt()), (Some("k-1"), Some(2)));
    assert_eq!(entry.request().header("Host"), Some("here"));
    assert_eq!((entry.request().body(), entry.request().body_size()), (&b"hello"[..], 5));
}

#[tokio::test]
async fn a_chunked_body_is_read_and_a_long_one_kept_in_part() {
    let server = Server::start(Script::succeed()).unwrap();
    let mut client = Client::connect(server.address()).await.unwrap();
    client.send("POST / HTTP/1.1\r\nhost: here\r\ntransfer-encoding: chunked\r\n\r\n").await.unwrap();
    client.send("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n").await.unwrap();
    assert_eq!(client.receive().await.unwrap().status, 200);
    let long = "x".repeat(KEPT_BODY + 1);
    let head = format!("PUT / HTTP/1.1\r\nhost: here\r\ncontent-length: {}\r\n\r\n", long.len());
    client.send(&(head + &long)).await.unwrap();
    assert_eq!(client.receive().await.unwrap().status, 200);
    let ledger = server.ledger();
    assert_eq!(ledger.entries()[0].request().body(), b"abcde");
    let kept = ledger.entries()[1].request();
    assert_eq!((kept.body().len(), kept.body_size()), (KEPT_BODY, KEPT_BODY as u64 + 1));
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_with_its_reason() {
    let server = Server::start(Script::succeed()).unwrap();
    let (body, size) = ("x".repeat(MAX_BODY + 1), MAX_BODY + 1);
    let mut client = Client::connect(server.address()).await.unwrap();
    // The rest may meet a closed connection: what counts is the answer.
    let sent =
        client.send(&format!("PUT / HTTP/1.1\r\nhost: here\r\ncontent-length: {size}\r\n\r\n{body}")).await;
    let got = client.receive().await.unwrap_or_else(|| panic!("no answer; sent: {sent:?}"));
    assert_eq!(got.status, 413);
    assert!(got.body.contains("MAX_BODY"), "{}", got.body);
    server.ledger().assert_endings(&[Ending::Answered(413)]);
}

#[tokio::test]
async fn a_connection_serves_many_requests_and_head_has_no_body() {
    let server = Server::start(Script::succeed().times(3).then(Script::fail())).unwrap();
    let mut client = Client::connect(server.address()).await.unwrap();
    for (method, body) in [("GET", "ok"), ("HEAD", ""), ("GET", "ok")] {
        client.ask(&format!("{method} /"), &[]).await.unwrap();
        let got = client.receive_to(method).await.unwrap();
        assert_eq!((got.status, got.header("content-length"), got.body.as_str()), (200, Some("2"), body));
    }
    client.ask("GET /", &[]).await.unwrap();
    assert_eq!(client.receive().await.unwrap().status, 500);
    server.ledger().assert_endings(&[
        Ending::Answered(200),
        Ending::Answered(200),
        Ending::Answered(200),
        Ending::Answered(500),
    ]);
}

#[tokio::test]
async fn an_answer_can_have_any_status_headers_and_body() {
    let answer = Answer::new().status(207).header("content-type", "application/json").body("{}");
    let answer = answer.add_header("x-two", "1").add_header("x-two", "2");
    let empty = Script::answer(Answer::new().status(204)).unwrap();
    let server = Server::start(Script::answer(answer).unwrap().then(empty)).unwrap();
    let got = get(server.address(), "/", &[]).await.unwrap();
    assert_eq!((got.status, got.body.as_str()), (207, "{}"));
    assert_eq!(got.headers.iter().filter(|header| header.0 == "x-two").count(), 2);
    assert_eq!(got.header("content-type"), Some("application/json"));
    assert_eq!(status(&server).await, 204);
    server.ledger().assert_endings(&[Ending::Answered(207), Ending::Answered(204)]);
}

#[tokio::test]
async fn a_body_can_be_cut_short() {
    let cut = |bytes| Script::answer(Answer::new().body("0123456789").cut_body_after(bytes)).unwrap();
    let server = Server::start(cut(4).then(cut(0)).then(cut(10))).unwrap();
    for (body, is_whole) in [("0123", false), ("", false), ("0123456789", true)] {
        let got = get(server.address(), "/", &[]).await.unwrap();
        assert_eq!((got.body.as_str(), got.is_whole), (body, is_whole));
        assert_eq!(got.header("content-length"), Some("10"));
    }
    server.ledger().assert_endings(&[Ending::CutShort(200), Ending::CutShort(200), Ending::Answered(200)]);
}

#[tokio::test]
async fn a_thousand_callers_at_once_are_served() {
    let server = Server::start(Script::hang().times(1_000).then(Script::succeed())).unwrap();
    let mut clients = Vec::new();
    for _ in 0..1_000 {
        let mut client = Client::connect(server.address()).await.unwrap();
        client.ask("GET /", &[]).await.unwrap();
        clients.push(client);
    }
    let ledger = server.ledger_when(|ledger| ledger.under_way() == 1_000).await;
    assert_eq!(ledger.most_at_once(), 1_000);
    assert_eq!(status(&server).await, 200);
    drop(clients);
    server.ledger_when(|ledger| ledger.under_way() == 0).await;
}

#[tokio::test]
async fn a_dropped_server_leaves_nothing_behind_inside_of_a_runtime() {
    let server = Server::start(Script::hang()).unwrap();
    let mut client = Client::connect(server.address()).await.unwrap();
    client.ask("GET /", &[]).await.unwrap();
    server.ledger_when(|ledger| ledger.under_way() == 1).await;
    let address = server.address();
    drop(server);
    assert!(client.receive().await.is_none());
    let refused = TcpStream::connect(address).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn a_server_needs_no_runtime_and_frees_its_port() {
    let server = Server::start(Script::succeed()).unwrap();
    let address = server.address();
    std::net::TcpStream::connect(address).unwrap();
    assert_eq!(server.url(), format!("http://{address}"));
    drop(server);
    let refused = std::net::TcpStream::connect(address).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

#[tokio::test(start_paused = true)]
async fn a_paused_clock_of_the_callers_does_not_touch_it() {
    let server = Server::start(Script::slow(ms(20)).then(Script::succeed())).unwrap();
    assert_eq!(status(&server).await, 200);
    tokio::time::advance(s(7_200)).await;
    // On the caller's clock this script would begin in two hours, and its first part would not be over.
    server.follow(Script::fail().lasting(Duration::ZERO).then(Script::succeed()));
    assert_eq!(status(&server).await, 200);
    assert!(server.ledger().entries()[0].took().unwrap() >= ms(20));
}

#[tokio::test]
async fn a_predicate_may_switch_its_own_server() {
    use std::sync::{Arc, OnceLock};
    let server: Arc<OnceLock<Server>> = Arc::default();
    let own = Arc::downgrade(&server);
    let switch = move |_: &steadfast_testkit::Request| {
        own.upgrade().iter().filter_map(|server| server.get()).for_each(Server::switch_off);
        true
    };
    server.set(Server::start(Script::succeed().only_if(switch)).unwrap()).unwrap();
    let running = server.get().unwrap();
    assert!(get(running.address(), "/", &[]).await.is_none());
    running.switch_on();
    running.ledger().assert_attempts(1);
}

#[tokio::test]
async fn a_function_of_the_script_that_panics_harms_only_its_call() {
    let predicate = |request: &steadfast_testkit::Request| {
        assert_ne!(request.path(), "/trap", "a panic on purpose");
        true
    };
    let server = Server::start(Script::succeed().only_if(predicate)).unwrap();
    assert!(get(server.address(), "/trap", &[]).await.is_none());
    assert_eq!(status(&server).await, 200);
    server.ledger().assert_endings(&[Ending::Panicked, Ending::Answered(200)]);
}

#[tokio::test]
async fn an_address_that_is_taken_is_told() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let error = Server::start_on(address, Script::succeed()).unwrap_err();
    assert!(matches!(&error, Error::Listen { address: told, .. } if *told == address), "{error}");
    assert!(error.to_string().contains("give port 0 for any free port"), "{error}");
}
