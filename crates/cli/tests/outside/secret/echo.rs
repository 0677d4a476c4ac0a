//! A service that tells back all that it was sent: in bodies, headers, errors, redirects, and as its way says.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use serde_json::{Value, json};

pub(super) struct Echo {
    address: std::net::SocketAddr,
    seen: Arc<Mutex<String>>,
    server: tokio::task::JoinHandle<()>,
}

impl Echo {
    pub(super) async fn open() -> Self {
        let seen: Arc<Mutex<String>> = Arc::default();
        let router = Router::new().route("/{way}", post(answer)).with_state(Arc::clone(&seen));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, seen, server }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// It was sent all of these: a secret that never left would be in no place either.
    pub(super) fn has_seen(&self, secrets: &[&str]) {
        let seen = self.seen.lock().unwrap();
        for secret in secrets {
            assert!(seen.contains(secret), "`{secret}` has not arrived");
        }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// What a header can carry.
fn plain(text: &str) -> String {
    text.chars().filter(|letter| (' '..='~').contains(letter)).collect()
}

fn in_address(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

async fn answer(
    State(seen): State<Arc<Mutex<String>>>,
    Path(way): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let header =
        |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default();
    let (token, house) = (header("authorization"), header("x-house"));
    let asked: Value = serde_json::from_slice(&body).unwrap();
    let (password, canary) = (asked["password"].as_str().unwrap(), asked["canary"].as_str().unwrap());
    let text = format!("{canary}: you sent {token}, {house} and {password}");
    seen.lock().unwrap().push_str(&text);
    let told = [("x-told", plain(&text)), ("etag", house.clone()), ("retry-after", "0".to_owned())];
    match &*way {
        "echo" | "undo" => {
            let told_in_body =
                json!({ "canary": canary, "you": { "sent": [token, house] }, password: asked });
            (told, axum::Json(told_in_body)).into_response()
        }
        // As JSON may write them, too: each letter by its number.
        "encoded" => {
            let letters: String =
                format!("{token} {password}").encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            let body = format!("{{\"canary\":\"{canary}\",\"told\":\"{letters}\"}}");
            ([("content-type", "application/json")], body).into_response()
        }
        "redirect" => {
            let place = format!("/{canary}?t={}&p={password}", in_address(&token));
            (StatusCode::FOUND, [("location", place)], text).into_response()
        }
        "refuse" => {
            (StatusCode::UNPROCESSABLE_ENTITY, told, axum::Json(json!({ "error": text }))).into_response()
        }
        "broken" => ([("content-type", "application/json")], format!("{{ {text}")).into_response(),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, told, text).into_response(),
    }
}
