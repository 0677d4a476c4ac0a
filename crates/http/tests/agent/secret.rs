//! Secrets: they arrive where they should, and nowhere else.

use serde_json::{Value, json};
use steadfast_http::{Agent as _, Call, FolderSecrets, HttpAgent, NOT_SENT, Target};
use steadfast_resilience::{Class, Effect};
use steadfast_testkit::http::Server;
use steadfast_testkit::{Answer, Script};

use crate::support::{PASSWORD, Raw, TOKEN, agent, answer, call, why};

/// Percent-encoded, as in a query.
const TOKEN_IN_URL: &str = "t0ken%2Fwith%20%22quotes%22%20%26%20more";

fn target(url: String) -> Target {
    Target::new(url)
        .header("Authorization", "Bearer secret://token")
        .allow_secret("password")
        .allow_secret("lines")
        .allow_secret("lost")
}

fn posted(body: &Value) -> Call {
    let headers = vec![("X-Password".to_owned(), "secret://password".to_owned())];
    Call { headers, body: Some(body.to_string().into_bytes()), ..call("POST", "/") }
}

#[tokio::test]
async fn secrets_arrive_in_headers_and_bodies() {
    let service = Server::start(Script::succeed()).unwrap();
    let body = json!({ "login": { "password": "secret://password" }, "note": "my secret://password" });
    agent(target(service.url())).call(posted(&body)).await.unwrap();
    let ledger = service.ledger();
    let request = ledger.entries()[0].request();
    assert_eq!(request.header("authorization"), Some(&*format!("Bearer {TOKEN}")));
    assert_eq!(request.header("x-password"), Some(PASSWORD));
    let got: Value = serde_json::from_slice(request.body()).unwrap();
    assert_eq!(got, json!({ "login": { "password": PASSWORD }, "note": "my secret://password" }));
}

#[tokio::test]
async fn a_service_that_tells_them_back_is_not_repeated() {
    let told = json!({ "you sent": [TOKEN, format!("and {PASSWORD}!")], PASSWORD: 1, "url": format!("/x?t={TOKEN_IN_URL}") });
    let answer = Answer::new()
        .header("content-type", "application/json")
        .header("location", format!("/x?t={TOKEN_IN_URL}"))
        .header("etag", PASSWORD)
        .body(told.to_string());
    let service = Server::start(Script::answer(answer).unwrap()).unwrap();
    let reply = agent(target(service.url())).call(posted(&json!(1))).await.unwrap();
    assert_eq!(reply.body, json!({ "you sent": ["***", "and ***!"], "***": 1, "url": "/x?t=***" }));
    let shown = format!("{reply:?}");
    assert!(!shown.contains("hunter") && !shown.contains("t0ken"), "{shown}");
    assert!(reply.headers.contains(&("etag".to_owned(), "***".to_owned())), "{shown}");
}

#[tokio::test]
async fn no_failure_shows_them() {
    let escaped = serde_json::to_string(TOKEN).unwrap();
    let in_unicode: String = PASSWORD.chars().map(|letter| format!("\\u{:04x}", u32::from(letter))).collect();
    let basic = "dXNlcjpodW50ZXIyMmh1bnRlcjIy"; // user:hunter22hunter22
    for (status, headers, body) in [
        (401, String::new(), format!("bad token {TOKEN}, bad password {PASSWORD}")),
        (
            500,
            "content-type: application/json\r\n".into(),
            format!("{{\"token\":{escaped},\"p\":\"{in_unicode}\"}}"),
        ),
        (500, String::new(), format!("Authorization: Basic {basic}")),
        (302, format!("location: /login?p={PASSWORD}&t={TOKEN_IN_URL}\r\n"), String::new()),
        (200, "content-type: application/json\r\n".into(), format!("{PASSWORD} is no JSON")),
        (200, format!("content-type: image/{PASSWORD}\r\n"), "\u{0}".repeat(3)),
        // Cut through by the limit of what is read of a failure.
        (
            500,
            String::new(),
            format!("{}{PASSWORD}", format!("{TOKEN}|").repeat(606) + "x".repeat(4).as_str()),
        ),
    ] {
        let service = Raw::answering(answer(status, &headers, &body)).await;
        let said = match agent(target(service.url())).call(posted(&json!("secret://password"))).await {
            Ok(reply) => format!("{reply:?}"),
            Err(fault) => format!("{fault:?}"),
        };
        for part in ["hunter2", "t0ken", "dW50ZXIyMmh1bnRlcjI"] {
            assert!(!said.contains(part), "{status}: {said}");
        }
    }
}

