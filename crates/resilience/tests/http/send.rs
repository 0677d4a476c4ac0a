//! The door for requests: what is sent, how often, and what comes back.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Client;
use reqwest::dns::{Name, Resolve, Resolving};
use steadfast_resilience::pipeline::{Builder, SendError};
use steadfast_resilience::retry::{Decision, Stop};
use steadfast_resilience::{
    Breaker, Class, Classify, Effect, Error, IdempotencyKey, Kind, Pipeline, Retry, Verdict,
};

use crate::server::{Reply, Server, nobody};

/// For attempts that must be cut off, and long enough for an answer on a busy machine.
const SHORT: Duration = Duration::from_millis(250);

/// Waits of a millisecond: a real socket needs a real clock.
fn builder() -> Builder {
    Pipeline::builder("api").retry(Retry::fixed(Duration::from_millis(1)).no_jitter().max_retries(3))
}

fn pipeline() -> Pipeline {
    builder().build().unwrap()
}

fn request_error(error: &Error<SendError>) -> &reqwest::Error {
    let Some(SendError::Request(error)) = error.operation() else { unreachable_cause(error) };
    error
}

#[expect(clippy::panic, reason = "a test that meets another error must fail")]
fn unreachable_cause(error: &Error<SendError>) -> ! {
    panic!("another error than expected: {error:?}")
}

fn is_send<T: Send>(value: T) -> T {
    value
}

/// A body that cannot be sent twice.
fn stream(text: &'static str) -> reqwest::Body {
    reqwest::Body::wrap(reqwest::Body::from(text))
}

