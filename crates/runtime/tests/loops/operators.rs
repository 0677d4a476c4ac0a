//! What operators ask: by mail, to whoever owns the task, once, and in the audit log [O2, O3].

#![expect(clippy::panic, reason = "tests")]

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::flaky::Flaky;
use common::*;
use steadfast_engine::{Action, OnFailure, Step, StepId, StepState, TaskState};
use steadfast_runtime::{Error, ErrorKind, New, Node, Operation, Workflow};
use steadfast_store::{Audit, AuditId, AuditLog as _, Memory, Payload, PayloadKey, Store, TaskId};

const A: StepId = StepId::at(0);
const B: StepId = StepId::at(1);

fn retry(step: StepId) -> Action {
    Action::Retry { step, edited: false, did_not_happen: false }
}

async fn ask<S: Store>(node: &Node<S>, task: TaskId, action: Action) -> Result<Audit, Error> {
    node.operate(task, Operation::new(action, "ana", "it has to be")).await
}

/// Why it was refused.
fn refused(done: Result<Audit, Error>) -> String {
    match done.map_err(|error| error.kind().clone()) {
        Err(ErrorKind::Refused { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

/// Two steps, of which the second is an operator's when it fails.
fn pair(second: Script) -> (Arc<Workflow>, Books) {
    Flow::new("pair")
        .undoable(step("a"), service("svc"), always(Act::Succeed), always(Act::Succeed))
        .step(step("b").after(["a"]).on_failure(OnFailure::Error).nothing_to_undo(), service("svc"), second)
        .build()
}

#[tokio::test(start_paused = true)]
async fn a_failed_step_is_made_again_and_the_log_says_by_whom_and_why() {
    let (workflow, books) = pair(first(vec![NO]));
    let node = node(memory(), &workflow).await;
    let task = submit(&node, &workflow).await;
    assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Failed);
    let before = node.now();
    let done = ask(&node, task, retry(B)).await.unwrap();
    assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Completed);
    assert_eq!((books.calls("b"), books.effects("b")), (2, 1), "under one key");
    let log = node.audits(Some(task), None, 9).await.unwrap();
    assert_eq!((log.len(), &log[0].audit), (1, &done));
    assert!(log[0].at >= before && log[0].at <= node.now());
    assert_eq!(
        (&*done.by, &*done.why, &*done.action, &done.refused),
        ("ana", "it has to be", "retry", &None)
    );
    let detail: serde_json::Value = serde_json::from_slice(&done.detail).unwrap();
    assert_eq!((&detail["before"]["task"], &detail["after"]["task"]), (&"failed".into(), &"running".into()));
    assert_eq!((&detail["step"], &detail["after"]["step"]["state"]), (&"b".into(), &"ready".into()));
    // What is refused is in the log as well.
    assert!(matches!(ask(&node, task, retry(B)).await.unwrap_err().kind(), ErrorKind::Ended(_)));
    let log = node.audits(Some(task), None, 9).await.unwrap();
    assert_eq!((log.len(), log[0].audit.refused.as_deref()), (2, Some("the task has ended")));
    assert_eq!(node.stats().owned, 0);
}

#[tokio::test(start_paused = true)]
async fn a_step_sees_the_input_that_it_was_given_and_the_next_one_the_output() {
    for small in [true, false] {
        let echo = step("echo").after(["b"]).nothing_to_undo();
        let (workflow, books) = Flow::new("edited")
            .undoable(step("a"), service("svc"), always(Act::Succeed), always(Act::Succeed))
            .undoable(
                step("b").after(["a"]).on_failure(OnFailure::Error),
                service("svc"),
                Arc::new(|nth| if nth == 0 { NO } else { Act::Echo }),
                always(Act::Echo),
            )
            .step(echo, service("svc"), always(Act::EchoBefore(B)))
            .build();
        let node = node(memory(), &workflow).await;
        let task = node.submit(New { input: Payload::from(&b"1"[..]), ..new(&workflow) }).await.unwrap().task;
        node.at_rest(task).await.unwrap();
        let text = if small { "2".to_owned() } else { format!("\"{}\"", "x".repeat(5_000)) };
        let brings = Payload::from(text.clone().into_bytes());
        let edit = Action::Retry { step: B, edited: true, did_not_happen: false };
        let operation = Operation::new(edit, "ana", "a wrong number").bringing(Some(Arc::clone(&brings)));
        node.operate(task, operation).await.unwrap();
        assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Completed);
        for step in [B, StepId::at(2)] {
            let output = node.payload(PayloadKey { task, step: Some(step) }).await.unwrap();
            assert_eq!(output.as_deref(), Some(text.as_bytes()));
        }
        let input = node.payload(PayloadKey { task, step: None }).await.unwrap();
        assert_eq!(input.as_deref(), Some(&b"1"[..]), "the task's own is as it was");
        node.undo(task, "ana", "after all").await.unwrap();
        assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Undone);
        assert_eq!((books.calls("b"), books.effects("b")), (2, 2), "another input has another key");
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_is_skipped_with_an_output_that_the_next_one_reads() {
    let (workflow, _) = Flow::new("skipped")
        .step(step("a").on_failure(OnFailure::Error).nothing_to_undo(), service("svc"), always(NO))
        .step(step("b").after(["a"]).nothing_to_undo(), service("svc"), always(Act::EchoBefore(A)))
        .build();
    let node = node(memory(), &workflow).await;
    for given in [Some("\"by hand\""), None] {
        let task = submit(&node, &workflow).await;
        node.at_rest(task).await.unwrap();
        let skip = Operation::new(Action::Skip { step: A, happened: false }, "ana", "done by phone");
        let brings = given.map(|text| Payload::from(text.as_bytes()));
        node.operate(task, skip.bringing(brings)).await.unwrap();
        let ended = node.at_rest(task).await.unwrap();
        let states: Vec<_> = ended.task.steps().iter().map(|record| record.state).collect();
        assert_eq!(states, [StepState::Skipped, StepState::Completed]);
        let output = node.payload(PayloadKey { task, step: Some(B) }).await.unwrap();
        assert_eq!(output.as_deref(), Some(given.unwrap_or("none").as_bytes()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_paused_task_costs_nothing_and_goes_on_where_it_was() {
    let (workflow, books) = Flow::new("paused")
        .within(s(600))
        .step(step("a").complete_within(s(60)).nothing_to_undo(), service("svc"), always(Act::Take(s(5))))
        .wait(Step::wait_for("rest", s(20)).after(["a"]))
        .step(step("b").after(["rest"]).nothing_to_undo(), service("svc"), always(Act::Succeed))
        .build();
    for after in [s(1), s(10)] {
        let node = node(memory(), &workflow).await;
        let (task, calls) = (submit(&node, &workflow).await, books.calls("b"));
        sleep(after).await;
        ask(&node, task, Action::Pause).await.unwrap();
        sleep(s(3_600)).await;
        let stored = node.read(task).await.unwrap();
        assert_eq!((state(&stored), node.stats().owned, books.calls("b")), (TaskState::Paused, 0, calls));
        let why = node.why(task).await.unwrap().to_string();
        assert!(why.contains("it is paused by ana") && why.contains("it has to be"), "{why}");
        assert!(refused(ask(&node, task, Action::Pause).await).contains("paused"));
        ask(&node, task, Action::Resume).await.unwrap();
        let ended = node.at_rest(task).await.unwrap();
        assert_eq!((state(&ended), books.calls("b")), (TaskState::Completed, calls + 1));
        assert!(matches!(ask(&node, task, Action::Resume).await.unwrap_err().kind(), ErrorKind::Ended(_)));
    }
}

#[tokio::test(start_paused = true)]
async fn under_one_id_it_is_done_once_however_often_it_is_asked() {
    let (workflow, books) = pair(first(vec![NO, NO]));
    let node = node(memory(), &workflow).await;
    let task = submit(&node, &workflow).await;
    node.at_rest(task).await.unwrap();
    let operation = Operation::new(retry(B), "ana", "once").under(AuditId::from_u128(7));
    for _ in 0..3 {
        let done = node.operate(task, operation.clone()).await.unwrap();
        assert_eq!((done.id, done.refused), (AuditId::from_u128(7), None));
        node.at_rest(task).await.unwrap();
    }
    assert_eq!((books.calls("b"), node.audits(None, None, 9).await.unwrap().len()), (2, 1));
}

/// A node that dies after it was asked, at whatever moment, leaves it to the next.
#[tokio::test(start_paused = true)]
async fn what_was_asked_of_a_node_that_dies_is_done_by_another() {
    for micros in (0..3_000).step_by(150) {
        let (workflow, _) = pair(first(vec![NO]));
        let store = Flaky::new(memory(), micros, 0).slow(1);
        let one = node_with(store.clone(), &workflow, quick()).await;
        let task = submit(&one, &workflow).await;
        assert_eq!(state(&one.at_rest(task).await.unwrap()), TaskState::Failed);
        let id = AuditId::from_u128(u128::from(micros) + 1);
        let operation = Operation::new(Action::Resume, "ana", "go on").under(id);
        tokio::select! {
            _ = one.operate(task, operation.clone()) => {}
            () = sleep(Duration::from_micros(micros)) => {}
        }
        drop(one);
        let two = node_with(store, &workflow, quick()).await;
        // Asked again, since nobody has said what became of it.
        two.operate(task, operation).await.unwrap();
        assert_eq!(state(&two.at_rest(task).await.unwrap()), TaskState::Completed, "{micros}");
        assert_eq!(two.audits(Some(task), None, 9).await.unwrap().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_loses_nothing_of_what_was_asked() {
    let (workflow, _) = pair(always(NO));
    let store = Flaky::new(memory(), 5, 0);
    let node = node_with(store.clone(), &workflow, quick()).await;
    let task = submit(&node, &workflow).await;
    for call in ["claim", "write"] {
        for after in [false, true] {
            node.at_rest(task).await.unwrap();
            let begun = node.read(task).await.unwrap().task.step(B).attempt;
            match after {
                true => store.fail_after(call),
                false => store.fail_before(call),
            }
            ask(&node, task, Action::Resume).await.unwrap();
            let stored = node.at_rest(task).await.unwrap();
            assert_eq!(stored.task.step(B).attempt, begun + 1, "{call} {after}");
            assert!(!store.is_armed(), "{call} {after}");
        }
    }
    assert_eq!(node.audits(Some(task), None, 9).await.unwrap().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_acts_on_is_said_and_done_later() {
    let (workflow, _) = pair(first(vec![NO]));
    let (other, _) = Flow::new("other").step(step("x"), service("svc"), always(Act::Succeed)).build();
    let store = memory();
    let one = node_with(store.clone(), &workflow, quick()).await;
    let task = submit(&one, &workflow).await;
    one.at_rest(task).await.unwrap();
    one.shut_down().await.unwrap();
    let stranger = node_with(store.clone(), &other, quick()).await;
    let error = ask(&stranger, task, Action::Resume).await.unwrap_err();
    let ErrorKind::NotActedOn { id, .. } = error.kind().clone() else { panic!("{error}") };
    assert!(error.is_transient());
    assert_eq!(store.audited(id).await.unwrap(), None);
    let two = node_with(store.clone(), &workflow, quick()).await;
    sleep(s(10)).await;
    assert_eq!(state(&two.at_rest(task).await.unwrap()), TaskState::Completed);
    assert!(store.audited(id).await.unwrap().is_some());
    let nobody = TaskId::from_u128(9);
    assert!(matches!(ask(&two, nobody, Action::Pause).await.unwrap_err().kind(), ErrorKind::UnknownTask(_)));
    let long = Operation::new(Action::Pause, &"x".repeat(4_998), "no");
    assert!(two.operate(task, long).await.unwrap_err().to_string().contains("5000 bytes"));
}

/// Somebody acts on ten thousand tasks just while they move on by themselves: each time it is done or refused, once, and the
/// services' books fit.
#[tokio::test(start_paused = true)]
async fn an_action_that_races_with_the_task_is_done_once_or_refused() {
    const RACES: usize = 10_000;
    let service = waiting("svc", s(3)).most_running(1_000);
    let flow = |flow: Flow, name: &str, after: &[&str]| {
        let step = step(name).after(after.iter().copied()).complete_within(s(30));
        // Some fail at first, and wait for three seconds.
        let slow = Arc::new(|nth: u32| match nth % 7 {
            0 => BUSY,
            millis => Act::Take(Duration::from_millis(u64::from(millis))),
        });
        flow.undoable(step, service.clone(), slow, always(Act::Succeed))
    };
    let rest = Step::wait_for("rest", Duration::from_millis(4)).after(["a"]);
    let (workflow, books) = flow(flow(Flow::new("race"), "a", &[]).wait(rest), "b", &["rest"]).build();
    let store = memory();
    let node = Arc::new(node_with(store.clone(), &workflow, quick()).await);
    let mut rng = fastrand::Rng::with_seed(11);
    let (mut done, mut said_no) = (0_usize, std::collections::BTreeMap::<String, usize>::new());
    let mut applied = std::collections::BTreeMap::<&str, usize>::new();
    for batch in 0..RACES / 100 {
        let mut racing = tokio::task::JoinSet::new();
        for nth in 0..100_usize {
            let (node, workflow) = (Arc::clone(&node), Arc::clone(&workflow));
            let wait = Duration::from_millis(rng.u64(0..14));
            let step = StepId::at(rng.u16(0..3));
            let action = match nth % 5 {
                0 => Action::Pause,
                1 => Action::Cancel,
                2 => Action::Skip { step, happened: false },
                3 => retry(step),
                // One that goes on by itself has nothing to resume.
                _ => Action::Deadline(None),
            };
            racing.spawn(async move {
                let task = submit(&node, &workflow).await;
                sleep(wait).await;
                let asked = ask(&node, task, action).await;
                if asked.is_ok() && action == Action::Pause {
                    sleep(Duration::from_millis(20)).await;
                    // What ran when it was paused may have been the last of it.
                    let resumed = ask(&node, task, Action::Resume).await;
                    assert!(
                        resumed.is_ok()
                            || resumed.is_err_and(|error| *error.kind() == ErrorKind::Ended(task))
                    );
                }
                (task, action, step, asked)
            });
        }
        while let Some(raced) = racing.join_next().await {
            let (task, action, step, asked) = raced.unwrap();
            let ended = node.at_rest(task).await.unwrap();
            let log = node.audits(Some(task), None, 9).await.unwrap();
            let own: Vec<_> = log.iter().filter(|entry| *entry.audit.action == *action.name()).collect();
            assert_eq!(own.len(), 1, "batch {batch}: {action:?} is in the log once");
            assert_eq!(own[0].audit.refused.is_none(), asked.is_ok());
            let expected = match (&asked, action) {
                (Ok(_), Action::Cancel) => TaskState::Undone,
                _ => TaskState::Completed,
            };
            assert_eq!(state(&ended), expected, "{action:?}: {asked:?}");
            if let (Ok(_), Action::Skip { .. }) = (&asked, action) {
                assert_eq!(ended.task.step(step).state, StepState::Skipped);
            }
            match asked {
                Ok(_) => {
                    done += 1;
                    *applied.entry(action.name()).or_default() += 1;
                }
                Err(error) => {
                    *said_no.entry(format!("{}: {}", action.name(), reason(&error))).or_default() += 1;
                }
            }
        }
    }
    println!("{done} done: {applied:?}; {said_no:#?}");
    assert!(
        done > RACES / 5 && said_no.len() >= 8 && applied.len() == 5,
        "they did race: {applied:?}, {said_no:?}"
    );
    assert_eq!(
        books.effects("undo a") + books.effects("undo b"),
        books.calls("undo a") + books.calls("undo b")
    );
    assert_eq!(node.stats().owned, 0);
    assert_eq!(Memory::tasks(&store).len(), RACES);
}

/// In a few words.
fn reason(error: &Error) -> String {
    match error.kind() {
        ErrorKind::Refused { why, .. } => why.clone(),
        ErrorKind::Ended(_) => "ended".to_owned(),
        other => panic!("{other}"),
    }
}

/// Several who ask under one id at once all hear of it, and none who stops waiting takes the answer from the others.
#[tokio::test(start_paused = true)]
async fn several_who_ask_under_one_id_at_once_all_hear_of_it() {
    let (workflow, _) = pair(first(vec![NO]));
    let (other, _) = Flow::new("other").step(step("x"), service("svc"), always(Act::Succeed)).build();
    let store = memory();
    let one = node_with(store.clone(), &workflow, quick()).await;
    let task = submit(&one, &workflow).await;
    one.at_rest(task).await.unwrap();
    let same = || Operation::new(Action::Pause, "ana", "x").under(AuditId::from_u128(5));
    let [first, second] = [one.operate(task, same()), one.operate(task, same())];
    let (first, second) = tokio::join!(first, second);
    assert_eq!((first.is_err(), second.is_err()), (true, true), "a failed task is not paused");
    one.shut_down().await.unwrap();
    // Nobody knows the workflow: all wait, and all are told that nobody acts.
    let stranger = node_with(store, &other, quick()).await;
    let late = || Operation::new(Action::Resume, "ana", "x").under(AuditId::from_u128(6));
    let brief = async {
        tokio::select! { _ = stranger.operate(task, late()) => {}, () = sleep(s(3)) => {} }
    };
    let (first, second, ()) =
        tokio::join!(stranger.operate(task, late()), stranger.operate(task, late()), brief);
    for waited in [first, second] {
        assert!(matches!(waited.unwrap_err().kind(), ErrorKind::NotActedOn { .. }));
    }
}
