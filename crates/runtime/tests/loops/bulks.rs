//! The same asked of many tasks [O2, O3]. Virtual time.

#![expect(clippy::unwrap_used, reason = "tests")]

use crate::common;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::flaky::Flaky;
use common::*;
use steadfast_engine::{Action, OnFailure, TaskState};
use steadfast_resilience::clock::Clock;
use steadfast_runtime::{BulkState, BulkStatus, ErrorKind, Find, NewBulk, Node, Wanted, Workflow};
use steadfast_store::{AuditId, Filter, Store, TaskId};

/// A workflow whose step fails for an operator until it is told otherwise.
fn broken() -> (Arc<Workflow>, Books, Arc<AtomicBool>) {
    let mended = Arc::new(AtomicBool::new(false));
    let is_mended = Arc::clone(&mended);
    let script = Arc::new(move |_| if is_mended.load(Ordering::SeqCst) { Act::Succeed } else { NO });
    let step = step("a").on_failure(OnFailure::Error).nothing_to_undo();
    let (workflow, books) = Flow::new("broken").step(step, service("svc"), script).build();
    (workflow, books, mended)
}

fn failed(wanted: Wanted, rate: f64) -> NewBulk {
    let filter = Filter { states: vec![TaskState::Failed], ..Filter::default() };
    let find = Find { filter, ..Find::default() };
    NewBulk { find, wanted, rate, by: "ana".to_owned(), why: "it is mended".to_owned() }
}

async fn fail_many<S: Store>(node: &Node<S>, workflow: &Arc<Workflow>, count: usize) -> Vec<TaskId> {
    let tasks = submit_many(node, workflow, count).await;
    for task in &tasks {
        node.at_rest(*task).await.unwrap();
    }
    tasks
}

async fn over<S: Store>(node: &Node<S>, id: AuditId) -> BulkStatus {
    for _ in 0..100_000 {
        let status = node.bulk(id).await.unwrap();
        if status.record.state == BulkState::Over {
            return status;
        }
        sleep(s(1)).await;
    }
    std::panic::resume_unwind(Box::new("it is never over"));
}

#[tokio::test(start_paused = true)]
async fn a_bulk_asks_those_that_it_found_and_no_others_at_its_rate() {
    let (workflow, books, mended) = broken();
    let node = node(memory(), &workflow).await;
    // `TASKS=50000` for many.
    let count: usize = std::env::var("TASKS").map_or(2_000, |count| count.parse().unwrap());
    let all = u64::try_from(count).unwrap();
    let tasks = fail_many(&node, &workflow, count).await;
    let bulk = node.prepare_bulk(failed(Wanted::Whole(Action::Resume), 100.0)).await.unwrap();
    assert_eq!((bulk.tasks, bulk.record.state), (all, BulkState::Prepared));
    assert_eq!(bulk.record.looked_for, "state: failed");
    // Those that fail now were not looked at by whoever begins it.
    let later = fail_many(&node, &workflow, 5).await;
    let preview: BTreeSet<_> = node.bulk_tasks(bulk.id, 0, count + 10).await.unwrap().into_iter().collect();
    assert_eq!(preview, tasks.iter().copied().collect());
    mended.store(true, Ordering::SeqCst);
    let calls = books.calls("a");
    node.begin_bulk(bulk.id).await.unwrap();
    sleep(s(10)).await;
    // At its height, over five seconds.
    let before = books.calls("a");
    sleep(s(5)).await;
    let rate = (books.calls("a") - before) as f64 / 5.0;
    assert!((90.0..=110.0).contains(&rate), "{rate} a second");
    let ended = over(&node, bulk.id).await;
    assert_eq!((ended.record.next, ended.record.done, ended.record.refused.len()), (all, all, 0));
    assert_eq!(books.calls("a") - calls, count);
    for task in &tasks {
        assert_eq!(state(&node.at_rest(*task).await.unwrap()), TaskState::Completed);
    }
    for task in &later {
        assert_eq!(state(&node.read(*task).await.unwrap()), TaskState::Failed);
    }
    let log = node.audits(None, None, 2 * count).await.unwrap();
    let own: Vec<_> = log.iter().filter(|entry| entry.audit.task.is_none()).collect();
    assert_eq!((own.len(), own[0].audit.id, &*own[0].audit.action), (1, bulk.id, "bulk resume"));
    let detail: serde_json::Value = serde_json::from_slice(&own[0].audit.detail).unwrap();
    assert_eq!((&detail["done"], &detail["looked_for"]), (&all.into(), &"state: failed".into()));
    assert!(matches!(node.begin_bulk(bulk.id).await.unwrap_err().kind(), ErrorKind::BulkNotNow { .. }));
    let nobody = AuditId::from_u128(7);
    assert!(matches!(node.stop_bulk(nobody).await.unwrap_err().kind(), ErrorKind::UnknownBulk(_)));
}

