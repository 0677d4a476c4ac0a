//! The same asked of many tasks: prepared, looked at, begun.

use axum::Json as Answer;
use axum::extract::State as Has;
use http::StatusCode;
use steadfast::AuditId;
use steadfast_client::wire::bulk::{Bulk, BulkTasks, Bulks, NewBulk, Prepared};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::filter::{self, PageParams};
use super::operate::said;
use super::task::{MOST, SOME};
use crate::cursor::List;
use crate::extract::{Json, OfBulk, Params};
use crate::map;
use crate::problem::Refusal;
use crate::state::State;

/// How many tasks are shown of a bulk that was prepared.
const FIRST: usize = 10;
/// The slowest and the fastest rate, in tasks a second: one in a quarter of an hour, and more than a store writes.
const RATES: std::ops::RangeInclusive<f64> = 0.001..=100_000.0;

pub(crate) fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new()
        .routes(routes!(prepare_bulk, bulks))
        .routes(routes!(bulk))
        .routes(routes!(bulk_tasks))
        .routes(routes!(begin_bulk))
        .routes(routes!(stop_bulk))
}

/// Prepares a bulk.
///
/// Its tasks are found and fixed, and nothing is asked of them before it is begun: look at what is answered first.
#[utoipa::path(
    post, path = "/bulks", tag = "bulks",
    request_body = NewBulk,
    responses((status = 201, description = "It is prepared", body = Prepared))
)]
async fn prepare_bulk(
    Has(state): Has<State>,
    params: Params,
    Json(body): Json<NewBulk>,
) -> Result<(StatusCode, Answer<Prepared>), Refusal> {
    params.done()?;
    said(&body.by, &body.because)?;
    if body.rate.is_some_and(|rate| !RATES.contains(&rate)) {
        let message = format!("expected tasks a second, from {} to {}", RATES.start(), RATES.end());
        return Err(Refusal::body("rate", message));
    }
    let slip = |(name, why): (&str, String)| Refusal::body(&format!("filter.{name}"), why);
    let mut tasks = filter::tasks(state.engine(), &body.filter).map_err(slip)?;
    if let Some(most) = body.most {
        let most = usize::try_from(most).ok().filter(|most| *most > 0);
        tasks = tasks.most(most.ok_or_else(|| Refusal::body("most", "expected at least 1"))?);
    }
    let wanted = map::bulk::wanted(body.action)?;
    let operator = state.engine().operator(&body.by);
    let mut of = operator.bulk(tasks);
    if let Some(rate) = body.rate {
        of = of.rate(rate);
    }
    let bulk = of.ask(wanted).because(body.because).await?;
    let first = bulk.tasks(0, FIRST).await?.iter().map(ToString::to_string).collect();
    let prepared = Prepared { bulk: map::bulk::bulk(bulk.status().await?), first };
    Ok((StatusCode::CREATED, Answer(prepared)))
}

/// The newest bulks.
#[utoipa::path(
    get, path = "/bulks", tag = "bulks",
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "At most so many; 100 where nothing is said")),
    responses((status = 200, description = "They", body = Bulks))
)]
async fn bulks(Has(state): Has<State>, mut params: Params) -> Result<Answer<Bulks>, Refusal> {
    let limit = params.limit(1..=MOST, SOME)?;
    params.done()?;
    let bulks = state.engine().bulks(limit).await?.into_iter().map(map::bulk::bulk).collect();
    Ok(Answer(Bulks { bulks }))
}

/// A bulk: what it asks, and how far it has come.
#[utoipa::path(
    get, path = "/bulks/{id}", tag = "bulks",
    params(("id" = String, Path, format = "uuid", description = "The id of the bulk")),
    responses((status = 200, description = "The bulk", body = Bulk))
)]
async fn bulk(Has(state): Has<State>, OfBulk(id): OfBulk, params: Params) -> Result<Answer<Bulk>, Refusal> {
    params.done()?;
    told(&state, id).await
}

/// The tasks of a bulk, in the order in which they are asked.
#[utoipa::path(
    get, path = "/bulks/{id}/tasks", tag = "bulks",
    params(("id" = String, Path, format = "uuid", description = "The id of the bulk"), PageParams),
    responses((status = 200, description = "Some of them", body = BulkTasks))
)]
async fn bulk_tasks(
    Has(state): Has<State>,
    OfBulk(id): OfBulk,
    mut params: Params,
) -> Result<Answer<BulkTasks>, Refusal> {
    let list = List::new("bulk", &id.to_string());
    let limit = params.limit(1..=MOST, SOME)?;
    let from = params.one("cursor")?.map(|cursor| list.take(&cursor)).transpose()?.unwrap_or(0);
    params.done()?;
    let from = u64::try_from(from).unwrap_or(u64::MAX);
    let bulk = state.engine().bulk(id);
    let all = bulk.status().await?.tasks;
    let tasks = bulk.tasks(from, limit).await?;
    let next = from.saturating_add(u64::try_from(tasks.len()).unwrap_or(u64::MAX));
    let cursor = (next < all && !tasks.is_empty()).then(|| list.give(next.into()));
    Ok(Answer(BulkTasks { tasks: tasks.iter().map(ToString::to_string).collect(), cursor }))
}

/// Begins a bulk, or goes on with one that was stopped.
#[utoipa::path(
    post, path = "/bulks/{id}/begin", tag = "bulks",
    params(("id" = String, Path, format = "uuid", description = "The id of the bulk")),
    responses((status = 200, description = "It is under way", body = Bulk))
)]
async fn begin_bulk(
    Has(state): Has<State>,
    OfBulk(id): OfBulk,
    params: Params,
) -> Result<Answer<Bulk>, Refusal> {
    params.done()?;
    state.engine().bulk(id).begin().await?;
    told(&state, id).await
}

/// Stops a bulk, within about a second. It can be begun again, and goes on from where it was.
#[utoipa::path(
    post, path = "/bulks/{id}/stop", tag = "bulks",
    params(("id" = String, Path, format = "uuid", description = "The id of the bulk")),
    responses((status = 200, description = "It is stopped", body = Bulk))
)]
async fn stop_bulk(
    Has(state): Has<State>,
    OfBulk(id): OfBulk,
    params: Params,
) -> Result<Answer<Bulk>, Refusal> {
    params.done()?;
    state.engine().bulk(id).stop().await?;
    told(&state, id).await
}

async fn told(state: &State, id: AuditId) -> Result<Answer<Bulk>, Refusal> {
    Ok(Answer(map::bulk::bulk(state.engine().bulk(id).status().await?)))
}
