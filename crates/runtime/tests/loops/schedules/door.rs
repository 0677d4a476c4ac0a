//! Declared, listed, paused, removed.

use super::*;
use steadfast_runtime::ErrorKind;

#[tokio::test(start_paused = true)]
async fn each_instant_is_a_task_under_its_own_key() {
    let (world, (workflow, books)) = (World::new(), flow(Act::Succeed));
    let node = start(world.store.clone(), &workflow).await;
    assert_eq!(declare(&node, &workflow, "30 2 * * *").await, Declared::New);
    sleep(s(3 * 86_400)).await;
    assert_eq!(world.instants().await, [at(1, 2, 30), at(2, 2, 30), at(3, 2, 30)]);
    let runs = world.runs().await;
    let first = runs.get("nightly@2026-03-01T02:30:00Z").unwrap();
    assert_eq!((&*first.workflow, &*first.namespace), ("report", ""));
    assert_eq!(rfc3339(first.submitted_at), at(1, 2, 30), "on time");
    assert_eq!(books.effects("write"), 3);
    let listed = listed(&node).await;
    assert_eq!(listed.next.map(rfc3339), Some(at(4, 2, 30)));
    let last = listed.last.unwrap();
    assert_eq!((rfc3339(last.instant), last.task), (at(3, 2, 30), runs.last_key_value().unwrap().1.id));
    assert_eq!((listed.runs, listed.skipped_missed, listed.last_error), (3, 0, None));
}

#[tokio::test(start_paused = true)]
async fn the_same_declaration_changes_nothing_and_another_one_takes_its_place() {
    let (world, (workflow, _)) = (World::new(), flow(Act::Succeed));
    let node = start(world.store.clone(), &workflow).await;
    declare(&node, &workflow, "0 12 * * *").await;
    drop(node);
    // While nobody is there, an instant passes. Who comes and declares the same finds it, and it is made up for.
    sleep(s(13 * 3600)).await;
    let node = start(world.store.clone(), &workflow).await;
    assert_eq!(declare(&node, &workflow, "0 12 * * *").await, Declared::Same);
    sleep(s(1)).await;
    assert_eq!(world.instants().await, [at(1, 12, 0)]);
    // Another input keeps what is next, and what was counted.
    let changed =
        Declaration { input: Payload::from(b"2".as_slice()), ..declaration(&workflow, "0 12 * * *") };
    assert_eq!(node.declare_schedule("nightly", changed).await.unwrap(), Declared::Changed);
    assert_eq!((listed(&node).await.next.map(rfc3339), listed(&node).await.runs), (Some(at(2, 12, 0)), 1));
    // Other instants begin from now on.
    assert_eq!(declare(&node, &workflow, "0 6 * * *").await, Declared::Changed);
    assert_eq!(listed(&node).await.next.map(rfc3339), Some(at(2, 6, 0)));
    assert_eq!(
        listed(&node).await.upcoming(2).into_iter().map(rfc3339).collect::<Vec<_>>(),
        [at(2, 6, 0), at(3, 6, 0)]
    );
    sleep(s(86_400)).await;
    assert_eq!(world.instants().await, [at(1, 12, 0), at(2, 6, 0)]);
}

#[tokio::test(start_paused = true)]
async fn a_paused_schedule_rests_and_goes_by_the_rule_for_missed_runs() {
    let (world, (workflow, _)) = (World::new(), flow(Act::Succeed));
    let node = start(world.store.clone(), &workflow).await;
    declare(&node, &workflow, "0 * * * *").await;
    sleep(s(3700)).await;
    assert!(node.pause_schedule("nightly").await.unwrap());
    assert!(!node.pause_schedule("nightly").await.unwrap(), "it is paused already");
    // The same declaration at the next start does not wake it, nor does another one.
    declare(&node, &workflow, "0 * * * *").await;
    sleep(s(4 * 3600)).await;
    assert_eq!(world.instants().await, [at(1, 1, 0)]);
    assert!(listed(&node).await.paused_since.is_some());
    assert!(node.resume_schedule("nightly").await.unwrap());
    assert!(!node.resume_schedule("nightly").await.unwrap());
    sleep(s(1)).await;
    assert_eq!(world.instants().await, [at(1, 1, 0), at(1, 5, 0)], "the latest that was missed");
    assert_eq!(listed(&node).await.skipped_missed, 3);
}

