//! The stream of a task's events. It is made of the task's history: what a listener hears of the engine only says when to look.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State as Has;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use http::header::CACHE_CONTROL;
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use steadfast::{Head, Task, TaskState};
use steadfast_client::wire::event::{CHANGE, END, ServerSent};
use steadfast_client::wire::task::{Change, Outcome};
use tokio::sync::OwnedSemaphorePermit;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::filter::look_up;
use crate::extract::{OfTask, Params};
use crate::hub::Watching;
use crate::map;
use crate::map::fold::{changes, submission};
use crate::problem::Refusal;
use crate::state::State;

/// After so many heartbeats without news a stream looks by itself: for what was written elsewhere, or was told while too much was.
const LOOK_AFTER: u32 = 2;
/// When a browser takes a stream up again that broke.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

pub(crate) fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new().routes(routes!(events))
}

/// What happens to a task, as it happens.
///
/// Server-sent events. Each `change` has the change as its data, and its revision as its `id`; whoever comes again with that as
/// `Last-Event-ID` misses nothing and gets nothing twice. When the task has come to rest, `end` says how, and the stream ends. One that is
/// taken up behind the end of a task at rest is answered 204, which tells browsers to stop.
#[utoipa::path(
    get,
    path = "/tasks/{id}/events",
    tag = "tasks",
    params(
        ("id" = String, Path, format = "uuid", description = "The id of the task"),
        ("Last-Event-ID" = Option<u64>, Header, description = "Where to go on: the `id` of the last event that came"),
        ("after" = Option<u64>, Query, description = "The same, for those who cannot set the header"),
    ),
    responses(
        (status = 200, description = "The stream: one such after another", body = ServerSent, content_type = "text/event-stream",
            example = json!({ "event": "change", "id": "3", "data": "{\"revision\":3,\"at\":\"2026-11-17T05:00:00Z\",\"state\":\"completed\"}" })),
        (status = 204, description = "The task is at rest, and there is nothing behind that place"),
    )
)]
async fn events(
    Has(state): Has<State>,
    OfTask(id): OfTask,
    mut params: Params,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let after = after(&mut params, &headers)?;
    params.done()?;
    let submitted_at = look_up(state.engine(), id).await?.submitted_at;
    let task = state.engine().any_task(id).await?;
    let place = state.place_to_stream()?;
    // Watched before it is read: whatever is written after that is told.
    let watching = state.hub().watch(id);
    let status = task.status().await?;
    let first = match after {
        None => Some(submission(submitted_at, &status, &task.history().await?)),
        Some(_) => None,
    };
    let names = status.steps.into_iter().map(|step| step.name).collect();
    let mut stream = Stream {
        state,
        task,
        names,
        after: after.unwrap_or(0),
        seen: 0,
        head: None,
        ready: first.into_iter().collect(),
        watching,
        quiet: 0,
        ending: Ending::No,
        _place: place,
    };
    stream.look().await?;
    if after.is_some() && stream.is_over() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let events = stream::unfold(stream, |mut stream| async move {
        let event = stream.next().await?;
        Some((Ok::<_, Infallible>(event), stream))
    });
    // Nobody in between may keep it, or wait for more of it.
    Ok(([(CACHE_CONTROL.as_str(), "no-store"), ("x-accel-buffering", "no")], Sse::new(events))
        .into_response())
}

/// Where to go on.
fn after(params: &mut Params, headers: &HeaderMap) -> Result<Option<u64>, Refusal> {
    let query = params.number("after")?;
    let Some(header) = headers.get("last-event-id") else { return Ok(query) };
    let read = header.to_str().ok().and_then(|text| text.parse::<i64>().ok());
    let read = read.and_then(|after| u64::try_from(after).ok());
    let bad = || {
        Refusal::query("after", "`Last-Event-ID` is no place in a task's history: expected a whole number")
    };
    read.map(Some).ok_or_else(bad)
}

/// A stream that somebody reads.
struct Stream {
    state: State,
    task: Task<Value>,
    names: Vec<String>,
    /// Behind this place changes are told.
    after: u64,
    /// Up to this place the history was read.
    seen: u64,
    /// The task as it was there, if anything was written of it.
    head: Option<Head>,
    ready: VecDeque<Change>,
    watching: Watching,
    /// Heartbeats since it was looked last.
    quiet: u32,
    ending: Ending,
    _place: OwnedSemaphorePermit,
}

enum Ending {
    No,
    /// The task is at rest, and that has to be told.
    Rested(Box<Outcome>),
    Told,
}

impl Stream {
    /// Whether there is nothing to tell but the end.
    fn is_over(&self) -> bool {
        self.ready.is_empty() && !matches!(self.ending, Ending::No)
    }

    /// Takes from the history what is new.
    async fn look(&mut self) -> Result<(), Refusal> {
        self.quiet = 0;
        // From the beginning once, since names of items follow from what the task was then; after that, what is new.
        let history = self.task.history_behind(self.seen).await?;
        self.ready.extend(changes(&history, self.head.as_ref(), self.after, &self.names));
        self.seen = history.last().map_or(self.seen, |last| last.revision);
        self.after = self.after.max(self.seen);
        if let Some(head) = history.into_iter().rev().find_map(|entry| entry.head) {
            self.head = Some(head);
        }
        let (state, ends_early) = match &self.head {
            Some(head) => (head.state, head.ending.is_some()),
            // Nothing was written since the submission, which may have been all of it.
            None => {
                let state = self.task.status().await?.state;
                (state, state != TaskState::Completed)
            }
        };
        if state.is_at_rest() {
            let reason = if ends_early { Some(self.task.status().await?.why) } else { None };
            let state = map::state::task(state);
            self.ending = Ending::Rested(Box::new(Outcome { state, result: None, reason }));
        }
        Ok(())
    }

    /// The next event; `None` when the stream is over.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(change) = self.ready.pop_front() {
                return Some(event(CHANGE, Some(change.revision), &change));
            }
            match std::mem::replace(&mut self.ending, Ending::No) {
                Ending::No => {}
                Ending::Rested(outcome) => {
                    self.ending = Ending::Told;
                    return Some(event(END, None, &*outcome));
                }
                Ending::Told => return None,
            }
            if self.state.is_stopping() {
                return None;
            }
            let heartbeat = self.state.limits().heartbeat;
            tokio::select! {
                () = self.watching.news() => {}
                () = self.state.stopped() => return None,
                () = self.state.clock().sleep(heartbeat) => {
                    self.quiet += 1;
                    if self.quiet < LOOK_AFTER {
                        return Some(Event::default().comment("still here").retry(AGAIN_AFTER));
                    }
                }
            }
            let looked_by_itself = self.quiet >= LOOK_AFTER;
            // Who reads it comes again, and is told by then.
            self.look().await.ok()?;
            if looked_by_itself && self.ready.is_empty() {
                return Some(Event::default().comment("still here").retry(AGAIN_AFTER));
            }
        }
    }
}

fn event(name: &str, id: Option<u64>, data: &impl serde::Serialize) -> Event {
    // Writing into memory fails for no value of these types, and what is written has no line breaks.
    let data = serde_json::to_string(data).unwrap_or_default();
    let event = Event::default().event(name).data(data);
    match id {
        Some(id) => event.id(id.to_string()),
        None => event,
    }
}
