//! Services that answer later, over real sockets: a little service takes work on and calls the URL back that it was given [A4, W6].

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::State as Has;
use axum::routing::post;
use axum::{Json, Router};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use steadfast_client::Client;
use steadfast_client::wire::callback::{Callback, CalledBack};
use steadfast_client::wire::state::{StepState, TaskState};
use steadfast_client::wire::submit::Submit;
use steadfast_client::wire::task::Task;
use steadfast_server::{Config, Running};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::raw::{self, Answer};

const LONG: Duration = Duration::from_secs(30);

const FLOW: &str = r#"
workflow: order
returns: ship
steps:
  assess:
    service: fraud
    request: { method: POST, path: /assessments, body: { order: "${input.id}", answer_to: "${step.callback}" } }
    callback: { within: 10m }
    output: { score: "${response.body.score}", by: "${input.id}" }
    undo: { method: POST, path: /withdrawals, body: { score: "${output.score}", was: "${step.key}" } }
  ship:
    after: assess
    service: fraud
    request: { method: POST, path: /shipments, body: { score: "${steps.assess.output.score}", by: "${steps.assess.output.by}" } }
    nothing_to_undo: true
"#;

/// How the service answers a request for an assessment.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    /// It takes the work on, and somebody calls back.
    Later,
    /// It calls back before it says that it will.
    First,
    /// It answers at once.
    Now,
}

/// A service that takes work on.
struct Fraud {
    address: SocketAddr,
    inner: Arc<Inner>,
    door: JoinHandle<()>,
}

struct Inner {
    mode: Mutex<Mode>,
    /// What it was asked, by path: URL, key and body.
    asked: Mutex<Vec<Asked>>,
}

#[derive(Clone, Debug)]
struct Asked {
    path: &'static str,
    url: Option<String>,
    key: String,
    body: Value,
}

impl Fraud {
    async fn start(mode: Mode) -> Self {
        let inner = Arc::new(Inner { mode: Mutex::new(mode), asked: Mutex::default() });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new()
            .route("/assessments", post(assess))
            .route("/shipments", post(|has, headers, body| noted(has, "/shipments", headers, body)))
            .route("/withdrawals", post(|has, headers, body| noted(has, "/withdrawals", headers, body)))
            .with_state(Arc::clone(&inner));
        let door = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, inner, door }
    }

    fn asked(&self, path: &str) -> Vec<Asked> {
        self.inner.asked.lock().unwrap().iter().filter(|asked| asked.path == path).cloned().collect()
    }

    /// The URLs that it was given, once there are so many.
    async fn urls(&self, count: usize) -> Vec<String> {
        until(|| async {
            let asked = self.asked("/assessments");
            (asked.len() >= count).then(|| asked.into_iter().map(|asked| asked.url.unwrap()).collect())
        })
        .await
    }
}

impl Drop for Fraud {
    fn drop(&mut self) {
        self.door.abort();
    }
}

fn note(inner: &Inner, path: &'static str, headers: &HeaderMap, body: Value) -> Asked {
    let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    let asked =
        Asked { path, url: header("steadfast-callback-url"), key: header("idempotency-key").unwrap(), body };
    inner.asked.lock().unwrap().push(asked.clone());
    asked
}

async fn noted(
    Has(inner): Has<Arc<Inner>>,
    path: &'static str,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Json<Value> {
    note(&inner, path, &headers, body);
    Json(json!({ "id": 1 }))
}

async fn assess(
    Has(inner): Has<Arc<Inner>>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> (StatusCode, Json<Value>) {
    let asked = note(&inner, "/assessments", &headers, body);
    let mode = *inner.mode.lock().unwrap();
    match mode {
        Mode::Now => (StatusCode::CREATED, Json(json!({ "score": 1 }))),
        Mode::Later => (StatusCode::ACCEPTED, Json(json!({ "queued": true }))),
        Mode::First => {
            let called = call(&asked.url.unwrap(), &json!({ "score": 2 })).await;
            assert_eq!(called.status, 200, "{called:?}");
            (StatusCode::ACCEPTED, Json(Value::Null))
        }
    }
}

/// Posts JSON to a URL, as any service would.
async fn call(url: &str, body: &Value) -> Answer {
    send(url, "application/json", body.to_string().as_bytes()).await
}

async fn send(url: &str, media_type: &str, body: &[u8]) -> Answer {
    let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let headers = match media_type {
        "" => String::new(),
        media_type => format!("content-type: {media_type}\r\n"),
    };
    raw::ask(address.parse().unwrap(), "POST", &format!("/{path}"), &headers, body).await
}

/// Looks again and again until it is there.
async fn until<T, F: Future<Output = Option<T>>>(look: impl Fn() -> F) -> T {
    let found = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        found = found => found,
        () = steadfast::resilience::clock::Clock::system().sleep(LONG) => panic!("it did not come"),
    }
}