#[tokio::test(start_paused = true)]
async fn a_bulk_is_stopped_and_goes_on_where_it_was() {
    let (workflow, books, mended) = broken();
    let node = node(memory(), &workflow).await;
    fail_many(&node, &workflow, 600).await;
    mended.store(true, Ordering::SeqCst);
    let calls = books.calls("a");
    let bulk = node.prepare_bulk(failed(Wanted::Whole(Action::Resume), 50.0)).await.unwrap();
    node.begin_bulk(bulk.id).await.unwrap();
    sleep(s(6)).await;
    node.stop_bulk(bulk.id).await.unwrap();
    sleep(s(3)).await;
    let (asked, status) = (books.calls("a") - calls, node.bulk(bulk.id).await.unwrap());
    assert_eq!(status.record.state, BulkState::Stopped);
    assert!(asked > 50 && asked < 400 && status.record.done <= asked as u64, "{asked}, {status:?}");
    sleep(s(100)).await;
    assert_eq!(books.calls("a") - calls, asked);
    node.begin_bulk(bulk.id).await.unwrap();
    assert_eq!(over(&node, bulk.id).await.record.done, 600);
    assert_eq!(books.calls("a") - calls, 600);
}

/// Whoever dies over it, and wherever: another node goes on, and no task is asked twice.
#[tokio::test(start_paused = true)]
async fn a_bulk_outlives_the_node_that_was_at_it() {
    for millis in [300, 1_700, 2_900, 4_200, 5_300, 8_100] {
        let (workflow, books, mended) = broken();
        let store = Flaky::new(memory(), millis, 0).slow(3);
        let one = node_with(store.clone(), &workflow, quick()).await;
        fail_many(&one, &workflow, 300).await;
        mended.store(true, Ordering::SeqCst);
        let calls = books.calls("a");
        let bulk = one.prepare_bulk(failed(Wanted::Whole(Action::Resume), 60.0)).await.unwrap();
        one.begin_bulk(bulk.id).await.unwrap();
        sleep(std::time::Duration::from_millis(millis)).await;
        drop(one);
        let two = node_with(store, &workflow, quick()).await;
        let ended = over(&two, bulk.id).await;
        assert_eq!((ended.record.next, ended.record.done), (300, 300), "{millis}: {ended:?}");
        assert_eq!(books.effects("a"), 300);
        // A call may have been made, and its answer lost with the node.
        assert!(books.calls("a") - calls <= 300 + 60, "{millis}");
        assert_eq!(two.audits(None, None, 5_000).await.unwrap().len(), 301, "one for each, and one for all");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_is_counted_by_its_reason() {
    let (workflow, _, _) = broken();
    let node = node(memory(), &workflow).await;
    let tasks = fail_many(&node, &workflow, 30).await;
    let bulk = node.prepare_bulk(failed(Wanted::Whole(Action::Undo), 1_000.0)).await.unwrap();
    for task in &tasks[..10] {
        node.undo(*task, "ben", "sooner").await.unwrap();
        node.at_rest(*task).await.unwrap();
    }
    node.begin_bulk(bulk.id).await.unwrap();
    let ended = over(&node, bulk.id).await;
    assert_eq!(ended.record.done, 20);
    assert_eq!(ended.record.refused.into_iter().collect::<Vec<_>>(), [("the task has ended".to_owned(), 10)]);
    let step = Wanted::Skip { step: "nothing".to_owned(), happened: false };
    let all = NewBulk { find: Find::default(), ..failed(step, 1_000.0) };
    let bulk = node.prepare_bulk(all).await.unwrap();
    assert_eq!(bulk.record.looked_for, "all tasks");
    node.begin_bulk(bulk.id).await.unwrap();
    let refused = over(&node, bulk.id).await.record.refused;
    assert_eq!(
        refused.into_iter().collect::<Vec<_>>(),
        [("workflow `broken` has no step `nothing`".to_owned(), 30)]
    );
    for rate in [0.0, -1.0, f64::NAN, 1e-300] {
        assert!(node.prepare_bulk(failed(Wanted::Whole(Action::Pause), rate)).await.is_err());
    }
    let pause = || failed(Wanted::Whole(Action::Pause), 1.0);
    for (new, words) in [
        (NewBulk { why: " ".to_owned(), ..pause() }, "nobody says why"),
        (NewBulk { by: String::new(), ..pause() }, "nobody says who asks"),
        (NewBulk { why: "x".repeat(5_000), ..pause() }, "has 5003 bytes, at most"),
        (failed(Wanted::Whole(Action::Label), 1.0), "`label` cannot be asked of many tasks"),
    ] {
        let refused = node.prepare_bulk(new).await.unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
}

/// A slow one holds nobody up, and one is found again however many came after it.
#[tokio::test(start_paused = true)]
async fn bulks_go_on_beside_each_other_and_none_is_forgotten() {
    let (workflow, _, mended) = broken();
    let store = memory();
    let one = node_with(store.clone(), &workflow, quick()).await;
    fail_many(&one, &workflow, 300).await;
    mended.store(true, Ordering::SeqCst);
    let slow = one.prepare_bulk(failed(Wanted::Whole(Action::Resume), 0.1)).await.unwrap();
    for _ in 0..120 {
        one.prepare_bulk(failed(Wanted::Whole(Action::Undo), 1.0)).await.unwrap();
    }
    one.begin_bulk(slow.id).await.unwrap();
    sleep(s(60)).await;
    drop(one);
    let two = node_with(store, &workflow, quick()).await;
    sleep(s(100)).await;
    let before = two.bulk(slow.id).await.unwrap().record.done;
    let quick = two.prepare_bulk(failed(Wanted::Whole(Action::Resume), 1_000.0)).await.unwrap();
    two.begin_bulk(quick.id).await.unwrap();
    sleep(s(30)).await;
    assert_eq!(two.bulk(quick.id).await.unwrap().record.state, BulkState::Over);
    sleep(s(100)).await;
    let after = two.bulk(slow.id).await.unwrap().record;
    assert!(before > 0 && after.next > before && after.state == BulkState::Running, "{before}, {after:?}");
}

/// Tasks of a workflow that nobody knows do not keep a bulk from its end.
#[tokio::test(start_paused = true)]
async fn a_bulk_ends_though_nobody_knows_a_workflow() {
    let (workflow, _, mended) = broken();
    let failing = step("x").on_failure(OnFailure::Error).nothing_to_undo();
    let (other, _) = Flow::new("other").step(failing, service("svc"), always(NO)).build();
    let store = memory();
    let both =
        Node::start(store.clone(), known(&[&workflow, &other]), quick(), Clock::tokio()).await.unwrap();
    let (known, strange) = (fail_many(&both, &workflow, 5).await, fail_many(&both, &other, 3).await);
    both.shut_down().await.unwrap();
    mended.store(true, Ordering::SeqCst);
    let node = node_with(store.clone(), &workflow, quick()).await;
    let bulk = node.prepare_bulk(failed(Wanted::Whole(Action::Resume), 100.0)).await.unwrap();
    assert_eq!(bulk.tasks, 8);
    node.begin_bulk(bulk.id).await.unwrap();
    let ended = over(&node, bulk.id).await.record;
    let words =
        "it is stored and will be acted on, but no program that runs knows workflow `other` version 1";
    assert_eq!((ended.done, ended.refused.into_iter().collect::<Vec<_>>()), (5, vec![(words.to_owned(), 3)]));
    for task in known {
        assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Completed);
    }
    // As it was said.
    let both =
        Node::start(store, common::known(&[&workflow, &other]), quick(), Clock::tokio()).await.unwrap();
    sleep(s(90)).await;
    let log = both.audits(Some(strange[0]), None, 9).await.unwrap();
    assert_eq!((log.len(), &*log[0].audit.action, &log[0].audit.refused), (1, "resume", &None));
}
