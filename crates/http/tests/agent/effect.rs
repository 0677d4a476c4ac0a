//! Whether a request that failed may have changed something: each way to fail has its answer.

use std::sync::Arc;
use std::time::Duration;

use steadfast_http::{Agent as _, Call, Code, NOT_SENT, Target, UNREADABLE};
use steadfast_resilience::clock::Clock;
use steadfast_resilience::{Breaker, Class, Effect, Kind, Pipeline, Retry, Verdict};
use steadfast_testkit::http::Server;
use steadfast_testkit::{Answer, Ending, Script};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::support::{Raw, agent, answer, attempt, call, get, read_request, why};

#[tokio::test]
async fn a_refused_connection_had_no_effect() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let (kind, effect, words) = why(get(&url).await);
    assert_eq!((kind, effect), (Kind::CONNECT_REFUSED, Effect::None), "{words}");
    let begins = format!("`pay` at {} did not answer: ", url.trim_start_matches("http://"));
    assert!(words.starts_with(&begins) && words.ends_with("[SF532]"), "{words}");
    assert!(!words.contains("http://"), "{words}");
}

#[tokio::test]
async fn a_name_that_is_not_found_had_no_effect() {
    // A label of 300 letters breaks the rules of DNS: the resolver refuses it without asking anybody.
    let (kind, effect, words) = why(get(&format!("http://{}/", "a".repeat(300))).await);
    assert_eq!((kind, effect), (Kind::UNREACHABLE, Effect::None), "{words}");
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_connection_that_is_never_made_had_no_effect() {
    // Nobody accepts, and the line is full: Linux answers no further caller.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let first =
        [tokio::net::TcpStream::connect(address).await, tokio::net::TcpStream::connect(address).await];
    let target = Target::new(format!("http://{address}")).connect_timeout(Duration::from_millis(100));
    let (kind, effect, words) = why(agent(target).call(call("POST", "/")).await);
    assert_eq!((kind, effect), (Kind::TIMEOUT, Effect::None), "{words}");
    drop((first, listener));
}

#[tokio::test]
async fn a_service_that_hangs_is_left_at_the_attempts_limit_and_may_have_done_it() {
    let service = Server::start(Script::hang()).unwrap();
    let agent = agent(Target::new(service.url()));
    let pipeline =
        Pipeline::builder("pay").no_retry().attempt_timeout(Duration::from_millis(200)).build().unwrap();
    let called = pipeline.run(|attempt| agent.call(Call { attempt, ..call("POST", "/charges") }));
    let error = called.await.unwrap_err();
    assert!(error.is_timed_out());
    assert_eq!(error.failure().map(Verdict::effect), Some(Effect::Possible));
    let ledger = service.ledger_when(|ledger| ledger.endings() == [Ending::CallerLeft]).await;
    assert_eq!(ledger.entries()[0].request().header("steadfast-time-left"), Some("200"));
}

#[tokio::test]
async fn without_a_pipeline_a_call_ends_by_itself_a_little_after_its_time() {
    let service = Server::start(Script::hang()).unwrap();
    let short = Call { attempt: attempt(Duration::from_millis(20)), ..call("POST", "/") };
    let (kind, effect, words) = why(agent(Target::new(service.url())).call(short).await);
    assert_eq!((kind, effect), (Kind::TIMEOUT, Effect::Possible), "{words}");
    service.ledger_when(|ledger| ledger.endings() == [Ending::CallerLeft]).await;
}

#[tokio::test]
async fn an_answer_that_drips_ends_with_the_time_and_may_have_been_done() {
    let service = Raw::start(|mut stream| async move {
        read_request(&mut stream).await;
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n";
        stream.write_all(head).await.unwrap();
        while stream.write_all(b".").await.is_ok() {
            Clock::tokio().sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let short = Call { attempt: attempt(Duration::from_millis(20)), ..call("POST", "/") };
    let (kind, effect, words) = why(agent(Target::new(service.url())).call(short).await);
    assert_eq!((kind, effect), (Kind::TIMEOUT, Effect::Possible), "{words}");
    assert!(words.contains("answered 200, and the answer broke off after "), "{words}");
}

#[tokio::test]
async fn what_is_no_http_may_have_been_an_effect() {
    for garbage in [
        &b"SSH-2.0-OpenSSH_9.6\r\n"[..],
        b"\x16\x03\x01\x02\0\x01",
        b"HTTP/1.1 abc\r\n\r\n",
        b"\0",
        b"HTTP/9.9 200 OK\r\n\r\n",
    ] {
        let service = Raw::answering(garbage).await;
        let fault = get(&service.url()).await.unwrap_err();
        assert_eq!(fault.verdict.effect(), Effect::Possible, "{garbage:?}");
        assert_eq!(fault.verdict.class(), Class::Transient, "{garbage:?}: {}", fault.message);
        assert!(fault.message.ends_with("[SF532]"), "{}", fault.message);
    }
}

#[tokio::test]
async fn a_connection_that_is_closed_without_an_answer_may_have_been_an_effect() {
    for script in [Script::dropped(), Script::answer_lost()] {
        let service = Server::start(script).unwrap();
        let (kind, effect, words) = why(get(&service.url()).await);
        assert_eq!((kind, effect), (Kind::CONNECTION_LOST, Effect::Possible), "{words}");
        service.ledger().assert_attempts(1);
    }
}

#[tokio::test]
async fn a_half_closed_connection_may_have_been_an_effect() {
    let left = Arc::new(Notify::new());
    let told = Arc::clone(&left);
    let service = Raw::start(move |mut stream| {
        let told = Arc::clone(&told);
        async move {
            read_request(&mut stream).await;
            stream.shutdown().await.unwrap();
            // It goes on reading, and sees the caller leave.
            let _ = stream.read(&mut [0; 16]).await;
            told.notify_one();
        }
    })
    .await;
    let (kind, effect, words) = why(get(&service.url()).await);
    assert_eq!((kind, effect), (Kind::CONNECTION_LOST, Effect::Possible), "{words}");
    left.notified().await;
}

#[tokio::test]
async fn an_answer_that_is_reset_in_its_body_may_have_been_an_effect() {
    let service = Raw::start(|mut stream| async move {
        read_request(&mut stream).await;
        let part = b"HTTP/1.1 201 Created\r\ncontent-length: 100\r\n\r\n{\"id\":";
        stream.write_all(part).await.unwrap();
        stream.set_zero_linger().unwrap();
    })
    .await;
    let (kind, effect, words) = why(get(&service.url()).await);
    assert_eq!((kind, effect), (Kind::CONNECTION_LOST, Effect::Possible), "{words}");
}

#[tokio::test]
async fn an_answer_that_breaks_off_may_have_been_an_effect() {
    let cut = Server::start(Script::answer(Answer::new().body("x".repeat(1000)).cut_body_after(7)).unwrap())
        .unwrap();
    let chunks = Raw::answering("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n").await;
    let bad_chunk = Raw::answering("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n").await;
    for url in [cut.url(), chunks.url(), bad_chunk.url()] {
        let (kind, effect, words) = why(get(&url).await);
        assert_eq!((kind, effect), (Kind::CONNECTION_LOST, Effect::Possible), "{words}");
        assert!(words.contains("answered 200, and the answer broke off after "), "{words}");
        assert!(words.ends_with("[SF533]"), "{words}");
    }
}

#[tokio::test]
async fn an_answer_that_is_not_what_it_says_was_an_effect_all_the_same() {
    for (headers, body) in [
        ("content-type: application/json\r\n", "{\"id\": ch-1}"),
        ("content-type: application/json\r\n", "<html>welcome</html>"),
        ("content-type: application/vnd.api+json\r\n", "{"),
    ] {
        let service = Raw::answering(answer(201, headers, body)).await;
        let fault = get(&service.url()).await.unwrap_err();
        assert_eq!((fault.verdict.class(), fault.verdict.kind()), (Class::Neutral, UNREADABLE));
        assert_eq!((fault.verdict.effect(), fault.verdict.code()), (Effect::Possible, Some(201)));
        assert!(fault.message.contains("so it did what was asked"), "{}", fault.message);
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_not_sent() {
    let service = Server::start(Script::succeed()).unwrap();
    let agent = agent(Target::new(service.url()).max_request(100));
    let pair = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let bad = [
        (
            Code::UnknownService,
            Call { service: "bank".into(), ..call("GET", "/") },
            "no service `bank`: there are pay",
        ),
        (Code::BadRequest, call("CONNECT", "/"), "`CONNECT` is no method"),
        (Code::BadRequest, call("get", "/"), "use one of GET, POST"),
        (Code::BadRequest, call("GET", "//evil"), "for `pay`: path `//evil` begins with `//`"),
        (Code::BadRequest, call("GET", "/a/../b"), "`.` or `..`"),
        (
            Code::BadHeader,
            Call { headers: pair("Host", "evil"), ..call("GET", "/") },
            "header `host` belongs to the connection",
        ),
        (
            Code::BadHeader,
            Call { headers: pair("X-A", "a\r\nX-B: c"), ..call("GET", "/") },
            "header `x-a` has a line break",
        ),
        (
            Code::BadHeader,
            Call { callback: Some("http://a\r\nX-B: c".into()), ..call("GET", "/") },
            "`steadfast-callback-url`",
        ),
        (
            Code::RequestTooLarge,
            Call { body: Some(vec![b'1'; 101]), ..call("POST", "/") },
            "has 101 bytes, at most 100",
        ),
        (
            Code::RequestTooLarge,
            Call { headers: pair("X-A", &"x".repeat(13_000)), ..call("GET", "/") },
            "at most 12288",
        ),
        (
            Code::NoSecret,
            Call { headers: pair("X-A", "secret://token"), ..call("GET", "/") },
            "`token` may not be sent to `pay`",
        ),
        (
            Code::NoSecret,
            Call { query: pair("key", "secret://token"), ..call("GET", "/") },
            "URLs are logged",
        ),
    ];
    for (code, call, expected) in bad {
        let fault = agent.call(call).await.unwrap_err();
        let verdict = fault.verdict;
        assert_eq!(
            (verdict.class(), verdict.kind(), verdict.effect()),
            (Class::Neutral, NOT_SENT, Effect::None)
        );
        assert!(fault.message.contains(expected), "{}", fault.message);
        assert!(fault.message.ends_with(&format!("[{code}]")), "{}", fault.message);
    }
    service.ledger().assert_attempts(0);
}

#[tokio::test]
async fn what_was_not_sent_is_not_tried_again_and_says_nothing_about_the_service() {
    let agent = agent(Target::new("http://127.0.0.1:1"));
    let breaker = Breaker::consecutive(1);
    let pipeline = Pipeline::builder("pay").retry(Retry::standard()).breaker(breaker).build().unwrap();
    let mut tries = 0;
    let called = pipeline.run(|attempt| {
        tries += 1;
        agent.call(Call { attempt, ..call("GET", "//evil") })
    });
    assert_eq!(called.await.unwrap_err().failure().map(Verdict::kind), Some(NOT_SENT));
    assert_eq!(tries, 1);
    let breaker = pipeline.breaker().unwrap();
    assert!(breaker.is_closed());
    // Nor does it pass for the answer of a service that is probed.
    breaker.half_open("test", "a probe");
    let called = pipeline.run(|attempt| agent.call(Call { attempt, ..call("GET", "//evil") }));
    assert!(called.await.is_err());
    assert!(!breaker.is_closed());
}
