//! Services that answer later, as a program sees them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use steadfast::resilience::clock::Clock;
use steadfast::{CallbackId, CallbackSays, CalledBack, Code, Engine, Failure, Outcome, TaskState, Workflow};

use crate::common::service;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Score {
    score: u32,
}

/// What a service was given, by which it may answer later.
type Given = Arc<Mutex<Vec<CallbackId>>>;

/// Has something assessed by a service that answers later.
fn assessed(given: &Given) -> Workflow<u32, Score> {
    let given = Arc::clone(given);
    let mut flow = Workflow::<u32>::builder("assessed");
    let assess = flow.step("assess", &service("fraud"), move |cx| {
        given.lock().unwrap().extend(cx.callback());
        async { Err::<Score, _>(Failure::later()) }
    });
    let assess = assess.callback(Duration::from_secs(3_600)).nothing_to_undo().add();
    flow.returns(assess).unwrap()
}

fn says(text: &str) -> CallbackSays {
    CallbackSays::Done(text.as_bytes().into())
}

async fn engine<In, Out>(workflow: &Workflow<In, Out>) -> Engine {
    Engine::builder("memory:").clock(Clock::tokio()).workflow(workflow).start().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn code_hands_a_callback_over_and_whoever_hears_the_answer_gives_it_to_the_engine() {
    let given = Given::default();
    let workflow = assessed(&given);
    let engine = engine(&workflow).await;
    let task = engine.submit(&workflow, &7).await.unwrap();
    Clock::tokio().sleep(Duration::from_secs(60)).await;
    let status = task.status().await.unwrap();
    assert!(status.why.contains("is to call back"), "{}", status.why);
    let id = given.lock().unwrap()[0];
    assert_eq!(id.task(), task.id());
    assert_eq!(engine.call_back(id, says("{\"score\":7}")).await.unwrap(), CalledBack::Taken);
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(Score { score: 7 }));
    let other = engine.call_back(id, says("{\"score\":8}")).await.unwrap_err();
    assert_eq!((other.code(), other.is_transient()), (Code::CallbackUsed, false));
    let forged = id.to_string().replace(&id.to_string()[60..], "00000000").parse().unwrap();
    assert_eq!(engine.call_back(forged, says("1")).await.unwrap_err().code(), Code::UnknownCallback);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_the_type_fails_the_step_in_doubt() {
    let given = Given::default();
    let workflow = assessed(&given);
    let engine = engine(&workflow).await;
    let task = engine.submit(&workflow, &7).await.unwrap();
    Clock::tokio().sleep(Duration::from_secs(1)).await;
    let id = given.lock().unwrap()[0];
    assert_eq!(engine.call_back(id, says("\"seven\"")).await.unwrap(), CalledBack::Taken);
    let outcome = task.outcome().await.unwrap();
    assert!(format!("{outcome:?}").contains("does not fit its type"), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn only_a_step_with_a_callback_may_be_answered_later() {
    let mut flow = Workflow::<u32>::builder("hasty");
    let step = flow.step("assess", &service("fraud"), |cx| {
        assert_eq!(cx.callback(), None);
        async { Err::<u32, _>(Failure::later()) }
    });
    let step = step.nothing_to_undo().add();
    let workflow = flow.returns(step).unwrap();
    let engine = engine(&workflow).await;
    let task = engine.submit(&workflow, &7).await.unwrap();
    let outcome = task.outcome().await.unwrap();
    assert!(format!("{outcome:?}").contains("the step has no `.callback(..)`"), "{outcome:?}");
    assert_eq!(task.status().await.unwrap().state, TaskState::Undone);
}
