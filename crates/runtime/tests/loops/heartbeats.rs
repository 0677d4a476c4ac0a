//! Long attempts that are heard of, and those that are not [A6].

#![expect(clippy::unwrap_used, reason = "tests")]

use crate::common;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::*;
use steadfast_engine::{Recovery, Step, StepId, StepState, TaskState};
use steadfast_resilience::clock::{Clock, Moment};
use steadfast_resilience::{Attempt, Kind, Verdict};
use steadfast_runtime::{Answered, Code, Fault, MAX_PROGRESS, Work, Workflow};
use steadfast_store::{Payload, Tasks as _};

/// What each attempt found as the last progress, and when it began.
type Found = Arc<Mutex<Vec<(Option<String>, Moment)>>>;

/// One step that reports five times, once in `pause`; in its first attempt it then does `first`.
fn reporting(step: Step, pause: Duration, first: Then) -> (Arc<Workflow>, Found, Arc<AtomicU32>) {
    let (found, dropped) = (Found::default(), Arc::<AtomicU32>::default());
    let (notes, drops, calls) = (Arc::clone(&found), Arc::clone(&dropped), AtomicU32::new(0));
    let run = move |work: &Arc<Work>, _: Attempt| -> Answered {
        let (work, notes, drops) = (Arc::clone(work), Arc::clone(&notes), Arc::clone(&drops));
        let then = if calls.fetch_add(1, Ordering::SeqCst) == 0 { first } else { Then::End };
        Box::pin(async move {
            let stops = Stops(drops);
            let last = work.pulse.last_progress().await.unwrap();
            let last = last.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
            notes.lock().unwrap().push((last, Clock::tokio().now()));
            for part in 1..=5 {
                work.pulse.progress(Payload::from(part.to_string().into_bytes())).unwrap();
                sleep(pause).await;
            }
            match then {
                Then::Hang => std::future::pending::<()>().await,
                Then::Fail => {
                    let verdict = Verdict::transient(Kind::CONNECTION_LOST);
                    return Err(Fault { verdict, message: "lost".to_owned() });
                }
                Then::End => {}
            }
            std::mem::forget(stops);
            Ok(Payload::from(b"1".as_slice()))
        })
    };
    let step = step.nothing_to_undo();
    let (workflow, _) = Flow::new("long").coded(step, service("svc"), Code::new(Arc::new(run))).build();
    (workflow, found, dropped)
}

#[derive(Clone, Copy)]
enum Then {
    Hang,
    Fail,
    End,
}

/// Counts attempts that were stopped.
struct Stops(Arc<AtomicU32>);

