//! Looking for tasks, and at one of them.

use std::time::Duration;

use serde_json::json;
use steadfast_client::wire::filter::{Filter, Paging};
use steadfast_client::wire::state::{StepState, TaskState};
use steadfast_client::wire::submit::Submit;

use crate::world::World;

const LONG: Duration = Duration::from_secs(30);
const UNKNOWN: &str = "0192f3a0-5b1c-7d2e-8f00-0123456789ab";

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_seen_with_its_steps_attempts_and_payloads() {
    let world = World::start().await;
    let failed =
        world.client.submit_and_wait(&Submit::new("charge", json!({ "order": 7 })), LONG).await.unwrap();
    let task = world.client.task(&failed.id, true).await.unwrap();
    assert_eq!((task.summary.state, task.input), (TaskState::Failed, Some(json!({ "order": 7 }))));
    let step = &task.steps[0];
    assert_eq!((step.name.as_str(), step.state, step.attempt), ("charge", StepState::Failed, 1));
    assert_eq!(step.attempts.len(), 1);
    assert_eq!(step.attempts[0].failure.as_deref(), Some("no-account: none there"));
    assert!(step.attempts[0].ended_at.is_some() && task.ended_at.is_some());
    let reason = task.outcome.unwrap().reason.unwrap();
    assert_eq!(reason, "step `charge` failed: no-account: none there");
    let bare = world.client.task(&failed.id, false).await.unwrap();
    assert_eq!((bare.input, bare.steps[0].output.as_ref()), (None, None));

    let done = world.client.submit_and_wait(&Submit::new("echo", json!([1])), LONG).await.unwrap();
    let task = world.client.task(&done.id, true).await.unwrap();
    assert_eq!(task.steps[0].output, Some(json!([1])));
    assert_eq!(task.outcome.unwrap().result, Some(json!([1])));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_are_found_by_every_filter() {
    let world = World::start().await;
    let mut labelled = Submit::new("charge", json!("needle")).key("order-7").label("team", "shop");
    labelled.namespace = Some("north".to_owned());
    let wanted = world.client.submit_and_wait(&labelled, LONG).await.unwrap().id;
    world.client.submit_and_wait(&Submit::new("echo", json!("hay")), LONG).await.unwrap();
    let text = |text: &str| Some(text.to_owned());
    let nothing = Filter::default;
    let good = [
        Filter { states: vec![TaskState::Failed, TaskState::Paused], ..nothing() },
        Filter { workflow: text("charge"), ..nothing() },
        Filter { namespace: text("north"), ..nothing() },
        Filter { key: text("order-7"), ..nothing() },
        Filter { service: text("bank"), ..nothing() },
        Filter { reason: text("NO-ACCOUNT"), ..nothing() },
        Filter { text: text("needle"), ..nothing() },
        Filter { labels: [("team".to_owned(), "shop".to_owned())].into(), ..nothing() },
    ];
    for filter in good {
        let found = world.client.tasks(&filter, &Paging::default()).await.unwrap();
        let ids: Vec<_> = found.tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, [wanted.as_str()], "{filter:?}");
    }
    let none = [
        Filter { parked_on: text("bank"), ..nothing() },
        Filter { older_than_ms: Some(3_600_000), ..nothing() },
        Filter { from: text("2126-01-01T00:00:00Z"), ..nothing() },
        Filter { parent: text(UNKNOWN), ..nothing() },
        Filter { states: vec![TaskState::Undone], ..nothing() },
    ];
    for filter in none {
        let found = world.client.tasks(&filter, &Paging::default()).await.unwrap();
        assert_eq!(found.tasks.len(), 0, "{filter:?}");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_follow_each_other_without_gap_or_double() {
    let world = World::start().await;
    let tasks = (0..25).map(|number| Submit::new("echo", json!(number))).collect();
    let batched = world.client.submit_batch(tasks).await.unwrap();
    let mut all: Vec<_> = batched.tasks.into_iter().filter_map(|task| task.id).collect();
    let mut page = Paging { limit: Some(7), cursor: None };
    let filter = Filter { workflow: Some("echo".to_owned()), ..Filter::default() };
    let mut found = Vec::new();
    loop {
        let listed = world.client.tasks(&filter, &page).await.unwrap();
        assert!(listed.tasks.len() <= 7);
        found.extend(listed.tasks.into_iter().map(|task| task.id));
        match listed.cursor {
            Some(cursor) => page.cursor = Some(cursor),
            None => break,
        }
    }
    found.sort();
    all.sort();
    assert_eq!(found, all);
    let other = world.client.tasks(&Filter::default(), &page).await.unwrap_err();
    assert_eq!((other.code(), other.problem().unwrap().status), (Some("SF552"), 400));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn why_and_history_say_what_a_task_waits_for() {
    let world = World::start().await;
    let id = world.client.submit(&Submit::new("approve", json!(null))).await.unwrap().id;
    let mut events = world.client.events(&id, None);
    let waiting = loop {
        let why = world.client.why(&id).await.unwrap();
        match why.held.iter().find(|held| held.on == "signal") {
            Some(held) => break held.clone(),
            None => drop(events.next().await.unwrap()),
        }
    };
    assert_eq!((waiting.signal.as_deref(), waiting.change.as_str()), (Some("approval"), "signal"));
    assert_eq!(waiting.step.as_deref(), Some("approval"));
    let history = world.client.history(&id, None, None).await.unwrap();
    assert!(history.changes.windows(2).all(|two| two[0].revision < two[1].revision));
    let first = world.client.history(&id, None, Some(1)).await.unwrap();
    assert_eq!(first.changes, history.changes[..1]);
    let rest =
        world.client.history(&id, first.after.or(Some(first.changes[0].revision)), None).await.unwrap();
    assert_eq!(rest.changes, history.changes[1..]);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn children_are_found_by_their_parent() {
    let world = World::start().await;
    let parent = world.client.submit_and_wait(&Submit::new("parent", json!({ "a": 1 })), LONG).await.unwrap();
    let children = world.client.children(&parent.id, &Paging::default()).await.unwrap();
    assert_eq!(children.tasks.len(), 1);
    assert_eq!(children.tasks[0].parent.as_ref(), Some(&parent.id));
    let child = world.client.task(&children.tasks[0].id, true).await.unwrap();
    assert_eq!(child.input, Some(json!({ "a": 1 })));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_does_not_exist_is_told_of_everywhere() {
    let world = World::start().await;
    let client = &world.client;
    let told = [
        client.task(UNKNOWN, false).await.err(),
        client.why(UNKNOWN).await.err(),
        client.history(UNKNOWN, None, None).await.err(),
        client.children(UNKNOWN, &Paging::default()).await.err(),
        client.events(UNKNOWN, None).next().await.err(),
        client.task("ffffffff-ffff-ffff-ffff-ffffffffffff", false).await.err(),
    ];
    for error in told {
        let error = error.unwrap();
        assert_eq!((error.code(), error.problem().unwrap().status), (Some("SF408"), 404));
    }
    let bad = client.task("seven", false).await.unwrap_err();
    assert_eq!((bad.code(), bad.problem().unwrap().errors[0].place.as_str()), (Some("SF541"), "path.id"));
    world.end().await;
}
