//! Tasks from their submission to their end, in virtual time.

use crate::common;

use common::*;
use std::sync::Arc;
use std::time::Duration;
use steadfast_engine::{Cause, Recovery, StepState, TaskState, UndoState};
use steadfast_resilience::clock::Clock;
use steadfast_runtime::{ErrorKind, New, Request, Settings};
use steadfast_store::PayloadKey;

#[tokio::test(start_paused = true)]
async fn steps_run_in_their_order_and_the_task_completes() {
    let (workflow, books) = saga(fine(), fine());
    let node = node(memory(), &workflow).await;
    let ended = run(&node, &workflow).await;
    assert_eq!((state(&ended), ended.revision), (TaskState::Completed, 3), "one write for each step's end");
    assert_eq!(["a", "b", "c"].map(|name| books.calls(name)), [1, 1, 1]);
    let step = workflow.definition().step_named("b").unwrap();
    let output = node.payload(PayloadKey { task: ended.id, step: Some(step) }).await.unwrap().unwrap();
    assert_eq!(&*output, b"\"b\"");
    assert_eq!((node.stats().owned, node.stats().running), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn what_was_done_is_undone_when_a_step_fails_for_good() {
    let (workflow, books) = saga([always(Act::Succeed), always(Act::Succeed), always(NO)], fine());
    let node = node(memory(), &workflow).await;
    let ended = run(&node, &workflow).await;
    assert_eq!(state(&ended), TaskState::Undone);
    assert_eq!((books.calls("undo a"), books.calls("undo b"), books.calls("undo c")), (1, 1, 0));
    let failure = ended.task.step(workflow.definition().step_named("c").unwrap()).last_failure.clone();
    assert_eq!(failure.as_deref(), Some("bad-request: scripted"));
}

#[tokio::test(start_paused = true)]
async fn short_waits_are_made_in_place_and_long_ones_by_durable_timers() {
    let (workflow, books) =
        Flow::new("patient").step(step("a"), fragile("svc"), first(vec![BUSY, LOST])).build();
    let node = node(memory(), &workflow).await;
    let began = Clock::tokio().now();
    let ended = run(&node, &workflow).await;
    assert_eq!((state(&ended), books.calls("a"), books.effects("a")), (TaskState::Completed, 3, 1));
    // Two waits of 5 s and an open breaker: all of them outlive the attempt that began them.
    assert!(ended.task.steps()[0].attempt >= 3);
    assert!(Clock::tokio().now().since(began) >= s(20), "the breaker is open for 20 s");
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_hangs_is_made_again_by_the_supervisor_with_the_same_key() {
    let (workflow, books) =
        saga([first(vec![Act::Hang]), always(Act::Succeed), always(Act::Succeed)], fine());
    let node = node(memory(), &workflow).await;
    let ended = run(&node, &workflow).await;
    assert_eq!((state(&ended), books.calls("a"), books.effects("a")), (TaskState::Completed, 2, 1));
    assert_eq!((node.stats().recovered, ended.task.steps()[0].failures), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_fails_its_step_and_nothing_else() {
    let (workflow, books) = saga([always(Act::Succeed), always(Act::Panic), always(Act::Succeed)], fine());
    let node = node(memory(), &workflow).await;
    let ended = run(&node, &workflow).await;
    // It may have done something before it panicked, and to undo that is not safe here.
    assert_eq!((state(&ended), node.stats().panics), (TaskState::Failed, 1));
    assert_eq!(ended.task.steps()[1].state, StepState::Unknown);
    assert_eq!(books.calls("undo a"), 0, "what cannot be undone comes first");
    assert_eq!(state(&run(&node, &workflow).await), TaskState::Failed, "the node lives on");
}

#[tokio::test(start_paused = true)]
async fn branches_run_beside_each_other_and_conditions_decide() {
    let is_two: steadfast_runtime::Condition = Arc::new(|known| Ok(known.input() == b"2"));
    let (workflow, books) = Flow::new("branches")
        .step(step("start"), service("svc"), always(Act::Succeed))
        .step(step("left").after(["start"]), service("svc"), always(Act::Take(s(3))))
        .step(step("right").after(["start"]), service("svc"), always(Act::Take(s(3))))
        .step_if(step("maybe").after(["start"]), service("svc"), always(Act::Succeed), is_two)
        .step(step("join").after(["left", "right", "maybe"]), service("svc"), always(Act::Succeed))
        .build();
    let node = node(memory(), &workflow).await;
    let began = Clock::tokio().now();
    let ended = run(&node, &workflow).await;
    assert_eq!((state(&ended), books.calls("maybe"), books.calls("join")), (TaskState::Completed, 0, 1));
    assert!(Clock::tokio().now().since(began) < s(5), "both at the same time");
    let two = New { input: Arc::from(b"2".as_slice()), ..new(&workflow) };
    let task = node.submit(two).await.unwrap().task;
    node.at_rest(task).await.unwrap();
    assert_eq!(books.calls("maybe"), 1);
}

/// A task whose condition is being read for is not put out of memory.
#[tokio::test(start_paused = true)]
async fn a_condition_is_judged_also_while_another_step_waits_for_long() {
    let patient = Recovery { at_once: 0, extended_wait: s(1_800), last: 5 };
    let (workflow, books) = Flow::new("f")
        .step(step("a").complete_within(s(100)), service("svc"), always(Act::Take(s(20))))
        .step(step("c").complete_within(s(1)).recovery(patient), service("svc"), first(vec![Act::Hang]))
        .step_if(step("b").after(["a"]), service("svc"), always(Act::Succeed), Arc::new(|_| Ok(true)))
        .build();
    let node = node(memory(), &workflow).await;
    let input = steadfast_store::Payload::from(vec![b'1'; 3_000]);
    node.submit(New { input, ..new(&workflow) }).await.unwrap();
    Clock::tokio().sleep(s(60)).await;
    assert_eq!(books.calls("b"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_condition_that_panics_or_fails_ends_its_task_with_the_reason() {
    let broken: steadfast_runtime::Condition = Arc::new(|_| Err("no field `total`".to_owned()));
    let (workflow, _) = Flow::new("broken")
        .undoable(step("a"), service("svc"), always(Act::Succeed), always(Act::Succeed))
        .step_if(step("b").after(["a"]), service("svc"), always(Act::Succeed), broken)
        .build();
    let node = node(memory(), &workflow).await;
    let ended = run(&node, &workflow).await;
    assert_eq!(state(&ended), TaskState::Undone);
    assert_eq!(ended.task.steps()[1].last_failure.as_deref(), Some("condition: no field `total`"));
}

#[tokio::test(start_paused = true)]
async fn a_key_runs_once_and_another_input_under_it_is_an_error() {
    let (workflow, books) = saga(fine(), fine());
    let node = node(memory(), &workflow).await;
    let keyed = |input: &str| New {
        key: Some(Arc::from("order-7")),
        input: Arc::from(input.as_bytes()),
        ..new(&workflow)
    };
    let first = node.submit(keyed("1")).await.unwrap();
    let again = node.submit(keyed("1")).await.unwrap();
    assert_eq!((first.is_new, again.is_new, again.task), (true, false, first.task));
    let error = node.submit(keyed("2")).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::OtherInput(first.task));
    node.at_rest(first.task).await.unwrap();
    assert_eq!(books.calls("a"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_task_is_undone_as_a_whole() {
    let (workflow, books) =
        saga([always(Act::Succeed), always(Act::Take(s(5))), always(Act::Succeed)], fine());
    let node = node(memory(), &workflow).await;
    let task = submit(&node, &workflow).await;
    Clock::tokio().sleep(s(1)).await;
    let cancel = Request::Cancel { by: Arc::from("ann"), why: Arc::from("a typo") };
    node.ask(task, &cancel).await.unwrap();
    let ended = node.at_rest(task).await.unwrap();
    assert_eq!((state(&ended), books.calls("c")), (TaskState::Undone, 0));
    assert_eq!((books.calls("undo a"), books.calls("undo b")), (1, 1), "what ran beside has ended first");
    let b = workflow.definition().step_named("b");
    let kept = node.payload(PayloadKey { task, step: b }).await.unwrap();
    assert_eq!(
        kept.as_deref(),
        Some(b"\"b\"".as_slice()),
        "its output came when the task was ending already"
    );
    let why = &ended.task.head().ending.as_ref().unwrap().cause;
    assert_eq!(*why, Cause::Cancelled { by: Arc::from("ann"), why: Arc::from("a typo") });
    assert_eq!(*node.ask(task, &cancel).await.unwrap_err().kind(), ErrorKind::Ended(task));
}

/// A cancel that was acknowledged is acted on, also if the last step ends before anybody has read it.
#[tokio::test(start_paused = true)]
async fn a_cancel_that_came_before_the_end_wins() {
    let takes = always(Act::Take(s(1)));
    let (workflow, books) =
        Flow::new("w").undoable(step("a"), service("svc"), takes, always(Act::Succeed)).build();
    let store = memory();
    let (node, other) = (node(store.clone(), &workflow).await, node(store, &workflow).await);
    let task = submit(&node, &workflow).await;
    Clock::tokio().sleep(Duration::from_millis(500)).await;
    // Asked of another node, so that the owner hears of it only when it looks.
    other.ask(task, &Request::Cancel { by: Arc::from("ann"), why: Arc::from("a typo") }).await.unwrap();
    let ended = node.at_rest(task).await.unwrap();
    assert_eq!((state(&ended), books.calls("a"), books.calls("undo a")), (TaskState::Undone, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn behind_the_point_of_no_return_nobody_can_cancel() {
    let (workflow, _) = Flow::new("w")
        .step(step("a").point_of_no_return(), service("svc"), always(Act::Succeed))
        .step(step("b").after(["a"]), service("svc"), always(Act::Take(s(5))))
        .build();
    let node = node(memory(), &workflow).await;
    let task = submit(&node, &workflow).await;
    Clock::tokio().sleep(s(1)).await;
    let cancel = Request::Cancel { by: Arc::from("ann"), why: Arc::from("a typo") };
    assert_eq!(*node.ask(task, &cancel).await.unwrap_err().kind(), ErrorKind::NoReturn(task));
    assert_eq!(*node.undo(task, "ann", "a typo").await.unwrap_err().kind(), ErrorKind::NoReturn(task));
    assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_completed_task_can_be_undone_and_a_failed_undo_tried_again() {
    let (workflow, books) = saga(fine(), [always(Act::Succeed), first(vec![NO]), always(Act::Succeed)]);
    let node = node(memory(), &workflow).await;
    let ended = run(&node, &workflow).await;
    node.undo(ended.id, "ann", "sent back").await.unwrap();
    let failed = node.at_rest(ended.id).await.unwrap();
    assert_eq!((state(&failed), failed.task.steps()[1].undo), (TaskState::Failed, UndoState::Failed));
    node.undo(ended.id, "ann", "once more").await.unwrap();
    let undone = node.at_rest(ended.id).await.unwrap();
    assert_eq!(state(&undone), TaskState::Undone);
    assert_eq!(["undo a", "undo b", "undo c"].map(|name| books.effects(name)), [1, 1, 1]);
    assert_eq!(*node.undo(ended.id, "ann", "again").await.unwrap_err().kind(), ErrorKind::Ended(ended.id));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_undoes_the_task() {
    let (workflow, books) = Flow::new("late")
        .within(s(8))
        .undoable(step("a"), service("svc"), always(Act::Succeed), always(Act::Succeed))
        .step(step("b").after(["a"]), service("svc"), always(Act::Hang))
        .build();
    let node = node(memory(), &workflow).await;
    let ended = run(&node, &workflow).await;
    assert_eq!((state(&ended), books.calls("undo a")), (TaskState::Undone, 1));
    assert_eq!(ended.task.head().ending.as_ref().unwrap().cause, Cause::Deadline);
}

#[tokio::test(start_paused = true)]
async fn no_more_attempts_run_than_the_service_may_have_and_all_get_their_turn() {
    let (workflow, books) =
        Flow::new("crowd").step(step("a"), service("svc").most_running(3), always(Act::Take(s(2)))).build();
    let node = node(memory(), &workflow).await;
    let tasks = submit_many(&node, &workflow, 20).await;
    Clock::tokio().sleep(s(1)).await;
    assert_eq!((node.stats().running, books.calls("a")), (3, 3));
    for task in tasks {
        assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Completed);
    }
    assert_eq!(books.calls("a"), 20);
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_long_is_put_out_of_memory_and_comes_back() {
    let slow = {
        use steadfast_resilience::{Pipeline, Retry};
        let pipeline = Pipeline::builder("svc").clock(Clock::tokio()).no_breaker().no_budget();
        steadfast_runtime::Service::new(pipeline.retry(Retry::fixed(s(600)).max_retries(3)).build().unwrap())
    };
    let (workflow, books) = Flow::new("slow").step(step("a"), slow, first(vec![BUSY])).build();
    let node = node(memory(), &workflow).await;
    let task = submit(&node, &workflow).await;
    Clock::tokio().sleep(s(60)).await;
    assert_eq!((node.stats().owned, books.calls("a")), (0, 1));
    let stored = node.read(task).await.unwrap();
    assert_eq!((state(&stored), stored.owner), (TaskState::Waiting, None));
    assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn too_many_open_tasks_are_refused() {
    let (workflow, _) = saga([always(Act::Take(s(5))), always(Act::Succeed), always(Act::Succeed)], fine());
    let mut settings = Settings::default();
    settings.most_open = 2;
    let node = node_with(memory(), &workflow, settings).await;
    let first = submit(&node, &workflow).await;
    submit(&node, &workflow).await;
    let error = node.submit(new(&workflow)).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::TooManyOpen { open: 2 });
    node.at_rest(first).await.unwrap();
    submit(&node, &workflow).await;
}

#[tokio::test(start_paused = true)]
async fn more_tasks_than_memory_may_hold_are_all_done() {
    let (workflow, books) = saga(fine(), fine());
    let mut settings = Settings::default();
    settings.most_owned = 3;
    let node = node_with(memory(), &workflow, settings).await;
    let began = Clock::tokio().now();
    let tasks = submit_many(&node, &workflow, 50).await;
    for task in tasks {
        assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Completed);
    }
    assert_eq!(books.effects("c"), 50);
    assert!(Clock::tokio().now().since(began) < s(2), "the next are claimed as soon as there is room");
}

#[tokio::test(start_paused = true)]
async fn a_step_whose_time_comes_while_its_task_is_ending_is_left_alone() {
    let (workflow, books) = Flow::new("ending")
        .step(
            steadfast_engine::Step::new("waits", "other").complete_within(s(10)),
            fragile("other").most_running(9),
            always(BUSY),
        )
        .step(step("runs"), service("svc"), always(Act::Take(s(9))))
        .build();
    let node = node(memory(), &workflow).await;
    let task = submit(&node, &workflow).await;
    Clock::tokio().sleep(s(1)).await;
    let cancel = Request::Cancel { by: Arc::from("ann"), why: Arc::from("a typo") };
    node.ask(task, &cancel).await.unwrap();
    // The other one waits for its second try, in 5 s, and what runs beside takes longer: time must pass all the same.
    let ended = node.at_rest(task).await.unwrap();
    assert_eq!((state(&ended), books.calls("waits")), (TaskState::Undone, 1));
}

#[tokio::test(start_paused = true)]
async fn an_output_that_is_too_large_fails_its_step_and_no_other_task() {
    let large = first(vec![Act::Output("x".repeat((1 << 20) + 1))]);
    let (workflow, _) = saga([large, always(Act::Succeed), always(Act::Succeed)], fine());
    let node = node(memory(), &workflow).await;
    let (first, second) = (submit(&node, &workflow).await, submit(&node, &workflow).await);
    let ended = node.at_rest(first).await.unwrap();
    // It happened, and to undo that without its output is not said to be safe.
    assert_eq!((state(&ended), ended.task.steps()[0].state), (TaskState::Failed, StepState::Unknown));
    let words = ended.task.steps()[0].last_failure.clone().unwrap();
    assert_eq!(&*words, "too-large: the output has 1048577 bytes, at most 1048576 are allowed");
    assert_eq!(state(&node.at_rest(second).await.unwrap()), TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_is_not_idempotent_is_not_called_again_once_it_may_have_happened() {
    let (workflow, books) =
        Flow::new("once").step(step("a").not_idempotent(), service("svc"), always(LOST)).build();
    let node = node(memory(), &workflow).await;
    let ended = run(&node, &workflow).await;
    assert_eq!((state(&ended), books.calls("a")), (TaskState::Failed, 1));
    assert_eq!(ended.task.steps()[0].state, StepState::Unknown);
}

#[tokio::test(start_paused = true)]
async fn a_spent_retry_budget_delays_a_step_and_does_not_fail_it() {
    use steadfast_resilience::retry::Budget;
    use steadfast_resilience::{Pipeline, Retry};
    let retry = Retry::fixed(Duration::from_millis(100)).max_retries(50);
    let pipeline = Pipeline::builder("svc").clock(Clock::tokio()).no_breaker().retry(retry);
    let pipeline = pipeline.budget(Budget::share(0.1).reserve(1)).build().unwrap();
    let busy = first(vec![BUSY; 4]);
    let (workflow, books) =
        Flow::new("poor").step(step("a"), steadfast_runtime::Service::new(pipeline), busy).build();
    let node = node(memory(), &workflow).await;
    let task = submit(&node, &workflow).await;
    Clock::tokio().sleep(s(9)).await;
    assert_eq!(books.calls("a"), 2, "the first, and the one that the reserve pays for");
    assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Completed);
}
