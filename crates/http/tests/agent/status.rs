//! What statuses mean.

use std::time::Duration;

use steadfast_http::{Agent as _, Call, Expect, REDIRECTED, Target, UNEXPECTED};
use steadfast_resilience::classify::http;
use steadfast_resilience::{Class, Effect, Kind, Pipeline};
use steadfast_testkit::http::Server;
use steadfast_testkit::{Answer, Script};

use crate::support::{Raw, agent, answer, call, get, read_request, why};

#[tokio::test]
async fn every_failing_status_means_what_the_classification_says() {
    let statuses = 400..=599;
    let service = Server::start(Script::sequence(statuses.clone().map(Script::status))).unwrap();
    let agent = agent(Target::new(service.url()));
    for status in statuses {
        let fault = agent.call(call("POST", "/charges")).await.unwrap_err();
        assert_eq!(fault.verdict, http::status(status), "{status}");
        assert!(fault.message.starts_with(&format!("`pay` answered {status}")), "{}", fault.message);
        assert!(fault.message.ends_with(" [SF531]"), "{}", fault.message);
    }
    service.ledger().assert_attempts(200);
}

#[tokio::test]
async fn the_wait_that_a_service_names_is_the_hint() {
    for (status, header, class, kind, hint) in [
        (429, ("retry-after", "7"), Class::Throttled, Kind::THROTTLED, 7),
        (503, ("retry-after", "7"), Class::Throttled, Kind::OVERLOADED, 7),
        (503, ("retry-after-ms", "9000"), Class::Throttled, Kind::OVERLOADED, 9),
        (500, ("retry-after", "7"), Class::Transient, Kind::SERVER_ERROR, 7),
        (429, ("ratelimit", "\"default\";r=0;t=30"), Class::Throttled, Kind::THROTTLED, 30),
        (429, ("x-ratelimit-reset", "12"), Class::Throttled, Kind::THROTTLED, 12),
    ] {
        let script = Script::answer(Answer::new().status(status).header(header.0, header.1)).unwrap();
        let service = Server::start(script).unwrap();
        let verdict = get(&service.url()).await.unwrap_err().verdict;
        assert_eq!((verdict.class(), verdict.kind()), (class, kind), "{status} {header:?}");
        assert_eq!(verdict.hint(), Some(Duration::from_secs(hint)), "{status} {header:?}");
    }
}

#[tokio::test]
async fn a_status_that_was_expected_is_a_success_whatever_it_is() {
    for status in [200, 202, 302, 404, 409, 503] {
        let script = Script::answer(Answer::new().status(status).header("location", "/there")).unwrap();
        let service = Server::start(script).unwrap();
        let expecting = Call { expect: Expect::of([status..=status]), ..call("DELETE", "/x") };
        let reply = agent(Target::new(service.url())).call(expecting).await.unwrap();
        assert_eq!(reply.status, status);
        assert!(reply.headers.contains(&("location".to_owned(), "/there".to_owned())));
    }
}

#[tokio::test]
async fn a_status_that_is_no_failure_and_not_expected_may_have_had_an_effect() {
    let service = Server::start(Script::succeed()).unwrap();
    let expecting = Call { expect: Expect::of([201..=201, 204..=206]), ..call("POST", "/x") };
    let fault = agent(Target::new(service.url())).call(expecting).await.unwrap_err();
    let verdict = fault.verdict;
    assert_eq!((verdict.class(), verdict.kind()), (Class::Neutral, UNEXPECTED));
    assert_eq!((verdict.effect(), verdict.code()), (Effect::Possible, Some(200)));
    assert_eq!(fault.message, "`pay` answered 200 OK, expected was 201, 204 to 206: ok [SF530]");
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_says_where_it_points_to() {
    // It points to itself: whoever follows goes round for ever.
    for status in [301, 302, 303, 307, 308] {
        let script = Script::answer(Answer::new().status(status).header("location", "/loop?x=1")).unwrap();
        let service = Server::start(script).unwrap();
        let (kind, effect, words) = why(get(&service.url()).await);
        assert_eq!((kind, effect), (REDIRECTED, Effect::Possible));
        assert!(words.contains("points to `/loop?x=1`: redirects are not followed"), "{words}");
        service.ledger().assert_attempts(1);
    }
}

#[tokio::test]
async fn a_redirect_without_a_place_is_a_status_that_was_not_expected() {
    let service = Raw::answering(answer(304, "", "")).await;
    assert_eq!(why(get(&service.url()).await).0, UNEXPECTED);
}

#[tokio::test]
async fn what_a_failure_says_is_in_its_words_shortened_and_in_one_line() {
    let json = Raw::answering(answer(
        422,
        "content-type: application/problem+json\r\n",
        "{\n \"title\": \"no \\u0073tock\"\n}",
    ))
    .await;
    let (.., words) = why(get(&json.url()).await);
    assert_eq!(words, "`pay` answered 422 Unprocessable Entity: {\"title\":\"no stock\"} [SF531]");

    let long = Raw::answering(answer(500, "", &format!("line\r\n{}", "é".repeat(100_000)))).await;
    let (.., words) = why(get(&long.url()).await);
    assert!(words.starts_with("`pay` answered 500 Internal Server Error: line  éé"), "{words}");
    assert!(words.len() < 400 && words.ends_with("... [SF531]"), "{words}");

    let silent = Raw::answering(answer(500, "", "  ")).await;
    assert_eq!(why(get(&silent.url()).await).2, "`pay` answered 500 Internal Server Error [SF531]");
}

#[tokio::test]
async fn a_failure_whose_body_never_comes_keeps_its_status_and_hint() {
    let service = Raw::start(|mut stream| async move {
        read_request(&mut stream).await;
        let head = b"HTTP/1.1 503 X\r\nretry-after: 9\r\ncontent-length: 100\r\n\r\nso far";
        tokio::io::AsyncWriteExt::write_all(&mut stream, head).await.unwrap();
        // Until the caller has gone.
        read_request(&mut stream).await;
    })
    .await;
    let agent = agent(Target::new(service.url()));
    // The attempt must not end by its own limit before: then nobody would know of the status.
    let limit = Duration::from_millis(400);
    let pipeline = Pipeline::builder("pay").no_retry().attempt_timeout(limit).build().unwrap();
    let called = pipeline.run(|attempt| agent.call(Call { attempt, ..call("GET", "/") }));
    let fault = called.await.unwrap_err().into_operation().unwrap();
    assert_eq!(fault.verdict.hint(), Some(Duration::from_secs(9)));
    assert_eq!(fault.verdict.code(), Some(503));
    assert_eq!(fault.message, "`pay` answered 503 Service Unavailable: so far [SF531]");
}
