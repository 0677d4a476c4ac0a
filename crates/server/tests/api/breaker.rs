//! Breakers, set by hand.

use std::time::Duration;

use serde_json::json;
use steadfast_client::wire::breaker::{Force, ForceOpen};
use steadfast_client::wire::event::Event;
use steadfast_client::wire::filter::{Filter, Paging};
use steadfast_client::wire::state::TaskState;
use steadfast_client::wire::submit::Submit;

use crate::world::World;

fn force() -> Force {
    Force { by: "ana@shop".to_owned(), because: "repairs".to_owned() }
}

fn open(for_ms: Option<u64>) -> ForceOpen {
    ForceOpen { by: "ana@shop".to_owned(), because: "repairs".to_owned(), for_ms }
}

#[tokio::test(flavor = "multi_thread")]
async fn work_is_parked_while_a_breaker_is_held_open_and_goes_on_after() {
    let world = World::start().await;
    let held = world.client.open_breaker("echo", &open(None)).await.unwrap();
    assert_eq!((held.state.as_str(), held.open_for_ms), ("forced_open", None));
    assert_eq!(held.forced_by.unwrap().because, "repairs");
    let id = world.client.submit(&Submit::new("echo", json!(7))).await.unwrap().id;
    let mut events = world.client.events(&id, None);
    let held = loop {
        let why = world.client.why(&id).await.unwrap();
        match why.held.into_iter().find(|held| held.on == "breaker") {
            Some(held) => break held,
            None => drop(events.next().await.unwrap()),
        }
    };
    assert_eq!(held.service.as_deref(), Some("echo"));
    let task = world.client.task(&id, false).await.unwrap();
    assert_eq!((task.steps[0].attempt, task.steps[0].blocked_on.as_deref()), (0, Some("breaker")));
    world.client.reset_breaker("echo", &force()).await.unwrap();
    let ended = loop {
        match events.next().await.unwrap() {
            Some(Event::Ended(outcome)) => break outcome.state,
            Some(_) => {}
            None => panic!("it ended without saying how"),
        }
    };
    assert_eq!(ended, TaskState::Completed);
    let told = world.client.breaker("echo").await.unwrap();
    assert_eq!(told.state, "closed");
    assert!(
        told.history.iter().any(|past| past.state == "forced_open" && past.forced_by.is_some()),
        "{told:?}"
    );
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_state_can_be_set_by_hand() {
    let world = World::start().await;
    let client = &world.client;
    assert_eq!(client.close_breaker("bank", &force()).await.unwrap().state, "forced_closed");
    let closed = client.probe_breaker("bank", &force()).await.unwrap_err();
    assert_eq!((closed.code(), closed.problem().unwrap().status), (Some("SF549"), 409));
    let open = client.open_breaker("bank", &open(Some(600_000))).await.unwrap();
    assert!(open.open_for_ms.is_some_and(|left| left > 500_000 && left <= 600_000), "{open:?}");
    assert_eq!(client.probe_breaker("bank", &force()).await.unwrap().state, "half_open");
    assert_eq!(client.half_open_breaker("bank", &force()).await.unwrap().state, "half_open");
    assert_eq!(client.reset_breaker("bank", &force()).await.unwrap().state, "closed");
    let all = client.breakers().await.unwrap().breakers;
    let names: Vec<_> = all.iter().map(|breaker| breaker.service.as_str()).collect();
    assert_eq!(names, ["bank", "echo"], "`bare` has none");
    assert!(all.iter().all(|breaker| breaker.history.is_empty()), "a list leaves histories out");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_asked_of_a_breaker_is_refused() {
    let world = World::start().await;
    let client = &world.client;
    let unknown = client.breaker("nobody").await.unwrap_err();
    assert_eq!((unknown.code(), unknown.problem().unwrap().status), (Some("SF548"), 404));
    assert!(unknown.to_string().contains("`bank`, `bare`, `echo`"), "{unknown}");
    let none = client.reset_breaker("bare", &force()).await.unwrap_err();
    assert_eq!((none.code(), none.problem().unwrap().status), (Some("SF549"), 409));
    let nameless = client.reset_breaker("bank", &Force { by: String::new(), ..force() }).await.unwrap_err();
    assert_eq!(nameless.problem().unwrap().errors[0].place, "body.by");
    for wrong in [0, u64::MAX] {
        let wrong = client.open_breaker("bank", &open(Some(wrong))).await.unwrap_err();
        assert_eq!(wrong.problem().unwrap().errors[0].place, "body.for_ms");
    }
    assert_eq!(client.breaker("bank").await.unwrap().state, "closed", "nothing was done");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parked_tasks_are_found_by_what_they_wait_for() {
    let world = World::start().await;
    world.client.open_breaker("echo", &open(None)).await.unwrap();
    let id = world.client.submit(&Submit::new("echo", json!(7))).await.unwrap().id;
    let mut events = world.client.events(&id, None);
    let filter = Filter { service: Some("echo".to_owned()), ..Filter::default() };
    while !world.client.why(&id).await.unwrap().held.iter().any(|held| held.on == "breaker") {
        events.next().await.unwrap();
    }
    let found = world.client.tasks(&filter, &Paging::default()).await.unwrap();
    assert_eq!(found.tasks[0].id, id);
    let service = world.client.service("echo").await.unwrap();
    assert_eq!(service.breaker.as_deref(), Some("forced_open"));
    world.client.reset_breaker("echo", &force()).await.unwrap();
    let ended =
        world.client.submit_and_wait(&Submit::new("echo", json!(8)), Duration::from_secs(30)).await.unwrap();
    assert_eq!(ended.outcome.unwrap().state, TaskState::Completed);
    world.end().await;
}
