//! Nodes that are shut down.

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::flaky::Flaky;
use common::*;
use steadfast_engine::{StepState, TaskState};
use steadfast_resilience::clock::Clock;
use steadfast_runtime::{ErrorKind, Settings};
use steadfast_store::Tasks as _;

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_task_is_told_that_the_node_has_stopped() {
    let (workflow, _) = saga([always(Act::Hang), always(Act::Succeed), always(Act::Succeed)], fine());
    let mut settings = quick();
    settings.grace = s(1);
    let node = Arc::new(node_with(memory(), &workflow, settings).await);
    let task = submit(&node, &workflow).await;
    let waits = tokio::spawn({
        let node = Arc::clone(&node);
        async move { node.at_rest(task).await }
    });
    sleep(s(1)).await;
    node.shut_down().await.unwrap();
    assert_eq!(*waits.await.unwrap().unwrap_err().kind(), ErrorKind::ShuttingDown);
    assert_eq!(*node.at_rest(task).await.unwrap_err().kind(), ErrorKind::ShuttingDown);
}

#[tokio::test(start_paused = true)]
async fn what_becomes_durable_after_the_cut_off_does_not_begin() {
    for grace in [0, 100] {
        let once = step("a").complete_within(s(100)).not_idempotent();
        let (workflow, books) = Flow::new("once").step(once, service("svc"), always(Act::Succeed)).build();
        let flaky = Flaky::new(memory(), 1, 0);
        let mut settings = Settings::default();
        settings.grace = Duration::from_millis(grace);
        let node = node_with(flaky.clone(), &workflow, settings).await;
        flaky.held.send_replace("submit");
        let let_go = async {
            sleep(s(1)).await;
            flaky.held.send_replace("");
        };
        let stops = async {
            sleep(Duration::from_millis(10)).await;
            node.shut_down().await
        };
        let ((), submitted, left) = tokio::join!(let_go, node.submit(new(&workflow)), stops);
        assert_eq!((left.unwrap(), books.calls("a")), (0, 0));
        drop(node);
        let second = node_with(flaky, &workflow, quick()).await;
        let ended = second.at_rest(submitted.unwrap().task).await.unwrap();
        assert_eq!((state(&ended), books.calls("a")), (TaskState::Completed, 1));
        assert_eq!(ended.task.steps()[0].owner_deaths, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_lets_what_runs_end_and_hands_the_rest_over_at_once() {
    let (workflow, books) =
        saga([always(Act::Take(s(5))), always(Act::Succeed), always(Act::Succeed)], fine());
    let store = memory();
    let first = node_with(store.clone(), &workflow, Settings::default()).await;
    let task = submit(&first, &workflow).await;
    sleep(s(1)).await;
    assert_eq!(first.shut_down().await.unwrap(), 0);
    let stored = store.read(vec![task]).await.unwrap().remove(0).unwrap();
    assert_eq!((stored.task.steps()[0].state, books.calls("b")), (StepState::Completed, 0));
    let second = node_with(store, &workflow, Settings::default()).await;
    let began = Clock::tokio().now();
    assert_eq!(state(&second.at_rest(task).await.unwrap()), TaskState::Completed);
    assert!(Clock::tokio().now().since(began) < s(2), "no lease had to end");
    assert_eq!(books.calls("a"), 1);
}

/// A deployment is no death either.
#[tokio::test(start_paused = true)]
async fn what_shutdowns_cut_off_again_and_again_is_made_again_in_the_end() {
    let (workflow, books) =
        Flow::new("long").step(step("a"), service("svc"), always(Act::Take(s(8)))).build();
    let store = memory();
    let mut settings = quick();
    settings.grace = s(1);
    let mut node = node_with(store.clone(), &workflow, settings.clone()).await;
    let task = submit(&node, &workflow).await;
    for _ in 0..6 {
        sleep(s(2)).await;
        assert_eq!(node.shut_down().await.unwrap(), 1);
        node = node_with(store.clone(), &workflow, settings.clone()).await;
    }
    let ended = node.at_rest(task).await.unwrap();
    let record = &ended.task.steps()[0];
    assert_eq!((state(&ended), books.calls("a")), (TaskState::Completed, 7));
    assert_eq!((record.owner_deaths, record.failures), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn two_who_shut_a_node_down_both_wait_for_what_runs() {
    let (workflow, _) = Flow::new("long").step(step("a"), service("svc"), always(Act::Take(s(3)))).build();
    let store = memory();
    let node = node(store.clone(), &workflow).await;
    let task = submit(&node, &workflow).await;
    sleep(s(1)).await;
    let (first, second) = tokio::join!(node.shut_down(), node.shut_down());
    assert_eq!((first.unwrap(), second.unwrap()), (0, 0));
    let stored = store.read(vec![task]).await.unwrap().remove(0).unwrap();
    assert_eq!(stored.task.state(), TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn who_listens_hears_that_the_node_has_stopped() {
    let (workflow, _) = saga(fine(), fine());
    let node = node(memory(), &workflow).await;
    let mut told = node.listen();
    node.shut_down().await.unwrap();
    let closed = tokio::sync::broadcast::error::RecvError::Closed;
    assert_eq!(told.recv().await.unwrap_err(), closed);
    assert_eq!(node.listen().recv().await.unwrap_err(), closed);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_cuts_off_what_does_not_end_and_says_so() {
    let (workflow, _) = saga([always(Act::Hang), always(Act::Succeed), always(Act::Succeed)], fine());
    let mut settings = quick();
    settings.grace = s(4);
    let node = node_with(memory(), &workflow, settings).await;
    submit(&node, &workflow).await;
    let began = Clock::tokio().now();
    assert_eq!(node.shut_down().await.unwrap(), 1);
    assert_eq!(Clock::tokio().now().since(began).as_secs(), 4);
}
