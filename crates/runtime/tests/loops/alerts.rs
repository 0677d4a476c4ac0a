//! Alerts: each cause gives one, and none is lost [O1, T4].

#![expect(clippy::unwrap_used, reason = "tests")]

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::flaky::Flaky;
use common::told::Told;
use common::*;
use steadfast_engine::{OnFailure, Step, TaskState};
use steadfast_resilience::breaker::State;
use steadfast_resilience::clock::Clock;
use steadfast_resilience::telemetry::alert::{Measure, Rule, Threshold};
use steadfast_resilience::{Kind, Pipeline, Retry, Verdict};
use steadfast_runtime::{AlertKind, AlertState, Node, Service, Settings, Workflow};
use steadfast_store::{Outbox as _, OutboxKind, Store};

/// One step that says no for good, and an operator's business then.
fn failing() -> Arc<Workflow> {
    Flow::new("failing").step(step("a").on_failure(OnFailure::Error), service("svc"), always(NO)).build().0
}

/// A step with a lot of time at another service.
fn banking() -> Step {
    Step::new("a", "bank").complete_within(s(600))
}

/// How many messages the outbox has that are due, or were given up.
async fn left(store: &impl Store) -> (usize, usize) {
    let due = store.undelivered(OutboxKind::Alert, 999, Duration::from_millis(1)).await.unwrap();
    (due.messages.len(), store.undeliverable(OutboxKind::Alert, 999).await.unwrap().len())
}

/// Starts a node and has one task end; then the outbox has time.
async fn ends<T: Store>(node: &Node<T>, workflow: &Arc<Workflow>, as_: TaskState) -> steadfast_store::Stored {
    let ended = run(node, workflow).await;
    assert_eq!(state(&ended), as_);
    sleep(s(60)).await;
    ended
}

