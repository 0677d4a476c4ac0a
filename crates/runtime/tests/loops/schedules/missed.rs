//! What passed while nobody was there, and clocks that jump.

use super::*;

/// Declares an hourly schedule, stops the node for five hours and a half, and starts it again for a moment.
async fn after_a_rest(missed: Missed) -> (Vec<String>, u64) {
    let (world, (workflow, _)) = (World::new(), flow(Act::Succeed));
    let node = start(world.store.clone(), &workflow).await;
    let mut hourly = declaration(&workflow, "0 * * * *");
    hourly.rules.missed = missed;
    node.declare_schedule("nightly", hourly).await.unwrap();
    drop(node);
    sleep(s(5 * 3600 + 1_800)).await;
    let node = start(world.store.clone(), &workflow).await;
    sleep(s(5)).await;
    (world.instants().await, listed(&node).await.skipped_missed)
}

#[tokio::test(start_paused = true)]
async fn missed_runs_are_skipped_run_once_or_all_made_up_for() {
    assert_eq!(after_a_rest(Missed::Skip).await, (vec![], 5));
    assert_eq!(after_a_rest(Missed::RunOnce).await, (vec![at(1, 5, 0)], 4));
    let all: Vec<_> = (1..=5).map(|hour| at(1, hour, 0)).collect();
    assert_eq!(after_a_rest(Missed::run_all()).await, (all, 0));
    let two = vec![at(1, 4, 0), at(1, 5, 0)];
    assert_eq!(after_a_rest(Missed::RunAll { most: 2 }).await, (two, 3));
}

#[tokio::test(start_paused = true)]
async fn hundreds_of_missed_runs_are_made_up_for_in_parts() {
    let (world, (workflow, _)) = (World::new(), flow(Act::Succeed));
    let node = start(world.store.clone(), &workflow).await;
    let mut every = declaration(&workflow, "* * * * *");
    every.rules.missed = Missed::RunAll { most: 250 };
    node.declare_schedule("nightly", every).await.unwrap();
    drop(node);
    sleep(s(10 * 3600 + 30)).await;
    let node = start(world.store.clone(), &workflow).await;
    sleep(s(20)).await;
    let instants = world.instants().await;
    assert_eq!(
        (instants.len(), instants.first(), instants.last()),
        (250, Some(&at(1, 5, 51)), Some(&at(1, 10, 0)))
    );
    let listed = listed(&node).await;
    assert_eq!((listed.runs, listed.skipped_missed), (250, 350));
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_fires_nothing_again() {
    let (world, (workflow, _)) = (World::new(), flow(Act::Succeed));
    world.set_ahead.store(2 * 3_600_000, Ordering::SeqCst);
    let node = start(world.store.clone(), &workflow).await;
    declare(&node, &workflow, "0 * * * *").await;
    sleep(s(3_601)).await;
    assert_eq!(world.instants().await, [at(1, 3, 0)]);
    world.set_ahead.store(0, Ordering::SeqCst);
    // The store's time stands until the machine's has come after it.
    sleep(s(2 * 3600)).await;
    assert_eq!(world.instants().await, [at(1, 3, 0)]);
    sleep(s(3600)).await;
    assert_eq!(world.instants().await, [at(1, 3, 0), at(1, 4, 0)]);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_ahead_goes_by_the_rule_for_missed_runs() {
    for (missed, expected) in [
        (Missed::Skip, vec![]),
        (Missed::RunOnce, vec![at(1, 4, 0)]),
        (Missed::run_all(), (1..=4).map(|hour| at(1, hour, 0)).collect()),
    ] {
        let (world, (workflow, _)) = (World::new(), flow(Act::Succeed));
        let node = start(world.store.clone(), &workflow).await;
        let mut hourly = declaration(&workflow, "0 * * * *");
        hourly.rules.missed = missed;
        node.declare_schedule("nightly", hourly).await.unwrap();
        sleep(s(60)).await;
        world.set_ahead.store(4 * 3_600_000 + 1_800_000, Ordering::SeqCst);
        // It is noticed with the next renewal of the lease.
        sleep(s(2)).await;
        assert_eq!(world.instants().await, expected, "{missed:?}");
        sleep(s(3600)).await;
        assert_eq!(world.instants().await.len(), expected.len() + 1, "and it goes on");
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_to_just_after_an_instant_misses_nothing() {
    let (world, (workflow, _)) = (World::new(), flow(Act::Succeed));
    let node = start(world.store.clone(), &workflow).await;
    let mut hourly = declaration(&workflow, "0 * * * *");
    hourly.rules.missed = Missed::Skip;
    node.declare_schedule("nightly", hourly).await.unwrap();
    sleep(s(60)).await;
    world.set_ahead.store(3_600_000 - 30_000, Ordering::SeqCst);
    sleep(s(3)).await;
    assert_eq!(world.instants().await, [at(1, 1, 0)]);
}
