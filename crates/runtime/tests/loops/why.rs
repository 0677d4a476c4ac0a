//! Why a task does not move, asked of a node in virtual time: each thing that can hold it, against what the test has scripted.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use crate::common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::flaky::Flaky;
use common::*;
use steadfast_engine::{
    Cause, Change, Circuit, CircuitState, Held, On, Repeat, Step, StepId, TaskState, Time, Why,
};
use steadfast_resilience::clock::Clock;
use steadfast_resilience::{Kind, Limit, Pipeline, Retry, Verdict};
use steadfast_runtime::{Node, Request, Service, Start, Workflow};
use steadfast_store::{Memory, Payload, Store, TaskId};

/// Store and node may be so far apart.
const SLACK: Duration = Duration::from_millis(20);

/// What a task says, of which one thing is open.
async fn held<S: Store>(node: &Node<S>, task: TaskId) -> Held {
    let why = node.why(task).await.unwrap();
    assert_eq!(why.held.len(), 1, "{why:#?}");
    assert!(why.held[0].since.unwrap() <= why.now, "{why:#?}");
    assert_eq!(why.change(), Some(&why.held[0].change));
    why.held[0].clone()
}

fn named<'w>(why: &'w Why, name: &str) -> &'w Held {
    let mut all = why.held.iter().filter(|held| held.name == name);
    let held = all.next().unwrap();
    assert_eq!(all.next(), None, "{why:#?}");
    held
}

#[track_caller]
fn near(time: Option<Time>, expected: Time) {
    let time = time.unwrap();
    assert!(time <= expected + SLACK && expected <= time + SLACK, "{time}, and not {expected}");
}

async fn one(step: Step, service: Service, script: Script) -> (Node<Memory>, Arc<Workflow>, TaskId, Time) {
    let (workflow, _) = Flow::new("one").step(step, service, script).build();
    let node = node_with(memory(), &workflow, quick()).await;
    let (now, task) = (node.now(), submit(&node, &workflow).await);
    (node, workflow, task, now)
}

// ---- services ----

fn circuit_of(held: &Held) -> &Circuit {
    let On::Breaker { circuit: Some(circuit) } = &held.on else { panic!("{held:?}") };
    circuit
}

