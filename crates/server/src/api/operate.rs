//! What an operator asks of one task. It is done once or refused with the reason, and is in the audit log either way.

use axum::Json as Answer;
use axum::extract::State as Has;
use steadfast::{AuditId, Labels, MAX_LABELS, Operator, TaskId};
use steadfast_client::wire::ask::{Ask, Deadline, Done, Label, Retry, RetryUndo, Skip, TakeAsUndone};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::extract::{Json, OfTask, Params};
use crate::problem::Refusal;
use crate::span::time;
use crate::state::State;

/// What is answered to something that is asked.
type Asked = Result<Answer<Done>, Refusal>;

pub(crate) fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new()
        .routes(routes!(retry))
        .routes(routes!(skip))
        .routes(routes!(pause))
        .routes(routes!(resume))
        .routes(routes!(cancel))
        .routes(routes!(undo))
        .routes(routes!(deadline))
        .routes(routes!(retry_undo))
        .routes(routes!(take_as_undone))
        .routes(routes!(label))
}

/// Has a step made again.
///
/// Anew if it has failed, at once if it waits for its next attempt. Its failures are forgotten.
#[utoipa::path(
    post, path = "/tasks/{id}/retry", tag = "operators",
    params(("id" = String, Path, format = "uuid", description = "The id of the task")),
    request_body = Retry,
    responses((status = 200, description = "It is done", body = Done))
)]
async fn retry(
    Has(state): Has<State>,
    OfTask(task): OfTask,
    params: Params,
    Json(body): Json<Retry>,
) -> Asked {
    params.done()?;
    let (operator, id) = asker(&state, &body.by, &body.because, body.id.as_deref())?;
    let mut ask = operator.retry(task, &body.step).under(id);
    if let Some(input) = &body.input {
        ask = ask.input(input);
    }
    if body.did_not_happen {
        ask = ask.did_not_happen();
    }
    ask.because(body.because).await?;
    done(id)
}

/// Has a step skipped.
///
/// What comes after it goes on, with the output that is given.
#[utoipa::path(
    post, path = "/tasks/{id}/skip", tag = "operators",
    params(("id" = String, Path, format = "uuid", description = "The id of the task")),
    request_body = Skip,
    responses((status = 200, description = "It is done", body = Done))
)]
async fn skip(Has(state): Has<State>, OfTask(task): OfTask, params: Params, Json(body): Json<Skip>) -> Asked {
    params.done()?;
    let (operator, id) = asker(&state, &body.by, &body.because, body.id.as_deref())?;
    let mut ask = operator.skip(task, &body.step).under(id);
    if let Some(output) = &body.output {
        ask = ask.output(output);
    }
    if body.happened {
        ask = ask.happened();
    }
    ask.because(body.because).await?;
    done(id)
}

/// Holds a task.
///
/// Nothing of it begins until it is resumed. What runs may end, and its deadline stands still.
#[utoipa::path(
    post, path = "/tasks/{id}/pause", tag = "operators",
    params(("id" = String, Path, format = "uuid", description = "The id of the task")),
    request_body = Ask,
    responses((status = 200, description = "It is done", body = Done))
)]
async fn pause(Has(state): Has<State>, OfTask(task): OfTask, params: Params, Json(body): Json<Ask>) -> Asked {
    params.done()?;
    let (operator, id) = asker(&state, &body.by, &body.because, body.id.as_deref())?;
    operator.pause(task).under(id).because(body.because).await?;
    done(id)
}

/// Lets a task go on.
///
/// One that is paused, and one that has failed: that makes all again that has failed.
#[utoipa::path(
    post, path = "/tasks/{id}/resume", tag = "operators",
    params(("id" = String, Path, format = "uuid", description = "The id of the task")),
    request_body = Ask,
    responses((status = 200, description = "It is done", body = Done))
)]
async fn resume(
    Has(state): Has<State>,
    OfTask(task): OfTask,
    params: Params,
    Json(body): Json<Ask>,
) -> Asked {
    params.done()?;
    let (operator, id) = asker(&state, &body.by, &body.because, body.id.as_deref())?;
    operator.resume(task).under(id).because(body.because).await?;
    done(id)
}

/// Has a task undone that has not ended.
#[utoipa::path(
    post, path = "/tasks/{id}/cancel", tag = "operators",
    params(("id" = String, Path, format = "uuid", description = "The id of the task")),
    request_body = Ask,
    responses((status = 200, description = "It is being undone", body = Done))
)]
async fn cancel(
    Has(state): Has<State>,
    OfTask(task): OfTask,
    params: Params,
    Json(body): Json<Ask>,
) -> Asked {
    params.done()?;
    let (operator, id) = asker(&state, &body.by, &body.because, body.id.as_deref())?;
    operator.cancel(task).under(id).because(body.because).await?;
    done(id)
}

/// Has a task undone, also one that has completed or failed.
#[utoipa::path(
    post, path = "/tasks/{id}/undo", tag = "operators",
    params(("id" = String, Path, format = "uuid", description = "The id of the task")),
    request_body = Ask,
    responses((status = 200, description = "It is being undone", body = Done))
)]
async fn undo(Has(state): Has<State>, OfTask(task): OfTask, params: Params, Json(body): Json<Ask>) -> Asked {
    params.done()?;
    let (operator, id) = asker(&state, &body.by, &body.because, body.id.as_deref())?;
    operator.undo(task).under(id).because(body.because).await?;
    done(id)
}

