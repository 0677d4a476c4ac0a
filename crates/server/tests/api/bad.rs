//! Requests that no client should send: each is answered with a documented problem, stores nothing, and the server lives.

use std::time::Duration;

use serde_json::{Value, json};
use steadfast_client::wire::filter::{Filter, Paging};
use steadfast_client::wire::submit::Submit;
use steadfast_resilience::clock::Clock;
use steadfast_server::{Limits, openapi};

use crate::raw::{Answer, JSON, Wire, ask};
use crate::world::World;

/// A page of the web cannot have a browser ask: under a name that leads here, or from another site.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_page_of_another_site_asks_is_refused_and_does_nothing() {
    let world = World::start().await;
    let body = br#"{"workflow":"echo","input":1}"#;
    for (headers, status) in [
        ("host: evil.example:7171\r\n", 421),
        ("host: localhost\r\norigin: https://evil.example\r\n", 403),
        ("host: localhost\r\norigin: null\r\n", 403),
        ("host: localhost\r\norigin: http://localhost:7180\r\n", 202),
        ("host: 127.0.0.1\r\n", 202),
    ] {
        let mut wire = Wire::open(world.address).await;
        let length = body.len();
        wire.send(format!("POST /api/v1/tasks HTTP/1.1\r\n{headers}{JSON}content-length: {length}\r\n\r\n"))
            .await;
        wire.send(body).await;
        let answer = wire.answer().await;
        assert_eq!(answer.status, status, "{headers}: {answer:?}");
        assert!(status == 202 || answer.is_problem() && answer.code() == "SF554", "{answer:?}");
    }
    for (path, status) in [("/metrics", 421), ("/healthz", 200), ("/nowhere", 421)] {
        let mut wire = Wire::open(world.address).await;
        wire.send(format!("GET {path} HTTP/1.1\r\nhost: evil.example\r\n\r\n")).await;
        assert_eq!(wire.answer().await.status, status, "{path}");
    }
    let stored = world.client.tasks(&Filter::default(), &Paging::default()).await.unwrap();
    assert_eq!(stored.tasks.len(), 2);
    world.end().await;
}

/// Every operation of the document: method, path with something in its places, whether it takes a body, and what it may answer.
fn operations() -> Vec<(String, String, bool, Vec<String>)> {
    let document: Value = serde_json::from_str(&openapi().to_json().unwrap()).unwrap();
    let mut all = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let path = path.replace("{id}", "0192f3a0-5b1c-7d2e-8f00-0123456789ab");
        let path = path.replace("{name}", "nobody").replace("{service}", "bank");
        for (method, operation) in item.as_object().unwrap() {
            let statuses = operation["responses"].as_object().unwrap().keys().cloned().collect();
            let has_body = operation["requestBody"].is_object();
            all.push((method.to_uppercase(), path.clone(), has_body, statuses));
        }
    }
    all
}

