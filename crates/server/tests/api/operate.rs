//! Every action of an operator, good and refused.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use steadfast_client::wire::ask::{Ask, Deadline, Label, Retry, RetryUndo, Skip, TakeAsUndone};
use steadfast_client::wire::audit::AuditFilter;
use steadfast_client::wire::filter::Paging;
use steadfast_client::wire::state::TaskState;
use steadfast_client::wire::submit::{Signal, Submit};
use steadfast_client::{Client, Error};

use crate::world::World;

const LONG: Duration = Duration::from_secs(30);

fn by() -> String {
    "ana@shop".to_owned()
}

fn because() -> String {
    "ticket 311".to_owned()
}

fn ask() -> Ask {
    Ask::new(by(), because())
}

/// Waits until a task is at rest.
async fn rest(client: &Client, id: &str) -> TaskState {
    let mut events = client.events(id, None);
    while events.next().await.unwrap().is_some() {}
    client.task(id, false).await.unwrap().summary.state
}

async fn failed(world: &World) -> String {
    let task =
        world.client.submit_and_wait(&Submit::new("charge", json!({ "order": 7 })), LONG).await.unwrap();
    assert_eq!(task.outcome.unwrap().state, TaskState::Failed);
    task.id
}

/// A task of `hold` that waits for its signal.
async fn holding(world: &World) -> String {
    let id = world.client.submit(&Submit::new("hold", json!(null))).await.unwrap().id;
    let mut events = world.client.events(&id, None);
    while !world.client.why(&id).await.unwrap().held.iter().any(|held| held.on == "signal") {
        events.next().await.unwrap();
    }
    id
}

