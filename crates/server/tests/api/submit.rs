//! Handing work in.

use std::time::Duration;

use serde_json::json;
use steadfast_client::wire::filter::{Filter, Paging};
use steadfast_client::wire::state::TaskState;
use steadfast_client::wire::submit::{Signal, Submit};

use crate::world::World;

const LONG: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_submitted_and_its_end_waited_for() {
    let world = World::start().await;
    let input = json!({ "sku": "a chair", "list": [1, { "deep": null }] });
    let ended = world.client.submit_and_wait(&Submit::new("echo", input.clone()), LONG).await.unwrap();
    let outcome = ended.outcome.unwrap();
    assert_eq!((outcome.state, outcome.result, outcome.reason), (TaskState::Completed, Some(input), None));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_is_too_short_leaves_the_task_under_way() {
    let world = World::start().await;
    let submit = Submit::new("approve", json!(null));
    let under_way = world.client.submit_and_wait(&submit, Duration::from_millis(1)).await.unwrap();
    assert_eq!(under_way.outcome, None);
    let signal = Signal { name: "approval".to_owned(), says: json!("yes"), id: Some("one".to_owned()) };
    world.client.signal(&under_way.id, &signal).await.unwrap();
    // Sent again under its id it counts once, also when the task has ended by it.
    world.client.signal(&under_way.id, &signal).await.unwrap();
    let mut events = world.client.events(&under_way.id, None);
    while events.next().await.unwrap().is_some() {}
    let task = world.client.task(&under_way.id, true).await.unwrap();
    assert_eq!(task.outcome.unwrap().result, Some(json!("yes")));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn submissions_that_race_under_one_key_are_one_task() {
    let world = World::start().await;
    let submit = Submit::new("echo", json!(7)).key("order-7");
    let racing = (0..20).map(|_| {
        let (client, submit) = (world.client.clone(), submit.clone());
        tokio::spawn(async move { client.submit(&submit).await.unwrap().id })
    });
    let mut ids = Vec::new();
    for one in racing.collect::<Vec<_>>() {
        ids.push(one.await.unwrap());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1, "{ids:?}");
    let listed = world.client.tasks(&Filter::default(), &Paging::default()).await.unwrap();
    assert_eq!(listed.tasks.len(), 1);
    let other = Submit::new("echo", json!(8)).key("order-7");
    let refused = world.client.submit(&other).await.unwrap_err();
    assert_eq!((refused.code(), refused.problem().unwrap().status), (Some("SF406"), 409));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_may_stand_in_the_header_but_not_be_two() {
    let world = World::start().await;
    let plain = Submit::new("echo", json!(7));
    let first = world.client.submit_under("order-7", &plain).await.unwrap();
    let again = world.client.submit(&plain.clone().key("order-7")).await.unwrap();
    assert_eq!(first.id, again.id);
    let same = world.client.submit_under("order-7", &plain.clone().key("order-7")).await.unwrap();
    assert_eq!(first.id, same.id);
    let refused = world.client.submit_under("order-8", &plain.key("order-7")).await.unwrap_err();
    assert_eq!((refused.code(), refused.problem().unwrap().status), (Some("SF549"), 409));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_a_submission_says_is_kept() {
    let world = World::start().await;
    let submit = Submit {
        version: Some(1),
        namespace: Some("shop".to_owned()),
        priority: Some(-3),
        start_at: Some("2126-01-01T00:00:00Z".to_owned()),
        reply_to: Some("queue:orders".to_owned()),
        correlation: Some("o-7".to_owned()),
        ..Submit::new("echo", json!(7)).key("k").label("team", "shop")
    };
    let task = world.client.submit(&submit).await.unwrap();
    let task = world.client.task(&task.id, true).await.unwrap();
    assert_eq!((task.summary.namespace.as_str(), task.summary.key.as_deref()), ("shop", Some("k")));
    assert_eq!(task.summary.labels["team"], "shop");
    assert_eq!(task.start_at.as_deref(), Some("2126-01-01T00:00:00Z"));
    assert_eq!((task.summary.state, task.input), (TaskState::Pending, Some(json!(7))));
    let replies = world.engine.replies("orders").take(10).await.unwrap();
    assert_eq!(replies[0].correlation.as_deref(), Some("o-7"));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn submissions_that_make_no_sense_are_refused_with_their_place() {
    let world = World::start().await;
    let good = || Submit::new("echo", json!(7));
    let text = |text: &str| Some(text.to_owned());
    let table = [
        (Submit::new("nobody", json!(7)), 404, "SF407", "there are `echo`"),
        (Submit { version: Some(9), ..good() }, 404, "SF407", "it has 1"),
        (Submit { key: text(""), ..good() }, 422, "SF411", "the key is empty"),
        (Submit { key: Some("k".repeat(201)), ..good() }, 413, "SF404", "at most 200"),
        (Submit { start_at: text("soon"), ..good() }, 422, "SF540", "body.start_at"),
        (
            Submit { start_at: text("2126-01-01T00:00:00Z"), start_after_ms: Some(5), ..good() },
            422,
            "SF540",
            "body.start_after_ms",
        ),
        (Submit { reply_to: text("pigeon:7"), ..good() }, 422, "SF540", "body.reply_to"),
        (good().label("a b", "x"), 422, "SF403", "is no name of a label"),
    ];
    for (submit, status, code, words) in table {
        let refused = world.client.submit(&submit).await.unwrap_err();
        let told = format!("{refused}");
        assert_eq!((refused.problem().unwrap().status, refused.code()), (status, Some(code)), "{told}");
        assert!(told.contains(words), "{told}");
        assert!(!refused.is_transient(), "{told}");
    }
    let listed = world.client.tasks(&Filter::default(), &Paging::default()).await.unwrap();
    assert_eq!(listed.tasks.len(), 0, "nothing was stored");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_answered_task_by_task() {
    let world = World::start().await;
    let mut tasks: Vec<_> =
        (0..50).map(|number| Submit::new("echo", json!(number)).key(number.to_string())).collect();
    tasks[7] = Submit::new("nobody", json!(7));
    tasks[8] = Submit { start_at: Some("soon".to_owned()), ..Submit::new("echo", json!(8)) };
    tasks[9] = tasks[10].clone();
    let batched = world.client.submit_batch(tasks.clone()).await.unwrap();
    assert_eq!((batched.tasks.len(), batched.stored, batched.refused), (50, 48, 2));
    assert_eq!(batched.tasks[7].problem.as_ref().unwrap().code, "SF407");
    assert_eq!(batched.tasks[8].problem.as_ref().unwrap().errors[0].place, "body.tasks[8].start_at");
    assert_eq!(batched.tasks[9].id, batched.tasks[10].id, "one key is one task");
    let filter = Filter { key: Some("42".to_owned()), ..Filter::default() };
    let found = world.client.tasks(&filter, &Paging::default()).await.unwrap();
    assert_eq!(Some(&found.tasks[0].id), batched.tasks[42].id.as_ref());
    for bad in [Vec::new(), vec![Submit::new("echo", json!(1)); 1_001]] {
        let refused = world.client.submit_batch(bad).await.unwrap_err();
        assert_eq!(refused.problem().unwrap().errors[0].place, "body.tasks");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_that_nobody_waits_for_are_refused() {
    let world = World::start().await;
    let task = world.client.submit(&Submit::new("approve", json!(null))).await.unwrap().id;
    let signal = |name: &str| Signal { name: name.to_owned(), ..Signal::default() };
    let unknown = "0192f3a0-5b1c-7d2e-8f00-0123456789ab";
    for (id, name, status, code) in [
        (task.as_str(), "nothing", 422, "SF413"),
        (&task, "", 422, "SF540"),
        (unknown, "approval", 404, "SF408"),
    ] {
        let refused = world.client.signal(id, &signal(name)).await.unwrap_err();
        assert_eq!((refused.problem().unwrap().status, refused.code()), (status, Some(code)));
    }
    world.client.signal(&task, &signal("approval")).await.unwrap();
    let mut events = world.client.events(&task, None);
    while events.next().await.unwrap().is_some() {}
    let late = world.client.signal(&task, &signal("approval")).await.unwrap_err();
    assert_eq!((late.problem().unwrap().status, late.code()), (409, Some("SF409")));
    world.end().await;
}