#[tokio::test]
async fn a_failing_answer_is_tried_again_with_the_same_key_and_body() {
    let server =
        Server::start([Reply::status(503), Reply::status(500), Reply::status(200).body("paid")]).await;
    let request = Client::new().post(server.url("/charges")).json(&serde_json::json!({"cents": 100}));
    let response = tokio::spawn(async move { pipeline().send(request).await }).await.unwrap().unwrap();
    assert_eq!((response.status().as_u16(), &*response.text().await.unwrap()), (200, "paid"));
    let received = server.received();
    assert_eq!(received.len(), 3);
    let key = received[0].header("idempotency-key").unwrap();
    assert_eq!(key.len(), 32);
    for request in &received {
        assert_eq!(request.header("idempotency-key"), Some(key));
        assert_eq!((&*request.line, &*request.body), ("POST /charges HTTP/1.1", r#"{"cents":100}"#));
    }
}

#[tokio::test]
async fn two_calls_have_two_keys_and_a_key_of_ones_own_is_kept() {
    let server = Server::start([Reply::status(200)]).await;
    let (pipeline, client) = (pipeline(), Client::new());
    let post = || client.post(server.url("/"));
    pipeline.send(post()).await.unwrap();
    pipeline.send(post()).await.unwrap();
    pipeline.send(post().header("Idempotency-Key", "mine")).await.unwrap();
    pipeline.call().key(IdempotencyKey::from_u128(42)).send(post()).await.unwrap();
    let keys: Vec<_> = server
        .received()
        .iter()
        .map(|request| request.header("idempotency-key").unwrap().to_owned())
        .collect();
    assert_ne!(keys[0], keys[1]);
    assert_eq!(keys[2..], ["mine".to_owned(), IdempotencyKey::from_u128(42).to_string()]);
}

#[tokio::test]
async fn only_requests_that_can_change_something_carry_a_key() {
    let server = Server::start([Reply::status(200)]).await;
    let (pipeline, client) = (pipeline(), Client::new());
    for method in ["GET", "HEAD", "OPTIONS", "TRACE", "POST", "PUT", "PATCH", "DELETE", "LINK"] {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        pipeline.send(client.request(method, server.url("/"))).await.unwrap();
    }
    let with_key: Vec<_> =
        server.received().iter().map(|request| request.header("idempotency-key").is_some()).collect();
    assert_eq!(with_key, [false, false, false, false, true, true, true, true, true]);
}

#[tokio::test]
async fn the_services_time_limit_is_sent_under_its_name() {
    let server = Server::start([Reply::status(200)]).await;
    let client = Client::new();
    let get = || client.get(server.url("/"));
    let pipeline = builder().server_timeout(Duration::from_millis(750)).build().unwrap();
    pipeline.send(get()).await.unwrap();
    let envoy = reqwest::header::HeaderName::from_static("x-envoy-expected-rq-timeout-ms");
    pipeline.send(get()).server_timeout_header(envoy).await.unwrap();
    pipeline.call().server_timeout(Duration::from_micros(1)).send(get()).await.unwrap();
    pipeline.send(get().header("X-Request-Timeout-Ms", "5")).await.unwrap();
    self::pipeline().send(get()).await.unwrap();
    let received = server.received();
    let own = |n: usize| received[n].header("x-request-timeout-ms");
    assert_eq!((own(0), own(1), own(2), own(3), own(4)), (Some("750"), None, Some("1"), Some("5"), None));
    assert_eq!(received[1].header("x-envoy-expected-rq-timeout-ms"), Some("750"));
}

#[tokio::test]
async fn when_retries_end_a_failing_answer_is_still_the_callers() {
    let server = Server::start([Reply::status(503).body("down for repair")]).await;
    let pipeline = pipeline();
    let response = pipeline.send(Client::new().get(server.url("/"))).await.unwrap();
    assert_eq!((response.status().as_u16(), server.count()), (503, 4));
    assert_eq!(response.text().await.unwrap(), "down for repair");
    assert_eq!(pipeline.breaker().unwrap().report().failures, 4, "the breaker counted them all the same");
}

#[tokio::test]
async fn a_failing_answer_can_be_an_error_with_the_response_inside() {
    let server = Server::start([Reply::status(503).body("down for repair")]).await;
    let error =
        pipeline().call().named("stock").send(Client::new().get(server.url("/"))).error_for_status().await;
    let error = error.unwrap_err();
    assert_eq!((error.stop(), server.count()), (Stop::MaxRetries, 4));
    assert_eq!(error.operation().unwrap().status().unwrap().as_u16(), 503);
    assert!(error.to_string().starts_with("a call to `api` (stock) failed; all retries are used"), "{error}");
    let Some(SendError::Status(response)) = error.into_operation() else { panic!("it answered") };
    assert_eq!(response.text().await.unwrap(), "down for repair");
}

#[tokio::test]
async fn a_terminal_answer_is_not_tried_again() {
    let server = Server::start([Reply::status(404)]).await;
    let response = pipeline().send(Client::new().get(server.url("/"))).await.unwrap();
    assert_eq!((response.status().as_u16(), server.count()), (404, 1));
}

/// What the policy saw: the failure, and what followed.
type Seen = Arc<Mutex<Vec<(Verdict, Decision)>>>;

fn watched() -> (Seen, Pipeline) {
    let seen = Seen::default();
    let hook = Arc::clone(&seen);
    let retry = Retry::fixed(Duration::from_millis(1)).max_retries(3).after_failed_try(move |failed| {
        hook.lock().unwrap().push((*failed.failure, *failed.decision));
    });
    (seen, Pipeline::builder("api").retry(retry).build().unwrap())
}

#[tokio::test]
async fn the_wait_that_the_service_asks_for_is_kept() {
    let wait = Duration::from_millis(30);
    let server = Server::start([Reply::status(429).header("retry-after-ms", "30"), Reply::status(200)]).await;
    let (seen, pipeline) = watched();
    pipeline.send(Client::new().get(server.url("/"))).await.unwrap();
    let [(failure, Decision::After(waited))] = seen.lock().unwrap()[..] else { panic!("{seen:?}") };
    assert_eq!((failure.class(), failure.hint()), (Class::Throttled, Some(wait)));
    assert!(waited >= wait && waited <= wait * 2, "{waited:?}");
    assert_eq!(server.count(), 2);
}

#[tokio::test]
async fn a_wait_beyond_the_deadline_ends_the_call_with_the_answer() {
    for headers in [("retry-after", "20"), ("ratelimit", r#""default";r=0;t=20"#)] {
        let server = Server::start([Reply::status(429).header(headers.0, headers.1)]).await;
        let (seen, pipeline) = watched();
        let call = pipeline.call().complete_within(Duration::from_secs(10));
        let response = call.send(Client::new().get(server.url("/"))).await.unwrap();
        assert_eq!((response.status().as_u16(), server.count()), (429, 1));
        let [(failure, decision)] = seen.lock().unwrap()[..] else { panic!("{seen:?}") };
        assert_eq!(failure.hint(), Some(Duration::from_secs(20)), "{headers:?}");
        assert_eq!(decision, Decision::Stop(Stop::Deadline));
    }
}

#[tokio::test]
async fn a_refused_connection_has_no_effect_and_is_tried_again_even_if_not_idempotent() {
    let pipeline = builder().not_idempotent().build().unwrap();
    let error = pipeline.send(Client::new().post(nobody().await)).await.unwrap_err();
    let verdict = error.failure().unwrap();
    assert_eq!((verdict.class(), verdict.kind()), (Class::Transient, Kind::CONNECT_REFUSED));
    assert_eq!(verdict.effect(), Effect::None);
    assert_eq!((error.stop(), error.story().unwrap().attempts()), (Stop::MaxRetries, 4));
    let words = request_error(&error).message().unwrap();
    assert!(words.contains("refused") && !words.contains("http://"), "{words}");
}

#[tokio::test]
async fn a_name_that_nobody_has_is_unreachable_without_effect() {
    // A label of 300 letters breaks the rules of DNS: the resolver refuses it without asking anybody.
    let request = Client::new().get(format!("http://{}/", "a".repeat(300)));
    let error = pipeline().call().max_retries(0).send(request).await.unwrap_err();
    let verdict = error.failure().unwrap();
    assert_eq!((verdict.class(), verdict.kind()), (Class::Transient, Kind::UNREACHABLE), "{error:?}");
    assert_eq!(verdict.effect(), Effect::None);
}

/// A resolver that fails with an error of its own, or never answers.
struct Resolver {
    hangs: bool,
}

impl Resolve for Resolver {
    fn resolve(&self, _: Name) -> Resolving {
        let hangs = self.hangs;
        Box::pin(async move {
            if hangs {
                std::future::pending::<()>().await;
            }
            Err("nobody knows this name".into())
        })
    }
}

#[tokio::test]
async fn without_a_connection_there_is_no_effect_whatever_the_reason() {
    for (hangs, kind) in [(false, Kind::UNREACHABLE), (true, Kind::TIMEOUT)] {
        let client = Client::builder().dns_resolver(Arc::new(Resolver { hangs })).connect_timeout(SHORT);
        let request = client.build().unwrap().post("http://api.test/");
        let error = pipeline().call().max_retries(0).send(request).await.unwrap_err();
        let expected = Verdict::transient(kind).without_effect();
        assert_eq!(error.failure(), Some(&expected), "{error:?}");
    }
}

#[tokio::test]
async fn a_broken_answer_is_tried_again_but_not_where_it_may_not_be_repeated() {
    let server = Server::start([Reply::BreakOff, Reply::status(200)]).await;
    let post = Client::new().post(server.url("/"));
    let error = pipeline().call().not_idempotent().send(post.try_clone().unwrap()).await.unwrap_err();
    assert_eq!((error.stop(), server.count()), (Stop::NotIdempotent, 1));
    assert_eq!(error.failure().unwrap().kind(), Kind::CONNECTION_LOST);
    let server = Server::start([Reply::BreakOff, Reply::status(200)]).await;
    pipeline().send(Client::new().post(server.url("/"))).await.unwrap();
    assert_eq!(server.count(), 2, "the key makes it safe");
}

#[tokio::test]
async fn an_attempt_that_takes_too_long_is_cut_off_and_tried_again() {
    let server = Server::start([Reply::Hang, Reply::status(200)]).await;
    let pipeline = builder().attempt_timeout(SHORT).build().unwrap();
    let response = pipeline.send(Client::new().post(server.url("/"))).await.unwrap();
    assert_eq!(response.status().as_u16(), 200);
    assert!(server.count() >= 2, "the first one hung");
}

#[tokio::test]
async fn reqwests_own_time_limit_is_a_timeout_too() {
    let server = Server::start([Reply::Hang, Reply::status(200)]).await;
    let request = Client::new().get(server.url("/")).timeout(SHORT);
    let (seen, pipeline) = watched();
    assert_eq!(pipeline.send(request).await.unwrap().status().as_u16(), 200);
    let verdict = seen.lock().unwrap()[0].0;
    assert_eq!((verdict.class(), verdict.kind()), (Class::Transient, Kind::TIMEOUT));
    assert_eq!(verdict.effect(), Effect::Possible);
}

#[tokio::test]
async fn a_body_that_is_a_stream_is_sent_once_and_the_error_says_so() {
    let server = Server::start([Reply::BreakOff, Reply::status(200)]).await;
    let pipeline = pipeline();
    let error = pipeline.send(Client::new().post(server.url("/")).body(stream("a flow"))).await.unwrap_err();
    assert_eq!((error.stop(), server.count()), (Stop::NotRepeatable, 1));
    assert!(server.received()[0].body.contains("a flow"));
    assert!(error.to_string().contains("cannot be sent again: its body is a stream"), "{error}");
    assert_eq!(error.story().unwrap().worst_case_calls(), 1);
    // Where no retry would have come anyway, that is the reason.
    let server = Server::start([Reply::status(404)]).await;
    let request = Client::new().post(server.url("/")).body(stream("a flow"));
    let error = pipeline.send(request).error_for_status().await.unwrap_err();
    assert_eq!(error.stop(), Stop::Terminal);
}

#[tokio::test]
async fn a_request_that_cannot_be_built_is_terminal_and_never_sent() {
    let error = pipeline().send(Client::new().get("no url at all")).await.unwrap_err();
    assert!(request_error(&error).is_builder());
    assert_eq!((error.stop(), error.story().unwrap().attempts()), (Stop::Terminal, 1));
    assert_eq!(error.failure().unwrap().effect(), Effect::None);
}

#[tokio::test]
async fn redirects_are_followed_and_a_ring_of_them_is_terminal() {
    let there = Reply::status(307).header("location", "/there");
    let server = Server::start([there.clone(), Reply::status(200)]).await;
    let response = pipeline().send(Client::new().post(server.url("/here"))).await.unwrap();
    assert_eq!(response.url().path(), "/there");
    let received = server.received();
    let key = |n: usize| received[n].header("idempotency-key");
    assert!(key(0).is_some() && key(0) == key(1), "{received:?}");
    let ring = Server::start([there]).await;
    let error = pipeline().send(Client::new().get(ring.url("/there"))).await.unwrap_err();
    assert!(request_error(&error).is_redirect());
    assert_eq!((error.stop(), error.story().unwrap().attempts()), (Stop::Terminal, 1));
}

#[tokio::test]
async fn outcomes_can_be_judged_by_a_function() {
    let server = Server::start([Reply::status(404), Reply::status(200)]).await;
    let not_there_yet = |outcome: &Result<reqwest::Response, SendError>| match outcome {
        Ok(response) if response.status().as_u16() == 404 => Verdict::transient(Kind::NOT_FOUND),
        Ok(response) => response.classify(),
        Err(error) => error.classify(),
    };
    let (pipeline, request) = (pipeline(), Client::new().get(server.url("/")));
    let sending = is_send(pipeline.send(request).classify(not_there_yet).into_future());
    assert_eq!(sending.await.unwrap().status().as_u16(), 200);
}

#[tokio::test]
async fn a_fallback_stands_in_for_a_failing_status_but_not_for_an_answer() {
    let (busy, missing) =
        (Server::start([Reply::status(503)]).await, Server::start([Reply::status(404)]).await);
    let cached = |_error| async {
        Ok(::http::Response::builder().header("x-from", "cache").body("seven").unwrap().into())
    };
    let (pipeline, client) = (pipeline(), Client::new());
    let response = pipeline.call().fallback(cached).send(client.get(busy.url("/"))).await.unwrap();
    assert_eq!(response.headers()["x-from"], "cache");
    let error = pipeline.call().fallback(cached).send(client.get(missing.url("/"))).await.unwrap_err();
    assert_eq!(error.operation().unwrap().status().unwrap().as_u16(), 404);
}

#[tokio::test]
async fn an_open_breaker_sends_nothing() {
    let server = Server::start([Reply::status(503)]).await;
    let pipeline = builder().breaker(Breaker::consecutive(2)).build().unwrap();
    let client = Client::new();
    assert_eq!(pipeline.send(client.get(server.url("/"))).await.unwrap().status().as_u16(), 503);
    let error = pipeline.send(client.get(server.url("/"))).await.unwrap_err();
    assert!(error.is_refused());
    assert_eq!(server.count(), 2);
}

#[tokio::test]
async fn what_is_read_after_the_headers_is_classified_too() {
    let server = Server::start([Reply::BreakOffInBody]).await;
    let response = pipeline().send(Client::new().get(server.url("/"))).await.unwrap();
    let broken = response.json::<serde_json::Value>().await.unwrap_err();
    assert_eq!(broken.classify(), Verdict::transient(Kind::CONNECTION_LOST), "{broken:?}");
    let server = Server::start([Reply::json(200, "{nonsense")]).await;
    let response = pipeline().send(Client::new().get(server.url("/"))).await.unwrap();
    let malformed = response.json::<serde_json::Value>().await.unwrap_err();
    assert_eq!(malformed.classify(), Verdict::terminal(Kind::SERVER_ERROR), "{malformed:?}");
    let server = Server::start([Reply::status(502)]).await;
    let response = Client::new().get(server.url("/")).send().await.unwrap();
    let status = response.error_for_status().unwrap_err();
    assert_eq!((status.classify().kind(), status.classify().code()), (Kind::SERVER_ERROR, Some(502)));
}

#[test]
fn the_error_can_be_boxed_and_sent_between_threads() {
    fn fits<T: std::error::Error + Send + Sync + 'static>() {}
    fits::<Error<SendError>>();
}
