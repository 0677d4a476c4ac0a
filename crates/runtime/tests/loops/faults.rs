//! Stores that fail, doubts, and supervisors.

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::flaky::Flaky;
use common::*;
use steadfast_engine::TaskState;
use steadfast_resilience::clock::Clock;
use steadfast_resilience::{Kind, Verdict};
use steadfast_runtime::{ErrorKind, Request, Settings};
use steadfast_store::{Mailbox as _, Memory, Nodes as _, TaskId, Tasks as _};

/// What was read before a doubt began says nothing of it.
#[tokio::test(start_paused = true)]
async fn an_old_look_does_not_settle_a_new_doubt() {
    let busy = Act::Fail(Verdict::transient(Kind::OVERLOADED).without_effect().with_hint(s(5)));
    let second = Arc::new(|nth| if nth == 0 { Act::Take(s(1)) } else { Act::Hang });
    let (workflow, _) = Flow::new("doubt")
        .step(step("a"), service("svc"), always(Act::Take(s(1))))
        .step(step("b").after(["a"]).complete_within(s(60)), service("svc"), second)
        .step(step("c").after(["b"]).complete_within(s(60)), service("svc"), always(busy))
        .build();
    let mut settings = Settings::default();
    settings.longest_wait = Duration::ZERO;
    let flaky = Flaky::new(memory(), 1, 0);
    let node = node_with(flaky.clone(), &workflow, settings).await;
    let task = submit(&node, &workflow).await;
    sleep(Duration::from_millis(900)).await;
    // The task is in doubt at 1 s; a first look is made at 1.5 s, and a second one at 1.7 s, which hears nothing for long.
    flaky.fail_before("write");
    sleep(Duration::from_millis(300)).await;
    let other = submit(&node, &workflow).await;
    node.ask(other, &Request::Cancel { by: Arc::from("ann"), why: Arc::from("a typo") }).await.unwrap();
    sleep(Duration::from_millis(400)).await;
    flaky.held.send_replace("unread_of");
    sleep(Duration::from_millis(1_400)).await;
    flaky.fail_before("write");
    // Until the second doubt has just begun, and its own look is still to come.
    for _ in 0..100 {
        if node.stats().store_errors < 2 {
            sleep(Duration::from_millis(100)).await;
        }
    }
    assert_eq!(node.stats().store_errors, 2, "it was in doubt a second time");
    flaky.held.send_replace("");
    tokio::select! {
        ended = node.at_rest(task) => drop(ended.unwrap()),
        () = sleep(s(4_000)) => panic!("it does not come to an end"),
    }
}

#[tokio::test(start_paused = true)]
async fn much_mail_for_one_task_keeps_nobody_busy() {
    let later = Act::Fail(Verdict::transient(Kind::OVERLOADED).without_effect().with_hint(s(20)));
    let (workflow, _) = Flow::new("w")
        .undoable(
            step("a").complete_within(s(3_000)),
            service("svc"),
            first(vec![later]),
            always(Act::Succeed),
        )
        .build();
    let store = memory();
    let node = node(store.clone(), &workflow).await;
    let task = submit(&node, &workflow).await;
    let cancel = Request::Cancel { by: Arc::from("ann"), why: Arc::from("a typo") };
    let body = steadfast_store::Payload::from(postcard::to_stdvec(&cancel).unwrap());
    for _ in 0..1_100 {
        let message = steadfast_store::Message::new(task, Arc::clone(&body));
        store.post(vec![message]).await.unwrap();
    }
    assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Undone);
}

