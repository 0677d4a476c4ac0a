//! The proxy in front of a real upstream, which is a scripted server with a ledger of its own.
#![expect(clippy::unwrap_used, reason = "a helper of a test may fail it")]

mod client;

use std::time::Duration;

use client::{Client, get};
use steadfast_testkit::http::{MAX_BODY, Server};
use steadfast_testkit::{Answer, Ending, Ledger, Script};

/// A service that answers `0123456789` with an `etag`, and a proxy in front of it.
fn bench(script: impl Into<Script>) -> (Server, Server) {
    let answer = Answer::new().status(201).header("etag", "1").header("x-kept", "yes").body("0123456789");
    let upstream = Server::start(Script::answer(answer).unwrap()).unwrap();
    let proxy = Server::proxy(upstream.address(), script).unwrap();
    (upstream, proxy)
}

// F1
#[tokio::test]
async fn what_is_not_touched_passes_whole_in_both_directions() {
    let (upstream, proxy) = bench(Script::succeed());
    let mut client = Client::connect(proxy.address()).await.unwrap();
    let head = "POST /charges?a=1 HTTP/1.1\r\nhost: shop\r\nidempotency-key: k-1\r\nx-mine: 1\r\n";
    client.send(&format!("{head}transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")).await.unwrap();
    let got = client.receive().await.unwrap();
    assert_eq!((got.status, got.body.as_str(), got.is_whole), (201, "0123456789", true));
    assert_eq!((got.header("etag"), got.header("x-kept")), (Some("1"), Some("yes")));
    for ledger in [upstream.ledger(), proxy.ledger()] {
        ledger.assert_attempts(1).assert_one_key().assert_endings(&[Ending::Answered(201)]);
        let request = ledger.entries()[0].request().clone();
        assert_eq!((request.method(), request.path(), request.body()), ("POST", "/charges?a=1", &b"abc"[..]));
        assert_eq!((request.header("host"), request.header("x-mine")), (Some("shop"), Some("1")));
    }
}

#[tokio::test]
async fn status_headers_and_body_are_changed_on_the_way_back() {
    let answer = Answer::new().status(502).header("etag", "2").without_header("x-kept").header("x-new", "1");
    let replaced = Script::answer(answer.body("not what you asked for")).unwrap();
    let changed = Answer::new().change_body(|body| body.iter().rev().copied().collect());
    let (upstream, proxy) = bench(replaced.then(Script::answer(changed).unwrap()).then(Script::succeed()));
    let got = get(proxy.address(), "/", &[]).await.unwrap();
    assert_eq!((got.status, got.body.as_str(), got.is_whole), (502, "not what you asked for", true));
    assert_eq!((got.header("etag"), got.header("x-kept"), got.header("x-new")), (Some("2"), None, Some("1")));
    assert_eq!(get(proxy.address(), "/", &[]).await.unwrap().body, "9876543210");
    assert_eq!(get(proxy.address(), "/", &[]).await.unwrap().body, "0123456789");
    upstream.ledger().assert_attempts(3);
    proxy.ledger().assert_endings(&[Ending::Answered(502), Ending::Answered(201), Ending::Answered(201)]);
}

#[tokio::test]
async fn a_body_is_cut_in_the_middle() {
    let (upstream, proxy) = bench(Script::answer(Answer::new().cut_body_after(4)).unwrap());
    let got = get(proxy.address(), "/", &[]).await.unwrap();
    assert_eq!((got.status, got.body.as_str(), got.is_whole), (201, "0123", false));
    proxy.ledger().assert_endings(&[Ending::CutShort(201)]);
    upstream.ledger().assert_attempts(1);
}

#[tokio::test]
async fn what_the_proxy_answers_or_drops_itself_never_reaches_the_upstream() {
    let parts = [Script::overloaded(), Script::dropped(), Script::throttle(Duration::from_secs(2))];
    let (upstream, proxy) = bench(Script::sequence(parts).then(Script::succeed()));
    assert_eq!(get(proxy.address(), "/", &[]).await.unwrap().status, 503);
    assert!(get(proxy.address(), "/", &[]).await.is_none());
    assert_eq!(get(proxy.address(), "/", &[]).await.unwrap().header("retry-after"), Some("2"));
    upstream.ledger().assert_attempts(0);
    assert_eq!(get(proxy.address(), "/", &[]).await.unwrap().status, 201);
    upstream.ledger().assert_attempts(1);
}

#[tokio::test]
async fn a_lost_answer_was_carried_out() {
    let (upstream, proxy) = bench(Script::answer_lost().then(Script::succeed()));
    for _ in 0..2 {
        get(proxy.address(), "/", &["idempotency-key: k-1"]).await;
    }
    upstream.ledger().assert_attempts(2).assert_one_key();
    proxy.ledger().assert_endings(&[Ending::Dropped, Ending::Answered(201)]);
}

