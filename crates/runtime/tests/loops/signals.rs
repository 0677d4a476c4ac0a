//! Signals [W1]: they end waits, come early, late, twice and never, and race with timeouts.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use crate::common;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use common::flaky::{Commit, Flaky};
use common::race::AT_ONCE;
use common::*;
use steadfast_engine::{Step, StepId, StepState, TaskState};
use steadfast_runtime::{ErrorKind, Node, Request, Workflow};
use steadfast_store::{Kind, MAX_PAYLOAD, Payload, PayloadKey, Store, TaskId};

fn go(id: Option<&str>, says: &str) -> Request {
    Request::Signal { name: Arc::from("go"), id: id.map(Arc::from), says: Payload::from(says.as_bytes()) }
}

/// Waits for `go`, then calls.
fn waiting(wait: Step) -> (Arc<Workflow>, Books) {
    let then = step("then").after(["go"]);
    Flow::new("waiting").wait(wait).step(then, service("svc"), always(Act::Succeed)).build()
}

async fn output<S: Store>(node: &Node<S>, task: TaskId, step: u16) -> Option<String> {
    let key = PayloadKey { task, step: Some(StepId::at(step)) };
    node.payload(key).await.unwrap().map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
}

#[test]
fn a_signal_and_its_timeout_race_ten_thousand_times_and_the_one_that_was_stored_first_wins() {
    race::in_memory(race);
}

#[test]
fn a_signal_and_its_timeout_race_over_a_file_too() {
    race::in_file(race);
}

/// Some tasks, each with a signal around its timeout. How many had it, and how many had not.
async fn race<S: Store + Clone>(store: S, seed: u64) -> (usize, usize) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let (workflow, _) = waiting(Step::signal("go", "go").timeout(s(10)).or_none());
    let store = Flaky::new(store, seed, 0).slow(rng.u64(0..4));
    let mut settings = quick();
    // Every other time the tasks are out of memory when their time comes.
    settings.release_after = if seed.is_multiple_of(2) { s(60) } else { s(1) };
    let node = Arc::new(node_with(store.clone(), &workflow, settings).await);
    let mut tasks = Vec::new();
    let mut senders = tokio::task::JoinSet::new();
    for _ in 0..AT_ONCE {
        let task = submit(&node, &workflow).await;
        tasks.push(task);
        let (node, after) = (Arc::clone(&node), Duration::from_millis(rng.u64(9_970..10_030)));
        senders.spawn(async move {
            sleep(after).await;
            // One that is too late may be refused.
            let _ = node.ask(task, &go(None, "1")).await;
        });
    }
    while senders.join_next().await.is_some() {}
    let mut ended = (0, 0);
    for task in &tasks {
        assert_eq!(state(&node.at_rest(*task).await.unwrap()), TaskState::Completed);
        match output(&node, *task, 0).await.as_deref() {
            Some("1") => ended.0 += 1,
            Some("null") => ended.1 += 1,
            other => panic!("neither the one nor the other: {other:?}"),
        }
        assert_eq!(state(&node.read(*task).await.unwrap()), TaskState::Completed);
    }
    let log = store.log.lock().unwrap().clone();
    let (mut posted, mut settled) = (HashMap::new(), HashMap::new());
    for (at, commit) in log.into_iter().enumerate() {
        match commit {
            Commit::Mail(task) => drop(posted.entry(task).or_insert(at)),
            Commit::Steps(task, steps) => {
                let done = |(step, record): &(StepId, steadfast_engine::Record)| {
                    step.ordinal() == 0 && record.state == StepState::Completed
                };
                if steps.iter().any(done) {
                    assert_eq!(settled.insert(task, at), None, "a wait ended twice");
                }
            }
        }
    }
    for task in tasks {
        let first = posted.get(&task).is_some_and(|at| *at < settled[&task]);
        let had = output(&node, task, 0).await.as_deref() == Some("1");
        assert_eq!(had, first, "seed {seed}: the signal was stored first: {first}, it was taken: {had}");
    }
    ended
}

#[tokio::test(start_paused = true)]
async fn a_task_that_waits_for_a_signal_is_out_of_memory_and_is_woken_by_it() {
    let (workflow, books) = waiting(Step::signal("go", "go"));
    let store = memory();
    let first = node(store.clone(), &workflow).await;
    let task = submit(&first, &workflow).await;
    sleep(s(1)).await;
    assert_eq!((first.stats().owned, state(&first.read(task).await.unwrap())), (0, TaskState::Waiting));
    // For days, and over a restart.
    sleep(s(3 * 86_400)).await;
    drop(first);
    let second = node(store, &workflow).await;
    sleep(s(60)).await;
    assert_eq!((books.calls("then"), second.stats().owned), (0, 0));
    second.ask(task, &go(None, "\"yes\"")).await.unwrap();
    sleep(s(1)).await;
    assert_eq!(state(&second.read(task).await.unwrap()), TaskState::Completed, "at once");
    assert_eq!((output(&second, task, 0).await.as_deref(), books.calls("then")), (Some("\"yes\""), 1));
}

