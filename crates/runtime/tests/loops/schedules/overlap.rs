//! When the run before has not ended.

use super::*;
use steadfast_engine::TaskState;

/// Runs of a step that takes two hours and a half and 30 seconds, begun every hour, for so many hours and a half.
async fn overlapping(overlap: Overlap, hours: u64) -> (World, Node<Memory>) {
    let world = World::new();
    let slow = step("write").complete_within(s(10 * 3600));
    let (workflow, _) = Flow::new("report").step(slow, patient(), always(Act::Take(s(9_030)))).build();
    let node = start(world.store.clone(), &workflow).await;
    let hourly = Declaration { overlap, ..declaration(&workflow, "0 * * * *") };
    node.declare_schedule("nightly", hourly).await.unwrap();
    sleep(s(hours * 3600 + 1_800)).await;
    (world, node)
}

/// A service whose calls may take long.
fn patient() -> steadfast_runtime::Service {
    let pipeline = steadfast_resilience::Pipeline::builder("svc").clock(Clock::tokio()).no_attempt_timeout();
    steadfast_runtime::Service::new(pipeline.build().unwrap())
}

#[tokio::test(start_paused = true)]
async fn runs_may_overlap() {
    let (world, _node) = overlapping(Overlap::Allow, 5).await;
    assert_eq!(world.instants().await, (1..=5).map(|hour| at(1, hour, 0)).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_run_is_skipped_while_the_one_before_goes_on() {
    let (world, node) = overlapping(Overlap::Skip, 8).await;
    assert_eq!(world.instants().await, [at(1, 1, 0), at(1, 4, 0), at(1, 7, 0)]);
    assert_eq!(listed(&node).await.skipped_overlap, 5);
}

#[tokio::test(start_paused = true)]
async fn the_latest_run_waits_for_the_end_of_the_one_before() {
    let (world, node) = overlapping(Overlap::QueueOne, 3).await;
    // 1:00 runs until 3:30:30. 2:00 waited, and 3:00 took its place.
    sleep(s(31)).await;
    assert_eq!(world.instants().await, [at(1, 1, 0), at(1, 3, 0)]);
    let third = world.runs().await["nightly@2026-03-01T03:00:00Z"].submitted_at;
    assert_eq!(&rfc3339(third)[..19], "2026-03-01T03:30:30", "as soon as it could, and not a minute later");
    assert_eq!((listed(&node).await.queued, listed(&node).await.skipped_overlap), (None, 1));
    sleep(s(3600)).await;
    assert_eq!(listed(&node).await.queued.map(rfc3339), Some(at(1, 4, 0)));
    assert_eq!(world.instants().await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_waits_begins_on_another_node_too() {
    let (world, node) = overlapping(Overlap::QueueOne, 2).await;
    assert_eq!(listed(&node).await.queued.map(rfc3339), Some(at(1, 2, 0)));
    let task = world.runs().await["nightly@2026-03-01T01:00:00Z"].id;
    drop(node);
    let (workflow, _) = Flow::new("report")
        .step(step("write").complete_within(s(10 * 3600)), patient(), always(Act::Succeed))
        .build();
    let node = start(world.store.clone(), &workflow).await;
    node.at_rest(task).await.unwrap();
    sleep(s(61)).await;
    assert_eq!(world.instants().await, [at(1, 1, 0), at(1, 2, 0)]);
}

#[tokio::test(start_paused = true)]
async fn the_run_before_is_cancelled_and_the_next_begins_at_once() {
    let (world, _node) = overlapping(Overlap::CancelPrevious, 4).await;
    let runs = world.runs().await;
    assert_eq!(world.instants().await, (1..=4).map(|hour| at(1, hour, 0)).collect::<Vec<_>>());
    let endings: Vec<_> =
        runs.values().map(|run| run.task.head().ending.clone().map(|end| end.cause)).collect();
    for cause in &endings[..3] {
        let Some(steadfast_engine::Cause::Cancelled { by, .. }) = cause else { panic!("{endings:?}") };
        assert_eq!(&**by, "schedule nightly");
    }
    assert_eq!((endings[3].as_ref(), runs.values().last().unwrap().task.state()), (None, TaskState::Running));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_has_failed_has_ended() {
    let world = World::new();
    let failing = step("write").on_failure(steadfast_engine::OnFailure::Error);
    let (workflow, _) = Flow::new("report").step(failing, service("svc"), always(common::NO)).build();
    let node = start(world.store.clone(), &workflow).await;
    let hourly = Declaration { overlap: Overlap::Skip, ..declaration(&workflow, "0 * * * *") };
    node.declare_schedule("nightly", hourly).await.unwrap();
    sleep(s(2 * 3600 + 60)).await;
    assert_eq!(world.instants().await, [at(1, 1, 0), at(1, 2, 0)]);
    assert!(world.runs().await.values().all(|run| run.task.state() == TaskState::Failed));
}
