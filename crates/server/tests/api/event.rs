//! Streams of events: resumed without a gap, ended with the task, cut off by the end of the server.

use std::time::Duration;

use serde_json::json;
use steadfast_client::wire::event::Event;
use steadfast_client::wire::state::TaskState;
use steadfast_client::wire::submit::{Signal, Submit};
use steadfast_server::Limits;

use crate::raw::Wire;
use crate::world::World;

/// Reads a stream to its end: the revisions of its changes, and how the task has ended.
async fn read(mut events: steadfast_client::Events) -> (Vec<u64>, Option<TaskState>) {
    let (mut revisions, mut ended) = (Vec::new(), None);
    while let Some(event) = events.next().await.unwrap() {
        match event {
            Event::Changed(change) => revisions.push(change.revision),
            Event::Ended(outcome) => ended = Some(outcome.state),
            other => panic!("{other:?}"),
        }
    }
    (revisions, ended)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_taken_up_anywhere_has_no_gap_and_no_double() {
    let world = World::start().await;
    let id = world.client.submit(&Submit::new("hold", json!(null))).await.unwrap().id;
    let mut live = world.client.events(&id, None);
    let mut seen = Vec::new();
    // In the middle of it: until the signal is waited for.
    loop {
        match live.next().await.unwrap().unwrap() {
            Event::Changed(change) => {
                seen.push(change.revision);
                if change.steps.iter().any(|step| step.step == "go" && step.state.as_str() == "waiting") {
                    break;
                }
            }
            other => panic!("{other:?}"),
        }
    }
    let place = live.place();
    drop(live);
    let resumed = tokio::spawn(read(world.client.events(&id, place)));
    let signal = Signal { name: "go".to_owned(), says: json!("on"), id: None };
    world.client.signal(&id, &signal).await.unwrap();
    let (rest, ended) = resumed.await.unwrap();
    assert_eq!(ended, Some(TaskState::Completed));
    seen.extend(rest);
    let history = world.client.history(&id, None, None).await.unwrap();
    let all: Vec<_> = history.changes.iter().map(|change| change.revision).collect();
    assert_eq!(seen, all);
    for (number, revision) in all.iter().enumerate() {
        let (rest, ended) = read(world.client.events(&id, Some(*revision))).await;
        assert_eq!(rest, all[number + 1..], "behind {revision}");
        // Behind the last change there is nothing to tell: 204.
        assert_eq!(ended.is_some(), number + 1 < all.len());
    }
    world.end().await;
}

/// Nothing is written of it after its submission.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_ends_with_its_submission_has_its_end_told() {
    let world = World::start().await;
    let id = world.client.submit(&Submit::new("maybe", json!(false))).await.unwrap().id;
    assert_eq!(read(world.client.events(&id, None)).await, (vec![0], Some(TaskState::Completed)));
    assert_eq!(read(world.client.events(&id, Some(0))).await, (vec![], None), "204");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_streams_of_many_tasks_each_hear_of_their_own() {
    let world = World::start().await;
    let tasks = vec![Submit::new("approve", json!(null)); 20];
    let batched = world.client.submit_batch(tasks).await.unwrap();
    let ids: Vec<_> = batched.tasks.into_iter().filter_map(|task| task.id).collect();
    let streams: Vec<_> =
        ids.iter().cycle().take(100).map(|id| tokio::spawn(read(world.client.events(id, None)))).collect();
    for id in &ids {
        let signal = Signal { name: "approval".to_owned(), says: json!(id), id: None };
        world.client.signal(id, &signal).await.unwrap();
    }
    for stream in streams {
        let (revisions, ended) = stream.await.unwrap();
        assert_eq!(ended, Some(TaskState::Completed));
        assert!(revisions.windows(2).all(|two| two[0] < two[1]), "{revisions:?}");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quiet_stream_says_that_it_lives_and_ends_with_the_server() {
    let mut limits = Limits::default();
    limits.heartbeat = Duration::from_millis(20);
    let world = World::with(limits).await;
    let id = world.client.submit(&Submit::new("approve", json!(null))).await.unwrap().id;
    let mut wire = Wire::open(world.address).await;
    wire.send(format!("GET /api/v1/tasks/{id}/events HTTP/1.1\r\nhost: localhost\r\n\r\n")).await;
    let text = wire.until(|text| text.matches(": still here").count() >= 3).await;
    assert!(text.contains("text/event-stream") && text.contains("event: change"), "{text}");
    let (stop, door, engine) = (world.stop, world.door, world.engine);
    stop.send(true).unwrap();
    // It ends by itself: the server need not wait for its grace.
    let rest = wire.rest().await;
    assert!(rest.ends_with("0\r\n\r\n"), "{rest:?}");
    door.await.unwrap().unwrap();
    engine.shut_down().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_stream_too_many_is_refused() {
    let mut limits = Limits::default();
    limits.most_streams = 1;
    let world = World::with(limits).await;
    let id = world.client.submit(&Submit::new("approve", json!(null))).await.unwrap().id;
    let mut first = world.client.events(&id, None);
    first.next().await.unwrap();
    let refused = world.client.events(&id, None).next().await.unwrap_err();
    assert_eq!((refused.code(), refused.is_transient()), (Some("SF546"), true));
    assert!(refused.retry_after().is_some());
    world.end().await;
}