#[tokio::test(start_paused = true)]
async fn a_task_that_fails_is_told_once_with_the_reason() {
    let (told, store) = (Told::default(), memory());
    let workflow = failing();
    let node = node_with(store.clone(), &workflow, told.settings()).await;
    let ended = ends(&node, &workflow, TaskState::Failed).await;
    let [alert] = &told.taken()[..] else { panic!("{:?}", told.taken()) };
    assert_eq!((alert.kind, alert.state), (AlertKind::TaskFailed, AlertState::Raised));
    assert_eq!((alert.task, alert.workflow.as_deref()), (Some(ended.id), Some("failing")));
    let why = "has failed, an operator decides: step `a` failed: bad-request: scripted";
    assert_eq!(alert.words, format!("task {} of `failing` {why}", ended.id));
    assert!(alert.advice.starts_with("mend what it failed on"), "{}", alert.advice);
    assert_eq!(left(&store).await, (0, 0), "what has arrived is gone");
    assert_eq!(node.stats().delivered, 1);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_completes_or_is_undone_tells_nothing_and_writes_nothing() {
    let (told, flaky) = (Told::default(), Flaky::new(memory(), 1, 0));
    let (fine, _) = saga(fine(), fine());
    let (undone, _) = Flow::new("undone")
        .undoable(step("a"), service("svc"), always(Act::Succeed), always(Act::Succeed))
        .step(step("b").after(["a"]), service("svc"), always(NO))
        .build();
    let workflows = known(&[&fine, &undone]);
    let node = Node::start(flaky.clone(), workflows, told.settings(), Clock::tokio()).await.unwrap();
    ends(&node, &fine, TaskState::Completed).await;
    ends(&node, &undone, TaskState::Undone).await;
    assert_eq!((told.calls(), flaky.made("send"), flaky.made("settle")), (vec![], 0, 0));
}

#[tokio::test(start_paused = true)]
async fn an_undo_that_is_stuck_is_told_and_then_its_task() {
    let told = Told::default();
    let (workflow, _) = Flow::new("w")
        .undoable(banking(), service("bank"), always(Act::Succeed), always(NO))
        .step(step("b").after(["a"]), service("svc"), always(NO))
        .build();
    let node = node_with(memory(), &workflow, told.settings()).await;
    let ended = ends(&node, &workflow, TaskState::Failed).await;
    assert_eq!(told.kinds(), [AlertKind::UndoStuck, AlertKind::TaskFailed]);
    let stuck = &told.taken()[0];
    assert_eq!((stuck.step.as_deref(), stuck.service.as_deref()), (Some("a"), Some("bank")));
    assert!(
        stuck.words.ends_with("is stuck: `a` could not be undone: bad-request: scripted"),
        "{}",
        stuck.words
    );
    // An operator has it tried again, and it is stuck again: that is told anew.
    node.undo(ended.id, "ann", "the bank is back").await.unwrap();
    sleep(s(60)).await;
    let ids: std::collections::BTreeSet<_> = told.taken().iter().map(|alert| alert.id).collect();
    assert_eq!((told.kinds().len(), ids.len()), (4, 4));
}

/// The supervisor, an operator, and a task that ends as it begins: whoever writes the end tells of it.
#[tokio::test(start_paused = true)]
async fn whoever_brings_a_task_to_its_end_tells_of_it() {
    let hangs =
        Flow::new("hangs").step(step("a").not_idempotent(), service("svc"), always(Act::Hang)).build().0;
    let bad: steadfast_runtime::Condition = Arc::new(|_| Err("no such field".to_owned()));
    let unjudged = Flow::new("unjudged")
        .step_if(step("a").on_failure(OnFailure::Error), service("svc"), always(Act::Succeed), bad)
        .build()
        .0;
    let unsure = Flow::new("unsure")
        .undoable(
            step("a").on_failure(OnFailure::Continue),
            service("svc"),
            always(LOST),
            always(Act::Succeed),
        )
        .build()
        .0;
    let told = Told::default();
    let workflows = known(&[&hangs, &unjudged, &unsure]);
    let node = Node::start(memory(), workflows, told.settings(), Clock::tokio()).await.unwrap();
    let unknown = ends(&node, &hangs, TaskState::Failed).await;
    assert!(
        told.taken()[0].advice.starts_with("ask the services whether `a` happened"),
        "{:?}",
        told.taken()
    );
    let at_once = ends(&node, &unjudged, TaskState::Failed).await;
    let asked = ends(&node, &unsure, TaskState::Completed).await;
    assert_eq!(told.kinds().len(), 2);
    // To undo what may not have happened is not safe: the task fails by the very wish.
    node.undo(asked.id, "ann", "a typo").await.unwrap();
    sleep(s(1)).await;
    for task in [unknown.id, at_once.id, asked.id] {
        assert_eq!(told.times(task, AlertKind::TaskFailed), 1, "{task}");
    }
    assert_eq!(told.times(asked.id, AlertKind::UndoStuck), 1);
}

// ---- circuits ----

/// A workflow whose service is busy at first.
fn fragile_flow(failures: usize) -> Arc<Workflow> {
    let acts = first(vec![BUSY; failures]);
    Flow::new("w").step(banking(), fragile("bank"), acts).build().0
}

#[tokio::test(start_paused = true)]
async fn a_circuit_that_opens_is_told_once_and_that_it_closed_once() {
    let told = Told::default();
    // Two failures trip it, and two probes fail after that: it opens three times, and is told of once.
    let service = fragile("bank");
    let breaker = service.pipeline().breaker().unwrap();
    let (workflow, _) = Flow::new("w").step(banking(), service, first(vec![BUSY; 4])).build();
    let node = node_with(memory(), &workflow, told.settings()).await;
    let tasks = submit_many(&node, &workflow, 5).await;
    sleep(s(1)).await;
    assert_eq!(told.kinds(), [AlertKind::CircuitOpened]);
    let opened = &told.taken()[0];
    assert_eq!(
        (opened.service.as_deref(), opened.task, opened.state),
        (Some("bank"), None, AlertState::Raised)
    );
    assert!(opened.words.starts_with("circuit `bank`: closed -> open for"), "{}", opened.words);
    for task in tasks {
        assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Completed);
    }
    sleep(s(10)).await;
    assert_eq!(told.kinds(), [AlertKind::CircuitOpened, AlertKind::CircuitClosed]);
    assert_eq!(told.taken()[1].state, AlertState::Cleared);
    let opened = breaker.history().iter().filter(|change| change.to == State::Open).count();
    assert_eq!(opened, 3);
}

