//! Two nodes, crashes, outages, and what is refused.

use super::*;
use common::flaky::Flaky;
use steadfast_store::Schedules as _;

#[tokio::test(start_paused = true)]
async fn two_nodes_begin_each_run_once() {
    let (world, (workflow, books)) = (World::new(), flow(Act::Succeed));
    let mut nodes = Vec::new();
    for _ in 0..3 {
        let node = start(world.store.clone(), &workflow).await;
        declare(&node, &workflow, "*/5 * * * *").await;
        nodes.push(node);
    }
    sleep(s(86_401)).await;
    assert_eq!(world.instants().await.len(), 288);
    assert_eq!(books.effects("write"), 288);
    let listed = listed(&nodes[0]).await;
    assert_eq!((listed.runs, listed.skipped_missed), (288, 0), "and each was counted once");
}

#[tokio::test(start_paused = true)]
async fn another_node_hears_of_a_schedule_within_a_minute() {
    let (world, (workflow, _)) = (World::new(), flow(Act::Succeed));
    let first = start(world.store.clone(), &workflow).await;
    let _second = start(world.store.clone(), &workflow).await;
    declare(&first, &workflow, "0 * * * *").await;
    drop(first);
    sleep(s(3_661)).await;
    assert_eq!(world.instants().await, [at(1, 1, 0)]);
}

