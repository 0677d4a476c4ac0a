//! Workflows that come while a node works. Virtual time.

#![expect(clippy::unwrap_used, reason = "tests")]

use crate::common;

use std::sync::Arc;

use common::*;
use steadfast_engine::TaskState;
use steadfast_resilience::clock::Clock;
use steadfast_runtime::{Node, Workflow};
use steadfast_store::{Memory, PutText, WorkflowText};

/// A node over this store that knows no workflow at all.
async fn empty(store: &Memory) -> Node<Memory> {
    Node::start(store.clone(), known(&[]), quick(), Clock::tokio()).await.unwrap()
}

fn flow(script: Script) -> (Arc<Workflow>, Books) {
    Flow::new("order").step(step("a"), fragile("svc"), script).build()
}

/// W9: what comes later works as if it had been there from the start, and may come twice.
#[tokio::test(start_paused = true)]
async fn a_workflow_that_comes_later_is_worked_on() {
    let node = empty(&memory()).await;
    let (workflow, books) = flow(always(Act::Succeed));
    for _ in 0..2 {
        node.register(Arc::clone(&workflow)).await.unwrap();
    }
    assert_eq!(run(&node, &workflow).await.task.state(), TaskState::Completed);
    assert_eq!((books.calls("a"), node.workflows().len()), (1, 1));
    let (other, _) = flow(always(Act::Succeed));
    let words = node.register(other).await.unwrap_err();
    assert!(words.contains("workflow `order` version 1 is there twice"), "{words}");
    let (second, _) =
        Flow::new("order").version(2).step(step("a"), fragile("svc"), always(Act::Succeed)).build();
    node.register(Arc::clone(&second)).await.unwrap();
    assert_eq!(run(&node, &second).await.version, 2);
}

/// W9: tasks whose workflow nobody knew go on when somebody brings it, and not before.
#[tokio::test(start_paused = true)]
async fn tasks_that_waited_for_their_workflow_go_on() {
    let store = memory();
    let (workflow, _) = flow(always(Act::Hang));
    let first = node_with(store.clone(), &workflow, quick()).await;
    let task = submit(&first, &workflow).await;
    drop(first);
    let node = empty(&store).await;
    sleep(s(30)).await;
    assert!(!node.read(task).await.unwrap().task.state().is_at_rest());
    let (workflow, books) = flow(always(Act::Succeed));
    node.register(workflow).await.unwrap();
    let began = Clock::tokio().now();
    assert_eq!(node.at_rest(task).await.unwrap().task.state(), TaskState::Completed);
    assert!(Clock::tokio().now().since(began) <= s(61), "within a minute");
    assert_eq!(books.calls("a"), 1);
}

/// B16, B17: what the store knows of a service holds for a workflow that comes later: its circuit is open, and stays so.
#[tokio::test(start_paused = true)]
async fn a_circuit_that_is_open_is_open_for_what_comes_later() {
    let store = memory();
    let (workflow, _) = flow(always(BUSY));
    let first = node_with(store.clone(), &workflow, quick()).await;
    submit_many(&first, &workflow, 5).await;
    sleep(s(1)).await;
    drop(first);
    let node = empty(&store).await;
    let (workflow, books) = flow(always(Act::Succeed));
    node.register(Arc::clone(&workflow)).await.unwrap();
    let task = submit(&node, &workflow).await;
    sleep(s(10)).await;
    assert_eq!(books.calls("a"), 0, "it is open for 20 s");
    assert_eq!(node.at_rest(task).await.unwrap().task.state(), TaskState::Completed);
    sleep(s(120)).await;
    assert_eq!(books.effects("a"), 6, "those that were parked before have come as well");
}

/// O1: the breaker of a service that came later is told of.
#[tokio::test(start_paused = true)]
async fn a_circuit_of_a_service_that_came_later_is_told_of() {
    let (told, mut alerts) = tokio::sync::mpsc::unbounded_channel();
    let mut settings = quick();
    settings.alerts.on_alert(move |alert| {
        let told = told.clone();
        async move { Ok(told.send(alert)?) }
    });
    let node = Node::start(memory(), known(&[]), settings, Clock::tokio()).await.unwrap();
    let (workflow, _) = flow(always(BUSY));
    node.register(Arc::clone(&workflow)).await.unwrap();
    submit_many(&node, &workflow, 3).await;
    let alert = alerts.recv().await.unwrap();
    assert_eq!(alert.service.as_deref(), Some("svc"), "{alert:?}");
}

/// A node that has stopped says so, and does not wait for ever.
#[tokio::test(start_paused = true)]
async fn a_node_that_has_stopped_takes_no_workflow() {
    let node = empty(&memory()).await;
    node.shut_down().await.unwrap();
    let (workflow, _) = flow(always(Act::Succeed));
    assert_eq!(node.register(workflow).await, Err("the node has stopped".to_owned()));
}

/// W9: texts of workflows are in the store, each version once.
#[tokio::test(start_paused = true)]
async fn the_text_of_a_version_is_kept_as_it_was_first() {
    let store = memory();
    let node = empty(&store).await;
    let text = |words: &str| WorkflowText {
        name: Arc::from("order"),
        version: 1,
        digest: Arc::from(words),
        format: Arc::from("yaml"),
        text: Arc::from(words),
        at: node.now(),
    };
    assert_eq!(node.put_text(text("first")).await.unwrap(), PutText::Done);
    let PutText::Stands(stands) = node.put_text(text("second")).await.unwrap() else {
        panic!("it was stored twice")
    };
    assert_eq!(&*stands.text, "first");
    let next = empty(&store).await;
    assert_eq!(next.workflow_texts().await.unwrap(), [stands]);
}
