//! Three web services in the process of the test, and their books. What is asked again under a key is done once, as the guide says that
//! services must; some calls fail, before or after they have taken effect; some orders are declined.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{delete, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::chance::Seed;

/// Of a hundred calls under a new key, so many fail at first.
const FAULTS: u64 = 6;

/// A workflow over the three, each step with an undo.
pub(crate) const WORKFLOW: (&str, &str) = (
    "order.yaml",
    r#"
workflow: order
complete_within: 1h
steps:
  reserve:
    service: inventory
    request: { method: POST, path: /reservations, body: { order: "${input.order}" } }
    undo: { method: DELETE, path: "/reservations/${output.id}" }
  charge:
    after: reserve
    service: payments
    request: { method: POST, path: /charges, body: { order: "${input.order}", card: "${input.card}" } }
    undo: { method: POST, path: /refunds, body: { key: "${step.key}" } }
    undo_when_unknown: true
  ship:
    after: charge
    service: shipping
    request: { method: POST, path: /shipments, body: { order: "${input.order}", to: "${input.to}" } }
    undo: { method: DELETE, path: "/shipments/${output.id}" }
"#,
);

/// What was asked for under one key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) order: String,
    pub(crate) service: &'static str,
    /// How often it was asked for.
    pub(crate) asked: u32,
    /// Whether it was done: once, however often it was asked for.
    pub(crate) done: bool,
    /// Whether it was taken back, or must not be done any more.
    pub(crate) undone: bool,
}

impl Entry {
    /// It was done, and was not taken back.
    pub(crate) fn stands(&self) -> bool {
        self.done && !self.undone
    }
}

/// What the services have written down, by key.
#[derive(Debug)]
struct Books {
    seed: Seed,
    entries: Mutex<HashMap<String, Entry>>,
    /// How many calls were answered.
    calls: watch::Sender<u64>,
    /// Whether shipping answers: its calls wait meanwhile.
    shipping: watch::Sender<bool>,
    /// How many wait for that.
    held: watch::Sender<u64>,
}

/// The services, until this is dropped.
pub(crate) struct Town {
    books: Arc<Books>,
    address: SocketAddr,
    server: tokio::task::JoinHandle<()>,
}

impl Town {
    pub(crate) async fn open(seed: Seed) -> Self {
        let books = Arc::new(Books {
            seed,
            entries: Mutex::default(),
            calls: watch::Sender::new(0),
            shipping: watch::Sender::new(true),
            held: watch::Sender::new(0),
        });
        let router = Router::new()
            .route("/inventory/reservations", post(reserve))
            .route("/inventory/reservations/{key}", delete(undo))
            .route("/payments/charges", post(charge))
            .route("/payments/refunds", post(refund))
            .route("/shipping/shipments", post(ship))
            .route("/shipping/shipments/{key}", delete(undo))
            .with_state(Arc::clone(&books));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { books, address, server }
    }

    /// Settings of a server that calls them: failures in passing are tried again often enough.
    pub(crate) fn settings(&self, more: &str) -> String {
        let services = ["inventory", "payments", "shipping"];
        let services =
            services.map(|name| format!("[service.{name}]\nurl = \"http://{}/{name}\"\n", self.address));
        let retry = "[retry.often]\nlike = \"standard\"\nmax_retries = 20\nmin_backoff = \"10ms\"\nmax_backoff = \"1s\"\n";
        format!("{more}\n[default]\nretry = \"often\"\n{retry}{}", services.join(""))
    }

    /// Returns once so many calls were answered.
    pub(crate) async fn answered(&self, calls: u64) {
        self.books.calls.subscribe().wait_for(|now| *now >= calls).await.unwrap();
    }

    /// Has calls of shipping wait, or lets all of them go.
    pub(crate) fn hold_shipping(&self, hold: bool) {
        self.books.shipping.send_replace(!hold);
    }

    /// Returns once so many calls of shipping wait.
    pub(crate) async fn holds(&self, calls: u64) {
        self.books.held.subscribe().wait_for(|now| *now >= calls).await.unwrap();
    }

    /// Everything that was asked for.
    pub(crate) fn entries(&self) -> HashMap<String, Entry> {
        self.books.entries.lock().unwrap().clone()
    }
}

impl Drop for Town {
    fn drop(&mut self) {
        self.server.abort();
    }
}

type Answer = (StatusCode, Json<Value>);

fn key(headers: &HeaderMap) -> String {
    headers["idempotency-key"].to_str().unwrap().trim_matches('"').to_owned()
}

fn told(status: StatusCode, value: Value) -> Answer {
    (status, Json(value))
}

impl Books {
    /// Does what is asked for under a key, once, or fails first.
    fn asked(&self, service: &'static str, headers: &HeaderMap, body: &Value, declined: bool) -> Answer {
        let key = key(headers);
        let answer = {
            let mut entries = self.entries.lock().unwrap();
            let entry = entries.entry(key.clone()).or_default();
            entry.order = body["order"].as_str().unwrap().to_owned();
            entry.service = service;
            entry.asked += 1;
            let fault =
                if entry.asked == 1 && self.seed.faults { self.seed.below(100, &key, 0) } else { FAULTS };
            match fault {
                _ if entry.undone => told(StatusCode::CONFLICT, json!("it was taken back")),
                _ if declined => told(StatusCode::UNPROCESSABLE_ENTITY, json!("declined")),
                fault if fault < FAULTS / 2 => told(StatusCode::SERVICE_UNAVAILABLE, json!("come again")),
                fault => {
                    entry.done = true;
                    let lost = fault < FAULTS;
                    let status = if lost { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::OK };
                    told(status, json!({ "id": key }))
                }
            }
        };
        self.calls.send_modify(|calls| *calls += 1);
        answer
    }

    /// Takes back what was done under a key, or sees to it that it is never done.
    fn take_back(&self, key: &str) -> Answer {
        self.entries.lock().unwrap().entry(key.to_owned()).or_default().undone = true;
        self.calls.send_modify(|calls| *calls += 1);
        told(StatusCode::OK, json!({}))
    }
}

async fn reserve(State(books): State<Arc<Books>>, headers: HeaderMap, Json(body): Json<Value>) -> Answer {
    books.asked("inventory", &headers, &body, false)
}

async fn charge(State(books): State<Arc<Books>>, headers: HeaderMap, Json(body): Json<Value>) -> Answer {
    books.asked("payments", &headers, &body, body["card"] == "declined")
}

async fn ship(State(books): State<Arc<Books>>, headers: HeaderMap, Json(body): Json<Value>) -> Answer {
    let mut open = books.shipping.subscribe();
    if !*open.borrow_and_update() {
        books.held.send_modify(|held| *held += 1);
        let _ = open.wait_for(|open| *open).await;
        books.held.send_modify(|held| *held -= 1);
    }
    books.asked("shipping", &headers, &body, body["to"] == "nowhere")
}

async fn undo(State(books): State<Arc<Books>>, Path(key): Path<String>) -> Answer {
    books.take_back(&key)
}

async fn refund(State(books): State<Arc<Books>>, Json(body): Json<Value>) -> Answer {
    books.take_back(body["key"].as_str().unwrap())
}
