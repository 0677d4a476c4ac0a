//! Handing work in: one task, many, and signals to those that wait.

use std::future::IntoFuture as _;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Request, State as Has};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use futures_util::stream;
use http::header::LOCATION;
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use steadfast::{ReplyTo, Task, Trace};
use steadfast_client::wire::submit::{Batch, Batched, BatchedTask, Signal, Submit, Submitted};
use tracing::Instrument as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::code::Code;
use crate::extract::{Json, OfTask, Params, read_json};
use crate::guard::Slot;
use crate::map;
use crate::problem::Refusal;
use crate::span::time;
use crate::state::State;
use crate::trace;

/// The most tasks of a batch: one commit of the store takes about as many.
pub(crate) const MOST_IN_BATCH: usize = 1_000;
/// How many tasks of a batch are handed to the engine at a time: enough to fill a commit, and no more than others need places.
const AT_A_TIME: usize = 64;
/// Says which submission it is, as the body does.
const KEY: &str = "idempotency-key";

pub(crate) fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new().routes(routes!(submit)).routes(routes!(submit_batch)).routes(routes!(signal))
}

/// Submits a task.
///
/// When it is answered, the task is stored and will be worked on, whatever happens. Under a key that was used before, for the same
/// input, the first task is given back.
#[utoipa::path(
    post,
    path = "/tasks",
    tag = "tasks",
    params(
        ("wait" = Option<String>, Query, description = "Waits for the end of the task, at most so long, such as `30s`",
            pattern = "^[0-9]+(ms|s|m|h|d)$", example = "30s"),
        ("Idempotency-Key" = Option<String>, Header, description = "The key, if the body has none"),
        ("traceparent" = Option<String>, Header, description = "The trace that the task belongs to, as W3C Trace Context has it: each call of \
            its steps goes out in it. What makes no sense is left out"),
        ("tracestate" = Option<String>, Header, description = "What belongs to the trace"),
    ),
    request_body = Submit,
    responses(
        (status = 200, description = "It has ended: this is how", body = Submitted),
        (status = 202, description = "It is stored and will be worked on", body = Submitted),
    )
)]
async fn submit(
    Has(state): Has<State>,
    Extension(slot): Extension<Slot>,
    mut params: Params,
    headers: HeaderMap,
    Json(body): Json<Submit>,
) -> Result<Response, Refusal> {
    let wait = params.span("wait")?;
    params.done()?;
    let body = under_header(body, &headers)?;
    let task = {
        let _place = state.place_to_submit(1)?;
        store(&state, body, trace_of(&headers)).await?
    };
    let id = task.id().to_string();
    let outcome = match wait {
        Some(wait) => ended(&state, &slot, &task, wait).await?,
        None => None,
    };
    let status = if outcome.is_some() { StatusCode::OK } else { StatusCode::ACCEPTED };
    let place = [(LOCATION, format!("/api/v1/tasks/{id}"))];
    Ok((status, place, axum::Json(Submitted { id, outcome })).into_response())
}

/// Submits many tasks.
///
/// Each is stored or refused for itself, and answered in its place. At most 1000 at a time, in at most 8 MiB.
#[utoipa::path(
    post,
    path = "/tasks/batch",
    tag = "tasks",
    params(
        ("traceparent" = Option<String>, Header, description = "The trace that all of them belong to, as W3C Trace Context has it"),
        ("tracestate" = Option<String>, Header, description = "What belongs to the trace"),
    ),
    request_body = Batch,
    responses((status = 200, description = "What became of each", body = Batched))
)]
async fn submit_batch(
    Has(state): Has<State>,
    params: Params,
    request: Request,
) -> Result<axum::Json<Batched>, Refusal> {
    params.done()?;
    let trace = trace_of(request.headers());
    let batch: Batch = read_json(request, &state, state.limits().batch_body).await?;
    match batch.tasks.len() {
        0 => return Err(Refusal::body("tasks", "there is none: send at least one")),
        many if many > MOST_IN_BATCH => {
            let message = format!("there are {many}, at most {MOST_IN_BATCH} are taken at a time");
            return Err(Refusal::body("tasks", message));
        }
        _ => {}
    }
    let _places = state.place_to_submit(batch.tasks.len())?;
    let each =
        batch.tasks.into_iter().enumerate().map(|(place, task)| batched(&state, place, task, trace.clone()));
    let tasks: Vec<BatchedTask> = stream::iter(each).buffered(AT_A_TIME).collect().await;
    let stored = tasks.iter().filter(|task| task.id.is_some()).count();
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let refused = count(tasks.len() - stored);
    Ok(axum::Json(Batched { tasks, stored: count(stored), refused }))
}

async fn batched(state: &State, place: usize, task: Submit, trace: Option<Trace>) -> BatchedTask {
    match store(state, task, trace).await {
        Ok(task) => BatchedTask { id: Some(task.id().to_string()), problem: None },
        Err(refusal) => {
            let problem = refusal.inside(&format!("body.tasks[{place}]")).into_problem();
            BatchedTask { id: None, problem: Some(problem) }
        }
    }
}

