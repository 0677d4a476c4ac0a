//! Processes that die, and steps that may be what kills them.

use crate::common;

use std::time::Duration;

use common::flaky::Flaky;
use common::*;
use steadfast_engine::{Cause, Record, TaskState};
use steadfast_resilience::clock::Clock;
use steadfast_runtime::Node;
use steadfast_store::Tasks as _;

#[tokio::test(start_paused = true)]
async fn a_task_whose_process_died_goes_on_from_where_it_was() {
    let slow = first(vec![Act::Hang]);
    let (workflow, books) = saga([always(Act::Succeed), slow, always(Act::Succeed)], fine());
    let store = memory();
    let first = node_with(store.clone(), &workflow, quick()).await;
    let task = submit(&first, &workflow).await;
    sleep(s(1)).await;
    let (began, died) = (Clock::tokio().now(), books.calls("b"));
    drop(first);
    let second = node_with(store, &workflow, quick()).await;
    let ended = second.at_rest(task).await.unwrap();
    assert_eq!((state(&ended), died), (TaskState::Completed, 1));
    // What was done is not done again; what ran has an unknown outcome at once, long before its complete-by.
    assert_eq!((books.calls("a"), books.calls("b"), books.effects("b")), (1, 2, 1));
    assert_eq!(ended.task.steps()[1].owner_deaths, 1);
    assert!(Clock::tokio().now().since(began) < s(6), "the lease of 3 s, not the complete-by of 10 s");
}

#[tokio::test(start_paused = true)]
async fn a_step_under_which_processes_keep_dying_goes_to_an_operator() {
    let (workflow, books) = saga([always(Act::Hang), always(Act::Succeed), always(Act::Succeed)], fine());
    let store = memory();
    let mut at_work = node_with(store.clone(), &workflow, quick()).await;
    let task = submit(&at_work, &workflow).await;
    for _ in 0..3 {
        sleep(s(1)).await;
        drop(at_work);
        sleep(s(3)).await;
        at_work = node_with(store.clone(), &workflow, quick()).await;
        sleep(s(1)).await;
    }
    let ended = at_work.at_rest(task).await.unwrap();
    let a = workflow.definition().step_named("a").unwrap();
    assert_eq!((state(&ended), books.calls("a")), (TaskState::Failed, 3));
    assert_eq!(ended.task.head().ending.as_ref().unwrap().cause, Cause::OwnerDied(a));
}

/// A step that kills its process does not take its neighbours along: before the third death they run one at a time.
#[tokio::test(start_paused = true)]
async fn only_the_step_that_kills_goes_to_an_operator() {
    let flow = |name, act| Flow::new(name).step(step("a"), service("svc"), always(act)).build();
    let (killer, kills) = flow("killer", Act::Hang);
    let (neighbour, lives) = flow("neighbour", Act::Take(s(3)));
    let store = memory();
    let start = || async {
        let known = known(&[&killer, &neighbour]);
        Node::start(store.clone(), known, quick(), Clock::tokio()).await.unwrap()
    };
    let mut node = start().await;
    let neighbours = submit_many(&node, &neighbour, 5).await;
    let bad = submit(&node, &killer).await;
    for deaths in 1..=3 {
        while kills.calls("a") < deaths {
            sleep(s(1)).await;
        }
        drop(node);
        sleep(s(3)).await;
        node = start().await;
    }
    let ended = node.at_rest(bad).await.unwrap();
    let a = killer.definition().step_named("a").unwrap();
    assert_eq!(ended.task.head().ending.as_ref().unwrap().cause, Cause::OwnerDied(a));
    for task in neighbours {
        assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Completed);
    }
    assert!(lives.calls("a") > 5, "they had died with it: {}", lives.calls("a"));
}