#[tokio::test(start_paused = true)]
async fn a_circuit_that_opens_while_the_store_is_away_is_told_when_it_is_back() {
    let (told, flaky) = (Told::default(), Flaky::new(memory(), 1, 0));
    let service = fragile("bank");
    let bank = service.pipeline().breaker().unwrap();
    let (workflow, _) = Flow::new("w").step(banking(), service, always(Act::Succeed)).build();
    let node = node_with(flaky.clone(), &workflow, told.settings()).await;
    sleep(s(1)).await;
    flaky.fail_before("send");
    bank.force_open(None, "ann", "maintenance");
    sleep(Duration::from_millis(100)).await;
    assert_eq!((told.calls(), flaky.made("send"), node.stats().store_errors), (vec![], 1, 1));
    sleep(s(1)).await;
    assert_eq!((told.kinds(), flaky.made("send")), (vec![AlertKind::CircuitOpened], 2));
    assert!(told.taken()[0].words.contains("ann: maintenance"), "{}", told.taken()[0].words);
    // Stored, and the answer is lost: the key knows it.
    flaky.fail_after("send");
    bank.force_closed("ann", "it is over");
    sleep(s(90)).await;
    assert_eq!(told.kinds(), [AlertKind::CircuitOpened, AlertKind::CircuitClosed]);
    assert_eq!(told.calls().len(), 2);
    // What waits for a store that never comes back is bounded, and what is lost is counted.
    flaky.hold();
    for _ in 0..600 {
        bank.force_open(None, "ann", "again");
        bank.force_closed("ann", "again");
    }
    assert_eq!(node.stats().lost_alerts, 200);
}

#[tokio::test(start_paused = true)]
async fn two_nodes_tell_of_the_same_circuit_once_and_of_each_task_once() {
    let (told, store) = (Told::default(), memory());
    let (busy, failing) = ([fragile_flow(99), fragile_flow(99)], failing());
    let mut nodes = Vec::new();
    for busy in &busy {
        let workflows = known(&[busy, &failing]);
        nodes.push(Node::start(store.clone(), workflows, told.settings(), Clock::tokio()).await.unwrap());
    }
    for (node, busy) in nodes.iter().zip(&busy) {
        submit_many(node, busy, 3).await;
    }
    let mut tasks = submit_many(&nodes[0], &failing, 20).await;
    tasks.extend(submit_many(&nodes[1], &failing, 20).await);
    for task in &tasks {
        nodes[0].at_rest(*task).await.unwrap();
    }
    sleep(s(5)).await;
    let opened = told.kinds().iter().filter(|kind| **kind == AlertKind::CircuitOpened).count();
    assert_eq!(opened, 1, "both nodes have seen it");
    for task in tasks {
        assert_eq!(told.times(task, AlertKind::TaskFailed), 1);
    }
    assert_eq!(told.calls().len(), 41);
}

// ---- rules ----

/// A service that is told of by one rule, which sees a few calls at once.
async fn by_rule(rule: Rule, acts: Script, calms: Script, kind: AlertKind) {
    let pipeline =
        Pipeline::builder("svc").clock(Clock::tokio()).no_breaker().no_budget().attempt_timeout(s(30));
    let pipeline = pipeline.retry(Retry::fixed(Duration::from_millis(100)).max_retries(3)).build().unwrap();
    let service = Service::new(pipeline);
    let flow = |name, acts| {
        let step = step("a").on_failure(OnFailure::Continue).complete_within(s(60));
        Flow::new(name).step(step, service.clone(), acts).build().0
    };
    let (told, fine) = (Told::default(), flow("fine", always(Act::Take(Duration::from_millis(20)))));
    let (bad, calm) = (flow("bad", acts), flow("calm", calms));
    let mut settings = told.settings();
    settings.alerts.rules = vec![];
    settings.alerts.rules_for("svc", [rule.within(s(60)).lasting(s(10)).min_calls(5)]);
    let workflows = known(&[&fine, &bad, &calm]);
    let node = Node::start(memory(), workflows, settings, Clock::tokio()).await.unwrap();
    for (workflow, seconds) in [(&fine, 100), (&bad, 150), (&calm, 300)] {
        for _ in 0..seconds {
            submit(&node, workflow).await;
            sleep(s(1)).await;
        }
        sleep(s(60)).await;
    }
    sleep(s(120)).await;
    let states: Vec<_> = told.taken().iter().map(|alert| (alert.kind, alert.state)).collect();
    assert_eq!(states, [(kind, AlertState::Raised), (kind, AlertState::Cleared)]);
    let raised = &told.taken()[0];
    assert_eq!(raised.service.as_deref(), Some("svc"));
    assert!(raised.value >= raised.threshold && raised.threshold.is_some(), "{raised:?}");
    assert!(!raised.advice.is_empty() && raised.words.contains("(alert at"), "{raised:?}");
}