#[tokio::test]
async fn a_delay_comes_before_the_upstream_is_asked() {
    let (upstream, proxy) = bench(Script::slow(Duration::from_millis(30)));
    assert_eq!(get(proxy.address(), "/", &[]).await.unwrap().status, 201);
    assert!(proxy.ledger().entries()[0].took().unwrap() >= Duration::from_millis(30));
    upstream.ledger().assert_attempts(1);
}

#[tokio::test]
async fn only_marked_requests_are_touched() {
    let (upstream, proxy) = bench(Script::fail().only_marked("x-fault", "on"));
    assert_eq!(get(proxy.address(), "/", &[]).await.unwrap().status, 201);
    assert_eq!(get(proxy.address(), "/", &["X-Fault: ON"]).await.unwrap().status, 500);
    upstream.ledger().assert_attempts(1);
    proxy.ledger().assert_attempts(2);
}

#[tokio::test]
async fn an_upstream_that_is_off_or_silent_is_told_with_its_address() {
    let (upstream, proxy) = bench(Script::succeed());
    upstream.switch_off();
    let got = get(proxy.address(), "/", &[]).await.unwrap();
    assert_eq!(got.status, 502);
    let words = format!("no answer to pass on from its upstream {}", upstream.address());
    assert!(got.body.contains(&words), "{}", got.body);
    upstream.switch_on();
    upstream.follow(Script::dropped());
    assert_eq!(get(proxy.address(), "/", &[]).await.unwrap().status, 502);
    proxy.ledger().assert_endings(&[Ending::NoUpstream; 2]);
}

#[tokio::test]
async fn a_body_that_is_too_large_to_be_changed_is_told() {
    let large = Answer::new().body(vec![b'x'; MAX_BODY + 1]);
    let upstream = Server::start(Script::answer(large).unwrap()).unwrap();
    let changed = Script::answer(Answer::new().change_body(<[u8]>::to_vec)).unwrap();
    let proxy = Server::proxy(upstream.address(), changed.then(Script::succeed())).unwrap();
    assert_eq!(get(proxy.address(), "/", &[]).await.unwrap().status, 502);
    let passed = get(proxy.address(), "/", &[]).await.unwrap();
    assert_eq!((passed.status, passed.body.len()), (200, MAX_BODY + 1));
}

#[tokio::test]
async fn a_caller_that_leaves_takes_its_request_back_from_the_upstream() {
    let (upstream, proxy) = bench(Script::succeed());
    upstream.follow(Script::hang());
    let mut client = Client::connect(proxy.address()).await.unwrap();
    client.ask("GET /", &[]).await.unwrap();
    upstream.ledger_when(|ledger| ledger.under_way() == 1).await;
    drop(client);
    for server in [&proxy, &upstream] {
        let ledger = server.ledger_when(|ledger| ledger.under_way() == 0).await;
        ledger.assert_endings(&[Ending::CallerLeft]);
    }
}

#[tokio::test]
async fn a_caller_that_leaves_in_the_middle_of_its_request_is_not_the_upstreams_fault() {
    let (upstream, proxy) = bench(Script::succeed());
    let mut client = Client::connect(proxy.address()).await.unwrap();
    client.send("POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 10\r\n\r\n12345").await.unwrap();
    let half_came = |ledger: &Ledger| ledger.entries().iter().any(|entry| entry.request().body_size() == 5);
    upstream.ledger_when(half_came).await;
    drop(client);
    for server in [&proxy, &upstream] {
        let ledger = server.ledger_when(|ledger| ledger.under_way() == 0).await;
        ledger.assert_endings(&[Ending::CallerLeft]);
    }
}

#[tokio::test]
async fn switching_a_proxy_off_ends_what_waits_for_its_upstream() {
    let (upstream, proxy) = bench(Script::succeed());
    upstream.follow(Script::hang());
    let mut client = Client::connect(proxy.address()).await.unwrap();
    client.ask("GET /", &[]).await.unwrap();
    upstream.ledger_when(|ledger| ledger.under_way() == 1).await;
    proxy.switch_off();
    proxy.ledger().assert_endings(&[Ending::Interrupted]);
    assert!(client.receive().await.is_none());
    upstream.ledger_when(|ledger| ledger.under_way() == 0).await;
}

#[tokio::test]
async fn a_request_to_head_passes_without_a_body() {
    let (upstream, proxy) = bench(Script::succeed());
    let mut client = Client::connect(proxy.address()).await.unwrap();
    for _ in 0..2 {
        client.ask("HEAD /", &[]).await.unwrap();
        let got = client.receive_to("HEAD").await.unwrap();
        assert_eq!((got.status, got.header("content-length")), (201, Some("10")));
    }
    upstream.ledger().assert_attempts(2);
}
