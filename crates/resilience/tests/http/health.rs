//! Health checks over HTTP: what an endpoint's answers mean to an open breaker. B12.

use std::time::Duration;

use reqwest::Client;
use steadfast_resilience::breaker::{Health, State, health};
use steadfast_resilience::{Breaker, Kind, Verdict};

use crate::server::{Reply, Server, nobody};

/// More than any answer takes that comes.
const LONG: Duration = Duration::from_secs(30);

/// What one look at an open breaker found, and the state after it.
async fn look(url: String, limit: Duration) -> (Health, State) {
    let breaker = Breaker::standard().build("api").unwrap();
    breaker.trip(&Verdict::transient(Kind::UNREACHABLE));
    let check = health::http(Client::new(), url).unwrap();
    let mut check = breaker.health_check(check).timeout(limit);
    let health = check.look().await.unwrap();
    assert_eq!(breaker.report().calls, 0);
    (health, breaker.state())
}

async fn found(reply: Reply) -> String {
    found_within(LONG, reply).await
}

async fn found_within(limit: Duration, reply: Reply) -> String {
    let server = Server::start([reply]).await;
    let (health, state) = look(server.url("/health"), limit).await;
    assert_eq!(state == State::HalfOpen, health.is_up());
    assert_eq!(server.received()[0].line, "GET /health HTTP/1.1");
    health.to_string()
}

// B12
#[tokio::test]
async fn the_status_that_a_service_reports_is_read() {
    let spring = r#"{"status":"UP","components":{"db":{"status":"DOWN"}}}"#;
    assert_eq!(found(Reply::json(200, spring)).await, "up");
    assert_eq!(found(Reply::json(200, r#"{"status":"DOWN"}"#)).await, r#"down: it reports "DOWN""#);
    let draft = Reply::status(200).header("content-type", "application/health+json");
    assert_eq!(found(draft.clone().body(r#"{"status":"pass"}"#)).await, "up");
    assert_eq!(found(draft.body(r#"{"status":"fail"}"#)).await, r#"down: it reports "fail""#);
    assert_eq!(found(Reply::json(200, r#"{"status":"SERVING"}"#)).await, "up");
}

// B12
#[tokio::test]
async fn a_failing_status_code_is_down_whatever_the_body_says() {
    let both = found(Reply::json(503, r#"{"status":"OUT_OF_SERVICE"}"#)).await;
    assert_eq!(both, r#"down: it answered 503 Service Unavailable; it reports "OUT_OF_SERVICE""#);
    assert!(found(Reply::json(500, r#"{"status":"UP"}"#)).await.starts_with("down: it answered 500"));
    assert_eq!(found(Reply::status(404).body("UP")).await, "down: it answered 404 Not Found");
    assert_eq!(found(Reply::json(503, "{nonsense")).await, "down: it answered 503 Service Unavailable");
}

#[tokio::test]
async fn without_a_word_in_json_the_status_code_is_all_that_is_reported() {
    for body in ["{}", "[]", "7", r#"{"status":{"code":"DOWN"}}"#] {
        assert_eq!(found(Reply::json(200, body)).await, "up", "{body}");
    }
    assert_eq!(found(Reply::status(204)).await, "up");
    let page = Reply::status(200).header("content-type", "text/html").body("x".repeat(1_000_000));
    assert_eq!(found(page).await, "up", "a page is not read");
}

#[tokio::test]
async fn an_answer_that_is_too_long_or_broken_is_down() {
    let fits = format!(r#"{{"status":"UP","x":"{}"}}"#, "x".repeat(60_000));
    assert_eq!(found(Reply::json(200, fits)).await, "up");
    let long = format!(r#"{{"status":"UP","x":"{}"}}"#, "x".repeat(70_000));
    assert_eq!(found(Reply::json(200, long)).await, "down: its answer is longer than 65536 bytes");
    assert!(
        found(Reply::json(200, "{nonsense")).await.starts_with("down: its answer is not JSON: key must be")
    );
    assert!(found(Reply::BreakOffInBody).await.starts_with("down: "));
}

#[tokio::test]
async fn a_service_that_cannot_be_reached_or_hangs_is_down() {
    let (health, state) = look(nobody().await, LONG).await;
    assert!(health.reason().unwrap().contains("refused"), "{health}");
    assert_eq!(state, State::Open);
    let hung = found_within(Duration::from_millis(250), Reply::Hang).await;
    assert_eq!(hung, "down: no answer within 250ms");
}

#[test]
fn a_url_that_is_none_is_refused_when_the_check_is_made() {
    assert!(health::http(Client::new(), "no url at all").is_err());
}