/// A server over a folder of its own, and a service that takes work on.
struct Place {
    folder: tempfile::TempDir,
    fraud: Fraud,
    running: Running,
    client: Client,
}

impl Place {
    async fn start(mode: Mode) -> Self {
        Self::with(mode, FLOW, "").await
    }

    async fn with(mode: Mode, flow: &str, settings: &str) -> Self {
        let fraud = Fraud::start(mode).await;
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("flows")).unwrap();
        std::fs::write(folder.path().join("flows/order.yaml"), flow).unwrap();
        let text = format!(
            "listen = \"127.0.0.1:0\"\nworkflows = \"flows\"\n{settings}\n[service.fraud]\nurl = \"http://{}\"\n",
            fraud.address
        );
        std::fs::write(folder.path().join("steadfast.toml"), text).unwrap();
        let config = Config::read(Some(&folder.path().join("steadfast.toml")), []).unwrap();
        let running = steadfast_server::start(config, None, Vec::new()).await.unwrap();
        let client = Client::builder(&format!("http://{}", running.address())).retries(0).build().unwrap();
        Self { folder, fraud, running, client }
    }

    async fn submit(&self, id: u64) -> String {
        self.client.submit(&Submit::new("order", json!({ "id": id }))).await.unwrap().id
    }

    /// The task once it stands so.
    async fn at(&self, id: &str, state: TaskState) -> Task {
        until(|| async {
            let task = self.client.task(id, true).await.unwrap();
            (task.summary.state == state).then_some(())
        })
        .await;
        // One that ends while it is read is told in parts.
        self.client.task(id, true).await.unwrap()
    }

    /// Once the service is known to have taken the work on.
    async fn taken_on(&self, id: &str) {
        until(|| async {
            let why = self.client.why(id).await.unwrap();
            why.held.iter().any(|held| held.on == "callback").then_some(())
        })
        .await;
    }

    async fn end(self) {
        self.running.shut_down().await.unwrap();
        drop(self.folder);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_answers_later_calls_the_url_back_that_it_was_given() {
    let place = Place::start(Mode::Later).await;
    let id = place.submit(7).await;
    let url = place.fraud.urls(1).await.remove(0);
    let asked = place.fraud.asked("/assessments").remove(0);
    assert_eq!(asked.body, json!({ "order": 7, "answer_to": url }));
    let prefix = format!("http://{}/api/v1/callbacks/", place.running.address());
    assert!(url.starts_with(&prefix) && url.len() == prefix.len() + 68, "{url}");

    place.taken_on(&id).await;
    let why = place.client.why(&id).await.unwrap();
    let held = why.held.iter().find(|held| held.step.as_deref() == Some("assess")).unwrap();
    assert_eq!((held.on.as_str(), held.change.as_str()), ("callback", "callback"));
    assert!(held.since.is_some() && held.until.is_some(), "{held:?}");
    assert!(why.words.contains("is to call back"), "{}", why.words);
    let shown = serde_json::to_string(&(&why, place.client.task(&id, true).await.unwrap())).unwrap();
    let history = serde_json::to_string(&place.client.history(&id, None, None).await.unwrap()).unwrap();
    let secret = &url[prefix.len() + 36..];
    assert!(
        !shown.contains(secret) && !history.contains(secret),
        "whoever may look may not answer for the service"
    );

    let answer = call(&url, &json!({ "score": 7 })).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, r#"{"state":"taken"}"#), "{answer:?}");
    let task = place.at(&id, TaskState::Completed).await;
    assert_eq!(task.steps[0].output, Some(json!({ "score": 7, "by": 7 })));
    assert_eq!(place.fraud.asked("/shipments")[0].body, json!({ "score": 7, "by": 7 }));

    let again = call(&url, &json!({ "score": 7 })).await;
    assert_eq!((again.status, again.body.as_str()), (200, r#"{"state":"repeated"}"#));
    let other = call(&url, &json!({ "score": 8 })).await;
    assert_eq!((other.status, other.code().as_str()), (409, "SF418"), "{other:?}");
    assert_eq!(place.client.task(&id, true).await.unwrap(), task, "nothing has changed");
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_callbacks_that_come_before_the_service_has_answered_all_count_once() {
    let place = Place::start(Mode::First).await;
    let mut tasks = Vec::new();
    for id in 0..50 {
        tasks.push(place.submit(id).await);
    }
    for id in tasks {
        place.at(&id, TaskState::Completed).await;
    }
    assert_eq!((place.fraud.asked("/assessments").len(), place.fraud.asked("/shipments").len()), (50, 50));
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_answers_at_once_is_not_waited_for_and_its_url_is_spent() {
    let place = Place::start(Mode::Now).await;
    let id = place.submit(7).await;
    let task = place.at(&id, TaskState::Completed).await;
    assert_eq!(task.steps[0].output, Some(json!({ "score": 1, "by": 7 })));
    let late = call(&place.fraud.urls(1).await[0], &json!({ "score": 2 })).await;
    assert_eq!((late.status, late.code().as_str()), (410, "SF419"), "{late:?}");
    assert!(late.body.contains("the step is done without it") && late.is_problem(), "{late:?}");
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_for_good_undoes_the_task_and_one_that_passes_asks_again_at_another_url() {
    let place = Place::start(Mode::Later).await;
    let id = place.submit(7).await;
    let first = place.fraud.urls(1).await.remove(0);
    let passes = json!({ "error": { "kind": "transient", "message": "the model is warming up", "retry_after": 0.01 } });
    assert_eq!(call(&first, &passes).await.status, 200);
    let second = place.fraud.urls(2).await.remove(1);
    assert_ne!(first, second);
    let asked = place.fraud.asked("/assessments");
    assert_eq!(asked[0].key, asked[1].key, "the same operation");
    assert_eq!(call(&first, &passes).await.body, r#"{"state":"repeated"}"#);
    let for_good = json!({ "error": "the customer is on a list" });
    assert_eq!(call(&second, &for_good).await.status, 200);
    let task = place.at(&id, TaskState::Undone).await;
    let reason = task.outcome.unwrap().reason.unwrap();
    assert!(reason.contains("the customer is on a list"), "{reason}");
    assert_eq!(call(&second, &for_good).await.body, r#"{"state":"repeated"}"#, "also when the task is over");
    assert!(place.fraud.asked("/withdrawals").is_empty(), "it says that it did nothing");
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let place = Place::with(Mode::Later, FLOW, "[limits]\nbody = \"64KiB\"").await;
    let id = place.submit(7).await;
    let url = place.fraud.urls(1).await.remove(0);
    place.taken_on(&id).await;
    let seen = async || {
        let mut task = place.client.task(&id, true).await.unwrap();
        // It says how long is left.
        task.summary.why.clear();
        task
    };
    let before = seen().await;
    let large = format!("\"{}\"", "x".repeat(64 << 10));
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    for (media_type, body, status, code) in [
        ("application/json", "{", 400, "SF540"),
        ("application/json", large.as_str(), 413, "SF544"),
        ("application/json", deep.as_str(), 422, "SF540"),
        ("text/plain", "7", 415, "SF545"),
        ("application/json", r#"{"error":7}"#, 422, "SF540"),
        ("application/json", r#"{"error":{"kind":"odd"}}"#, 422, "SF540"),
    ] {
        let refused = send(&url, media_type, body.as_bytes()).await;
        assert_eq!((refused.status, refused.code().as_str()), (status, code), "{refused:?}");
        assert!(refused.is_problem(), "{refused:?}");
    }
    let digit = if url.ends_with('0') { '1' } else { '0' };
    let forged = format!("{}{digit}", &url[..url.len() - 1]);
    for unknown in
        [&forged, &url[..url.len() - 1], &format!("{url}0"), &format!("{}%2e%2e", &url[..url.len() - 6])]
    {
        let refused = call(unknown, &json!({ "score": 1 })).await;
        assert_eq!((refused.status, refused.code().as_str()), (404, "SF417"), "{unknown}: {refused:?}");
    }
    let odd = call(&format!("{url}?score=7"), &json!({})).await;
    assert_eq!((odd.status, odd.code().as_str()), (400, "SF541"));
    assert_eq!(seen().await, before);
    assert_eq!(call(&url, &json!({ "score": 7, "error": null })).await.status, 200);
    place.at(&id, TaskState::Completed).await;
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_that_cannot_be_made_fails_the_step_in_doubt_and_the_service_has_done_its_part() {
    let place = Place::start(Mode::Later).await;
    let id = place.submit(7).await;
    let url = place.fraud.urls(1).await.remove(0);
    assert_eq!(send(&url, "", b"").await.status, 200, "nothing at all is null");
    let task = place.at(&id, TaskState::Failed).await;
    assert_eq!(task.steps[0].state, StepState::Unknown);
    assert!(task.steps[0].attempts[0].failure.as_deref().unwrap().starts_with("bad-output"), "{task:?}");
    assert_eq!(call(&url, &Value::Null).await.body, r#"{"state":"repeated"}"#);
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_task_waits_for_its_callback_and_undoes_what_was_done() {
    let place = Place::start(Mode::Later).await;
    let id = place.submit(7).await;
    let url = place.fraud.urls(1).await.remove(0);
    place.taken_on(&id).await;
    let ask = steadfast_client::wire::ask::Ask::new("ana", "wrong order");
    place.client.cancel(&id, &ask).await.unwrap();
    assert_eq!(
        place.client.call_back(url.rsplit('/').next().unwrap(), &json!({ "score": 7 })).await.unwrap(),
        CalledBack { state: Callback::Taken }
    );
    place.at(&id, TaskState::Undone).await;
    let undone = place.fraud.asked("/withdrawals").remove(0);
    assert_eq!(undone.body, json!({ "score": 7, "was": place.fraud.asked("/assessments")[0].key }));
    assert_eq!(undone.url, None, "an undo is answered at once");
    place.end().await;
}

/// W6: without a callback in time the outcome is unknown; what comes after that is late, and says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_callback_that_does_not_come_is_an_unknown_outcome_and_a_late_one_changes_nothing() {
    let flow = FLOW.replace("within: 10m }", "within: 100ms }\n    recovery: { at_once: 0, last: 1 }");
    let place = Place::with(Mode::Later, &flow, "").await;
    let id = place.submit(7).await;
    let url = place.fraud.urls(1).await.remove(0);
    let task = place.at(&id, TaskState::Failed).await;
    assert_eq!(task.steps[0].state, StepState::Unknown);
    assert!(task.steps[0].attempts[0].failure.as_deref().unwrap().starts_with("no-callback"), "{task:?}");
    let late = call(&url, &json!({ "score": 7 })).await;
    assert_eq!((late.status, late.code().as_str()), (410, "SF419"), "{late:?}");
    assert_eq!(place.client.task(&id, true).await.unwrap(), task);

    let flow = flow.replace("at_once: 0, last: 1", "at_once: 0, extended_wait: 5m, last: 2");
    place
        .client
        .apply_workflow("order", &flow, steadfast_client::wire::workflow::Format::Yaml, false)
        .await
        .unwrap();
    let id = place.submit(8).await;
    let url = place.fraud.urls(2).await.remove(1);
    until(|| async {
        let why = place.client.why(&id).await.unwrap();
        why.held.iter().any(|held| held.on == "next_attempt").then_some(())
    })
    .await;
    let early = call(&url, &json!({ "score": 7 })).await;
    assert_eq!((early.status, early.code().as_str()), (503, "SF420"), "{early:?}");
    let again: u64 = early
        .head
        .lines()
        .find_map(|line| line.to_lowercase().strip_prefix("retry-after: ").map(str::to_owned))
        .unwrap()
        .parse()
        .unwrap();
    assert!((250..=300).contains(&again), "{early:?}");
    place.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn services_call_back_where_the_settings_say() {
    let place = Place::with(Mode::Later, FLOW, "callback_url = \"https://steadfast.example/in/\"").await;
    place.submit(7).await;
    let url = place.fraud.urls(1).await.remove(0);
    assert!(url.starts_with("https://steadfast.example/in/api/v1/callbacks/0"), "{url}");
    let file = place.folder.path().join("steadfast.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("https://steadfast.example/in/", "http://127.0.0.2:9")).unwrap();
    place.running.reload();
    place.submit(8).await;
    let url = place.fraud.urls(2).await.remove(1);
    assert!(url.starts_with("http://127.0.0.2:9/api/v1/callbacks/0"), "{url}");
    place.end().await;
}
