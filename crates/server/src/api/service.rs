//! Services, and the policies that their calls go by.

use axum::Json;
use axum::extract::State as Has;
use http::StatusCode;
use steadfast_client::wire::policy::Policies;
use steadfast_client::wire::service::{Calls, Service, Services};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::code::Code;
use crate::extract::{Params, Part};
use crate::map::snake;
use crate::problem::Refusal;
use crate::state::State;

pub(crate) fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new().routes(routes!(services)).routes(routes!(service)).routes(routes!(policies))
}

/// All services.
#[utoipa::path(
    get, path = "/services", tag = "services",
    responses((status = 200, description = "They, by name", body = Services))
)]
async fn services(Has(state): Has<State>, params: Params) -> Result<Json<Services>, Refusal> {
    params.done()?;
    Ok(Json(Services {
        services: state.house().services().into_iter().map(|own| filled(&state, own)).collect(),
    }))
}

/// A service.
#[utoipa::path(
    get, path = "/services/{name}", tag = "services",
    params(("name" = String, Path, description = "Its name")),
    responses((status = 200, description = "The service", body = Service))
)]
async fn service(Has(state): Has<State>, Part(name): Part, params: Params) -> Result<Json<Service>, Refusal> {
    params.done()?;
    let found = state.house().services().into_iter().find(|service| service.name == name);
    found.map(|service| Json(filled(&state, service))).ok_or_else(|| unknown(&state, &name))
}

/// The policies in force.
#[utoipa::path(
    get, path = "/policies", tag = "services",
    responses((status = 200, description = "They, by name", body = Policies))
)]
async fn policies(Has(state): Has<State>, params: Params) -> Result<Json<Policies>, Refusal> {
    params.done()?;
    Ok(Json(Policies { policies: state.house().policies() }))
}

/// A service, with what its pipeline says.
fn filled(state: &State, mut service: Service) -> Service {
    let Some(pipeline) = state.house().pipeline(&service.name) else { return service };
    let report = pipeline.report();
    service.breaker = pipeline.breaker().map(|breaker| snake(breaker.state().as_str()));
    service.calls = Some(Calls {
        succeeded: report.succeeded,
        failed: report.failed,
        terminal: report.terminal,
        refused: report.refused,
        attempts: report.attempts,
        retries: report.retries,
        throttled: report.throttled,
    });
    service
}

/// A service that nobody here knows.
pub(crate) fn unknown(state: &State, name: &str) -> Refusal {
    /// So many names are told: whoever has more looks at the list.
    const TOLD: usize = 20;
    let shown: String = name.chars().take(100).collect();
    let all = state.house().services();
    let names: Vec<_> = all.iter().take(TOLD).map(|service| format!("`{}`", service.name)).collect();
    let there_are = if names.is_empty() {
        "this server has none".to_owned()
    } else {
        format!("there are {}", names.join(", "))
    };
    let detail = format!("there is no service `{}`: {there_are}", shown.escape_debug());
    Refusal::new(StatusCode::NOT_FOUND, Code::UnknownService, detail)
}
