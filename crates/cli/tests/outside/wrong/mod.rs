//! What makes no sense, or means harm, against the real process: each has its documented error, nothing wrong is stored, and the process
//! lives, small and with the same id. What single requests may say is in the server's own tests; here is what only a whole server can be
//! given: workflow files that are bombs, tasks that are too much, services that lie, and callers that hang by the hundred.

mod liar;

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use steadfast_client::wire::filter::{Filter, Paging};
use steadfast_client::wire::submit::Submit;

use crate::serving::{Premises, Serving};
use crate::wire::{Wire, ask};
use liar::Liar;

const LONG: Duration = Duration::from_secs(60);
/// The most memory of the process, whatever it is asked: it needs a tenth of that.
const MOST_MEMORY: u64 = 256 << 20;
const YAML: &str = "application/yaml";
const JSON: &str = "application/json";

fn flow(name: &str, path: &str, more: &str) -> String {
    format!(
        "workflow: {name}\nsteps:\n  a:\n    service: liar\n    request: {{ method: GET, path: {path} }}\n    nothing_to_undo: true\n{more}"
    )
}

fn premises(liar: &Liar) -> Premises {
    let settings = format!(
        "[limits]\nbody = \"1MiB\"\n[retry.never]\nstrategy = \"none\"\n[service.liar]\nurl = \"{}\"\nretry = \"never\"\nbreaker = \"never\"\n\
         attempt_timeout = \"2s\"\n[breaker.never]\nratio = \"none\"\nconsecutive = 1000\nlasting_trips = false\n",
        liar.url()
    );
    let flows: Vec<_> = liar::WAYS
        .iter()
        .map(|(way, _)| (format!("{way}.yaml"), flow(way, &format!("/{way}"), "")))
        .collect();
    let flows: Vec<_> = flows.iter().map(|(name, text)| (&**name, &**text)).collect();
    Premises::new(&settings, &flows)
}

/// The process is the one that was started, it is well and small, and has stored what it should and nothing else.
async fn is_well(serving: &Serving, tasks: usize) {
    let client = serving.client();
    client.is_alive().await.unwrap();
    client.is_ready().await.unwrap();
    assert!(!serving.said().contains("panicked"), "{}", serving.said());
    let memory = serving.memory();
    assert!(memory < MOST_MEMORY, "it uses {} MiB", memory >> 20);
    let stored =
        client.tasks(&Filter::default(), &Paging { limit: Some(1_000), cursor: None }).await.unwrap();
    assert_eq!(stored.tasks.len(), tasks, "{:?}", stored.tasks);
    assert_eq!(client.workflows().await.unwrap().workflows.len(), liar::WAYS.len());
    assert!(client.verify_store().await.unwrap().findings.is_empty());
}

fn bomb() -> String {
    let mut bomb = flow("w", "/", "x0: &x0 [y, y, y, y, y, y, y, y, y, y]\n");
    for level in 1..9 {
        let aliases = vec![format!("*x{}", level - 1); 10].join(", ");
        let _ = writeln!(bomb, "x{level}: &x{level} [{aliases}]");
    }
    bomb
}