impl Drop for Stops {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn long() -> Step {
    step("long").complete_within(s(3_600)).heartbeat_within(s(5))
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_falls_silent_is_stopped_and_made_again_long_before_its_complete_by() {
    let (workflow, found, stopped) = reporting(long(), s(4), Then::Hang);
    let node = node(memory(), &workflow).await;
    let began = Clock::tokio().now();
    let ended = run(&node, &workflow).await;
    assert_eq!(state(&ended), TaskState::Completed);
    let record = ended.task.step(StepId::at(0));
    assert_eq!((record.attempt, record.failures, record.may_have_happened), (2, 1, true));
    assert_eq!(record.last_failure.as_deref(), Some("no-heartbeat: it was not heard of in time"));
    let found = found.lock().unwrap().clone();
    // Five parts of 4 s, the last word at 16 s, given up 5 s later: heartbeats keep it alive beyond the first 5 s.
    assert_eq!(found[1].1.since(began), s(21));
    assert_eq!(found[1].0.as_deref(), Some("5"), "the next attempt reads how far it had come");
    assert_eq!(stopped.load(Ordering::SeqCst), 1, "it was stopped");
}

#[tokio::test(start_paused = true)]
async fn without_heartbeats_asked_for_only_the_complete_by_counts() {
    let (workflow, found, _) = reporting(step("long").complete_within(s(25)), s(4), Then::Hang);
    let node = node_with(memory(), &workflow, quick()).await;
    let began = Clock::tokio().now();
    assert_eq!(state(&run(&node, &workflow).await), TaskState::Completed);
    let again = found.lock().unwrap()[1].1.since(began);
    assert!(again >= s(25) && again <= s(27), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn one_that_keeps_falling_silent_is_given_up_as_one_that_does_not_answer() {
    let run_ = |_: &Arc<Work>, _: Attempt| -> Answered { Box::pin(std::future::pending()) };
    let recovery = Recovery { at_once: 1, extended_wait: s(100), last: 3 };
    let silent = step("long").complete_within(s(3_600)).heartbeat_within(s(5)).recovery(recovery);
    let (workflow, _) = Flow::new("silent")
        .coded(silent.nothing_to_undo(), service("svc"), Code::new(Arc::new(run_)))
        .build();
    let node = node(memory(), &workflow).await;
    let began = Clock::tokio().now();
    let ended = run(&node, &workflow).await;
    assert_eq!(ended.task.step(StepId::at(0)).state, StepState::Unknown);
    let took = Clock::tokio().now().since(began);
    assert!(took >= s(115) && took <= s(125), "three times 5 s, and the long wait: {took:?}");
}

#[tokio::test(start_paused = true)]
async fn progress_is_seen_at_once_and_stored_about_once_in_a_second() {
    let (workflow, found, _) = reporting(long(), Duration::from_millis(300), Then::End);
    let store = memory();
    let first = node(store.clone(), &workflow).await;
    let task = submit(&first, &workflow).await;
    let step = StepId::at(0);
    sleep(Duration::from_millis(700)).await;
    assert_eq!(first.progress(task, step).await.unwrap().as_deref(), Some(&b"3"[..]), "as it is now");
    let key = steadfast_store::PayloadKey { task, step: Some(StepId::of_progress(step)) };
    let stored = store.payloads(vec![key]).await.unwrap().remove(0);
    assert_eq!(stored.as_deref(), Some(&b"1"[..]), "as it was stored within the second");
    let revision = first.read(task).await.unwrap().revision;
    assert!(revision <= 2, "{revision} writes");
    // A crash: the next one reads what was stored.
    drop(first);
    let second = node(store, &workflow).await;
    assert_eq!(state(&second.at_rest(task).await.unwrap()), TaskState::Completed);
    assert_eq!(found.lock().unwrap()[1].0.as_deref(), Some("1"));
    assert!(second.history(task).await.unwrap().len() <= 4, "progress is no history");
}

#[tokio::test(start_paused = true)]
async fn after_a_failure_the_next_attempt_reads_the_very_last_progress() {
    // All within a second: only the first is stored on the way, the last with the answer.
    let (workflow, found, _) = reporting(long().max_calls(4), Duration::from_millis(10), Then::Fail);
    let mut settings = quick();
    settings.longest_wait = Duration::ZERO;
    let later = node_with(memory(), &workflow, settings).await;
    let ended = run(&later, &workflow).await;
    assert_eq!((state(&ended), ended.task.step(StepId::at(0)).attempt), (TaskState::Completed, 2));
    let last = found.lock().unwrap().clone();
    assert_eq!((last.len(), last[1].0.as_deref()), (2, Some("5")));
    // And the next try of the same attempt.
    let (workflow, found, _) = reporting(long(), Duration::from_millis(10), Then::Fail);
    let in_place = node_with(memory(), &workflow, quick()).await;
    let ended = run(&in_place, &workflow).await;
    assert_eq!((state(&ended), ended.task.step(StepId::at(0)).attempt), (TaskState::Completed, 1));
    let last = found.lock().unwrap().clone();
    assert_eq!((last.len(), last[1].0.as_deref()), (2, Some("5")));
}

#[tokio::test(start_paused = true)]
async fn progress_that_is_too_large_is_told() {
    let run_ = |work: &Arc<Work>, _: Attempt| -> Answered {
        let told = work.pulse.progress(Payload::from(vec![b'x'; MAX_PROGRESS + 1])).unwrap_err();
        Box::pin(std::future::ready(Ok(Payload::from(told.into_bytes()))))
    };
    let (workflow, _) =
        Flow::new("w").coded(step("a").nothing_to_undo(), service("svc"), Code::new(Arc::new(run_))).build();
    let node = node(memory(), &workflow).await;
    let task = run(&node, &workflow).await.id;
    let key = steadfast_store::PayloadKey { task, step: Some(StepId::at(0)) };
    let told = node.payload(key).await.unwrap().unwrap();
    assert_eq!(&*told, b"the progress has 65537 bytes, at most 65536 are allowed");
}

/// One step that hangs says nothing of its service: the others go on, though the service has a breaker.
#[tokio::test(start_paused = true)]
async fn one_that_falls_silent_keeps_nobody_else_from_the_service() {
    let service = steadfast_runtime::Service::new(
        steadfast_resilience::Pipeline::builder("svc").clock(Clock::tokio()).build().unwrap(),
    );
    let breaker = service.pipeline().breaker().unwrap();
    let hangs: Script = Arc::new(|nth| if nth == 0 { Act::Hang } else { Act::Succeed });
    let step = step("a").complete_within(s(600)).heartbeat_within(s(1));
    let (workflow, books) = Flow::new("w").step(step, service, hangs).build();
    let node = node_with(memory(), &workflow, quick()).await;
    let silent = node.submit(new(&workflow)).await.unwrap().task;
    sleep(s(2)).await;
    assert!(breaker.is_closed(), "{:?}", breaker.report());
    for _ in 0..10 {
        let task = node.submit(new(&workflow)).await.unwrap().task;
        assert_eq!(node.at_rest(task).await.unwrap().task.state(), TaskState::Completed);
    }
    assert_eq!(node.at_rest(silent).await.unwrap().task.state(), TaskState::Completed);
    assert_eq!(books.effects("a"), 11);
}
