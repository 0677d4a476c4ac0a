//! Nodes that stand still or lose their lease, and nodes beside each other.

use crate::common;

use std::collections::BTreeSet;
use std::time::Duration;

use common::flaky::Flaky;
use common::*;
use steadfast_engine::TaskState;
use steadfast_resilience::clock::Clock;
use steadfast_runtime::{Settings, What};
use steadfast_store::{Hold, Tasks as _, Write};

#[tokio::test(start_paused = true)]
async fn an_owner_that_stood_still_past_its_lease_writes_nothing_any_more() {
    let (workflow, books) =
        saga([always(Act::Take(s(5))), always(Act::Succeed), always(Act::Succeed)], fine());
    let store = memory();
    let flaky = Flaky::new(store.clone(), 1, 0);
    let stuck = node_with(flaky.clone(), &workflow, quick()).await;
    let task = submit(&stuck, &workflow).await;
    sleep(s(1)).await;
    // It hears nothing of the store any more: neither its lease nor its writes get through.
    flaky.hold();
    sleep(s(3)).await;
    let other = node_with(store.clone(), &workflow, quick()).await;
    let ended = other.at_rest(task).await.unwrap();
    assert_eq!(state(&ended), TaskState::Completed);
    flaky.let_go();
    sleep(s(5)).await;
    let after = other.read(task).await.unwrap();
    assert_eq!((after.revision, after.epoch), (ended.revision, ended.epoch), "nothing was written since");
    assert!(stuck.stats().lapses + stuck.stats().stale_writes > 0, "{:?}", stuck.stats());
    assert_eq!((books.effects("a"), books.effects("b"), books.effects("c")), (1, 1, 1));
}

/// A lease that is lost is no death: what runs goes on, and an answer that was in hand counts.
#[tokio::test(start_paused = true)]
async fn a_node_that_lost_its_lease_takes_its_tasks_up_again_with_what_runs() {
    for takes in [2, 20] {
        let once = step("a").complete_within(s(60)).not_idempotent();
        let (workflow, books) =
            Flow::new("once").step(once, service("svc"), always(Act::Take(s(takes)))).build();
        let flaky = Flaky::new(memory(), 1, 0);
        let node = node_with(flaky.clone(), &workflow, quick()).await;
        let task = submit(&node, &workflow).await;
        sleep(s(1)).await;
        flaky.hold();
        sleep(s(5)).await;
        flaky.let_go();
        let back = Clock::tokio().now();
        let ended = node.at_rest(task).await.unwrap();
        assert_eq!((state(&ended), books.calls("a")), (TaskState::Completed, 1), "{takes} s");
        assert_eq!((ended.task.steps()[0].owner_deaths, node.stats().lapses), (0, 1), "{takes} s");
        assert!(takes > 2 || Clock::tokio().now().since(back) < s(2), "no lease had to end");
    }
}

/// An answer that comes while the lease is lost, just before or after the tasks are taken up again.
#[tokio::test(start_paused = true)]
async fn an_answer_beside_a_new_claim_is_not_taken_for_a_death() {
    for ms in (0..400).step_by(10) {
        let once = step("a").complete_within(s(100)).not_idempotent();
        let takes = Act::Take(s(20) + Duration::from_millis(ms));
        let (workflow, books) = Flow::new("once").step(once, service("svc"), always(takes)).build();
        let flaky = Flaky::new(memory(), ms, 0).slow(100);
        let node = node_with(flaky.clone(), &workflow, Settings::default()).await;
        let task = submit(&node, &workflow).await;
        sleep(s(1)).await;
        flaky.hold();
        sleep(s(19)).await;
        flaky.let_go();
        let ended = node.at_rest(task).await.unwrap();
        assert_eq!((state(&ended), books.calls("a")), (TaskState::Completed, 1), "{ms} ms");
        assert_eq!((ended.task.steps()[0].owner_deaths, node.stats().lapses), (0, 1), "{ms} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_of_an_owner_that_was_robbed_is_refused_and_counted() {
    let (workflow, books) =
        saga([always(Act::Take(s(5))), always(Act::Succeed), always(Act::Succeed)], fine());
    let store = memory();
    let mut settings = quick();
    (settings.look_every, settings.lease) = (s(60), s(100));
    let node = node_with(store.clone(), &workflow, settings).await;
    let task = submit(&node, &workflow).await;
    sleep(s(1)).await;
    // Somebody takes the task, as a supervisor elsewhere does.
    let stored = node.read(task).await.unwrap();
    let guard = steadfast_store::Guard { epoch: stored.epoch, revision: stored.revision, mail: None };
    let plan = steadfast_engine::Plan::default();
    store.write(vec![Write { hold: Hold::Take, ..Write::of(&plan, task, guard) }]).await.unwrap();
    let ended = node.at_rest(task).await.unwrap();
    assert_eq!((state(&ended), ended.epoch), (TaskState::Completed, 3));
    // The answer of the attempt that ran all the while still counts.
    assert_eq!((books.calls("a"), ended.task.steps()[0].attempt), (1, 1));
    assert_eq!(node.stats().stale_writes, 1);
}

#[tokio::test(start_paused = true)]
async fn two_nodes_race_for_ten_thousand_tasks_and_never_hold_one_together() {
    let (workflow, books) = Flow::new("race")
        .step(step("a"), service("svc"), always(Act::Take(Duration::from_millis(20))))
        .build();
    let store = memory();
    // Submitted by one that works on nothing.
    let mut none = Settings::default();
    none.most_owned = 0;
    let submitter = node_with(store.clone(), &workflow, none).await;
    let tasks = submit_many(&submitter, &workflow, 10_000).await;
    let left = node_with(store.clone(), &workflow, quick()).await;
    let right = node_with(store.clone(), &workflow, quick()).await;
    let (mut by_left, mut by_right) = (left.listen(), right.listen());
    let (mut done_left, mut done_right) = (BTreeSet::new(), BTreeSet::new());
    let is_end = |what: &What| matches!(what, What::Task(state) if state.is_at_rest());
    for task in &tasks {
        let ended = left.at_rest(*task).await.unwrap();
        assert_eq!((state(&ended), ended.epoch), (TaskState::Completed, 1), "claimed exactly once");
        for (told, done) in [(&mut by_left, &mut done_left), (&mut by_right, &mut done_right)] {
            while let Ok(told) = told.try_recv() {
                if is_end(&told.what) {
                    done.insert(told.task);
                }
            }
        }
    }
    assert_eq!((books.calls("a"), books.effects("a")), (10_000, 10_000));
    assert!(done_left.is_disjoint(&done_right));
    assert!(done_left.len() > 1_000 && done_right.len() > 1_000, "{} {}", done_left.len(), done_right.len());
    assert_eq!(left.stats().stale_writes + right.stats().stale_writes, 0);
}
