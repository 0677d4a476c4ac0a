//! Tasks: looking for them, and at one of them.

use axum::Json;
use axum::extract::State as Has;
use serde_json::Value;
use steadfast::TaskId;
use steadfast_client::wire::filter::Filter;
use steadfast_client::wire::state::TaskState;
use steadfast_client::wire::task::{History, Task, Tasks};
use steadfast_client::wire::why::Why;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::filter::{self, FilterParams, PageParams, look_up};
use crate::cursor::List;
use crate::extract::{OfTask, Params};
use crate::map;
use crate::map::fold::{Fold, changes, submission};
use crate::map::task::Known;
use crate::problem::Refusal;
use crate::state::State;

/// The most tasks of a page.
pub(crate) const MOST: usize = 1_000;
/// How many there are on a page where nothing is said.
pub(crate) const SOME: usize = 100;
/// The most bytes of payloads that are shown of one task: eight of the largest. Others are left out, and said to be.
const MOST_SHOWN: usize = 8 << 20;

pub(crate) fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new()
        .routes(routes!(tasks))
        .routes(routes!(task))
        .routes(routes!(why))
        .routes(routes!(history))
        .routes(routes!(children))
}

/// Looks for tasks.
///
/// They come newest first. It looks through the tasks of the store: say a state or a time where there are millions.
#[utoipa::path(
    get,
    path = "/tasks",
    tag = "tasks",
    params(FilterParams, PageParams),
    responses((status = 200, description = "Some of them", body = Tasks))
)]
async fn tasks(Has(state): Has<State>, mut params: Params) -> Result<Json<Tasks>, Refusal> {
    let filter = filter::read(&mut params)?;
    page(&state, &filter, params).await
}

/// The tasks that a task has asked for.
#[utoipa::path(
    get,
    path = "/tasks/{id}/children",
    tag = "tasks",
    params(("id" = String, Path, format = "uuid", description = "The id of the task"), PageParams),
    responses((status = 200, description = "Some of them", body = Tasks))
)]
async fn children(
    Has(state): Has<State>,
    OfTask(id): OfTask,
    params: Params,
) -> Result<Json<Tasks>, Refusal> {
    let filter = Filter { parent: Some(id.to_string()), ..Filter::default() };
    let found = page(&state, &filter, params).await?;
    // One without children is there all the same, or is not.
    state.engine().any_task(id).await?;
    Ok(found)
}

async fn page(state: &State, filter: &Filter, mut params: Params) -> Result<Json<Tasks>, Refusal> {
    let list = List::new("tasks", &format!("{filter:?}"));
    let limit = params.limit(1..=MOST, SOME)?;
    let behind = params.one("cursor")?.map(|cursor| list.take(&cursor)).transpose()?;
    params.done()?;
    let found = filter::tasks(state.engine(), filter).map_err(|(name, why)| Refusal::query(name, why))?;
    let found = match behind {
        Some(behind) => found.behind(TaskId::from_u128(behind)),
        None => found,
    };
    let found = found.most(limit).await?;
    let cursor = found.behind.map(|behind| list.give(behind.as_u128()));
    Ok(Json(Tasks { tasks: found.tasks.into_iter().map(map::task::summary).collect(), cursor }))
}

/// A task with all its steps and their attempts.
#[utoipa::path(
    get,
    path = "/tasks/{id}",
    tag = "tasks",
    params(
        ("id" = String, Path, format = "uuid", description = "The id of the task"),
        ("payloads" = Option<bool>, Query, description = "Whether input, outputs and result are shown as well"),
    ),
    responses((status = 200, description = "The task", body = Task))
)]
async fn task(Has(state): Has<State>, OfTask(id): OfTask, mut params: Params) -> Result<Json<Task>, Refusal> {
    let payloads = params.flag("payloads")?;
    params.done()?;
    let summary = look_up(state.engine(), id).await?;
    let handle = state.engine().any_task(id).await?;
    let (status, why) = (handle.status().await?, handle.why().await?);
    // Read last: what it says is at least as new as the rest.
    let fold = Fold::of(&handle.history().await?, summary.submitted_at);
    let mut task = map::task::whole(Known { summary, status, why, fold });
    let is_completed = task.summary.state == TaskState::Completed;
    if payloads {
        show_payloads(&state, id, &mut task).await?;
        if let (true, Some(outcome)) = (is_completed, &mut task.outcome) {
            // One that does not fit its type any more, or of a workflow that nobody knows, has no result to show.
            outcome.result = handle.outcome().await.ok().and_then(|ended| map::task::outcome(ended).result);
        }
    }
    Ok(Json(task))
}

/// Puts the input and the outputs in, as far as there is room.
async fn show_payloads(state: &State, id: TaskId, task: &mut Task) -> Result<(), Refusal> {
    let operator = state.engine().operator("");
    let input = operator.input(id).await?;
    let mut room = MOST_SHOWN.saturating_sub(size(&input));
    task.input = Some(input);
    for step in &mut task.steps {
        // Where the workflow is not known here, steps have no names to ask by.
        let Ok(Some(output)) = operator.output(id, &step.name).await else { continue };
        match room.checked_sub(size(&output)) {
            Some(left) => (room, step.output) = (left, Some(output)),
            None => step.output_left_out = true,
        }
    }
    Ok(())
}

fn size(value: &Value) -> usize {
    serde_json::to_vec(value).map_or(0, |json| json.len())
}

/// Why a task does not move, or how it has ended.
#[utoipa::path(
    get,
    path = "/tasks/{id}/why",
    tag = "tasks",
    params(("id" = String, Path, format = "uuid", description = "The id of the task")),
    responses((status = 200, description = "Why", body = Why))
)]
async fn why(Has(state): Has<State>, OfTask(id): OfTask, params: Params) -> Result<Json<Why>, Refusal> {
    params.done()?;
    let why = state.engine().any_task(id).await?.why().await?;
    Ok(Json(map::why::why(id, &why)))
}

/// What happened to a task, oldest first.
#[utoipa::path(
    get,
    path = "/tasks/{id}/history",
    tag = "tasks",
    params(
        ("id" = String, Path, format = "uuid", description = "The id of the task"),
        ("after" = Option<u64>, Query, description = "Behind this revision"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "At most so many; 1000 where nothing is said"),
    ),
    responses((status = 200, description = "The changes", body = History))
)]
async fn history(
    Has(state): Has<State>,
    OfTask(id): OfTask,
    mut params: Params,
) -> Result<Json<History>, Refusal> {
    let after: Option<u64> = params.number("after")?;
    let limit = params.limit(1..=MOST, MOST)?;
    params.done()?;
    let submitted_at = look_up(state.engine(), id).await?.submitted_at;
    let task = state.engine().any_task(id).await?;
    let (status, history) = (task.status().await?, task.history().await?);
    let names: Vec<String> = status.steps.iter().map(|step| step.name.clone()).collect();
    let first = after.is_none().then(|| submission(submitted_at, &status, &history));
    let mut changes: Vec<_> =
        first.into_iter().chain(changes(&history, None, after.unwrap_or(0), &names)).collect();
    let more = changes.len() > limit;
    changes.truncate(limit);
    let after = changes.last().filter(|_| more).map(|last| last.revision);
    Ok(Json(History { changes, after }))
}