/// The node dies before this call: what was done until then is all that is left of it.
#[tokio::test(start_paused = true)]
async fn a_crash_at_each_point_begins_nothing_twice_and_loses_nothing() {
    for (call, tasks, runs) in [("upcoming", 0, 0), ("submit", 0, 0), ("put", 1, 0)] {
        let (world, (workflow, books)) = (World::new(), flow(Act::Succeed));
        let store = Flaky::new(world.store.clone(), 1, 0);
        let node = start(store.clone(), &workflow).await;
        declare(&node, &workflow, "0 * * * *").await;
        sleep(s(3_590)).await;
        store.held.send_replace(call);
        sleep(s(11)).await;
        assert_eq!((world.store.tasks().len(), listed(&node).await.runs), (tasks, runs), "{call}");
        drop(node);
        let node = start(world.store.clone(), &workflow).await;
        sleep(s(3 * 3600)).await;
        let expected: Vec<_> = (1..=4).map(|hour| at(1, hour, 0)).collect();
        assert_eq!(world.instants().await, expected, "{call}");
        let listed = listed(&node).await;
        assert_eq!((books.effects("write"), listed.runs, listed.skipped_missed), (4, 4, 0), "{call}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_of_which_nobody_knows_what_became_is_made_again() {
    for call in ["upcoming", "submit", "put"] {
        for done in [false, true] {
            let (world, (workflow, books)) = (World::new(), flow(Act::Succeed));
            let store = Flaky::new(world.store.clone(), 1, 0);
            let node = start(store.clone(), &workflow).await;
            declare(&node, &workflow, "0 * * * *").await;
            sleep(s(3_590)).await;
            if done {
                store.fail_after(call);
            } else {
                store.fail_before(call);
            }
            sleep(s(3 * 3600 + 15)).await;
            assert!(!store.is_armed(), "it failed once");
            let expected: Vec<_> = (1..=4).map(|hour| at(1, hour, 0)).collect();
            assert_eq!(world.instants().await, expected, "{call}, done: {done}");
            let listed = listed(&node).await;
            assert_eq!((books.effects("write"), listed.runs, listed.skipped_missed), (4, 4, 0), "{call}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_all_the_time_loses_no_instant() {
    for seed in 0..20 {
        let (world, (workflow, books)) = (World::new(), flow(Act::Succeed));
        let node = start(world.store.clone(), &workflow).await;
        let mut all = declaration(&workflow, "*/10 * * * *");
        all.rules.missed = Missed::run_all();
        node.declare_schedule("nightly", all).await.unwrap();
        drop(node);
        let store = Flaky::new(world.store.clone(), seed, 300).slow(200);
        let node = loop {
            // Its first calls may fail as well.
            if let Ok(node) = Node::start(store.clone(), known(&[&workflow]), quick(), Clock::tokio()).await {
                break node;
            }
        };
        sleep(s(6 * 3600)).await;
        store.mend();
        sleep(s(400)).await;
        assert!(node.stats().store_errors > 100, "it did fail");
        assert_eq!(world.instants().await.len(), 36, "seed {seed}");
        let listed = listed(&node).await;
        assert_eq!((books.effects("write"), listed.runs, listed.skipped_missed), (36, 36, 0), "seed {seed}");
    }
}

/// One begins the run and is slow to say so; meanwhile somebody pauses the schedule.
#[tokio::test(start_paused = true)]
async fn who_was_not_first_to_write_still_says_what_it_has_begun() {
    let (world, (workflow, _)) = (World::new(), flow(Act::Succeed));
    let store = Flaky::new(world.store.clone(), 1, 0);
    let _slow = start(store.clone(), &workflow).await;
    // It does not know the workflow, and keeps out of the way.
    let (other, _) = Flow::new("other").step(step("write"), service("svc"), always(Act::Succeed)).build();
    let node = start(world.store.clone(), &other).await;
    declare(&node, &workflow, "0 * * * *").await;
    sleep(s(3_590)).await;
    store.held.send_replace("put");
    sleep(s(11)).await;
    assert_eq!((world.store.tasks().len(), listed(&node).await.runs), (1, 0), "begun, and not written");
    assert!(node.pause_schedule("nightly").await.unwrap());
    store.held.send_replace("");
    sleep(s(1)).await;
    let told = listed(&node).await;
    assert!(told.paused_since.is_some(), "what stood first holds");
    assert_eq!((told.runs, told.last.map(|last| last.task)), (1, world.store.tasks().first().copied()));
    assert_eq!(told.next.map(rfc3339), Some(at(1, 2, 0)));
    node.resume_schedule("nightly").await.unwrap();
    sleep(s(3600)).await;
    assert_eq!(world.instants().await, [at(1, 1, 0), at(1, 2, 0)]);
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_the_store_is_waited_for() {
    let (world, (workflow, _)) = (World::new(), flow(Act::Succeed));
    let store = Flaky::new(world.store.clone(), 1, 0);
    let node = start(store.clone(), &workflow).await;
    declare(&node, &workflow, "0 * * * *").await;
    sleep(s(3_500)).await;
    store.hold();
    sleep(s(1_800)).await;
    assert!(world.store.tasks().is_empty());
    store.let_go();
    sleep(s(10)).await;
    assert_eq!(world.instants().await, [at(1, 1, 0)], "late, and made up for");
    sleep(s(3600)).await;
    assert_eq!(world.instants().await, [at(1, 1, 0), at(1, 2, 0)]);
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_is_told_and_the_next_instant_has_its_turn() {
    let (world, (workflow, _)) = (World::new(), flow(Act::Succeed));
    let node = start(world.store.clone(), &workflow).await;
    declare(&node, &workflow, "0 * * * *").await;
    drop(node);
    // A program that knows another workflow alone.
    let (other, _) = Flow::new("other").step(step("write"), service("svc"), always(Act::Succeed)).build();
    let node = start(world.store.clone(), &other).await;
    sleep(s(3_630)).await;
    assert_eq!(listed(&node).await.last_error, None, "somebody else may know it");
    sleep(s(60)).await;
    let told = listed(&node).await;
    let error = told.last_error.unwrap();
    assert_eq!((rfc3339(error.instant), told.next.map(rfc3339)), (at(1, 1, 0), Some(at(1, 2, 0))));
    assert!(
        error.message.contains("workflow `report` version 1 is not registered here"),
        "{}",
        error.message
    );
    // Beside one that knows it, it keeps out of the way.
    let knows = start(world.store.clone(), &workflow).await;
    sleep(s(2 * 3600)).await;
    assert_eq!(world.instants().await, [at(1, 2, 0), at(1, 3, 0)]);
    assert_eq!(listed(&knows).await.last_error, None);
}

#[tokio::test(start_paused = true)]
async fn many_that_nobody_here_understands_do_not_stand_in_the_way() {
    let (world, (workflow, _)) = (World::new(), flow(Act::Succeed));
    let strange = (0..200).map(|nth| steadfast_store::Schedule {
        name: Arc::from(format!("a-{nth:03}")),
        version: 0,
        wake_at: Some(Time::from_millis(5)),
        body: Payload::from(b"\x09strange".as_slice()),
    });
    world.store.put(strange.collect()).await.unwrap();
    let node = start(world.store.clone(), &workflow).await;
    declare(&node, &workflow, "every 10m").await;
    sleep(s(3_601)).await;
    assert_eq!(world.instants().await.len(), 6);
    assert_eq!(node.schedules().await.unwrap().len(), 1, "they are not listed");
}

#[tokio::test(start_paused = true)]
async fn too_many_open_tasks_make_a_run_wait() {
    let (world, (workflow, _)) = (World::new(), flow(Act::Take(s(9))));
    let mut settings: Settings = quick();
    settings.most_open = 1;
    let node = Node::start(world.store.clone(), known(&[&workflow]), settings, Clock::tokio()).await.unwrap();
    declare(&node, &workflow, "0 * * * *").await;
    sleep(s(3_595)).await;
    let mine = common::submit(&node, &workflow).await;
    sleep(s(7)).await;
    assert_eq!(world.store.tasks(), [mine]);
    sleep(s(10)).await;
    assert_eq!(world.store.tasks().len(), 2);
    assert!(world.runs().await.contains_key("nightly@2026-03-01T01:00:00Z"));
}

#[tokio::test(start_paused = true)]
async fn an_idle_node_asks_once_a_minute() {
    let (world, (workflow, _)) = (World::new(), flow(Act::Succeed));
    let store = Flaky::new(world.store.clone(), 1, 0);
    let node = start(store.clone(), &workflow).await;
    declare(&node, &workflow, "@yearly").await;
    sleep(s(1)).await;
    let before = store.made("upcoming");
    sleep(s(3600)).await;
    assert_eq!(store.made("upcoming") - before, 60);
}