#[tokio::test(start_paused = true)]
async fn a_submission_of_which_nobody_knows_is_not_acknowledged_and_not_lost() {
    let (workflow, books) = saga(fine(), fine());
    let store = memory();
    let flaky = Flaky::new(store.clone(), 1, 0);
    let node = node_with(flaky.clone(), &workflow, quick()).await;
    // It is stored, and the answer is lost.
    flaky.fail_after("submit");
    let error = node.submit(new(&workflow)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Store { transient: true, .. }), "{error}");
    assert!(error.is_transient());
    sleep(s(10)).await;
    assert_eq!((books.calls("a"), books.calls("c"), node.stats().store_errors), (1, 1, 1));
    // It is not stored.
    flaky.fail_before("submit");
    node.submit(new(&workflow)).await.unwrap_err();
    sleep(s(10)).await;
    assert_eq!((books.calls("a"), store.open_tasks().await.unwrap()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_write_of_which_nobody_knows_is_read_back_and_nothing_is_done_twice() {
    for after in [true, false] {
        let (workflow, books) =
            saga([always(Act::Take(s(2))), always(Act::Succeed), always(Act::Succeed)], fine());
        let flaky = Flaky::new(memory(), 1, 0);
        let node = node_with(flaky.clone(), &workflow, quick()).await;
        let task = submit(&node, &workflow).await;
        match after {
            true => flaky.fail_after("write"),
            false => flaky.fail_before("write"),
        }
        let began = Clock::tokio().now();
        let ended = node.at_rest(task).await.unwrap();
        assert_eq!(state(&ended), TaskState::Completed);
        assert_eq!(["a", "b", "c"].map(|name| books.calls(name)), [1, 1, 1], "after: {after}");
        assert!(Clock::tokio().now().since(began) < s(5), "no time limit had to pass");
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_of_which_nobody_knows_leaves_nothing_behind() {
    let (workflow, books) = saga(fine(), fine());
    let store = memory();
    let flaky = Flaky::new(store.clone(), 1, 0);
    let mut none = Settings::default();
    none.most_owned = 0;
    let submitter = node_with(store, &workflow, none).await;
    let task = submit(&submitter, &workflow).await;
    flaky.fail_after("claim");
    let node = node_with(flaky, &workflow, quick()).await;
    assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Completed);
    assert_eq!(["a", "b", "c"].map(|name| books.calls(name)), [1, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_task_whose_workflow_nobody_knows_waits_and_does_not_fail() {
    let (one, books) = saga([always(Act::Take(s(5))), always(Act::Succeed), always(Act::Succeed)], fine());
    let store = memory();
    let first = node_with(store.clone(), &one, quick()).await;
    let task = submit(&first, &one).await;
    sleep(s(1)).await;
    first.shut_down().await.unwrap();
    // An upgrade brings another version, then another shape under the same version: both are other workflows.
    let (two, _) = Flow::new("saga").version(2).step(step("a"), service("svc"), always(Act::Succeed)).build();
    let (reshaped, _) = Flow::new("saga").step(step("a"), service("svc"), always(Act::Succeed)).build();
    for other in [&two, &reshaped] {
        let upgraded = node_with(store.clone(), other, quick()).await;
        sleep(s(100)).await;
        assert!(upgraded.stats().unknown_workflows > 0);
        let stored = upgraded.read(task).await.unwrap();
        assert_eq!((state(&stored), stored.owner), (TaskState::Running, None));
        upgraded.shut_down().await.unwrap();
    }
    let back = node_with(store, &one, quick()).await;
    assert_eq!(state(&back.at_rest(task).await.unwrap()), TaskState::Completed);
    assert_eq!(books.calls("a"), 1, "what ran when the first one shut down had ended within the grace");
}

/// Mail makes a task free at once, and who does not know its workflow lets go of it at once.
#[tokio::test(start_paused = true)]
async fn mail_for_many_tasks_that_nobody_knows_keeps_nobody_busy() {
    let (workflow, _) = saga([always(Act::Hang), always(Act::Succeed), always(Act::Succeed)], fine());
    let store = memory();
    let first = node(store.clone(), &workflow).await;
    let tasks = submit_many(&first, &workflow, 300).await;
    drop(first);
    let body = steadfast_store::Payload::from(b"?".as_slice());
    let mail = |task: &TaskId| steadfast_store::Message::new(*task, Arc::clone(&body));
    store.post(tasks.iter().map(mail).collect()).await.unwrap();
    let (other, _) = Flow::new("other").step(step("a"), service("svc"), always(Act::Succeed)).build();
    let stranger = node_with(store, &other, quick()).await;
    sleep(s(20)).await;
    let seen = stranger.stats().unknown_workflows;
    assert!((300..=21 * 256).contains(&seen), "at most a batch at each look: {seen}");
}

#[tokio::test(start_paused = true)]
async fn what_fell_due_while_nobody_ran_is_recovered_gently() {
    let (workflow, books) = Flow::new("many").step(step("a"), service("svc"), first_hang(300)).build();
    let store = memory();
    let first = node_with(store.clone(), &workflow, quick()).await;
    let tasks = submit_many(&first, &workflow, 300).await;
    sleep(s(1)).await;
    let node = first.id();
    drop(first);
    // Its lease is kept, as if it only stood still: what is overdue is the supervisor's.
    sleep(s(20)).await;
    store.renew(node, s(1_000)).await.unwrap();
    let second = node_with(store, &workflow, quick()).await;
    sleep(Duration::from_millis(1_050)).await;
    let at_first = books.calls("a") - 300;
    assert!((1..=64).contains(&at_first), "{at_first} came back at once");
    for task in tasks {
        assert_eq!(state(&second.at_rest(task).await.unwrap()), TaskState::Completed);
    }
    assert_eq!((second.stats().recovered, books.effects("a")), (300, 300));
}

fn first_hang(calls: usize) -> Script {
    first(vec![Act::Hang; calls])
}

#[tokio::test(start_paused = true)]
async fn two_supervisors_never_recover_the_same_attempt_twice() {
    let (workflow, books) = Flow::new("many").step(step("a"), service("svc"), first_hang(100)).build();
    let store: Memory = memory();
    let left = node_with(store.clone(), &workflow, quick()).await;
    let right = node_with(store, &workflow, quick()).await;
    let tasks = submit_many(&left, &workflow, 100).await;
    for task in &tasks {
        let ended = left.at_rest(*task).await.unwrap();
        assert_eq!((state(&ended), ended.task.steps()[0].failures), (TaskState::Completed, 1));
    }
    assert_eq!(left.stats().recovered + right.stats().recovered, 100);
    assert_eq!((books.calls("a"), books.effects("a")), (200, 100));
}

#[test]
fn a_blocking_handler_that_does_not_return_is_counted_until_it_does() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let (leave, wait) = std::sync::mpsc::channel::<()>();
    let (begun, begins) = std::sync::mpsc::channel::<()>();
    let (node, before) = runtime.block_on(async {
        let handler = steadfast_runtime::blocking(move || {
            begun.send(()).unwrap();
            let _ = wait.recv();
            Ok(Arc::from(b"".as_slice()))
        });
        let (workflow, _) = saga(fine(), fine());
        let node = node(memory(), &workflow).await;
        let before = node.stats().stuck;
        begins.recv().unwrap();
        drop(handler);
        assert_eq!(node.stats().stuck, before + 1);
        (node, before)
    });
    leave.send(()).unwrap();
    // A runtime that is dropped waits for blocking code that has begun.
    drop(runtime);
    assert_eq!(node.stats().stuck, before);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_sent_after_a_doubt_has_no_more_calls_than_it_had() {
    let (workflow, books) = Flow::new("few")
        .step(step("a"), service("svc"), always(Act::Take(s(2))))
        .step(step("b").after(["a"]).max_calls(2), service("svc"), always(BUSY))
        .build();
    let flaky = Flaky::new(memory(), 1, 0);
    let node = node_with(flaky.clone(), &workflow, quick()).await;
    let task = submit(&node, &workflow).await;
    // The write that says that `b` runs is done, and nobody hears of it.
    flaky.fail_after("write");
    node.at_rest(task).await.unwrap();
    assert_eq!((books.calls("a"), books.calls("b")), (1, 2));
}