#[tokio::test]
async fn nobody_is_shown_where_a_service_may_answer_later() {
    let end = "0a9f".repeat(17);
    let url = format!("http://127.0.0.1:7171/api/v1/callbacks/{end}");
    for (status, body) in [
        (503, format!("cannot take {url} on")),
        (200, format!("{url} is no JSON")),
        (503, url.to_uppercase()),
    ] {
        let service = Raw::answering(answer(status, "content-type: application/json\r\n", &body)).await;
        let asked = Call { callback: Some(url.clone()), ..call("POST", "/") };
        let (_, _, words) = why(agent(target(service.url())).call(asked).await);
        assert!(!words.to_lowercase().contains(&end), "{words}");
    }
}

#[tokio::test]
async fn what_a_service_sends_by_itself_is_without_secrets_too() {
    let agent = agent(target("http://127.0.0.1:1".to_owned()));
    let sent =
        json!({ "ok": format!("Bearer {TOKEN}"), "error": { "message": format!("no {PASSWORD}") }, "id": 7 });
    let clean = json!({ "ok": "Bearer ***", "error": { "message": "no ***" }, "id": 7 });
    assert_eq!(agent.without_secrets(sent), clean);
}

#[tokio::test]
async fn a_secret_that_is_not_there_or_does_not_fit_is_named_and_nothing_is_sent() {
    let service = Server::start(Script::succeed()).unwrap();
    let agent = agent(target(service.url()));
    let with_header =
        |value: &str| Call { headers: vec![("X-A".to_owned(), value.to_owned())], ..call("GET", "/") };
    for (call, expected) in [
        (with_header("secret://lost"), "secret `lost` for `pay`: the drawer does not have it"),
        (posted(&json!(["secret://lost"])), "secret `lost` for `pay`"),
        (posted(&json!(["secret://token"])), "secret `token` may not be sent to `pay` by a step"),
        (with_header("secret://lines"), "the value of header `x-a` has a line break"),
    ] {
        let fault = agent.call(call).await.unwrap_err();
        let verdict = fault.verdict;
        assert_eq!(
            (verdict.class(), verdict.kind(), verdict.effect()),
            (Class::Neutral, NOT_SENT, Effect::None)
        );
        assert!(
            fault.message.contains(expected) && !fault.message.contains("second line"),
            "{}",
            fault.message
        );
    }
    // Lines fit into a body.
    agent.call(posted(&json!("secret://lines"))).await.unwrap();
    service.ledger().assert_attempts(1);
}

#[tokio::test]
async fn a_secret_can_be_changed_between_two_calls() {
    let folder = tempfile::tempdir().unwrap();
    let service = Server::start(Script::succeed()).unwrap();
    let agent = HttpAgent::builder()
        .secrets(FolderSecrets::new(folder.path()))
        .target("pay", Target::new(service.url()).header("X-Key", "secret://api.key"))
        .build()
        .unwrap();
    let (kind, _, words) = why(agent.call(call("GET", "/")).await);
    assert!(kind == NOT_SENT && words.contains("there is no file `"), "{words}");
    for value in ["first-value", "second-value"] {
        std::fs::write(folder.path().join("api.key"), format!("{value}\n")).unwrap();
        agent.call(call("GET", "/")).await.unwrap();
    }
    let ledger = service.ledger();
    let keys: Vec<_> = ledger.entries().iter().map(|entry| entry.request().header("x-key")).collect();
    assert_eq!(keys, [Some("first-value"), Some("second-value")]);
}