#[tokio::test(start_paused = true)]
async fn early_signals_are_kept_over_a_crash_and_used_in_their_order() {
    let twice = |name: &str, after: &str| Step::signal(name, "go").timeout(s(5)).after([after]);
    let (workflow, _) = Flow::new("twice")
        .step(
            step("long").complete_within(s(900)),
            service("svc"),
            first(vec![Act::Take(s(600)), Act::Take(s(60))]),
        )
        .wait(twice("one", "long"))
        .wait(twice("two", "one"))
        .build();
    let store = memory();
    let before = node_with(store.clone(), &workflow, quick()).await;
    let task = submit(&before, &workflow).await;
    // Too large to be kept in memory, and small.
    let large = format!("\"{}\"", "x".repeat(5_000));
    before.ask(task, &go(Some("a"), &large)).await.unwrap();
    before.ask(task, &go(Some("b"), "2")).await.unwrap();
    sleep(s(1)).await;
    drop(before);
    let after = node_with(store, &workflow, quick()).await;
    sleep(s(10)).await;
    // What was sent before is no error, and counts once.
    after.ask(task, &go(Some("a"), "3")).await.unwrap();
    let over = after.ask(task, &go(Some("c"), "4")).await.unwrap_err();
    assert_eq!(
        *over.kind(),
        ErrorKind::SignalOver { task, signal: "go".to_owned() },
        "both waits have theirs"
    );
    assert_eq!(state(&after.at_rest(task).await.unwrap()), TaskState::Completed);
    assert_eq!(output(&after, task, 1).await, Some(large));
    assert_eq!(output(&after, task, 2).await.as_deref(), Some("2"));
    after.ask(task, &go(Some("b"), "2")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn without_its_signal_a_task_is_undone_and_says_why() {
    let (workflow, books) = Flow::new("approved")
        .undoable(step("a"), service("svc"), always(Act::Succeed), always(Act::Succeed))
        .wait(Step::signal("ok", "go").timeout(s(3_600)).after(["a"]))
        .build();
    let node = node(memory(), &workflow).await;
    let task = submit(&node, &workflow).await;
    sleep(s(1_800)).await;
    let stored = node.read(task).await.unwrap();
    assert_eq!(node.stats().owned, 0, "an hour is long");
    let words = stored.task.in_words(workflow.definition(), node.now());
    assert!(
        words.starts_with(
            "`ok`: it waits for signal `go`: for 1800 s so far, and for 1800 s more, then it fails"
        ),
        "{words}"
    );
    let ended = node.at_rest(task).await.unwrap();
    assert_eq!((state(&ended), books.calls("undo a")), (TaskState::Undone, 1));
    let words = ended.task.in_words(workflow.definition(), node.now());
    assert_eq!(words, "step `ok` failed: no-signal: `go` did not come within 1 h");
    let late = node.ask(task, &go(None, "1")).await.unwrap_err();
    assert_eq!(*late.kind(), ErrorKind::Ended(task));
}

#[tokio::test(start_paused = true)]
async fn signals_that_are_of_no_use_are_refused() {
    let (workflow, _) = waiting(Step::signal("go", "go").timeout(s(60)).or_none());
    let node = node(memory(), &workflow).await;
    let task = submit(&node, &workflow).await;
    let unknown = Request::Signal { name: Arc::from("no"), id: None, says: Payload::default() };
    let kind = ErrorKind::UnknownSignal { signal: "no".to_owned(), workflow: "waiting".to_owned() };
    assert_eq!(*node.ask(task, &unknown).await.unwrap_err().kind(), kind);
    let nobody = TaskId::from_u128(7);
    let refused = node.ask(nobody, &go(None, "1")).await.unwrap_err();
    assert_eq!(*refused.kind(), ErrorKind::UnknownTask(nobody));
    let large = "x".repeat(MAX_PAYLOAD + 1);
    for request in [go(None, &large), go(Some(&"i".repeat(201)), "1")] {
        let refused = node.ask(task, &request).await.unwrap_err();
        assert!(matches!(refused.kind(), ErrorKind::Store { kind: Kind::TooLarge, .. }), "{refused}");
    }
    node.ask(task, &go(None, &large[1..])).await.unwrap();
    assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Completed);
    assert_eq!(
        output(&node, task, 0).await.map(|says| says.len()),
        Some(MAX_PAYLOAD),
        "the largest there is"
    );
}

#[tokio::test(start_paused = true)]
async fn a_signal_that_is_sent_twice_under_one_id_ends_one_wait() {
    let second = Step::signal("more", "go").timeout(s(60)).or_none().after(["go"]);
    let (workflow, _) = Flow::new("twice").wait(Step::signal("go", "go")).wait(second).build();
    let node = node(memory(), &workflow).await;
    let task = submit(&node, &workflow).await;
    // At the same time: neither knows of the other.
    let (one, two) = (go(Some("7"), "1"), go(Some("7"), "1"));
    let (one, two) = tokio::join!(node.ask(task, &one), node.ask(task, &two));
    one.unwrap();
    two.unwrap();
    assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Completed);
    assert_eq!(output(&node, task, 1).await.as_deref(), Some("null"), "the second wait had none");
}