#[tokio::test(start_paused = true)]
async fn an_open_circuit_is_told_with_its_probe_and_since_when_the_service_is_away() {
    let up = Arc::new(AtomicBool::new(false));
    let is_up = Arc::clone(&up);
    let script: Script = Arc::new(move |_| if is_up.load(Ordering::SeqCst) { Act::Succeed } else { BUSY });
    let service = fragile("svc");
    let breaker = service.pipeline().breaker().unwrap();
    let (workflow, books) = Flow::new("order").step(step("a"), service, script).build();
    let node = node_with(memory(), &workflow, quick()).await;
    // Two calls in a row open it, within a moment.
    let tripped = node.now();
    submit_many(&node, &workflow, 2).await;
    sleep(s(3)).await;
    let (came, task) = (node.now(), submit(&node, &workflow).await);
    sleep(s(1)).await;
    let first = held(&node, task).await;
    near(first.since, came);
    near(circuit_of(&first).since, tripped);
    near(first.until, node.now() + breaker.report().open_for.unwrap());
    assert_eq!((circuit_of(&first).state, &first.change), (CircuitState::Open, &Change::Circuit));
    assert_eq!((first.service.as_deref(), circuit_of(&first).forced_by.clone()), (Some("svc"), None));
    let words = node.why(task).await.unwrap().to_string();
    assert!(
        words.starts_with("`a`: it waits for circuit `svc` for 1 s so far (open for 4 s so far, a probe in "),
        "{words}"
    );

    // The probe fails: it is open for longer, and the service is away since the same time.
    let calls = books.calls("a");
    sleep(first.until.unwrap().since(node.now()) + s(2)).await;
    assert!(books.calls("a") > calls, "it was probed when it said");
    let mut waits = held(&node, task).await;
    if !matches!(waits.on, On::Breaker { .. }) {
        // It was this one that probed.
        sleep(s(6)).await;
        waits = held(&node, task).await;
    }
    near(circuit_of(&waits).since, tripped);
    near(waits.until, node.now() + breaker.report().open_for.unwrap());
    assert!(waits.until > first.until);
    // However long it takes, and however often it is probed.
    sleep(s(10 * 3_600)).await;
    submit(&node, &workflow).await;
    sleep(s(5)).await;
    let task = submit(&node, &workflow).await;
    let waits = held(&node, task).await;
    near(circuit_of(&waits).since, tripped);
    let history = node.circuits().await.unwrap().remove(0).history;
    assert_eq!(
        (history.len(), history[0].state.as_str()),
        (32, "open"),
        "no more are kept, the first among them"
    );
    up.store(true, Ordering::SeqCst);
    node.at_rest(task).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_circuit_that_somebody_holds_open_says_who_and_why_and_that_somebody_has_to_let_go() {
    let service = fragile("svc");
    let breaker = service.pipeline().breaker().unwrap();
    let (workflow, _) = Flow::new("order").step(step("a"), service, always(Act::Succeed)).build();
    let node = node_with(memory(), &workflow, quick()).await;
    let forced = node.now();
    breaker.force_open(None, "ann", "maintenance");
    sleep(s(60)).await;
    let task = submit(&node, &workflow).await;
    sleep(s(3_600)).await;
    let held_open = held(&node, task).await;
    let circuit = circuit_of(&held_open);
    near(circuit.since, forced);
    assert_eq!(circuit.forced_by, Some(("ann".to_owned(), "maintenance".to_owned())));
    assert_eq!((held_open.until, &held_open.change), (None, &Change::Operator));
    // For a time: then it is probed.
    breaker.force_open(Some(s(100)), "bob", "a short one");
    sleep(s(1)).await;
    let for_a_time = held(&node, task).await;
    near(for_a_time.until, node.now() + s(99));
    assert_eq!((&for_a_time.change, for_a_time.since), (&Change::Circuit, held_open.since));
    assert_eq!(circuit_of(&for_a_time).forced_by.as_ref().unwrap().0, "bob");
    breaker.reset("ann", "done");
    assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_step_waits_for_a_place_or_for_room_at_its_service() {
    let (node, workflow, first, began) =
        one(step("a"), service("svc").most_running(1), always(Act::Take(s(5)))).await;
    sleep(s(1)).await;
    let (came, second) = (node.now(), submit(&node, &workflow).await);
    sleep(s(1)).await;
    let runs = held(&node, first).await;
    assert_eq!(runs.on, On::Attempt { number: 1, round: None, heartbeat: None });
    near(runs.since, began);
    near(runs.until, began + s(10));
    let waits = held(&node, second).await;
    assert_eq!((&waits.on, waits.until, &waits.change), (&On::Place, None, &Change::Room));
    near(waits.since, came);
    sleep(s(4)).await;
    near(held(&node, second).await.since, began + s(5));

    // The pipeline itself lets a call through in a hundred seconds: the service has no room.
    let pipeline = Pipeline::builder("svc").clock(Clock::tokio()).no_breaker().no_budget();
    let limited = Service::new(pipeline.limit(Limit::rate(0.01)).build().unwrap());
    let (node, workflow, _, _) = one(step("a"), limited, always(Act::Succeed)).await;
    let task = submit(&node, &workflow).await;
    sleep(s(1)).await;
    let waits = held(&node, task).await;
    assert_eq!((&waits.on, &waits.change), (&On::Limit, &Change::Room));
    assert!(waits.until.unwrap() > node.now(), "{waits:?}");
    let attempt = node.read(task).await.unwrap().task.steps()[0].attempt;
    sleep(waits.until.unwrap().since(node.now()) + s(2)).await;
    let after = node.read(task).await.unwrap().task.steps()[0].attempt;
    assert!(after > attempt, "it was asked again when it said");
}

#[tokio::test(start_paused = true)]
async fn a_retry_is_told_with_its_time_and_how_the_last_one_failed() {
    let pipeline =
        |retry| Pipeline::builder("svc").clock(Clock::tokio()).no_breaker().no_budget().retry(retry);
    let service = Service::new(pipeline(Retry::fixed(s(100)).max_retries(3)).build().unwrap());
    let away = Act::Fail(Verdict::lasting(Kind::OFFLINE).without_effect());
    for (act, failure) in [(BUSY, "overloaded: scripted"), (away, "offline: scripted")] {
        let (node, _, task, began) = one(step("a"), service.clone(), first(vec![act])).await;
        sleep(s(5)).await;
        let waits = held(&node, task).await;
        assert_eq!((&waits.on, &waits.change), (&On::NextAttempt { failures: 1 }, &Change::Time));
        assert_eq!(waits.last_failure.as_deref(), Some(failure));
        near(waits.since, began);
        let until = waits.until.unwrap();
        assert!(until >= began + s(60), "{until}");
        sleep(until.since(node.now()) - s(1)).await;
        assert_eq!(held(&node, task).await, waits);
        sleep(s(2)).await;
        assert_eq!(node.why(task).await.unwrap().state, TaskState::Completed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_that_may_have_killed_its_process_waits_for_the_other() {
    let takes = || always(Act::Take(s(8)));
    let (workflow, _) = Flow::new("two")
        .step(step("a"), service("svc"), takes())
        .step(step("b"), service("svc"), takes())
        .build();
    let store = memory();
    let mut node = node_with(store.clone(), &workflow, quick()).await;
    let task = submit(&node, &workflow).await;
    for _ in 0..2 {
        sleep(s(1)).await;
        drop(node);
        sleep(s(4)).await;
        node = node_with(store.clone(), &workflow, quick()).await;
    }
    let began = node.now();
    for _ in 0..5 {
        sleep(s(1)).await;
        let why = node.why(task).await.unwrap();
        let (runs, waits): (Vec<_>, Vec<_>) =
            why.held.iter().partition(|held| matches!(held.on, On::Attempt { .. }));
        assert_eq!((runs.len(), waits.len()), (1, 1), "{why:#?}");
        assert_eq!((&waits[0].on, &waits[0].change), (&On::Suspect, &Change::Others));
        near(waits[0].since, began);
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_of_a_workflow_that_is_not_known_here_says_so() {
    let (workflow, _) = Flow::new("one").wait(Step::signal("ok", "go")).build();
    let (other, _) = Flow::new("other").wait(Step::signal("ok", "go")).build();
    let store = memory();
    let first = node_with(store.clone(), &workflow, quick()).await;
    let (began, task) = (first.now(), submit(&first, &workflow).await);
    first.shut_down().await.unwrap();
    let second = node_with(store.clone(), &other, quick()).await;
    sleep(s(5)).await;
    let unknown = held(&second, task).await;
    let on = On::Workflow { name: "one".to_owned(), version: 1 };
    assert_eq!((unknown.step, &unknown.on, &unknown.change), (None, &on, &Change::Program));
    near(unknown.since, began);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_nobody_works_on_says_so() {
    let (workflow, _) = saga([first(vec![Act::Hang]), always(Act::Succeed), always(Act::Succeed)], fine());
    let store = Flaky::new(memory(), 1, 0);
    let node = node_with(store.clone(), &workflow, quick()).await;
    let task = submit(&node, &workflow).await;
    // The supervisor takes it from a node that does not hear of its attempt, and nobody can take it up.
    store.held.send_replace("claim");
    sleep(s(10)).await;
    let given_up = node.now();
    sleep(s(5)).await;
    let why = node.why(task).await.unwrap();
    let left = named(&why, "a");
    assert_eq!((&left.on, &left.change, left.undo), (&On::Node, &Change::Node, false));
    near(left.since, given_up);
    store.held.send_replace("");
    assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Completed);
}

// ---- times and signals ----

#[tokio::test(start_paused = true)]
async fn waits_rounds_and_signals_are_told_with_the_definitions_times() {
    let not_yet = || Act::Output("\"not yet\"".to_owned());
    let poll = step("poll").repeat(Repeat { every: s(300), at_most: Some(5) });
    let (workflow, _) = Flow::new("waits")
        .within(s(9_000))
        .wait(Step::wait_for("rest", s(1_000)))
        .wait(Step::signal("ok", "go").timeout(s(2_000)).or_none())
        .wait(Step::signal("ever", "stay"))
        .repeated(poll, service("svc"), always(not_yet()), "\"done\"")
        .wait(Step::wait_for("then", s(1)).after(["ever"]))
        .build();
    let node = node_with(memory(), &workflow, quick()).await;
    let (began, task) = (node.now(), submit(&node, &workflow).await);
    sleep(s(100)).await;
    let why = node.why(task).await.unwrap();
    assert_eq!((why.state, why.held.len(), why.cause.clone()), (TaskState::Waiting, 5, None));
    near(why.deadline, began + s(9_000));
    assert!(why.to_string().ends_with("; its deadline is in 8900 s"), "{why}");
    for (name, on, until, change) in [
        ("rest", On::Time, Some(1_000), Change::Time),
        (
            "ok",
            On::Signal { signal: "go".to_owned(), or_none: true, came: false },
            Some(2_000),
            Change::Signal("go".to_owned()),
        ),
        (
            "ever",
            On::Signal { signal: "stay".to_owned(), or_none: false, came: false },
            None,
            Change::Signal("stay".to_owned()),
        ),
        ("poll", On::NextRound { rounds: 1, at_most: Some(5) }, Some(300), Change::Time),
        ("then", On::Turn(vec![StepId::at(2)]), None, Change::Steps(vec![StepId::at(2)])),
    ] {
        let held = named(&why, name);
        assert_eq!((&held.on, &held.change, held.until.is_some()), (&on, &change, until.is_some()), "{name}");
        near(held.since, began);
        held.until.iter().for_each(|time| near(Some(*time), began + s(until.unwrap())));
    }
    // What would change it does.
    let says = Payload::from(b"1".as_slice());
    node.ask(task, &Request::Signal { name: Arc::from("stay"), id: None, says }).await.unwrap();
    let signalled = node.now();
    sleep(Duration::from_millis(500)).await;
    let then = named(&node.why(task).await.unwrap(), "then").clone();
    assert_eq!(then.on, On::Time);
    near(then.since, signalled);
    sleep(s(250)).await;
    let poll = named(&node.why(task).await.unwrap(), "poll").clone();
    assert_eq!(poll.on, On::NextRound { rounds: 2, at_most: Some(5) });
    near(poll.since, began + s(300));
}

#[tokio::test(start_paused = true)]
async fn a_later_start_is_told_and_then_it_begins() {
    let (workflow, _) = Flow::new("later").step(step("a"), service("svc"), always(Act::Take(s(5)))).build();
    let node = node_with(memory(), &workflow, quick()).await;
    let began = node.now();
    let task = node.submit_for(new(&workflow), Start::After(s(60))).await.unwrap().task;
    sleep(s(10)).await;
    let later = held(&node, task).await;
    assert_eq!((later.step, &later.on, &later.change), (None, &On::Start, &Change::Time));
    near(later.since, began);
    near(later.until, began + s(60));
    sleep(s(52)).await;
    let runs = held(&node, task).await;
    assert!(matches!(runs.on, On::Attempt { number: 1, .. }), "{runs:?}");
    near(runs.since, began + s(60));
}

// ---- ends ----

#[tokio::test(start_paused = true)]
async fn an_undo_says_what_runs_what_waits_and_what_is_stuck() {
    let undo: Script = Arc::new(|nth| match nth {
        0 => Act::Take(s(3)),
        _ => Act::Succeed,
    });
    let slow = Service::new(
        Pipeline::builder("slow")
            .clock(Clock::tokio())
            .no_breaker()
            .no_budget()
            .retry(Retry::fixed(s(100)).max_retries(1))
            .build()
            .unwrap(),
    );
    let mut b = Step::new("b", "slow").complete_within(s(10)).after(["a"]);
    b = b.undo_when_unknown();
    let (workflow, books) = Flow::new("undone")
        .undoable(step("a"), service("svc"), always(Act::Succeed), always(Act::Succeed))
        .undoable(b, slow, always(Act::Succeed), always(BUSY))
        .undoable(step("c").after(["b"]), service("svc"), always(Act::Succeed), undo)
        .step(step("d").after(["c"]), service("svc"), always(Act::Take(s(8))))
        .build();
    let node = node_with(memory(), &workflow, quick()).await;
    let (began, task) = (node.now(), submit(&node, &workflow).await);
    sleep(s(2)).await;
    node.ask(task, &Request::Cancel { by: Arc::from("ann"), why: Arc::from("enough") }).await.unwrap();
    sleep(s(1)).await;
    let [b, c, d] = ["b", "c", "d"].map(|name| workflow.definition().step_named(name).unwrap());
    let cancelled = Cause::Cancelled { by: Arc::from("ann"), why: Arc::from("enough") };

    let why = node.why(task).await.unwrap();
    assert_eq!((why.state, why.cause.as_ref(), why.held.len()), (TaskState::Undoing, Some(&cancelled), 4));
    near(why.since, began + s(2));
    for name in ["a", "b", "c"] {
        let held = named(&why, name);
        assert_eq!((&held.on, held.undo), (&On::Drain(vec![d]), true));
        near(held.since, began + s(2));
    }
    assert!(matches!(named(&why, "d").on, On::Attempt { .. }), "it is let end");
    let then = "; what was done is undone once that has ended";
    assert!(why.to_string().starts_with("cancelled by ann: enough; `d`: an attempt runs for "), "{why}");
    assert!(why.to_string().ends_with(then), "{why}");

    sleep(s(6)).await;
    let why = node.why(task).await.unwrap();
    assert_eq!((books.calls("undo c"), why.held.len()), (1, 3), "{why:#?}");
    let undo = named(&why, "c");
    assert!(matches!(undo.on, On::Attempt { number: 2, .. }) && undo.undo, "{undo:?}");
    near(undo.since, began + s(8));
    near(undo.until, began + s(18));
    assert_eq!(named(&why, "b").on, On::LaterUndo(vec![c]));
    assert_eq!(named(&why, "a").change, Change::Steps(vec![b]));

    sleep(s(5)).await;
    let why = node.why(task).await.unwrap();
    let waits = named(&why, "b");
    assert_eq!(
        (&waits.on, &waits.change, waits.undo),
        (&On::NextAttempt { failures: 1 }, &Change::Time, true)
    );
    near(waits.since, began + s(11));
    assert_eq!(waits.until, node.read(task).await.unwrap().task.step(b).not_before);
    let wait = waits.until.unwrap().since(waits.since.unwrap());
    assert!(wait > s(50) && wait < s(150), "{wait:?}");
    assert!(why.to_string().contains("; undo of `b`: the next attempt is in "), "{why}");

    let ended = node.at_rest(task).await.unwrap();
    let why = node.why(task).await.unwrap();
    assert_eq!(
        (state(&ended), why.state, why.change()),
        (TaskState::Failed, TaskState::Failed, Some(&Change::Operator))
    );
    near(why.since, node.now());
    assert_eq!(named(&why, "b").on, On::Stuck { unknown: false });
    assert_eq!(
        (&named(&why, "a").on, &named(&why, "a").change),
        (&On::LaterUndo(vec![b]), &Change::Operator)
    );
    assert_eq!(why.to_string(), "cancelled by ann: enough; `b` could not be undone: overloaded: scripted");
}

#[tokio::test(start_paused = true)]
async fn an_undo_waits_for_its_circuit_too() {
    let service = fragile("svc");
    let breaker = service.pipeline().breaker().unwrap();
    let (workflow, _) = Flow::new("undone")
        .undoable(step("a"), service, always(Act::Succeed), always(Act::Succeed))
        .wait(Step::signal("ok", "go").after(["a"]))
        .build();
    let node = node_with(memory(), &workflow, quick()).await;
    let task = submit(&node, &workflow).await;
    sleep(s(1)).await;
    breaker.force_open(None, "ann", "maintenance");
    node.ask(task, &Request::Cancel { by: Arc::from("ann"), why: Arc::from("enough") }).await.unwrap();
    let parked = node.now();
    sleep(s(60)).await;
    let waits = held(&node, task).await;
    assert_eq!((waits.undo, &waits.change), (true, &Change::Operator));
    assert_eq!(circuit_of(&waits).forced_by.as_ref().unwrap().0, "ann");
    near(waits.since, parked);
    breaker.reset("ann", "done");
    assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Undone);
}

#[tokio::test(start_paused = true)]
async fn a_task_at_rest_says_how_it_ended_and_since_when() {
    let (completes, _) = Flow::new("ends").step(step("a"), service("svc"), always(Act::Take(s(3)))).build();
    let (late, _) = Flow::new("late").within(s(60)).wait(Step::signal("ok", "go")).build();
    let (fails, _) = saga([always(Act::Succeed), always(NO), always(Act::Succeed)], fine());
    for (workflow, after, ends, cause, words) in [
        (completes, 3, TaskState::Completed, None, "it is done"),
        (late, 60, TaskState::Undone, Some(Cause::Deadline), "its deadline has passed"),
        (
            fails,
            0,
            TaskState::Undone,
            Some(Cause::StepFailed(StepId::at(1))),
            "step `b` failed: bad-request: scripted",
        ),
    ] {
        let node = node_with(memory(), &workflow, quick()).await;
        let (began, task) = (node.now(), submit(&node, &workflow).await);
        sleep(s(1_000)).await;
        let why = node.why(task).await.unwrap();
        assert_eq!((why.state, why.cause.clone(), why.held.len()), (ends, cause, 0));
        assert_eq!((why.to_string().as_str(), why.deadline, why.change()), (words, None, None));
        let since = why.since.unwrap();
        assert!(since >= began + s(after) && since <= began + s(after + 2), "{since} after {began}");
    }
}