fn is_refused(error: &Error, code: &str) {
    assert_eq!((error.code(), error.problem().unwrap().status), (Some(code), 409), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_step_is_made_again() {
    let world = World::start().await;
    let id = failed(&world).await;
    world.script.mended.store(true, Ordering::SeqCst);
    let retry = Retry { by: by(), because: because(), step: "charge".to_owned(), ..Retry::default() };
    let unknown = Retry { step: "pay".to_owned(), ..retry.clone() };
    is_refused(&world.client.retry(&id, &unknown).await.unwrap_err(), "SF414");
    let asked = "0192f3a0-5b1c-7d2e-8f00-000000000007".to_owned();
    let retry = Retry { id: Some(asked.clone()), ..retry };
    assert_eq!(world.client.retry(&id, &retry).await.unwrap().id, asked);
    assert_eq!(rest(&world.client, &id).await, TaskState::Completed);
    // Asked again under the same id it is done once.
    assert_eq!(world.client.retry(&id, &retry).await.unwrap().id, asked);
    assert_eq!(world.client.task(&id, false).await.unwrap().steps[0].attempt, 2);
    let log = AuditFilter { task: Some(id), action: Some("retry".to_owned()), ..AuditFilter::default() };
    let log = world.client.audit(&log, &Paging::default()).await.unwrap();
    let done: Vec<_> = log.audits.iter().filter(|entry| entry.refused.is_none()).collect();
    assert_eq!(done.len(), 1);
    assert_eq!(
        (done[0].id.as_str(), done[0].by.as_str(), done[0].because.as_str()),
        (asked.as_str(), "ana@shop", "ticket 311")
    );
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_step_gets_another_input_or_is_skipped() {
    let world = World::start().await;
    let edited = failed(&world).await;
    let input = Some(json!({ "good": true }));
    let retry = Retry { by: by(), because: because(), step: "charge".to_owned(), input, ..Retry::default() };
    world.client.retry(&edited, &retry).await.unwrap();
    assert_eq!(rest(&world.client, &edited).await, TaskState::Completed);
    let skipped = failed(&world).await;
    let skip = Skip {
        by: by(),
        because: because(),
        step: "charge".to_owned(),
        output: Some(json!("cash")),
        happened: true,
        ..Skip::default()
    };
    world.client.skip(&skipped, &skip).await.unwrap();
    assert_eq!(rest(&world.client, &skipped).await, TaskState::Completed);
    let task = world.client.task(&skipped, true).await.unwrap();
    assert_eq!(task.outcome.unwrap().result, Some(json!("cash")));
    is_refused(&world.client.skip(&skipped, &skip).await.unwrap_err(), "SF409");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_paused_and_resumed() {
    let world = World::start().await;
    let id = holding(&world).await;
    world.client.pause(&id, &ask()).await.unwrap();
    let paused = world.client.task(&id, false).await.unwrap();
    assert_eq!(paused.summary.state, TaskState::Paused);
    assert_eq!(paused.paused.unwrap().by, "ana@shop");
    is_refused(&world.client.pause(&id, &ask()).await.unwrap_err(), "SF414");
    world.client.resume(&id, &ask()).await.unwrap();
    is_refused(&world.client.resume(&id, &ask()).await.unwrap_err(), "SF414");
    let go = Signal { name: "go".to_owned(), says: json!(1), id: None };
    world.client.signal(&id, &go).await.unwrap();
    assert_eq!(rest(&world.client, &id).await, TaskState::Completed);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_cancelled_and_a_completed_one_undone() {
    let world = World::start().await;
    world.script.undoable.store(true, Ordering::SeqCst);
    let cancelled = holding(&world).await;
    world.client.cancel(&cancelled, &ask()).await.unwrap();
    assert_eq!(rest(&world.client, &cancelled).await, TaskState::Undone);
    let task = world.client.task(&cancelled, false).await.unwrap();
    assert!(task.steps[0].attempts.iter().any(|attempt| attempt.undo), "{:?}", task.steps[0]);
    is_refused(&world.client.cancel(&cancelled, &ask()).await.unwrap_err(), "SF409");
    let completed = holding(&world).await;
    let go = Signal { name: "go".to_owned(), ..Signal::default() };
    world.client.signal(&completed, &go).await.unwrap();
    assert_eq!(rest(&world.client, &completed).await, TaskState::Completed);
    is_refused(&world.client.cancel(&completed, &ask()).await.unwrap_err(), "SF409");
    let place = world.client.task(&completed, false).await.unwrap().revision;
    world.client.undo(&completed, &ask()).await.unwrap();
    let mut events = world.client.events(&completed, Some(place));
    while events.next().await.unwrap().is_some() {}
    assert_eq!(world.client.task(&completed, false).await.unwrap().summary.state, TaskState::Undone);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stuck_undo_is_tried_again_or_taken_as_done() {
    let world = World::start().await;
    let (again, taken) = (holding(&world).await, holding(&world).await);
    for id in [&again, &taken] {
        world.client.cancel(id, &ask()).await.unwrap();
        assert_eq!(rest(&world.client, id).await, TaskState::Failed);
        let why = world.client.why(id).await.unwrap();
        assert_eq!(why.held[0].on, "stuck");
    }
    let step = "hold".to_owned();
    let take = TakeAsUndone { by: by(), because: because(), step: step.clone(), id: None };
    world.client.take_as_undone(&taken, &take).await.unwrap();
    assert_eq!(rest(&world.client, &taken).await, TaskState::Undone);
    world.script.undoable.store(true, Ordering::SeqCst);
    let retry = RetryUndo { by: by(), because: because(), step, ..RetryUndo::default() };
    let place = world.client.task(&again, false).await.unwrap().revision;
    world.client.retry_undo(&again, &retry).await.unwrap();
    let mut events = world.client.events(&again, Some(place));
    while events.next().await.unwrap().is_some() {}
    assert_eq!(world.client.task(&again, false).await.unwrap().summary.state, TaskState::Undone);
    is_refused(&world.client.retry_undo(&taken, &retry).await.unwrap_err(), "SF409");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deadlines_and_labels_are_changed() {
    let world = World::start().await;
    let id = holding(&world).await;
    let at =
        |at: Option<&str>| Deadline { by: by(), because: because(), id: None, at: at.map(str::to_owned) };
    world.client.deadline(&id, &at(Some("2126-01-01T00:00:00Z"))).await.unwrap();
    assert_eq!(
        world.client.task(&id, false).await.unwrap().deadline.as_deref(),
        Some("2126-01-01T00:00:00Z")
    );
    world.client.deadline(&id, &at(None)).await.unwrap();
    assert_eq!(world.client.task(&id, false).await.unwrap().deadline, None);
    let bad = world.client.deadline(&id, &at(Some("soon"))).await.unwrap_err();
    assert_eq!(bad.problem().unwrap().errors[0].place, "body.at");

    let labels = |labels: &[(&str, Option<&str>)]| Label {
        by: by(),
        because: because(),
        id: None,
        labels: labels.iter().map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned))).collect(),
    };
    world.client.label(&id, &labels(&[("case", Some("311")), ("team", Some("shop"))])).await.unwrap();
    world.client.label(&id, &labels(&[("case", None), ("team", Some("bank"))])).await.unwrap();
    let task = world.client.task(&id, false).await.unwrap();
    assert_eq!(task.summary.labels.into_iter().collect::<Vec<_>>(), [("team".to_owned(), "bank".to_owned())]);
    for bad in [labels(&[]), labels(&[("ok", None), ("a b", Some("x"))])] {
        let refused = world.client.label(&id, &bad).await.unwrap_err();
        assert_eq!((refused.code(), refused.problem().unwrap().status), (Some("SF540"), 422), "{refused}");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_asks_without_a_name_and_a_reason() {
    let world = World::start().await;
    let id = holding(&world).await;
    for (ask, place) in [(Ask::new(" ", "x"), "body.by"), (Ask::new("ana", ""), "body.because")] {
        let refused = world.client.pause(&id, &ask).await.unwrap_err();
        let problem = refused.problem().unwrap();
        assert_eq!((problem.status, problem.errors[0].place.as_str()), (422, place));
    }
    let bad = Ask { id: Some("seven".to_owned()), ..ask() };
    let refused = world.client.pause(&id, &bad).await.unwrap_err();
    assert_eq!(refused.problem().unwrap().errors[0].place, "body.id");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_has_pages_and_filters() {
    let world = World::start().await;
    let id = holding(&world).await;
    for number in 0..6 {
        let ask = Ask::new(if number % 2 == 0 { "ana" } else { "ben" }, format!("reason {number}"));
        match number % 2 {
            0 => world.client.pause(&id, &ask).await.unwrap(),
            _ => world.client.resume(&id, &ask).await.unwrap(),
        };
    }
    let all = world.client.audit(&AuditFilter::default(), &Paging::default()).await.unwrap();
    assert_eq!((all.audits.len(), all.cursor), (6, None));
    let by_ana = AuditFilter { by: Some("ana".to_owned()), ..AuditFilter::default() };
    let mut page = Paging { limit: Some(2), cursor: None };
    let first = world.client.audit(&by_ana, &page).await.unwrap();
    page.cursor = first.cursor;
    let second = world.client.audit(&by_ana, &page).await.unwrap();
    let reasons: Vec<_> = first.audits.iter().chain(&second.audits).map(|one| one.because.as_str()).collect();
    assert_eq!(reasons, ["reason 4", "reason 2", "reason 0"]);
    let other = world.client.audit(&AuditFilter::default(), &page).await.unwrap_err();
    assert_eq!(other.code(), Some("SF552"));
    world.end().await;
}
