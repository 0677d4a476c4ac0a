//! Whether the server lives and takes work, and what it has measured. Nothing of it waits behind other requests.

use std::time::Duration;

use axum::extract::State as Has;
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::code::Code;
use crate::measure;
use crate::problem::Refusal;
use crate::state::State;

/// How long the store may take to answer: who asks whether the server is ready asks every few seconds.
const STORE_WITHIN: Duration = Duration::from_secs(2);
/// When somebody should ask again who was told that it is not ready.
const ASK_AGAIN: Duration = Duration::from_secs(2);

pub(crate) fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new().routes(routes!(healthz)).routes(routes!(readyz)).routes(routes!(metrics))
}

/// Whether the server lives.
#[utoipa::path(
    get, path = "/healthz", tag = "health",
    responses((status = 200, description = "It does", body = String, content_type = "text/plain", example = "alive"))
)]
async fn healthz() -> &'static str {
    "alive\n"
}

/// Whether the server takes work: its engine works, its store answers, and it is not shutting down.
#[utoipa::path(
    get, path = "/readyz", tag = "health",
    responses((status = 200, description = "It does", body = String, content_type = "text/plain", example = "ready"))
)]
async fn readyz(Has(state): Has<State>) -> Result<&'static str, Refusal> {
    let not = |why: &str| {
        let refusal = Refusal::new(StatusCode::SERVICE_UNAVAILABLE, Code::NotReady, why);
        Err(refusal.after(ASK_AGAIN))
    };
    if state.is_stopping() {
        return not("the server is shutting down: another one takes over");
    }
    // Who listens to an engine that has stopped hears so at once.
    if let Some(None) = state.engine().events().next().now_or_never() {
        return not("the engine has stopped: see the log, and start the server again");
    }
    tokio::select! {
        read = state.engine().bulks(1) => match read {
            Ok(_) => Ok("ready\n"),
            Err(error) => not(&format!("the store does not answer: {error}")),
        },
        () = state.clock().sleep(STORE_WITHIN) => not("the store does not answer in time: see the disk"),
    }
}

/// What was measured, in the text form of Prometheus.
#[utoipa::path(
    get, path = "/metrics", tag = "health",
    responses((status = 200, description = "The measures", body = String, content_type = "text/plain; version=0.0.4"))
)]
async fn metrics(Has(state): Has<State>) -> Response {
    let mut text = state.metrics().map(crate::state::Metrics::render).unwrap_or_default();
    measure::tell(&mut text, &state.engine().stats());
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}
