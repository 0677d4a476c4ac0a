//! Too much at a time: refused with when to come again, and what was accepted is done.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use steadfast_client::Client;
use steadfast_client::wire::filter::{Filter, Paging};
use steadfast_client::wire::state::TaskState;
use steadfast_client::wire::submit::{Submit, Submitted};
use steadfast_server::Limits;

use crate::raw::Wire;
use crate::world::World;

const BODY: &str = r#"{"workflow": "echo", "input": 1}"#;

/// A request whose head has come and whose body has not: it has a place.
async fn begun(world: &World) -> Wire {
    let mut wire = Wire::open(world.address).await;
    let length = BODY.len();
    wire.send(format!(
        "POST /api/v1/tasks?wait=30s HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nexpect: 100-continue\r\n\
         content-length: {length}\r\n\r\n"
    ))
    .await;
    // The server asks for the body when somebody reads it.
    wire.until(|text| text.contains("100 Continue")).await;
    wire
}

#[tokio::test(flavor = "multi_thread")]
async fn one_request_too_many_is_told_when_to_come_again_and_the_others_are_done() {
    let mut limits = Limits::default();
    limits.most_in_flight = 2;
    let world = World::with(limits).await;
    let (mut first, mut second) = (begun(&world).await, begun(&world).await);
    let refused = world.client.submit(&Submit::new("echo", json!(2))).await.unwrap_err();
    let problem = refused.problem().unwrap();
    assert_eq!((problem.status, problem.code.as_str(), problem.transient), (429, "SF546", true));
    assert_eq!(refused.retry_after(), Some(Duration::from_secs(1)));
    // Whether it lives can still be asked.
    world.client.is_alive().await.unwrap();
    world.client.is_ready().await.unwrap();
    for wire in [&mut first, &mut second] {
        wire.send(BODY).await;
        let answer = wire.answer().await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.body.contains(r#""state":"completed""#), "{answer:?}");
    }
    let listed = world.client.tasks(&Filter::default(), &Paging::default()).await.unwrap();
    assert_eq!(listed.tasks.len(), 2, "what was refused is not stored");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_submissions_loses_nothing_that_was_accepted() {
    let mut limits = Limits::default();
    limits.most_in_flight = 2;
    let world = World::with(limits).await;
    let (held, mut first) = (begun(&world).await, begun(&world).await);
    let (mut accepted, mut refused) = (Vec::new(), 0);
    // All places are taken in the first rounds; then one is left.
    for round in 0..50 {
        if round == 20 {
            first.send(BODY).await;
            assert_eq!(first.answer().await.status, 200);
        }
        let at_once = (0..10).map(|_| {
            let client = world.client.clone();
            tokio::spawn(async move { client.submit(&Submit::new("echo", json!(round))).await })
        });
        for one in at_once.collect::<Vec<_>>() {
            match one.await.unwrap() {
                Ok(task) => accepted.push(task.id),
                Err(error) => {
                    assert_eq!((error.code(), error.is_transient()), (Some("SF546"), true), "{error}");
                    refused += 1;
                }
            }
        }
    }
    drop(held);
    assert!(refused >= 200 && accepted.len() >= 30, "{refused} refused, {} accepted", accepted.len());
    for id in &accepted {
        let mut events = world.client.events(id, None);
        while events.next().await.unwrap().is_some() {}
        assert_eq!(world.client.task(id, false).await.unwrap().summary.state, TaskState::Completed);
    }
    let all =
        world.client.tasks(&Filter::default(), &Paging { limit: Some(1_000), cursor: None }).await.unwrap();
    assert_eq!(all.tasks.len(), accepted.len() + 1, "and the first");
    world.end().await;
}

/// Submits one that waits, until there is a place: who comes while another one has the only one is told to come again.
async fn gated(client: Client) -> Submitted {
    loop {
        match client.submit_and_wait(&Submit::new("gated", json!(1)), Duration::from_secs(30)).await {
            Ok(submitted) => return submitted,
            Err(error) => assert_eq!(error.code(), Some("SF546")),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn those_who_wait_take_no_place_from_others() {
    let mut limits = Limits::default();
    (limits.most_in_flight, limits.most_waiting) = (1, 1);
    let world = World::with(limits).await;
    let waiting = tokio::spawn(gated(world.client.clone()));
    // Once it is stored it waits, and its place is free.
    let listed = loop {
        match world.client.tasks(&Filter::default(), &Paging::default()).await {
            Ok(listed) if !listed.tasks.is_empty() => break listed,
            Ok(_) => tokio::task::yield_now().await,
            Err(error) => assert_eq!(error.code(), Some("SF546")),
        }
    };
    assert_eq!(listed.tasks.len(), 1);
    // There is no second place to wait: it is answered at once, and stored.
    let second = gated(world.client.clone()).await;
    assert_eq!(second.outcome, None);
    world.script.gate.notify_one();
    world.script.gate.notify_one();
    let mut events = world.client.events(&second.id, None);
    while events.next().await.unwrap().is_some() {}
    assert_eq!(waiting.await.unwrap().outcome.unwrap().state, TaskState::Completed);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_for_which_there_is_no_room_is_refused_as_a_whole() {
    let mut limits = Limits::default();
    limits.most_submitting = 0;
    let world = World::with(limits).await;
    let refused = world.client.submit(&Submit::new("echo", json!(1))).await.unwrap_err();
    assert_eq!((refused.code(), refused.is_transient()), (Some("SF546"), true));
    assert!(refused.to_string().contains("submissions wait for the store"), "{refused}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_takes_too_long_is_answered() {
    let mut limits = Limits::default();
    limits.request_within = Duration::from_millis(50);
    let world = World::with(limits).await;
    let mut wire = begun_without_wait(&world).await;
    let answer = wire.answer().await;
    assert_eq!((answer.status, answer.code().as_str()), (504, "SF547"), "{answer:?}");
    world.end().await;
}

async fn begun_without_wait(world: &World) -> Wire {
    let mut wire = Wire::open(world.address).await;
    wire.send("POST /api/v1/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n").await;
    wire
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_a_problem_that_gives_nothing_away() {
    let world = World::start().await;
    world.script.panics.store(true, Ordering::SeqCst);
    let broken = world.client.policies().await.unwrap_err();
    let problem = broken.problem().unwrap();
    assert_eq!((problem.status, problem.code.as_str(), problem.transient), (500, "SF550", false));
    assert!(!problem.detail.contains("secret"), "{problem:?}");
    world.script.panics.store(false, Ordering::SeqCst);
    world.client.policies().await.unwrap();
    world.end().await;
}
