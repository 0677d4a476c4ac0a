//! Waiting for a time, starting later, and rounds [W1, W8].

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::*;
use steadfast_engine::{Repeat, Step, StepId, StepState, TaskState, Time};
use steadfast_runtime::{Code, New, Request, Service, Start, Until};
use steadfast_store::{Payload, PayloadKey};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[tokio::test(start_paused = true)]
async fn a_short_wait_is_in_time_and_a_long_one_is_out_of_memory() {
    for (time, owned, late) in [(s(10), 1, ms(5)), (s(3_600), 0, s(6))] {
        let (workflow, books) = Flow::new("rested")
            .step(step("a"), service("svc"), always(Act::Succeed))
            .wait(Step::wait_for("rest", time).after(["a"]))
            .step(step("b").after(["rest"]), service("svc"), always(Act::Succeed))
            .build();
        let node = node(memory(), &workflow).await;
        let (task, began) = (submit(&node, &workflow).await, node.now());
        sleep(time - s(1)).await;
        let stored = node.read(task).await.unwrap();
        assert_eq!((node.stats().owned, state(&stored), books.calls("b")), (owned, TaskState::Waiting, 0));
        assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Completed);
        let took = node.now().since(began);
        assert!(took >= time && took <= time + late, "{took:?}");
        let key = PayloadKey { task, step: Some(StepId::at(1)) };
        assert_eq!(node.payload(key).await.unwrap().as_deref(), Some(&b"null"[..]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_time_is_computed_from_the_input_and_earlier_outputs_and_only_when_it_is_needed() {
    // The output is too large to be kept in memory.
    let large = format!("{}{}", " ".repeat(3_000), 40);
    let until: Until = Arc::new(|known| {
        let text = String::from_utf8(known.output(StepId::at(0)).unwrap_or_default().to_vec());
        let secs: u64 = text.unwrap().trim().parse().map_err(|_| "no number".to_owned())?;
        let input: u64 = std::str::from_utf8(known.input()).unwrap().parse().unwrap();
        Ok(Time::from_millis(input) + s(secs))
    });
    for (output, ends) in [(large, TaskState::Completed), ("soon".to_owned(), TaskState::Undone)] {
        let (workflow, _) = Flow::new("computed")
            .step(step("a"), service("svc"), always(Act::Output(output)))
            .coded(
                Step::wait_until("rest").after(["a"]),
                Service::none(),
                Code { until: Some(Arc::clone(&until)), ..Code::waits() },
            )
            .build();
        let node = node(memory(), &workflow).await;
        let began = node.now();
        let input = Payload::from(began.as_millis().to_string().into_bytes());
        let task = node.submit(New { input, ..new(&workflow) }).await.unwrap().task;
        let ended = node.at_rest(task).await.unwrap();
        assert_eq!(state(&ended), ends);
        let took = node.now().since(began);
        match ends {
            TaskState::Completed => assert!(took >= s(40) && took <= s(46), "{took:?}"),
            _ => {
                let words = ended.task.in_words(workflow.definition(), node.now());
                assert_eq!(words, "step `rest` failed: time: no number");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_waits_can_be_cancelled() {
    let (workflow, books) = Flow::new("rested")
        .undoable(step("a"), service("svc"), always(Act::Succeed), always(Act::Succeed))
        .wait(Step::wait_for("rest", s(86_400)).after(["a"]))
        .build();
    let node = node(memory(), &workflow).await;
    let task = submit(&node, &workflow).await;
    sleep(s(60)).await;
    let cancel = Request::Cancel { by: Arc::from("ann"), why: Arc::from("enough") };
    node.ask(task, &cancel).await.unwrap();
    sleep(s(1)).await;
    let ended = node.read(task).await.unwrap();
    assert_eq!((state(&ended), books.calls("undo a")), (TaskState::Undone, 1));
    assert_eq!(ended.task.step(StepId::at(1)).state, StepState::Skipped);
}

#[tokio::test(start_paused = true)]
async fn a_task_starts_at_its_time_and_its_deadline_counts_from_then() {
    let (workflow, books) =
        Flow::new("later").within(s(60)).step(step("a"), service("svc"), always(Act::Succeed)).build();
    let store = memory();
    let first = node(store.clone(), &workflow).await;
    let began = first.now();
    for (start, late) in
        [(Start::After(s(7)), ms(5)), (Start::At(began + s(3_600)), s(6)), (Start::At(began), ms(5))]
    {
        let asked = first.now();
        let start_at = match start {
            Start::At(time) => time.max(asked),
            Start::After(time) => asked + time,
            Start::Now => asked,
        };
        let calls = books.calls("a");
        let task = first.submit_for(new(&workflow), start).await.unwrap().task;
        let stored = first.read(task).await.unwrap();
        assert_eq!(stored.task.head().deadline, Some(start_at + s(60)));
        if start_at > asked {
            assert_eq!((state(&stored), stored.owner, stored.wake_at), (TaskState::Pending, None, start_at));
            sleep(start_at.since(asked) - ms(10)).await;
            assert_eq!((books.calls("a"), first.stats().owned), (calls, 0));
        }
        assert_eq!(state(&first.at_rest(task).await.unwrap()), TaskState::Completed);
        let took = first.now().since(start_at);
        assert!(took <= late, "{took:?} late");
    }
    // Over a restart, too.
    let calls = books.calls("a");
    let task = first.submit_for(new(&workflow), Start::After(s(600))).await.unwrap().task;
    drop(first);
    sleep(s(300)).await;
    let second = node(store, &workflow).await;
    sleep(s(290)).await;
    assert_eq!(books.calls("a"), calls);
    assert_eq!(state(&second.at_rest(task).await.unwrap()), TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_has_not_started_is_cancelled_at_once_and_keeps_its_signals() {
    let (workflow, books) = Flow::new("later")
        .wait(Step::signal("ok", "go").timeout(s(5)))
        .step(step("a").after(["ok"]), service("svc"), always(Act::Succeed))
        .build();
    let node = node(memory(), &workflow).await;
    let later = || node.submit_for(new(&workflow), Start::After(s(3_600)));
    let (cancelled, signalled) = (later().await.unwrap().task, later().await.unwrap().task);
    let cancel = Request::Cancel { by: Arc::from("ann"), why: Arc::from("enough") };
    node.ask(cancelled, &cancel).await.unwrap();
    let signal = Request::Signal { name: Arc::from("go"), id: None, says: Payload::from(b"7".as_slice()) };
    node.ask(signalled, &signal).await.unwrap();
    sleep(s(1)).await;
    let stored = node.read(cancelled).await.unwrap();
    assert_eq!((state(&stored), books.calls("a")), (TaskState::Undone, 0));
    let stored = node.read(signalled).await.unwrap();
    assert_eq!((state(&stored), stored.owner), (TaskState::Pending, None), "it was not begun by a signal");
    assert_eq!(node.stats().owned, 0);
    let words = stored.task.in_words(workflow.definition(), node.now());
    assert!(words.starts_with("it starts in 3599 s"), "{words}");
    assert_eq!(state(&node.at_rest(signalled).await.unwrap()), TaskState::Completed);
    assert_eq!(books.calls("a"), 1);
}

#[tokio::test(start_paused = true)]
async fn rounds_have_keys_of_their_own_and_hold_nothing_between_them() {
    let not_yet = || Act::Output("\"not yet\"".to_owned());
    let script = first(vec![not_yet(), BUSY, LOST, not_yet(), Act::Output("\"done\"".to_owned())]);
    let repeat = Repeat { every: s(300), at_most: Some(5) };
    let (workflow, books) =
        Flow::new("polled").repeated(step("poll").repeat(repeat), service("svc"), script, "\"done\"").build();
    let store = memory();
    let before = node(store.clone(), &workflow).await;
    let (task, began) = (submit(&before, &workflow).await, before.now());
    sleep(s(60)).await;
    assert_eq!((before.stats().owned, before.stats().running), (0, 0));
    drop(before);
    let after = node(store, &workflow).await;
    let ended = after.at_rest(task).await.unwrap();
    assert_eq!(state(&ended), TaskState::Completed);
    assert_eq!(ended.task.step(StepId::at(0)).rounds(), 2);
    let took = after.now().since(began);
    assert!(took >= s(600) && took <= s(615), "{took:?}");
    assert_eq!((books.calls("poll"), books.effects("poll")), (5, 3), "a retry has the key of its round");
    let key = PayloadKey { task, step: Some(StepId::at(0)) };
    assert_eq!(after.payload(key).await.unwrap().as_deref(), Some(&b"\"done\""[..]));
}

#[tokio::test(start_paused = true)]
async fn after_its_last_round_a_step_has_failed_and_a_condition_that_breaks_fails_it_too() {
    let repeat = Repeat { every: s(1), at_most: Some(3) };
    let (workflow, books) = Flow::new("polled")
        .repeated(step("poll").repeat(repeat), service("svc"), always(Act::Succeed), "\"done\"")
        .build();
    let first = node(memory(), &workflow).await;
    let ended = run(&first, &workflow).await;
    assert_eq!((state(&ended), books.calls("poll")), (TaskState::Undone, 3));
    let words = ended.task.in_words(workflow.definition(), first.now());
    assert_eq!(words, "step `poll` failed: not-done: it was not done after 3 rounds");

    let broken = Code {
        done: Some(Arc::new(|_| Err("no such field".to_owned()))),
        ..Code::new(Arc::new(|_: &Arc<_>, _| -> steadfast_runtime::Answered {
            Box::pin(std::future::ready(Ok(Payload::default())))
        }))
    };
    let (workflow, _) = Flow::new("broken")
        .coded(step("poll").repeat(repeat).nothing_to_undo(), service("svc"), broken)
        .build();
    let second = node(memory(), &workflow).await;
    let ended = run(&second, &workflow).await;
    let words = ended.task.in_words(workflow.definition(), second.now());
    assert!(words.contains("condition: no such field"), "{words}");
}