#[tokio::test(start_paused = true)]
async fn a_schedule_that_is_removed_begins_nothing_more() {
    let (world, (workflow, _)) = (World::new(), flow(Act::Succeed));
    let node = start(world.store.clone(), &workflow).await;
    declare(&node, &workflow, "every 1m").await;
    sleep(s(61)).await;
    node.remove_schedule("nightly").await.unwrap();
    sleep(s(3600)).await;
    assert_eq!(world.instants().await.len(), 1);
    assert!(node.schedules().await.unwrap().is_empty());
    for error in [
        node.remove_schedule("nightly").await.unwrap_err(),
        node.pause_schedule("nightly").await.unwrap_err(),
        node.resume_schedule("nightly").await.unwrap_err(),
    ] {
        assert_eq!(*error.kind(), ErrorKind::UnknownSchedule("nightly".to_owned()));
    }
    // Again under the same name: instants that had their task have it still.
    declare(&node, &workflow, "every 1m").await;
    sleep(s(60)).await;
    assert_eq!(world.instants().await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn names_and_rules_that_make_no_sense_are_refused() {
    let (world, (workflow, _)) = (World::new(), flow(Act::Succeed));
    let node = start(world.store.clone(), &workflow).await;
    let good = declaration(&workflow, "@daily");
    let long = "x".repeat(101);
    for (name, words) in [("", "it has no name"), ("a@b", "is no name"), (&*long, "has 101 bytes")] {
        let error = node.declare_schedule(name, good.clone()).await.unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::BadSchedule { message, .. } if message.contains(words)),
            "{error}"
        );
    }
    let mut spread = good.clone();
    spread.rules.jitter = s(100_000);
    assert!(
        node.declare_schedule("nightly", spread).await.unwrap_err().to_string().contains("more than a day")
    );
    let large = Declaration { input: Payload::from(vec![0; 70_000]), ..good };
    let error = node.declare_schedule("nightly", large).await.unwrap_err();
    assert!(error.to_string().contains("a schedule, with its input, has 70"), "{error}");
    assert!(node.schedules().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_schedule_begins_and_ends_and_is_still_listed() {
    let (world, (workflow, _)) = (World::new(), flow(Act::Succeed));
    let node = start(world.store.clone(), &workflow).await;
    let mut some = declaration(&workflow, "0 * * * *");
    some.rules.starts_at = Some(Time::from_millis(BEGIN) + s(5 * 3600));
    some.rules.ends_at = Some(Time::from_millis(BEGIN) + s(7 * 3600));
    node.declare_schedule("nightly", some).await.unwrap();
    sleep(s(86_400)).await;
    assert_eq!(world.instants().await, [at(1, 5, 0), at(1, 6, 0)]);
    assert_eq!((listed(&node).await.next, listed(&node).await.runs), (None, 2));
}

#[tokio::test(start_paused = true)]
async fn jitter_delays_the_run_and_not_its_instant() {
    let (world, (workflow, _)) = (World::new(), flow(Act::Succeed));
    let node = start(world.store.clone(), &workflow).await;
    let mut spread = declaration(&workflow, "0 * * * *");
    spread.rules.jitter = s(1_800);
    node.declare_schedule("nightly", spread.clone()).await.unwrap();
    sleep(s(10 * 3600 + 1_800)).await;
    let runs = world.runs().await;
    assert_eq!(runs.len(), 10);
    for (key, stored) in &runs {
        let instant = Time::from_millis(BEGIN) + s(3600 * key[19..21].parse::<u64>().unwrap());
        let begins = spread.rules.begins_at(&spread.zone, "nightly", instant);
        assert!(
            stored.submitted_at.since(begins) < s(1),
            "{key}: {}",
            stored.submitted_at.since(begins).as_millis()
        );
        assert!(begins > instant);
    }
}