/// Sends a signal to a task.
///
/// A step that waits for one of this name goes on, and what the signal says is its output. One that comes before that step has its
/// turn is kept for it.
#[utoipa::path(
    post,
    path = "/tasks/{id}/signals",
    tag = "tasks",
    params(("id" = String, Path, format = "uuid", description = "The id of the task")),
    request_body = Signal,
    responses((status = 204, description = "It is stored and will be acted on"))
)]
async fn signal(
    Has(state): Has<State>,
    OfTask(id): OfTask,
    params: Params,
    Json(body): Json<Signal>,
) -> Result<StatusCode, Refusal> {
    params.done()?;
    if body.name.is_empty() {
        return Err(Refusal::body("name", "it is empty: say which signal"));
    }
    let signal = state.engine().signal(id, &body.name, &body.says);
    match body.id {
        Some(id) => signal.id(id).await?,
        None => signal.await?,
    }
    Ok(StatusCode::NO_CONTENT)
}

/// A submission with the key of the header, if the body has none.
fn under_header(mut body: Submit, headers: &HeaderMap) -> Result<Submit, Refusal> {
    let Some(header) = headers.get(KEY) else { return Ok(body) };
    let wrong = |status, code, message: &str| {
        Refusal::new(status, code, format!("`header.idempotency-key`: {message}"))
    };
    let Ok(key) = header.to_str() else {
        return Err(wrong(
            StatusCode::BAD_REQUEST,
            Code::BadQuery,
            "expected letters, digits and signs of ASCII",
        ));
    };
    match &body.key {
        Some(own) if own != key => {
            let message = "it is another key than that of the body: say one of them, or the same twice";
            return Err(wrong(StatusCode::CONFLICT, Code::Conflict, message));
        }
        _ => body.key = Some(key.to_owned()),
    }
    Ok(body)
}

/// Has the engine store a task.
async fn store(state: &State, body: Submit, trace: Option<Trace>) -> Result<Task<Value>, Refusal> {
    let workflow = known_workflow(state, &body.workflow, body.version)?;
    workflow.check_input(&body.input)?;
    let mut submit = state.engine().submit(&workflow, &body.input);
    if let Some(key) = body.key {
        submit = submit.key(key);
    }
    if let Some(namespace) = body.namespace {
        submit = submit.namespace(&namespace);
    }
    if let Some(priority) = body.priority {
        submit = submit.priority(priority);
    }
    for (name, value) in &body.labels {
        submit = submit.label(name, value);
    }
    submit = match (body.start_at, body.start_after_ms) {
        (Some(_), Some(_)) => {
            return Err(Refusal::body("start_after_ms", "there is a `start_at` too: say one of them"));
        }
        (Some(at), None) => submit.start_at(time(&at).map_err(|why| Refusal::body("start_at", why))?),
        (None, Some(after)) => submit.start_after(Duration::from_millis(after)),
        (None, None) => submit,
    };
    if let Some(to) = body.reply_to {
        let to: ReplyTo = to.parse().map_err(|error| Refusal::body("reply_to", format!("{error}")))?;
        submit = submit.reply_to(to);
    }
    if let Some(correlation) = body.correlation {
        submit = submit.correlation(correlation);
    }
    let (span, trace) = trace::of_submission(trace, workflow.name());
    if let Some(trace) = trace {
        submit = submit.trace(trace);
    }
    Ok(submit.into_future().instrument(span).await?)
}

/// The trace that a request belongs to. What makes no sense is none: nobody is refused for it.
fn trace_of(headers: &HeaderMap) -> Option<Trace> {
    let mut parents = headers.get_all("traceparent").iter();
    let (parent, none) = (parents.next()?.to_str().ok()?, parents.next());
    let states: Vec<_> =
        headers.get_all("tracestate").iter().filter_map(|value| value.to_str().ok()).collect();
    none.is_none().then(|| Trace::read(parent, Some(&states.join(","))))?
}

/// A workflow that the house knows.
pub(crate) fn known_workflow(
    state: &State,
    name: &str,
    version: Option<u32>,
) -> Result<steadfast::Workflow<Value, Value>, Refusal> {
    state.house().workflow(name, version).ok_or_else(|| super::workflow::unknown(state, name, version))
}

/// Waits for the end of a task, at most so long. Meanwhile the request has no place among those that are worked on; where too many
/// wait already it does not wait.
async fn ended(
    state: &State,
    slot: &Slot,
    task: &Task<Value>,
    wait: Duration,
) -> Result<Option<steadfast_client::wire::task::Outcome>, Refusal> {
    let Some(_place) = state.place_to_wait() else { return Ok(None) };
    slot.leave();
    tokio::select! {
        outcome = task.outcome() => Ok(Some(map::task::outcome(outcome?))),
        () = state.clock().sleep(wait.min(state.limits().longest_wait)) => Ok(None),
        // The task goes on when a server is there again.
        () = state.stopped() => Ok(None),
    }
}