/// Gives a task another deadline, or none.
#[utoipa::path(
    post, path = "/tasks/{id}/deadline", tag = "operators",
    params(("id" = String, Path, format = "uuid", description = "The id of the task")),
    request_body = Deadline,
    responses((status = 200, description = "It is done", body = Done))
)]
async fn deadline(
    Has(state): Has<State>,
    OfTask(task): OfTask,
    params: Params,
    Json(body): Json<Deadline>,
) -> Asked {
    params.done()?;
    let (operator, id) = asker(&state, &body.by, &body.because, body.id.as_deref())?;
    let at = body.at.as_deref().map(time).transpose().map_err(|why| Refusal::body("at", why))?;
    operator.deadline(task, at).under(id).because(body.because).await?;
    done(id)
}

/// Has the undo of a step tried again that could not be made.
#[utoipa::path(
    post, path = "/tasks/{id}/retry-undo", tag = "operators",
    params(("id" = String, Path, format = "uuid", description = "The id of the task")),
    request_body = RetryUndo,
    responses((status = 200, description = "It is done", body = Done))
)]
async fn retry_undo(
    Has(state): Has<State>,
    OfTask(task): OfTask,
    params: Params,
    Json(body): Json<RetryUndo>,
) -> Asked {
    params.done()?;
    let (operator, id) = asker(&state, &body.by, &body.because, body.id.as_deref())?;
    let ask = operator.retry_undo(task, &body.step).under(id);
    let ask = if body.happened { ask.happened() } else { ask };
    ask.because(body.because).await?;
    done(id)
}

/// Takes a step as undone whose undo could not be made.
///
/// Somebody did it by other means, or there was nothing to undo.
#[utoipa::path(
    post, path = "/tasks/{id}/take-as-undone", tag = "operators",
    params(("id" = String, Path, format = "uuid", description = "The id of the task")),
    request_body = TakeAsUndone,
    responses((status = 200, description = "It is done", body = Done))
)]
async fn take_as_undone(
    Has(state): Has<State>,
    OfTask(task): OfTask,
    params: Params,
    Json(body): Json<TakeAsUndone>,
) -> Asked {
    params.done()?;
    let (operator, id) = asker(&state, &body.by, &body.because, body.id.as_deref())?;
    operator.take_as_undone(task, &body.step).under(id).because(body.because).await?;
    done(id)
}

/// Gives a task labels, or takes some away.
///
/// Each has an entry of its own in the audit log. It is possible in every state.
#[utoipa::path(
    post, path = "/tasks/{id}/label", tag = "operators",
    params(("id" = String, Path, format = "uuid", description = "The id of the task")),
    request_body = Label,
    responses((status = 200, description = "It is done", body = Done))
)]
async fn label(
    Has(state): Has<State>,
    OfTask(task): OfTask,
    params: Params,
    Json(body): Json<Label>,
) -> Asked {
    params.done()?;
    let (operator, id) = asker(&state, &body.by, &body.because, body.id.as_deref())?;
    let count = body.labels.len();
    if count == 0 || count > MAX_LABELS {
        return Err(Refusal::body("labels", format!("there are {count}: say from 1 to {MAX_LABELS}")));
    }
    // All of them are looked at before the first is set.
    for (name, value) in &body.labels {
        let checked = Labels::default().with(name, value.as_deref());
        checked.map_err(|why| Refusal::body(&format!("labels.{name}"), why))?;
    }
    for (place, (name, value)) in (0..).zip(&body.labels) {
        set_label(&operator, task, (name, value.as_deref()), under(id, place), &body.because).await?;
    }
    done(id)
}

async fn set_label(
    operator: &Operator,
    task: TaskId,
    (name, value): (&str, Option<&str>),
    id: AuditId,
    because: &str,
) -> Result<(), Refusal> {
    let ask = match value {
        Some(value) => operator.label(task, name, value),
        None => operator.unlabel(task, name),
    };
    Ok(ask.under(id).because(because).await?)
}

/// The id of one of several things that were asked under one id: the same each time that it is asked again.
fn under(id: AuditId, place: u128) -> AuditId {
    AuditId::from_u128(id.as_u128().wrapping_add(place))
}

/// Who asks, and the id that it is asked under.
fn asker(state: &State, by: &str, because: &str, id: Option<&str>) -> Result<(Operator, AuditId), Refusal> {
    said(by, because)?;
    let id = match id {
        Some(id) => id.parse().map_err(|error: steadfast::BadId| Refusal::body("id", error.to_string()))?,
        None => AuditId::from_u128(uuid::Uuid::now_v7().as_u128()),
    };
    Ok((state.engine().operator(by), id))
}

/// Who asks and why is kept for ever, so it has to be said.
pub(crate) fn said(by: &str, because: &str) -> Result<(), Refusal> {
    let said =
        [("by", by, "say who asks"), ("because", because, "say why: it is kept for those who ask later")];
    match said.into_iter().find(|(_, text, _)| text.trim().is_empty()) {
        Some((place, _, message)) => Err(Refusal::body(place, format!("it is empty: {message}"))),
        None => Ok(()),
    }
}

fn done(id: AuditId) -> Asked {
    Ok(Answer(Done { id: id.to_string() }))
}
