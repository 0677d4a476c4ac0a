//! The HTTP API. Router and document are made of one declaration: what is not documented does not exist.

mod audit;
mod breaker;
mod bulk;
mod callback;
mod deed;
mod event;
mod filter;
mod health;
mod operate;
mod schedule;
mod service;
mod store;
mod submit;
mod task;
mod workflow;

use axum::extract::OriginalUri;
use axum::response::{IntoResponse as _, Response};
use axum::{Router, middleware};
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode};
use tower_http::catch_panic::CatchPanicLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::code::Code;
use crate::guard;
use crate::openapi;
use crate::problem::Refusal;
use crate::state::State;

/// All routes, with what the document says of them.
pub(crate) fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::with_openapi(openapi::head()).nest("/api/v1", api()).merge(health::routes())
}

fn api() -> OpenApiRouter<State> {
    OpenApiRouter::new()
        .merge(submit::routes())
        .merge(task::routes())
        .merge(event::routes())
        .merge(callback::routes())
        .merge(operate::routes())
        .merge(bulk::routes())
        .merge(audit::routes())
        .merge(workflow::routes())
        .merge(service::routes())
        .merge(breaker::routes())
        .merge(schedule::routes())
        .merge(store::routes())
        .routes(routes!(document))
}

/// The router of the API, ready to be served. Whatever goes wrong in it is answered as a problem.
pub fn router(state: State) -> Router {
    let (outside, _) = OpenApiRouter::new().merge(health::routes()).split_for_parts();
    let (inside, _) = api().split_for_parts();
    let guarded = inside.layer(middleware::from_fn_with_state(state.clone(), guard::guard));
    Router::new()
        .merge(outside)
        .nest("/api/v1", guarded)
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(middleware::from_fn_with_state(state.clone(), guard::ours))
        .layer(CatchPanicLayer::custom(guard::panicked))
        .with_state(state)
}

/// The OpenAPI document of this server.
#[utoipa::path(
    get, path = "/openapi.json", tag = "health",
    responses((status = 200, description = "The document", body = serde_json::Value))
)]
async fn document() -> Response {
    ([(CONTENT_TYPE, "application/json")], openapi::text()).into_response()
}

async fn no_route(uri: OriginalUri) -> Refusal {
    let path: String = uri.path().chars().take(200).collect();
    let detail = format!(
        "there is nothing at `{}`: the API is under `/api/v1`, and `/api/v1/openapi.json` lists it",
        path.escape_debug()
    );
    Refusal::new(StatusCode::NOT_FOUND, Code::NoRoute, detail)
}

async fn no_method(method: Method, uri: OriginalUri) -> Refusal {
    let path: String = uri.path().chars().take(200).collect();
    let detail = format!(
        "`{}` has no {method}: see the header `Allow` for the methods that it has",
        path.escape_debug()
    );
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, Code::NoMethod, detail)
}