fn is_documented_problem(answer: &Answer, statuses: &[String], what: &str) {
    assert!((400..500).contains(&answer.status), "{what}: {answer:?}");
    assert!(answer.is_problem() && answer.code().starts_with("SF"), "{what}: {answer:?}");
    assert!(statuses.contains(&answer.status.to_string()), "{what}: {} is not documented", answer.status);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_refuses_what_makes_no_sense_with_a_documented_problem() {
    let world = World::start().await;
    let all = operations();
    assert!(all.len() > 45, "there are {}", all.len());
    let deep = "[".repeat(200_000);
    let many = format!("[{}0]", "0,".repeat(500_000));
    let large = format!("\"{}\"", "x".repeat(9 << 20));
    for (method, path, has_body, statuses) in all.iter().filter(|(_, path, ..)| path.starts_with("/api/")) {
        let what = format!("{method} {path}");
        if path.ends_with("openapi.json") {
            continue;
        }
        if *has_body {
            let bodies: [(&str, &str, &[u8], u16); 10] = [
                ("no JSON", JSON, b"{", 400),
                ("nothing", JSON, b"", 400),
                ("no UTF-8", JSON, b"\"\xff\xfe\"", 400),
                ("a list", JSON, b"[]", 422),
                ("a number", JSON, b"7", 422),
                ("an unknown field", JSON, br#"{"nobody_knows": 1}"#, 422),
                ("deep", JSON, deep.as_bytes(), 422),
                ("many values", JSON, many.as_bytes(), 413),
                ("large", JSON, large.as_bytes(), 413),
                ("another language", "content-type: text/csv\r\n", b"a,b", 415),
            ];
            for (name, headers, body, status) in bodies {
                let answer = ask(world.address, method, path, headers, body).await;
                is_documented_problem(&answer, statuses, &format!("{what}, {name}"));
                // A workflow file may be any JSON for the API: its own rules come after. What a service gives is any JSON, or nothing.
                if !path.contains("/workflows/") && !path.contains("/callbacks/") {
                    assert_eq!(answer.status, status, "{what}, {name}: {answer:?}");
                }
            }
        } else {
            let unknown = ask(world.address, method, &format!("{path}?nobody_knows=1"), "", b"").await;
            is_documented_problem(&unknown, statuses, &what);
            assert_eq!((unknown.status, unknown.code().as_str()), (400, "SF541"), "{what}");
        }
        let patched = ask(world.address, "PATCH", path, "", b"").await;
        assert_eq!((patched.status, patched.code().as_str()), (405, "SF543"), "{what}");
        assert!(patched.head.contains("allow: "), "{patched:?}");
    }
    world.client.is_ready().await.unwrap();
    let stored = world.client.tasks(&Filter::default(), &Paging::default()).await.unwrap();
    assert_eq!(stored.tasks.len(), 0);
    assert_eq!(world.client.bulks(None).await.unwrap().bulks.len(), 0);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_that_make_no_sense_are_refused_with_their_place() {
    let world = World::start().await;
    let id = "0192f3a0-5b1c-7d2e-8f00-0123456789ab";
    let table = [
        ("/api/v1/tasks?limit=0".to_owned(), 400, "SF541", "query.limit"),
        ("/api/v1/tasks?limit=1001".to_owned(), 400, "SF541", "query.limit"),
        ("/api/v1/tasks?limit=1&limit=2".to_owned(), 400, "SF541", "query.limit"),
        ("/api/v1/tasks?state=Failed".to_owned(), 400, "SF541", "query.state"),
        ("/api/v1/tasks?label=shop".to_owned(), 400, "SF541", "query.label"),
        ("/api/v1/tasks?older_than=5".to_owned(), 400, "SF541", "query.older_than"),
        ("/api/v1/tasks?from=soon".to_owned(), 400, "SF541", "query.from"),
        ("/api/v1/tasks?parent=7".to_owned(), 400, "SF541", "query.parent"),
        ("/api/v1/tasks?cursor=abc".to_owned(), 400, "SF552", "query.cursor"),
        ("/api/v1/tasks?cursor=%00%ff".to_owned(), 400, "SF552", "query.cursor"),
        ("/api/v1/audit?cursor=abc".to_owned(), 400, "SF552", "query.cursor"),
        ("/api/v1/audit?task=7".to_owned(), 400, "SF541", "query.task"),
        (format!("/api/v1/bulks/{id}/tasks?cursor=abc"), 400, "SF552", "query.cursor"),
        ("/api/v1/bulks?limit=x".to_owned(), 400, "SF541", "query.limit"),
        ("/api/v1/tasks/seven".to_owned(), 400, "SF541", "path.id"),
        ("/api/v1/tasks/%ff".to_owned(), 400, "SF541", "path.name"),
        (format!("/api/v1/tasks/{id}?payloads=yes"), 400, "SF541", "query.payloads"),
        (format!("/api/v1/tasks/{id}/history?after=-1"), 400, "SF541", "query.after"),
        (format!("/api/v1/tasks/{id}/events?after=x"), 400, "SF541", "query.after"),
        ("/api/v1/workflows/echo?version=99999999999".to_owned(), 400, "SF541", "query.version"),
        ("/".to_owned(), 404, "SF542", "the API is under `/api/v1`"),
        ("/api/v1".to_owned(), 404, "SF542", "the API is under `/api/v1`"),
        ("/api/v1/tasks/".to_owned(), 404, "SF542", "the API is under `/api/v1`"),
        (format!("/api/v1/tasks/{id}/nothing"), 404, "SF542", "the API is under `/api/v1`"),
    ];
    for (path, status, code, words) in table {
        let answer = ask(world.address, "GET", &path, "", b"").await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{path}: {answer:?}");
        assert!(answer.is_problem() && answer.body.contains(words), "{path}: {answer:?}");
    }
    let header = "last-event-id: x\r\n";
    let answer = ask(world.address, "GET", &format!("/api/v1/tasks/{id}/events"), header, b"").await;
    assert_eq!((answer.status, answer.code().as_str()), (400, "SF541"));
    for wait in ["", "30", "-1s", "1e9s"] {
        let path = format!("/api/v1/tasks?wait={wait}");
        let answer = ask(world.address, "POST", &path, JSON, br#"{"workflow": "echo"}"#).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "SF541"), "{wait}");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_drips_is_given_up() {
    let mut limits = Limits::default();
    limits.body_within = Duration::from_millis(50);
    let world = World::with(limits).await;
    let mut wire = Wire::open(world.address).await;
    wire.send("POST /api/v1/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{").await;
    let answer = wire.answer().await;
    assert_eq!((answer.status, answer.code().as_str()), (408, "SF547"), "{answer:?}");
    assert!(answer.head.contains("retry-after: 1"), "{answer:?}");
    // The rest of the body is nobody's: the connection ends with the answer.
    assert_eq!(wire.rest().await, "");
    world.client.is_ready().await.unwrap();
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_drips_is_given_up() {
    let mut limits = Limits::default();
    limits.head_within = Duration::from_millis(50);
    let world = World::with(limits).await;
    let mut wire = Wire::open(world.address).await;
    wire.send("GET /api/v1/tasks HTTP/1.1\r\nhos").await;
    let rest = wire.rest().await;
    assert!(rest.is_empty() || rest.starts_with("HTTP/1.1 408"), "{rest}");
    world.client.is_ready().await.unwrap();
    world.end().await;
}

/// One who asks for more and more and reads nothing has the only place, and loses it.
#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_answers_unread_is_cut_off() {
    const DOCUMENT: &str = "GET /api/v1/openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut limits = Limits::default();
    limits.unread_within = Duration::from_millis(200);
    limits.most_connections = 1;
    let world = World::with(limits).await;
    let mut greedy = Wire::open(world.address).await;
    // More than the buffers of both sides have room for.
    greedy.send(DOCUMENT.repeat(500)).await;
    let mut next = Wire::open(world.address).await;
    next.send(DOCUMENT).await;
    let answer = tokio::select! {
        answer = next.answer() => answer,
        () = Clock::system().sleep(Duration::from_secs(20)) => panic!("who reads nothing keeps the only place"),
    };
    assert_eq!(answer.status, 200);
    drop((next, greedy));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_are_half_closed_or_broken_off_store_nothing() {
    let world = World::start().await;
    let mut half = Wire::open(world.address).await;
    half.send("POST /api/v1/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{").await;
    half.half_close().await;
    let rest = half.rest().await;
    assert!(rest.is_empty() || rest.starts_with("HTTP/1.1 4"), "{rest}");
    for nonsense in [
        "\r\n\r\n\r\n",
        "GET\r\n\r\n",
        "POST /api/v1/tasks HTTP/9.9\r\n\r\n",
        "\u{16}\u{3}\u{1}",
        "GET / HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
    ] {
        let mut wire = Wire::open(world.address).await;
        wire.send(nonsense).await;
        wire.half_close().await;
        let rest = wire.rest().await;
        assert!(
            rest.is_empty() || rest.starts_with("HTTP/1.1 4") || rest.starts_with("HTTP/1.0 4"),
            "{nonsense:?}: {rest}"
        );
    }
    let mut headers = Wire::open(world.address).await;
    let many: String = (0..10_000).map(|number| format!("x-{number}: {number}\r\n")).collect();
    headers.send(format!("GET /healthz HTTP/1.1\r\n{many}\r\n")).await;
    assert!(headers.rest().await.starts_with("HTTP/1.1 431"));
    let stored = world.client.tasks(&Filter::default(), &Paging::default()).await.unwrap();
    assert_eq!(stored.tasks.len(), 0);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_input_as_deep_as_is_allowed_comes_back_as_it_was() {
    let world = World::start().await;
    // The body itself is one level.
    let deep = (0..62).fold(json!(1), |inner, _| json!([inner]));
    let submit = Submit::new("echo", deep.clone());
    let ended = world.client.submit_and_wait(&submit, Duration::from_secs(30)).await.unwrap();
    assert_eq!(ended.outcome.unwrap().result, Some(deep.clone()));
    let deeper = Submit::new("echo", json!([[deep]]));
    let refused = world.client.submit(&deeper).await.unwrap_err();
    assert_eq!((refused.code(), refused.problem().unwrap().status), (Some("SF540"), 422));
    world.end().await;
}
