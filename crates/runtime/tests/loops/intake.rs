//! Submissions that others hand in, in transactions of their own: each becomes one task, or fails with the reason [W7].

#![expect(clippy::unwrap_used, reason = "tests")]

use crate::common;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use common::flaky::Flaky;
use common::told::Told;
use common::*;
use steadfast_engine::{Action, StepId, TaskState};
use steadfast_resilience::clock::Clock;
use steadfast_runtime::{AlertKind, Node, Operation, Reply, ReplyTo, Says, Workflow};
use steadfast_store::{Arrival, ArrivalId, Intake as _, MAX_PAYLOAD, Memory, Payload, Store, TaskId};

fn id(number: u128) -> TaskId {
    TaskId::from_u128(number)
}

/// As another program hands it in.
fn arrival(number: u128) -> Arrival {
    Arrival {
        id: ArrivalId(0),
        task: Ok(Some(id(number))),
        namespace: Arc::from(""),
        workflow: Arc::from("saga"),
        version: None,
        key: None,
        priority: 0,
        input: Payload::from(number.to_string().as_bytes()),
        start_at: None,
        reply_to: Some(Arc::from("queue:orders")),
        correlation: Some(Arc::from(format!("order-{number}"))),
    }
}

fn open() -> Memory {
    memory().open_to_others()
}