/// Steps under which the process died twice run one at a time, also those of one task, and those that waited in line.
#[tokio::test(start_paused = true)]
async fn suspects_run_apart_wherever_they_come_from() {
    let takes = || always(Act::Take(s(4)));
    let (one, _) = Flow::new("one")
        .step(step("a"), service("svc"), takes())
        .step(step("b"), service("svc"), takes())
        .build();
    let narrow = || service("svc").most_running(2);
    let (many, _) = Flow::new("many").step(step("a"), narrow(), takes()).build();
    for (workflow, count) in [(one, 1), (many, 4)] {
        let store = memory();
        let mut node = node_with(store.clone(), &workflow, quick()).await;
        let tasks = submit_many(&node, &workflow, count).await;
        for _ in 0..6 {
            sleep(s(1)).await;
            drop(node);
            sleep(s(4)).await;
            node = node_with(store.clone(), &workflow, quick()).await;
            sleep(Duration::from_millis(500)).await;
            let mut suspects = 0;
            for task in &tasks {
                let stored = node.read(*task).await.unwrap();
                let runs = |record: &&Record| record.is_suspect() && record.complete_by.is_some();
                suspects += stored.task.steps().iter().filter(runs).count();
            }
            assert!(suspects <= 1, "{suspects} run at once");
        }
    }
}

/// Each that has to run apart has its turn as soon as the one before has ended, however many they are.
#[tokio::test(start_paused = true)]
async fn many_suspects_run_one_right_after_another() {
    let takes = always(Act::Take(Duration::from_millis(200)));
    let (workflow, books) = Flow::new("many").step(step("a"), service("svc"), takes).build();
    let store = memory();
    let mut node = node_with(store.clone(), &workflow, quick()).await;
    let tasks = submit_many(&node, &workflow, 50).await;
    for deaths in 1..=2 {
        while books.calls("a") < 50 * deaths {
            sleep(Duration::from_millis(10)).await;
        }
        drop(node);
        sleep(s(3)).await;
        node = node_with(store.clone(), &workflow, quick()).await;
    }
    let began = Clock::tokio().now();
    for task in tasks {
        let ended = node.at_rest(task).await.unwrap();
        assert_eq!((state(&ended), ended.task.steps()[0].owner_deaths), (TaskState::Completed, 2));
        // Asked, let go, begun, ended: nobody asks again and again.
        assert!(ended.revision < 16, "{} writes", ended.revision);
    }
    let took = Clock::tokio().now().since(began);
    assert!(took >= s(10) && took < s(14), "50 of them, 0.2 s each: {took:?}");
}

/// Steps that waited in line for their service run apart too.
#[tokio::test(start_paused = true)]
async fn suspects_that_waited_in_line_run_apart() {
    let flow = |name, takes| {
        let narrow = service("svc").most_running(2);
        Flow::new(name).step(step("a"), narrow, always(Act::Take(s(takes)))).build().0
    };
    let (suspect, other) = (flow("suspect", 8), flow("other", 9));
    let flaky = Flaky::new(memory(), 1, 0);
    let start = || async {
        let known = known(&[&suspect, &other]);
        Node::start(flaky.clone(), known, quick(), Clock::tokio()).await.unwrap()
    };
    let mut node = start().await;
    let tasks = submit_many(&node, &suspect, 2).await;
    for _ in 0..2 {
        sleep(s(1)).await;
        drop(node);
        sleep(s(4)).await;
        node = start().await;
    }
    node.shut_down().await.unwrap();
    // Others have both places by the time that the suspects are claimed.
    flaky.held.send_replace("claim");
    let node = start().await;
    submit_many(&node, &other, 2).await;
    sleep(s(1)).await;
    flaky.held.send_replace("");
    let mut ran = 0;
    for _ in 0..40 {
        sleep(s(1)).await;
        let read = flaky.store.read(tasks.clone()).await.unwrap();
        let runs =
            read.iter().flatten().filter(|stored| stored.task.steps()[0].complete_by.is_some()).count();
        assert!(runs <= 1, "both run at once");
        ran += runs;
    }
    assert!(ran > 0, "they had their turn");
}
