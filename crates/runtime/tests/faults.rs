//! Processes that die or stand still, stores that fail, nodes beside each other.

mod common;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use common::flaky::Flaky;
use common::*;
use steadfast_engine::{Cause, Record, StepState, TaskState};
use steadfast_resilience::clock::Clock;
use steadfast_resilience::{Kind, Verdict};
use steadfast_runtime::{ErrorKind, Node, Request, Settings, What};
use steadfast_store::{Hold, Mailbox as _, Memory, Nodes as _, TaskId, Tasks as _, Write};

/// Quick leases, so that tests are short to read.
fn quick() -> Settings {
    let mut settings = Settings::default();
    settings.lease = s(3);
    settings.look_every = s(1);
    settings.supervise_every = s(1);
    settings
}

async fn sleep(time: Duration) {
    Clock::tokio().sleep(time).await;
}

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

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_task_is_told_that_the_node_has_stopped() {
    let (workflow, _) = saga([always(Act::Hang), always(Act::Succeed), always(Act::Succeed)], fine());
    let mut settings = quick();
    settings.grace = s(1);
    let node = Arc::new(node_with(memory(), &workflow, settings).await);
    let task = submit(&node, &workflow).await;
    let waits = tokio::spawn({
        let node = Arc::clone(&node);
        async move { node.at_rest(task).await }
    });
    sleep(s(1)).await;
    node.shut_down().await.unwrap();
    assert_eq!(*waits.await.unwrap().unwrap_err().kind(), ErrorKind::ShuttingDown);
    assert_eq!(*node.at_rest(task).await.unwrap_err().kind(), ErrorKind::ShuttingDown);
}

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
    sleep(s(10)).await;
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
        let message = steadfast_store::Message { task, body: Arc::clone(&body) };
        store.post(vec![message]).await.unwrap();
    }
    assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Undone);
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

#[tokio::test(start_paused = true)]
async fn what_becomes_durable_after_the_cut_off_does_not_begin() {
    for grace in [0, 100] {
        let once = step("a").complete_within(s(100)).not_idempotent();
        let (workflow, books) = Flow::new("once").step(once, service("svc"), always(Act::Succeed)).build();
        let flaky = Flaky::new(memory(), 1, 0);
        let mut settings = Settings::default();
        settings.grace = Duration::from_millis(grace);
        let node = node_with(flaky.clone(), &workflow, settings).await;
        flaky.held.send_replace("submit");
        let let_go = async {
            sleep(s(1)).await;
            flaky.held.send_replace("");
        };
        let stops = async {
            sleep(Duration::from_millis(10)).await;
            node.shut_down().await
        };
        let ((), submitted, left) = tokio::join!(let_go, node.submit(new(&workflow)), stops);
        assert_eq!((left.unwrap(), books.calls("a")), (0, 0));
        drop(node);
        let second = node_with(flaky, &workflow, quick()).await;
        let ended = second.at_rest(submitted.unwrap().task).await.unwrap();
        assert_eq!((state(&ended), books.calls("a")), (TaskState::Completed, 1));
        assert_eq!(ended.task.steps()[0].owner_deaths, 0);
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

#[tokio::test(start_paused = true)]
async fn a_shutdown_lets_what_runs_end_and_hands_the_rest_over_at_once() {
    let (workflow, books) =
        saga([always(Act::Take(s(5))), always(Act::Succeed), always(Act::Succeed)], fine());
    let store = memory();
    let first = node_with(store.clone(), &workflow, Settings::default()).await;
    let task = submit(&first, &workflow).await;
    sleep(s(1)).await;
    assert_eq!(first.shut_down().await.unwrap(), 0);
    let stored = store.read(vec![task]).await.unwrap().remove(0).unwrap();
    assert_eq!((stored.task.steps()[0].state, books.calls("b")), (StepState::Completed, 0));
    let second = node_with(store, &workflow, Settings::default()).await;
    let began = Clock::tokio().now();
    assert_eq!(state(&second.at_rest(task).await.unwrap()), TaskState::Completed);
    assert!(Clock::tokio().now().since(began) < s(2), "no lease had to end");
    assert_eq!(books.calls("a"), 1);
}

/// A deployment is no death either.
#[tokio::test(start_paused = true)]
async fn what_shutdowns_cut_off_again_and_again_is_made_again_in_the_end() {
    let (workflow, books) =
        Flow::new("long").step(step("a"), service("svc"), always(Act::Take(s(8)))).build();
    let store = memory();
    let mut settings = quick();
    settings.grace = s(1);
    let mut node = node_with(store.clone(), &workflow, settings.clone()).await;
    let task = submit(&node, &workflow).await;
    for _ in 0..6 {
        sleep(s(2)).await;
        assert_eq!(node.shut_down().await.unwrap(), 1);
        node = node_with(store.clone(), &workflow, settings.clone()).await;
    }
    let ended = node.at_rest(task).await.unwrap();
    let record = &ended.task.steps()[0];
    assert_eq!((state(&ended), books.calls("a")), (TaskState::Completed, 7));
    assert_eq!((record.owner_deaths, record.failures), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn two_who_shut_a_node_down_both_wait_for_what_runs() {
    let (workflow, _) = Flow::new("long").step(step("a"), service("svc"), always(Act::Take(s(3)))).build();
    let store = memory();
    let node = node(store.clone(), &workflow).await;
    let task = submit(&node, &workflow).await;
    sleep(s(1)).await;
    let (first, second) = tokio::join!(node.shut_down(), node.shut_down());
    assert_eq!((first.unwrap(), second.unwrap()), (0, 0));
    let stored = store.read(vec![task]).await.unwrap().remove(0).unwrap();
    assert_eq!(stored.task.state(), TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn who_listens_hears_that_the_node_has_stopped() {
    let (workflow, _) = saga(fine(), fine());
    let node = node(memory(), &workflow).await;
    let mut told = node.listen();
    node.shut_down().await.unwrap();
    let closed = tokio::sync::broadcast::error::RecvError::Closed;
    assert_eq!(told.recv().await.unwrap_err(), closed);
    assert_eq!(node.listen().recv().await.unwrap_err(), closed);
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
    let mail = |task: &TaskId| steadfast_store::Message { task: *task, body: Arc::clone(&body) };
    store.post(tasks.iter().map(mail).collect()).await.unwrap();
    let (other, _) = Flow::new("other").step(step("a"), service("svc"), always(Act::Succeed)).build();
    let stranger = node_with(store, &other, quick()).await;
    sleep(s(20)).await;
    let seen = stranger.stats().unknown_workflows;
    assert!((300..=21 * 256).contains(&seen), "at most a batch at each look: {seen}");
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_cuts_off_what_does_not_end_and_says_so() {
    let (workflow, _) = saga([always(Act::Hang), always(Act::Succeed), always(Act::Succeed)], fine());
    let mut settings = quick();
    settings.grace = s(4);
    let node = node_with(memory(), &workflow, settings).await;
    submit(&node, &workflow).await;
    let began = Clock::tokio().now();
    assert_eq!(node.shut_down().await.unwrap(), 1);
    assert_eq!(Clock::tokio().now().since(began).as_secs(), 4);
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