async fn replies<T: Store>(node: &Node<T>) -> Vec<Reply> {
    let mut all = Vec::new();
    loop {
        let taken = node.take_replies(&ReplyTo::queue("orders"), 99, s(30)).await.unwrap();
        if taken.is_empty() {
            return all;
        }
        node.acknowledge(taken.iter().map(|reply| reply.id)).await.unwrap();
        all.extend(taken);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_handed_in_becomes_a_task_of_the_newest_version_under_its_own_id() {
    let (old, _) = saga(fine(), fine());
    let (newer, books) =
        Flow::new("saga").version(2).step(step("a"), service("svc"), always(Act::Echo)).build();
    let store = open();
    let node = Node::start(store.clone(), known(&[&old, &newer]), quick(), Clock::tokio()).await.unwrap();
    store.hand_in(arrival(7));
    let began = Clock::tokio().now();
    let taken = node.taken_up(id(7)).await.unwrap();
    assert!(Clock::tokio().now().since(began) <= Duration::from_millis(100));
    assert_eq!((taken.version, books.calls("a") < 2), (2, true));
    assert_eq!(state(&node.at_rest(id(7)).await.unwrap()), TaskState::Completed);
    let told: Vec<_> =
        replies(&node).await.into_iter().map(|reply| (reply.correlation, reply.says)).collect();
    assert_eq!((told.len(), told[0].0.as_deref()), (2, Some("order-7")));
    assert_eq!((store.arrivals(None, 9).await.unwrap(), node.stats().handed_in), (vec![], 1));
    assert!(node.taken_up(id(8)).await.is_err(), "nobody has handed that in");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_a_task_fails_with_its_reason_which_is_told() {
    let (workflow, books) = saga(fine(), fine());
    let (told, store) = (Told::default(), open());
    let node = node_with(store.clone(), &workflow, told.settings()).await;
    let keyed = |number, input: &str| Arrival {
        key: Some(Arc::from("k")),
        input: Payload::from(input.as_bytes()),
        ..arrival(number)
    };
    store.hand_in(keyed(1, "1"));
    node.taken_up(id(1)).await.unwrap();
    let large = format!("\"{}\"", "x".repeat(MAX_PAYLOAD));
    for bad in [
        Arrival { workflow: Arc::from("nobody"), key: Some(Arc::from("k-2")), ..arrival(2) },
        Arrival { version: Some(9), ..arrival(3) },
        Arrival { workflow: Arc::from("x".repeat(40_000)), ..arrival(8) },
        Arrival { input: Payload::from(&b"{"[..]), ..arrival(4) },
        keyed(5, "2"),
        Arrival { input: Payload::from(large.as_bytes()), ..arrival(6) },
        keyed(7, "1"),
    ] {
        store.hand_in(bad);
    }
    sleep(s(30)).await;
    for (number, words) in [
        (2, "workflow `nobody` is not registered here"),
        (3, "workflow `saga` version 9 is not registered here"),
        (4, "the input is no JSON"),
        (5, "the key was used for another input, by task 00000000-0000-0000-0000-000000000001"),
        (6, "the input has 1048578 bytes"),
        (8, "the name of the workflow has 40000 bytes"),
    ] {
        let why = node.why(id(number)).await.unwrap().to_string();
        assert!(why.contains(&format!("it could not be taken: {words}")), "{why}");
        assert!(
            told.taken()
                .iter()
                .any(|alert| alert.task == Some(id(number)) && alert.kind == AlertKind::TaskFailed)
        );
    }
    let elsewhere = node.taken_up(id(7)).await.unwrap_err().to_string();
    assert!(elsewhere.contains("the task of then is found by that key"), "the first task: {elsewhere}");
    assert_eq!((store.arrivals(None, 9).await.unwrap(), node.stats().not_taken), (vec![], 6));
    let failed = replies(&node).await.into_iter().filter(|reply| matches!(reply.says, Says::Failed { .. }));
    let failed: BTreeSet<_> = failed.map(|reply| reply.correlation.unwrap().to_string()).collect();
    assert_eq!(failed, [2, 3, 4, 5, 6, 8].map(|number| format!("order-{number}")).into_iter().collect());
    let why = node.why(id(2)).await.unwrap().to_string();
    assert!(why.contains("its key was `k-2`; its correlation id was `order-2`"), "whose it was: {why}");
    assert_eq!(books.effects("a"), 1);
    let find = steadfast_runtime::Find { reason: Some("no JSON".into()), ..Default::default() };
    let found = node.find(&find, None, 9).await;
    assert_eq!(found.unwrap().tasks.len(), 1, "operators find it by its reason");
}

/// It has no steps: an operator labels it, and closes it by undo; who asks for more is told what to do.
#[tokio::test(start_paused = true)]
async fn what_was_not_taken_is_closed_by_an_operator() {
    let (workflow, _) = saga(fine(), fine());
    let store = open();
    let node = node_with(store.clone(), &workflow, quick()).await;
    store.hand_in(Arrival { workflow: Arc::from("nobody"), ..arrival(2) });
    node.taken_up(id(2)).await.unwrap();
    let step = StepId::at(0);
    let retry = Action::Retry { step, edited: false, did_not_happen: false };
    let skip = Action::Skip { step, happened: true };
    let whole = [Action::Resume, Action::Cancel, Action::Pause, Action::Deadline(None)];
    for action in whole.into_iter().chain([retry, skip, Action::TakeAsUndone { step }]) {
        let refused = node.operate(id(2), Operation::new(action, "ana", "try")).await.unwrap_err();
        assert!(
            refused.to_string().contains("submit it anew, and close it by undo"),
            "{action:?}: {refused}"
        );
        assert_eq!(state(&node.read(id(2)).await.unwrap()), TaskState::Failed);
    }
    let label = Operation::new(Action::Label, "ana", "for ben");
    let team = Payload::from(&b"team=ben\n"[..]);
    node.operate(id(2), label.bringing(Some(team))).await.unwrap();
    assert_eq!(node.labels(vec![id(2)]).await.unwrap()[0].count(), 1);
    node.undo(id(2), "ana", "it was submitted anew").await.unwrap();
    assert_eq!(state(&node.read(id(2)).await.unwrap()), TaskState::Undone);
    assert_eq!(node.stats().owned, 0);
    let again = node.operate(id(2), Operation::new(Action::Undo, "ana", "again")).await.unwrap_err();
    assert!(again.to_string().contains("has ended"), "{again}");
    assert!(node.verify().await.unwrap().is_sound());
    let says: Vec<_> = replies(&node).await.into_iter().map(|reply| reply.says).collect();
    assert!(matches!(says[..], [Says::Failed { .. }, Says::Undone { .. }]), "{says:?}");
}

/// Tasks are listed and removed by the time that their ids begin with: others are not taken.
#[tokio::test(start_paused = true)]
async fn an_id_that_does_not_begin_with_the_time_is_refused() {
    let (workflow, books) = saga(fine(), fine());
    let store = open();
    let node = node_with(store.clone(), &workflow, quick()).await;
    store.hand_in(Arrival { task: Ok(Some(TaskId::from_u128(u128::MAX))), ..arrival(1) });
    sleep(s(10)).await;
    let task = store.tasks().into_iter().next().unwrap();
    assert_ne!(task, TaskId::from_u128(u128::MAX));
    let why = node.why(task).await.unwrap().to_string();
    assert!(why.contains("does not begin with the time: use a UUID of version 7"), "{why}");
    assert_eq!(books.calls("a"), 0);
}

/// The id of another task: the submission fails under an id of its own, and the other goes its way.
#[tokio::test(start_paused = true)]
async fn an_id_that_is_taken_harms_nobody() {
    let (workflow, books) = saga(fine(), fine());
    let store = open();
    let node = node_with(store.clone(), &workflow, quick()).await;
    store.hand_in(arrival(1));
    node.at_rest(node.taken_up(id(1)).await.unwrap().id).await.unwrap();
    store.hand_in(arrival(1));
    store.hand_in(Arrival { input: Payload::from(&b"2"[..]), ..arrival(1) });
    sleep(s(10)).await;
    assert_eq!((store.arrivals(None, 9).await.unwrap(), store.tasks().len()), (vec![], 2));
    let other = store.tasks().into_iter().find(|task| *task != id(1)).unwrap();
    assert_eq!(state(&node.read(other).await.unwrap()), TaskState::Failed);
    assert_eq!(state(&node.read(id(1)).await.unwrap()), TaskState::Completed);
    assert_eq!(books.calls("a"), 1, "handed in twice is done once");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_taken_now_waits_in_the_inbox() {
    let (workflow, _) = saga(fine(), fine());
    let mut settings = quick();
    settings.replies.most_waiting = 2;
    let store = open();
    let node = node_with(store.clone(), &workflow, settings).await;
    for number in 1..=3 {
        store.hand_in(arrival(number));
        sleep(s(5)).await;
    }
    store.hand_in(Arrival { reply_to: None, ..arrival(4) });
    node.taken_up(id(4)).await.unwrap();
    assert_eq!(store.arrivals(None, 9).await.unwrap().len(), 2, "the queue is full: others pass");
    let told = node.take_replies(&ReplyTo::queue("orders"), 9, s(30)).await.unwrap();
    node.acknowledge(told.iter().map(|reply| reply.id)).await.unwrap();
    sleep(s(5)).await;
    assert_eq!(store.arrivals(None, 9).await.unwrap().len(), 1);
    replies(&node).await;
    sleep(s(5)).await;
    replies(&node).await;
    sleep(s(5)).await;
    assert_eq!((store.arrivals(None, 9).await.unwrap().len(), store.tasks().len()), (0, 4));
}

async fn begin(store: &Flaky, workflow: &Arc<Workflow>) -> Node<Flaky> {
    loop {
        match Node::start(store.clone(), known(&[workflow]), quick(), Clock::tokio()).await {
            Ok(node) => return node,
            Err(_) => sleep(s(1)).await,
        }
    }
}

/// A store that fails before and after its work, and nodes that die at any time: exactly one task, and each step happens once.
#[tokio::test(start_paused = true)]
async fn over_crashes_what_was_handed_in_becomes_exactly_one_task() {
    for seed in 0..40 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (workflow, books) = saga(fine(), fine());
        let memory = open();
        let store = Flaky::new(memory.clone(), seed, 120);
        let mut node = begin(&store, &workflow).await;
        for number in 1..=20_u128 {
            let chosen = rng.bool();
            memory.hand_in(Arrival { task: Ok(chosen.then(|| id(number))), ..arrival(number) });
            sleep(Duration::from_millis(rng.u64(0..300))).await;
            if rng.u8(0..4) == 0 {
                drop(node);
                node = begin(&store, &workflow).await;
            }
        }
        store.mend();
        sleep(s(120)).await;
        assert_eq!(
            (memory.tasks().len(), memory.arrivals(None, 9).await.unwrap().len()),
            (20, 0),
            "seed {seed}"
        );
        assert_eq!(books.effects("c"), 20, "seed {seed}");
        let told = replies(&node).await;
        let correlations: BTreeSet<_> = told.iter().map(|reply| reply.correlation.clone()).collect();
        assert_eq!((told.len(), correlations.len()), (40, 20), "seed {seed}");
    }
}