/// A2, W10: files that are bombs, and tasks that are too much.
#[tokio::test(flavor = "multi_thread")]
async fn files_and_tasks_that_mean_harm_are_refused_and_nothing_is_stored() {
    let liar = Liar::open().await;
    let premises = premises(&liar);
    let serving = premises.open();
    let when = |expression: &str| flow("w", "/", &format!("    when: \"{expression}\"\n"));
    let steps: String = (0..1_001).map(|n| format!("  s{n}: {{ wait: 1s }}\n")).collect();
    let put = "/api/v1/workflows/w";
    let submit = |more: Value| {
        let mut submit = json!({ "workflow": "fine", "input": {} });
        submit.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        submit.to_string()
    };
    let labels: serde_json::Map<_, _> = (0..50).map(|n| (format!("l{n}"), json!("v"))).collect();
    let table: Vec<(&str, &str, &str, &str, String, u16, &str)> = vec![
        ("40 KB of CEL", "PUT", put, YAML, when(&"1 + ".repeat(10_000)), 422, "SF509"),
        ("brackets without an end", "PUT", put, YAML, when(&"(".repeat(2_000)), 422, "SF509"),
        (
            "loops in loops in loops",
            "PUT",
            put,
            YAML,
            when("[1].all(a, [1].all(b, [1].all(c, true)))"),
            422,
            "SF509",
        ),
        ("a bomb of aliases", "PUT", put, YAML, bomb(), 422, "SF502"),
        (
            "YAML without a floor",
            "PUT",
            put,
            YAML,
            format!("workflow: {}", "[".repeat(100_000)),
            422,
            "SF502",
        ),
        (
            "JSON without a floor",
            "PUT",
            put,
            JSON,
            format!("{{\"workflow\": {}", "[".repeat(100_000)),
            422,
            "SF540",
        ),
        ("1001 steps", "PUT", put, YAML, format!("workflow: w\nsteps:\n{steps}"), 422, "SF514"),
        (
            "a circle",
            "PUT",
            put,
            YAML,
            "workflow: w\nsteps: { a: { after: b, wait: 1s }, b: { after: a, wait: 1s } }".into(),
            422,
            "SF514",
        ),
        (
            "an unknown service",
            "PUT",
            put,
            YAML,
            flow("w", "/", "").replace("service: liar", "service: lair"),
            422,
            "SF511",
        ),
        (
            "an unknown workflow",
            "PUT",
            put,
            YAML,
            "workflow: w\nsteps: { a: { child: nobody } }".into(),
            422,
            "SF512",
        ),
        ("a secret in a path", "PUT", put, YAML, flow("w", "/secret://x", ""), 422, "SF510"),
        ("a file of 2 MiB", "PUT", put, YAML, format!("# {}", "x".repeat(2 << 20)), 413, "SF544"),
        (
            "a workflow that nobody has",
            "POST",
            "/api/v1/tasks",
            JSON,
            submit(json!({ "workflow": "fien" })),
            404,
            "SF407",
        ),
        (
            "a version that nobody has",
            "POST",
            "/api/v1/tasks",
            JSON,
            submit(json!({ "version": 7 })),
            404,
            "SF407",
        ),
        (
            "an input of 2 MiB",
            "POST",
            "/api/v1/tasks",
            JSON,
            submit(json!({ "input": "x".repeat(2 << 20) })),
            413,
            "SF544",
        ),
        (
            "an input without a floor",
            "POST",
            "/api/v1/tasks",
            JSON,
            format!("{{\"workflow\":\"fine\",\"input\":{}", "[".repeat(100_000)),
            422,
            "SF540",
        ),
        (
            "a key of 100 KiB",
            "POST",
            "/api/v1/tasks",
            JSON,
            submit(json!({ "key": "k".repeat(100 << 10) })),
            413,
            "SF404",
        ),
        ("an empty key", "POST", "/api/v1/tasks", JSON, submit(json!({ "key": "" })), 422, "SF411"),
        ("50 labels", "POST", "/api/v1/tasks", JSON, submit(json!({ "labels": labels })), 422, "SF403"),
        (
            "a priority that is none",
            "POST",
            "/api/v1/tasks",
            JSON,
            submit(json!({ "priority": 4_000 })),
            422,
            "SF540",
        ),
        (
            "a start after the end of time",
            "POST",
            "/api/v1/tasks",
            JSON,
            submit(json!({ "start_at": "99999-01-01T00:00:00Z" })),
            422,
            "SF540",
        ),
        ("a batch of nothing", "POST", "/api/v1/tasks/batch", JSON, "{\"tasks\":[]}".into(), 422, "SF540"),
        (
            "a batch of 1001",
            "POST",
            "/api/v1/tasks/batch",
            JSON,
            json!({ "tasks": vec![json!({ "workflow": "fine" }); 1_001] }).to_string(),
            422,
            "SF540",
        ),
        (
            "a breaker of nobody",
            "POST",
            "/api/v1/breakers/lair/reset",
            JSON,
            json!({ "by": "a", "because": "b" }).to_string(),
            404,
            "SF548",
        ),
        ("a cursor of another list", "GET", "/api/v1/tasks?cursor=AAAA", JSON, String::new(), 400, "SF552"),
    ];
    let mut wrong = Vec::new();
    for (what, method, path, media, body, status, code) in &table {
        let answer = ask(&serving, method, path, media, body.as_bytes()).await;
        // A workflow is refused as a whole, and each complaint in it has a code of its own.
        if answer.status != *status || !answer.code.starts_with("SF") || !answer.body.contains(code) {
            wrong.push(format!(
                "{what}: {} {}, not {status} {code}: {:.300}",
                answer.status, answer.code, answer.body
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    is_well(&serving, 0).await;
}

/// A4: whatever a service answers, the task ends with the reason, and the process is as small as before.
#[tokio::test(flavor = "multi_thread")]
async fn services_that_lie_fail_their_tasks_with_the_reason_and_nothing_else() {
    let liar = Liar::open().await;
    let premises = premises(&liar);
    let serving = premises.open();
    let client = serving.client();
    for (way, reason) in liar::WAYS {
        let ended = client.submit_and_wait(&Submit::new(*way, json!({})), LONG).await.unwrap().outcome;
        let ended = ended.unwrap_or_else(|| panic!("{way} has not ended"));
        let told = ended.reason.unwrap_or_else(|| ended.state.to_string());
        assert!(told.contains(reason), "{way}: {told}");
    }
    assert!(liar.sent() < 256 << 20, "{} MiB were taken from a service that sends 10 GB", liar.sent() >> 20);
    is_well(&serving, liar::WAYS.len()).await;
}

/// Lists of more items than a task may have, and expressions that would not end, fail their task with the reason.
#[tokio::test(flavor = "multi_thread")]
async fn tasks_that_would_be_too_much_fail_with_the_reason() {
    let liar = Liar::open().await;
    let premises = premises(&liar);
    let put = |name: &str, text: String| {
        std::fs::write(premises.path("workflows").join(format!("{name}.yaml")), text).unwrap();
    };
    let mut files = Vec::new();
    for (name, more, input, reason) in [
        ("many", "    each: \"${input}\"\n", json!(vec![0; 20_001]), "too-many-items"),
        ("loops", "    when: \"input.all(a, input.all(b, a + b >= 0))\"\n", json!(vec![1; 5_000]), "SF517"),
        ("deep", "    when: \"input.x.y.z == 1\"\n", json!({}), "SF517"),
    ] {
        put(name, flow(name, "/fine", more));
        files.push((name, input, reason));
    }
    let serving = premises.open();
    let client = serving.client();
    for (name, input, reason) in files {
        let ended = client.submit_and_wait(&Submit::new(name, input), LONG).await.unwrap().outcome.unwrap();
        let told = ended.reason.unwrap_or_else(|| ended.state.to_string());
        assert!(told.contains(reason), "{name}: {told}");
        std::fs::remove_file(premises.path("workflows").join(format!("{name}.yaml"))).unwrap();
    }
    assert!(serving.memory() < MOST_MEMORY, "{}", serving.memory());
    client.is_ready().await.unwrap();
}

/// Callers that drip, break off, close one way or talk nonsense, by the hundred: others are served meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn callers_that_hang_by_the_hundred_keep_nobody_else_from_being_served() {
    const EACH: usize = 200;
    let liar = Liar::open().await;
    let premises = premises(&liar);
    let serving = premises.open();
    let begun = "POST /api/v1/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{";
    let mut hanging = Vec::new();
    for _ in 0..EACH {
        for (text, closes) in [
            ("GET /api/v1/ta", false),
            (begun, false),
            (begun, true),
            ("\u{16}\u{3}\u{1}\u{0}", true),
            (
                "POST /api/v1/tasks HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n",
                true,
            ),
        ] {
            let mut wire = Wire::open(&serving).await;
            wire.send(text).await;
            if closes {
                wire.half_close().await;
            }
            hanging.push(wire);
        }
    }
    let ended = serving.client().submit_and_wait(&Submit::new("fine", json!({})), LONG).await.unwrap();
    assert!(ended.outcome.is_some(), "others are served meanwhile");
    is_well(&serving, 1).await;
    drop(hanging);
    is_well(&serving, 1).await;
}