#[tokio::test(start_paused = true)]
async fn a_service_whose_calls_fail_is_told_of_once() {
    let rule = Rule::new(Measure::FailureRate, Threshold::At(0.5));
    by_rule(rule, always(BUSY), always(Act::Succeed), AlertKind::FailureRate).await;
}

#[tokio::test(start_paused = true)]
async fn a_service_that_needs_retries_is_told_of_once() {
    let rule = Rule::new(Measure::MeanRetries, Threshold::At(0.5));
    let every_other = Arc::new(|nth: u32| if nth.is_multiple_of(2) { BUSY } else { Act::Succeed });
    by_rule(rule, every_other, always(Act::Succeed), AlertKind::Retries).await;
}

#[tokio::test(start_paused = true)]
async fn a_service_that_throttles_is_told_of_once() {
    let rule = Rule::new(Measure::ThrottledShare, Threshold::At(0.3));
    let slow_down = Act::Fail(Verdict::throttled(Kind::THROTTLED).without_effect());
    let every_other =
        Arc::new(move |nth: u32| if nth.is_multiple_of(2) { slow_down.clone() } else { Act::Succeed });
    by_rule(rule, every_other, always(Act::Succeed), AlertKind::Throttled).await;
}

#[tokio::test(start_paused = true)]
async fn a_service_that_gets_slow_is_told_of_once() {
    let rule = Rule::new(Measure::TimeToSuccess, Threshold::TimesUsual { factor: 3.0, floor: 0.01 });
    let (slow, quick) = (Act::Take(s(2)), Act::Take(Duration::from_millis(20)));
    by_rule(rule, always(slow), always(quick), AlertKind::SlowSuccess).await;
}

#[tokio::test(start_paused = true)]
async fn rules_that_make_no_sense_are_refused() {
    let mut settings = Settings::default();
    settings.alerts.tries = 0;
    assert!(settings.check().unwrap_err().contains("`alerts.tries`"));
}

/// An idle node is cheap: it looks into the outbox twice a minute, and writes nothing.
#[tokio::test(start_paused = true)]
async fn an_idle_node_leaves_the_store_alone() {
    let (workflow, flaky) = (failing(), Flaky::new(memory(), 1, 0));
    let node = node(flaky.clone(), &workflow).await;
    sleep(s(600)).await;
    assert!(flaky.made("undelivered") <= 21, "{}", flaky.made("undelivered"));
    assert_eq!((flaky.made("send"), flaky.made("settle"), node.stats().delivered), (0, 0, 0));
}

/// A message that nobody can read is not tried for ever, and does not stand in the way.
#[tokio::test(start_paused = true)]
async fn a_message_that_cannot_be_read_is_given_up() {
    let (told, store, workflow) = (Told::default(), memory(), failing());
    let node = node_with(store.clone(), &workflow, told.settings()).await;
    let body = steadfast_store::Payload::from(&b"{}"[..]);
    let message =
        steadfast_store::Outgoing { task: None, kind: OutboxKind::Alert, key: None, body, to: None };
    store.send(vec![message]).await.unwrap();
    ends(&node, &workflow, TaskState::Failed).await;
    assert_eq!((told.kinds(), node.stats().undeliverable), (vec![AlertKind::TaskFailed], 1));
    assert_eq!(left(&store).await, (0, 1));
}
