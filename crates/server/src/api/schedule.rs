//! Recurring work.

use std::time::Duration;

use axum::Json as Answer;
use axum::extract::State as Has;
use http::StatusCode;
use serde_json::Value;
use steadfast::Time;
use steadfast_client::wire::schedule::{Declared, DeclaredSchedule, NewSchedule, Schedules, Turned};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::deed::{MaySayParams, Said, SaidParams};
use super::submit::known_workflow;
use crate::extract::{Json, Params, Part};
use crate::map;
use crate::problem::Refusal;
use crate::span::time;
use crate::state::State;

pub(crate) fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new()
        .routes(routes!(schedules))
        .routes(routes!(put_schedule, delete_schedule))
        .routes(routes!(pause_schedule))
        .routes(routes!(resume_schedule))
}

/// All schedules.
#[utoipa::path(
    get, path = "/schedules", tag = "schedules",
    responses((status = 200, description = "They, by name", body = Schedules))
)]
async fn schedules(Has(state): Has<State>, params: Params) -> Result<Answer<Schedules>, Refusal> {
    params.done()?;
    let schedules = state.engine().schedules().await?.iter().map(map::schedule::schedule).collect();
    Ok(Answer(Schedules { schedules }))
}

/// Declares a schedule.
///
/// The same declaration changes nothing; another one under the same name takes the place of the first.
#[utoipa::path(
    put, path = "/schedules/{name}", tag = "schedules",
    params(("name" = String, Path, description = "What it is called"), MaySayParams),
    request_body = NewSchedule,
    responses(
        (status = 200, description = "It was there before", body = DeclaredSchedule),
        (status = 201, description = "It is new", body = DeclaredSchedule),
    )
)]
async fn put_schedule(
    Has(state): Has<State>,
    Part(name): Part,
    mut params: Params,
    Json(body): Json<NewSchedule>,
) -> Result<(StatusCode, Answer<DeclaredSchedule>), Refusal> {
    let said = Said::if_any(&mut params)?;
    params.done()?;
    let workflow = known_workflow(&state, &body.workflow, body.version)?;
    workflow.check_input(&body.input)?;
    let mut schedule = state.engine().schedule(&name, &workflow, &body.input).cron(&body.when);
    if let Some(zone) = &body.time_zone {
        schedule = schedule.time_zone(zone);
    }
    if let Some(namespace) = &body.namespace {
        schedule = schedule.namespace(namespace);
    }
    if let Some(missed) = body.missed {
        schedule = schedule.missed(map::schedule::of_missed(missed));
    }
    if let Some(overlap) = body.overlap {
        schedule = schedule.overlap(map::schedule::of_overlap(overlap));
    }
    if let Some(jitter) = body.jitter_ms {
        schedule = schedule.jitter(Duration::from_millis(jitter));
    }
    if let Some(at) = at("starts_at", body.starts_at.as_deref())? {
        schedule = schedule.starts_at(at);
    }
    if let Some(at) = at("ends_at", body.ends_at.as_deref())? {
        schedule = schedule.ends_at(at);
    }
    // What makes no sense is no deed.
    schedule.preview(1)?;
    let (operator, deed) = said.deed(&state, "schedule set", &format!("schedule {name}"));
    let declared =
        operator.does(deed.with("declared", shown(body)), async { Ok::<_, Refusal>(schedule.await?) });
    let declared = map::schedule::declared(declared.await?);
    let status = if declared == Declared::New { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Answer(DeclaredSchedule { name, declared })))
}

fn at(place: &str, text: Option<&str>) -> Result<Option<Time>, Refusal> {
    text.map(time).transpose().map_err(|why| Refusal::body(place, why))
}

/// A declaration as the audit log shows it. The input is left out: it may be large, and is somebody's.
fn shown(mut body: NewSchedule) -> Value {
    body.input = Value::Null;
    // Nothing of this type fails to be written.
    serde_json::to_value(body).unwrap_or_default()
}

/// Does this to a schedule, in the name of who asks.
async fn turn<T>(
    state: &State,
    said: &Said,
    verb: &str,
    name: &str,
    act: impl Future<Output = Result<T, steadfast::Error>>,
) -> Result<T, Refusal> {
    if !state.engine().schedules().await?.iter().any(|schedule| *schedule.name == *name) {
        // There is nothing to be done to it, and nobody need be told for ever.
        return Ok(act.await?);
    }
    let (operator, deed) = said.deed(state, &format!("schedule {verb}"), &format!("schedule {name}"));
    Ok(operator.does(deed, act).await?)
}

/// Removes a schedule. Tasks that it has begun go on.
#[utoipa::path(
    delete, path = "/schedules/{name}", tag = "schedules",
    params(("name" = String, Path, description = "What it is called"), SaidParams),
    responses((status = 204, description = "It is gone"))
)]
async fn delete_schedule(
    Has(state): Has<State>,
    Part(name): Part,
    mut params: Params,
) -> Result<StatusCode, Refusal> {
    let said = Said::take(&mut params)?;
    params.done()?;
    turn(&state, &said, "remove", &name, state.engine().remove_schedule(&name)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Has a schedule begin no more runs until it is resumed.
#[utoipa::path(
    post, path = "/schedules/{name}/pause", tag = "schedules",
    params(("name" = String, Path, description = "What it is called"), SaidParams),
    responses((status = 200, description = "It is paused", body = Turned))
)]
async fn pause_schedule(
    Has(state): Has<State>,
    Part(name): Part,
    mut params: Params,
) -> Result<Answer<Turned>, Refusal> {
    let said = Said::take(&mut params)?;
    params.done()?;
    let changed = turn(&state, &said, "pause", &name, state.engine().pause_schedule(&name)).await?;
    Ok(Answer(Turned { name, changed }))
}

/// Goes on with a schedule that was paused.
#[utoipa::path(
    post, path = "/schedules/{name}/resume", tag = "schedules",
    params(("name" = String, Path, description = "What it is called"), SaidParams),
    responses((status = 200, description = "It goes on", body = Turned))
)]
async fn resume_schedule(
    Has(state): Has<State>,
    Part(name): Part,
    mut params: Params,
) -> Result<Answer<Turned>, Refusal> {
    let said = Said::take(&mut params)?;
    params.done()?;
    let changed = turn(&state, &said, "resume", &name, state.engine().resume_schedule(&name)).await?;
    Ok(Answer(Turned { name, changed }))
}
