//! Workflows: which there are, and taking new ones in.

use axum::Json;
use axum::extract::{Request, State as Has};
use http::StatusCode;
use steadfast_client::wire::problem::Problem;
use steadfast_client::wire::workflow::{Applied, Change, Format, Workflow, Workflows};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::deed::{MaySayParams, Said};
use crate::code::Code;
use crate::extract::{Params, Part, media_type, read_bytes, read_values, wrong_media_type};
use crate::problem::Refusal;
use crate::state::State;

pub(crate) fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new().routes(routes!(workflows)).routes(routes!(workflow, apply_workflow))
}

/// All workflows, without their definitions.
#[utoipa::path(
    get, path = "/workflows", tag = "workflows",
    responses((status = 200, description = "They, by name", body = Workflows))
)]
async fn workflows(Has(state): Has<State>, params: Params) -> Result<Json<Workflows>, Refusal> {
    params.done()?;
    Ok(Json(Workflows { workflows: state.house().workflows(false) }))
}

/// A workflow, with the definition of one version.
#[utoipa::path(
    get, path = "/workflows/{name}", tag = "workflows",
    params(
        ("name" = String, Path, description = "Its name"),
        ("version" = Option<u32>, Query, format = "uint32", description = "Whose definition is shown; that of the active one where nothing is said"),
    ),
    responses((status = 200, description = "The workflow", body = Workflow))
)]
async fn workflow(
    Has(state): Has<State>,
    Part(name): Part,
    mut params: Params,
) -> Result<Json<Workflow>, Refusal> {
    let version = params.number("version")?;
    params.done()?;
    let found = state.house().workflows(true).into_iter().find(|workflow| workflow.name == name);
    let mut found = found.ok_or_else(|| unknown(&state, &name, version))?;
    let shown = version.unwrap_or(found.active);
    if !found.versions.iter().any(|own| own.version == shown) {
        return Err(unknown(&state, &name, Some(shown)));
    }
    for own in found.versions.iter_mut().filter(|own| own.version != shown) {
        own.definition = None;
    }
    Ok(Json(found))
}

/// Takes a workflow in.
///
/// As it stands in a file, in YAML or JSON. A changed one becomes a new version, and running tasks stay on theirs.
#[utoipa::path(
    put, path = "/workflows/{name}", tag = "workflows",
    params(
        ("name" = String, Path, description = "Its name: that of the file too"),
        ("dry_run" = Option<bool>, Query, description = "Whether it is only checked"),
        MaySayParams,
    ),
    request_body(description = "The workflow file", content(
        (String = "application/yaml"),
        (serde_json::Value = "application/json"),
    )),
    responses(
        (status = 200, description = "It is there already, or was only checked", body = Applied),
        (status = 201, description = "It is new, or a new version", body = Applied),
    )
)]
async fn apply_workflow(
    Has(state): Has<State>,
    Part(name): Part,
    mut params: Params,
    request: Request,
) -> Result<(StatusCode, Json<Applied>), Refusal> {
    let dry_run = params.flag("dry_run")?;
    let said = Said::if_any(&mut params)?;
    params.done()?;
    let format = format_of(&media_type(request.headers()))?;
    let bytes = read_bytes(request, &state, state.limits().body).await?;
    if format == Format::Json {
        // Its depth is bounded before anybody goes down into it.
        read_values::<serde_json::Value>(&bytes, &state, None)?;
    }
    let no_text = |_| {
        let detail = "the body is no text in UTF-8: save the file as that";
        Refusal::new(StatusCode::BAD_REQUEST, Code::BadBody, detail)
    };
    let text = String::from_utf8(bytes).map_err(no_text)?;
    let applied = apply(&state, &said, &name, &text, format, dry_run).await?;
    let is_new = !applied.dry_run && applied.change != Change::Same;
    Ok((if is_new { StatusCode::CREATED } else { StatusCode::OK }, Json(applied)))
}

/// Takes it in, in the name of who asks. What makes no sense, or is there already, is no deed.
async fn apply(
    state: &State,
    said: &Said,
    name: &str,
    text: &str,
    format: Format,
    dry_run: bool,
) -> Result<Applied, Refusal> {
    let would_be = state.house().apply(name, text, format, true).await?;
    if dry_run {
        return Ok(would_be);
    }
    let apply = async { Ok::<_, Refusal>(state.house().apply(name, text, format, false).await?) };
    if would_be.change == Change::Same {
        return apply.await;
    }
    let about = format!("workflow {name}");
    let (operator, deed) = said.deed(state, "workflow apply", &about);
    operator.does(deed.with("version", would_be.version), apply).await
}

fn format_of(media_type: &str) -> Result<Format, Refusal> {
    match media_type {
        "application/yaml" | "application/x-yaml" | "text/yaml" | "text/x-yaml" => Ok(Format::Yaml),
        "application/json" => Ok(Format::Json),
        other => Err(wrong_media_type(other, "application/yaml` or `application/json")),
    }
}

/// A workflow that nobody here knows.
pub(crate) fn unknown(state: &State, name: &str, version: Option<u32>) -> Refusal {
    /// So many names are told: whoever has more looks at the list.
    const TOLD: usize = 20;
    let shown: String = name.chars().take(100).collect();
    let shown = shown.escape_debug();
    let all = state.house().workflows(false);
    let detail = match (all.iter().find(|workflow| workflow.name == name), version) {
        (Some(workflow), Some(version)) => {
            let has: Vec<_> = workflow.versions.iter().map(|own| own.version.to_string()).collect();
            format!("workflow `{shown}` has no version {version}: it has {}", has.join(", "))
        }
        _ if all.is_empty() => {
            format!("there is no workflow `{shown}`: this server has none, give it one first")
        }
        _ => {
            let names: Vec<_> =
                all.iter().take(TOLD).map(|workflow| format!("`{}`", workflow.name)).collect();
            format!("there is no workflow `{shown}`: there are {}", names.join(", "))
        }
    };
    let code = steadfast::Code::UnknownWorkflow;
    Problem::new(404, code.as_str(), "There is no such workflow", detail).into()
}
