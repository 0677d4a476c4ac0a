//! Services that answer later [A4, W6]: early, late, twice, forged, over restarts, and racing with their time.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use crate::common;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::flaky::Flaky;
use common::race::AT_ONCE;
use common::*;
use steadfast_engine::{Cause, On, Recovery, Since, Step, StepId, StepState, TaskState};
use steadfast_resilience::clock::Clock;
use steadfast_runtime::{
    Answered, CallbackId, CallbackSays, CalledBack, Code, Error, ErrorKind, Node, Work, Workflow,
};
use steadfast_store::{MAX_PAYLOAD, Payload, PayloadKey, Store, TaskId};

/// A service that takes all work on: the URLs that it was given, by task and in their order.
#[derive(Clone, Default)]
struct Slow(Arc<Mutex<BTreeMap<TaskId, Vec<CallbackId>>>>);

impl Slow {
    /// The code of a step that calls it; it says so after this long.
    fn code(&self, takes: Duration) -> Code {
        let urls = Arc::clone(&self.0);
        Code::new(Arc::new(move |work: &Arc<Work>, _| -> Answered {
            let (urls, work) = (Arc::clone(&urls), Arc::clone(work));
            Box::pin(async move {
                urls.lock().unwrap().entry(work.task).or_default().push(work.callback.unwrap());
                Clock::tokio().sleep(takes).await;
                Ok(Payload::from([]))
            })
        }))
    }

    fn urls(&self, task: TaskId) -> Vec<CallbackId> {
        self.0.lock().unwrap().get(&task).cloned().unwrap_or_default()
    }

    /// The URL that it was given last.
    fn url(&self, task: TaskId) -> CallbackId {
        *self.urls(task).last().unwrap()
    }
}

/// Calls a service that answers later, within a minute unless it is said otherwise, and then another.
fn slow_flow(service: &Slow, assess: Step, takes: Duration) -> (Arc<Workflow>, Books) {
    let then = step("then").after(["assess"]);
    Flow::new("later")
        .coded(assess.nothing_to_undo(), common::service("svc"), service.code(takes))
        .step(then, common::service("svc"), always(Act::EchoBefore(StepId::at(0))))
        .build()
}

fn assess() -> Step {
    step("assess").callback(s(60))
}

fn done(output: &str) -> CallbackSays {
    CallbackSays::Done(Payload::from(output.as_bytes()))
}

fn failed(transient: bool) -> CallbackSays {
    CallbackSays::Failed { transient, message: "no luck".to_owned(), retry_after: None }
}

fn kind(refused: Result<CalledBack, Error>) -> ErrorKind {
    refused.unwrap_err().kind().clone()
}

async fn output<S: Store>(node: &Node<S>, task: TaskId, step: u16) -> Option<String> {
    let key = PayloadKey { task, step: Some(StepId::at(step)) };
    node.payload(key).await.unwrap().map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_service_answers_later_and_its_task_waits_out_of_memory() {
    let service = Slow::default();
    let (workflow, books) = slow_flow(&service, assess().callback(s(3 * 86_400)), Duration::ZERO);
    let node = node(memory(), &workflow).await;
    let task = submit(&node, &workflow).await;
    sleep(s(1)).await;
    assert_eq!((node.stats().owned, books.calls("then")), (0, 0));
    sleep(s(86_400)).await;
    let stored = node.read(task).await.unwrap();
    let why = stored.task.why(workflow.definition(), node.now(), &Since::default());
    assert!(matches!(why.held[0].on, On::Callback { number: 1, .. }), "{why:?}");
    assert_eq!(node.call_back(service.url(task), done("{\"score\":7}")).await.unwrap(), CalledBack::Taken);
    sleep(s(1)).await;
    assert_eq!(state(&node.read(task).await.unwrap()), TaskState::Completed);
    assert_eq!(output(&node, task, 1).await.as_deref(), Some("{\"score\":7}"));
    assert_eq!(service.urls(task).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_callback_before_the_service_has_said_that_it_will_call_back_counts() {
    let service = Slow::default();
    let (workflow, _) = slow_flow(&service, assess(), s(5));
    let node = node(memory(), &workflow).await;
    let task = submit(&node, &workflow).await;
    sleep(s(1)).await;
    assert_eq!(node.call_back(service.url(task), done("1")).await.unwrap(), CalledBack::Taken);
    assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Completed);
    sleep(s(10)).await;
    assert_eq!((node.stats().late_answers, node.stats().running), (0, 0), "nobody holds the task by then");
}

#[tokio::test(start_paused = true)]
async fn the_same_again_is_acknowledged_and_another_answer_is_refused() {
    let service = Slow::default();
    let (workflow, books) = slow_flow(&service, assess(), Duration::ZERO);
    let node = node(memory(), &workflow).await;
    let task = submit(&node, &workflow).await;
    sleep(s(1)).await;
    let url = service.url(task);
    let (one, two) = tokio::join!(node.call_back(url, done("1")), node.call_back(url, done("1")));
    let both = [one.unwrap(), two.unwrap()];
    assert!(both.contains(&CalledBack::Taken), "{both:?}");
    node.at_rest(task).await.unwrap();
    assert_eq!(node.call_back(url, done("1")).await.unwrap(), CalledBack::Doubled);
    assert_eq!(kind(node.call_back(url, done("2")).await), ErrorKind::CallbackUsed(task));
    assert_eq!(kind(node.call_back(url, failed(false)).await), ErrorKind::CallbackUsed(task));
    assert_eq!((output(&node, task, 0).await.as_deref(), books.calls("then")), (Some("1"), 1));
}

#[tokio::test(start_paused = true)]
async fn what_no_service_was_given_is_nobodys() {
    let service = Slow::default();
    let (workflow, _) = slow_flow(&service, assess(), Duration::ZERO);
    let store = memory();
    let node = node(store.clone(), &workflow).await;
    let (task, other) = (submit(&node, &workflow).await, submit(&node, &workflow).await);
    sleep(s(1)).await;
    let (own, others) = (service.url(task).to_string(), service.url(other).to_string());
    let before = node.read(task).await.unwrap();
    let digit = if own.ends_with('0') { '1' } else { '0' };
    for forged in [
        format!("{}{digit}", &own[..67]),
        format!("{}{}", &own[..36], &others[36..]),
        format!("{}0001{}", &own[..32], &own[36..]),
        format!("{}ffff{}", &own[..32], &own[36..]),
        format!("{}{}", "0".repeat(32), &own[32..]),
        format!("{}{}", &own[..36], "0".repeat(32)),
    ] {
        let id = forged.parse().unwrap();
        assert_eq!(kind(node.call_back(id, done("1")).await), ErrorKind::UnknownCallback, "{forged}");
    }
    assert_eq!(node.read(task).await.unwrap(), before, "no mail either");
    assert_ne!(own[36..], others[36..], "each is its own");
}

#[tokio::test(start_paused = true)]
async fn what_is_too_large_changes_nothing() {
    let service = Slow::default();
    let (workflow, _) = slow_flow(&service, assess(), Duration::ZERO);
    let node = node(memory(), &workflow).await;
    let task = submit(&node, &workflow).await;
    sleep(s(1)).await;
    let large = format!("\"{}\"", "x".repeat(MAX_PAYLOAD - 1));
    let refused = kind(node.call_back(service.url(task), done(&large)).await);
    assert!(matches!(refused, ErrorKind::Store { kind: steadfast_store::Kind::TooLarge, .. }), "{refused:?}");
    let fits = format!("\"{}\"", "x".repeat(MAX_PAYLOAD - 2));
    assert_eq!(node.call_back(service.url(task), done(&fits)).await.unwrap(), CalledBack::Taken);
}

/// W6: it is late when the step is over, and says so; between two attempts it may still count for the next.
#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_too_late_changes_nothing_and_says_why() {
    let service = Slow::default();
    let recovery = Recovery { at_once: 0, extended_wait: s(300), last: 2 };
    let (workflow, books) = slow_flow(&service, assess().recovery(recovery), Duration::ZERO);
    let node = node_with(memory(), &workflow, quick()).await;
    let task = submit(&node, &workflow).await;
    sleep(s(70)).await;
    let url = service.url(task);
    let early = kind(node.call_back(url, done("1")).await);
    let ErrorKind::CallbackEarly { again_in, .. } = early else { panic!("{early:?}") };
    assert!(again_in > s(200) && again_in < s(300), "{again_in:?}");
    sleep(again_in + s(5)).await;
    assert_eq!(service.urls(task), [url, url], "one key, one URL");
    sleep(s(70)).await;
    let stored = node.at_rest(task).await.unwrap();
    assert_eq!(stored.task.step(StepId::at(0)).state, StepState::Unknown);
    let ErrorKind::CallbackOver { why, .. } = kind(node.call_back(url, done("1")).await) else { panic!() };
    assert_eq!(why, "the task has ended");
    assert_eq!((node.read(task).await.unwrap(), books.calls("then")), (stored, 0));
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_a_later_attempt_under_the_same_key_counts() {
    let service = Slow::default();
    let (workflow, _) = slow_flow(&service, assess(), Duration::ZERO);
    let node = node_with(memory(), &workflow, quick()).await;
    let task = submit(&node, &workflow).await;
    sleep(s(70)).await;
    assert_eq!(service.urls(task).len(), 2);
    assert_eq!(node.call_back(service.urls(task)[0], done("1")).await.unwrap(), CalledBack::Taken);
    assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_passes_is_tried_again_at_another_url_and_one_for_good_is_not() {
    let service = Slow::default();
    let (workflow, _) = slow_flow(&service, assess(), Duration::ZERO);
    let node = node_with(memory(), &workflow, quick()).await;
    let task = submit(&node, &workflow).await;
    sleep(s(1)).await;
    let first = service.url(task);
    assert_eq!(node.call_back(first, failed(true)).await.unwrap(), CalledBack::Taken);
    sleep(s(1)).await;
    let second = service.url(task);
    assert!(service.urls(task).len() == 2 && first != second);
    assert_eq!(node.call_back(first, failed(true)).await.unwrap(), CalledBack::Doubled);
    assert_eq!(kind(node.call_back(first, done("1")).await), ErrorKind::CallbackUsed(task));
    let later =
        CallbackSays::Failed { transient: true, message: "busy".to_owned(), retry_after: Some(s(20)) };
    node.call_back(second, later).await.unwrap();
    sleep(s(19)).await;
    assert_eq!(service.urls(task).len(), 2, "the service has asked for twenty seconds");
    sleep(s(5)).await;
    node.call_back(service.url(task), failed(false)).await.unwrap();
    let ended = node.at_rest(task).await.unwrap();
    let record = ended.task.step(StepId::at(0));
    assert_eq!(
        (record.state, record.last_failure.as_deref()),
        (StepState::Failed, Some("called-back: no luck"))
    );
    assert_eq!(ended.task.head().ending.as_ref().unwrap().cause, Cause::StepFailed(StepId::at(0)));
    assert_eq!(service.urls(task).len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_keeps_failing_uses_up_its_retries() {
    let service = Slow::default();
    let (workflow, _) = slow_flow(&service, assess(), Duration::ZERO);
    let node = node_with(memory(), &workflow, quick()).await;
    let task = submit(&node, &workflow).await;
    for attempts in 1..=4 {
        sleep(s(2)).await;
        assert_eq!(service.urls(task).len(), attempts);
        node.call_back(service.url(task), failed(true)).await.unwrap();
    }
    assert_eq!(node.at_rest(task).await.unwrap().task.step(StepId::at(0)).failures, 4, "three retries");
}

/// A crash anywhere loses nothing: before the 202 is known, after it, and with a callback that nobody has acted on.
#[tokio::test(start_paused = true)]
async fn a_callback_counts_after_any_crash() {
    for takes in [Duration::ZERO, s(3)] {
        let service = Slow::default();
        let (workflow, books) = slow_flow(&service, assess(), takes);
        let store = memory();
        let first = node_with(store.clone(), &workflow, quick()).await;
        let task = submit(&first, &workflow).await;
        sleep(s(1)).await;
        let url = service.url(task);
        drop(first);
        sleep(s(4)).await;
        let second = node_with(store, &workflow, quick()).await;
        sleep(s(4)).await;
        assert_eq!(service.urls(task), if takes.is_zero() { vec![url] } else { vec![url, url] });
        assert_eq!(second.call_back(url, done("1")).await.unwrap(), CalledBack::Taken);
        assert_eq!(
            (state(&second.at_rest(task).await.unwrap()), books.calls("then")),
            (TaskState::Completed, 1)
        );
    }
}

/// What was stored in time counts, also if all processes were dead until long after.
#[tokio::test(start_paused = true)]
async fn a_callback_that_was_stored_in_time_counts_although_nobody_lived() {
    let service = Slow::default();
    let (workflow, books) = slow_flow(&service, assess(), Duration::ZERO);
    let store = Flaky::new(memory(), 1, 0);
    let first = Arc::new(node_with(store.own_gate(), &workflow, quick()).await);
    let task = submit(&first, &workflow).await;
    sleep(s(1)).await;
    // Its mail gets through, and then nothing: it dies before it has acted on that.
    store.held.send_replace("write");
    let url = service.url(task);
    let caller = Arc::clone(&first);
    let called = tokio::spawn(async move { caller.call_back(url, done("1")).await });
    sleep(s(2)).await;
    called.abort();
    let _ = called.await;
    drop(first);
    store.held.send_replace("");
    sleep(s(600)).await;
    let second = node_with(store.own_gate(), &workflow, quick()).await;
    assert_eq!(state(&second.at_rest(task).await.unwrap()), TaskState::Completed);
    assert_eq!(second.call_back(url, done("1")).await.unwrap(), CalledBack::Doubled);
    assert_eq!((books.calls("then"), service.urls(task).len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_shut_down_does_not_wait_for_services_that_answer_later() {
    let service = Slow::default();
    let (workflow, _) = slow_flow(&service, assess().callback(s(20)), Duration::ZERO);
    let store = memory();
    let first = node_with(store.clone(), &workflow, quick()).await;
    let task = submit(&first, &workflow).await;
    sleep(s(1)).await;
    let (url, before) = (service.url(task), Clock::tokio().now());
    assert_eq!(first.shut_down().await.unwrap(), 0, "nothing is cut off");
    assert!(Clock::tokio().now().since(before) < s(1));
    drop(first);
    let second = node_with(store, &workflow, quick()).await;
    assert_eq!(second.call_back(url, done("1")).await.unwrap(), CalledBack::Taken);
    assert_eq!(
        (state(&second.at_rest(task).await.unwrap()), service.urls(task).len()),
        (TaskState::Completed, 1)
    );
}

/// A node that does not own the task hears from the store what became of the answer.
#[tokio::test(start_paused = true)]
async fn any_node_takes_an_answer() {
    let service = Slow::default();
    let (workflow, _) = slow_flow(&service, assess().callback(s(20)), Duration::ZERO);
    let store = memory();
    let owner = node_with(store.clone(), &workflow, quick()).await;
    let task = submit(&owner, &workflow).await;
    sleep(s(1)).await;
    let other = node_with(store, &workflow, quick()).await;
    assert_eq!(owner.stats().owned, 1);
    assert_eq!(other.call_back(service.url(task), done("1")).await.unwrap(), CalledBack::Taken);
    assert_eq!(state(&other.at_rest(task).await.unwrap()), TaskState::Completed);
}

/// The owner does not know of it yet when it cuts the attempt off.
#[tokio::test(start_paused = true)]
async fn a_callback_that_is_stored_already_wins_over_a_shut_down() {
    let service = Slow::default();
    let (workflow, books) = slow_flow(&service, assess(), s(50));
    let store = memory();
    let mut looks_seldom = quick();
    (looks_seldom.look_every, looks_seldom.grace) = (s(30), Duration::ZERO);
    let owner = node_with(store.clone(), &workflow, looks_seldom).await;
    let task = submit(&owner, &workflow).await;
    sleep(s(1)).await;
    let other = node_with(store, &workflow, quick()).await;
    let shut_down = async {
        sleep(Duration::from_millis(50)).await;
        owner.shut_down().await.unwrap()
    };
    let (told, cut_off) = tokio::join!(other.call_back(service.url(task), done("1")), shut_down);
    assert_eq!((told.unwrap(), cut_off), (CalledBack::Taken, 1));
    assert_eq!(state(&other.at_rest(task).await.unwrap()), TaskState::Completed);
    assert_eq!((service.urls(task).len(), books.calls("then")), (1, 1), "nothing is asked for again");
}

#[tokio::test(start_paused = true)]
async fn each_round_and_each_item_is_answered_for_itself() {
    let service = Slow::default();
    let rounds =
        assess().nothing_to_undo().repeat(steadfast_engine::Repeat { every: s(1), at_most: Some(5) });
    let finished: steadfast_runtime::Done = Arc::new(|output| Ok(output == b"true"));
    let code = Code { done: Some(finished), ..service.code(Duration::ZERO) };
    let (workflow, _) = Flow::new("rounds").coded(rounds, common::service("svc"), code).build();
    let node = node_with(memory(), &workflow, quick()).await;
    let task = submit(&node, &workflow).await;
    for said in ["false", "false", "true"] {
        sleep(s(3)).await;
        assert_eq!(node.call_back(service.url(task), done(said)).await.unwrap(), CalledBack::Taken);
    }
    assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Completed);
    let mut urls = service.urls(task);
    urls.dedup();
    assert_eq!(urls.len(), 3);

    let service = Slow::default();
    let each = assess().nothing_to_undo().each(steadfast_engine::Each { at_a_time: 2, tolerates: 1 });
    let items: steadfast_runtime::List =
        Arc::new(|_| Ok((0..3).map(|n| Payload::from(n.to_string().as_bytes())).collect()));
    let code = Code { list: Some(items), ..service.code(Duration::ZERO) };
    let (workflow, _) = Flow::new("items").coded(each, common::service("svc"), code).build();
    let node = node_with(memory(), &workflow, quick()).await;
    let task = submit(&node, &workflow).await;
    sleep(s(1)).await;
    let urls = service.urls(task);
    assert_eq!((urls.len(), node.stats().running), (2, 0));
    node.call_back(urls[1], failed(false)).await.unwrap();
    node.call_back(urls[0], done("1")).await.unwrap();
    sleep(s(1)).await;
    node.call_back(service.url(task), done("2")).await.unwrap();
    assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_wrong_answers_leaves_no_mail() {
    let service = Slow::default();
    let (workflow, _) = slow_flow(&service, assess(), Duration::ZERO);
    let node = node(memory(), &workflow).await;
    let task = submit(&node, &workflow).await;
    sleep(s(1)).await;
    let url = service.url(task);
    node.call_back(url, done("1")).await.unwrap();
    let before = node.at_rest(task).await.unwrap();
    for nth in 0..1_000 {
        assert!(node.call_back(url, done(&nth.to_string())).await.is_ok() == (nth == 1));
    }
    assert_eq!(node.read(task).await.unwrap(), before);
}

// ---- the race ----

#[test]
fn a_callback_and_its_time_race_ten_thousand_times_and_each_caller_hears_what_became_of_it() {
    race::in_memory(race);
}

#[test]
fn a_callback_and_its_time_race_over_a_file_too() {
    race::in_file(race);
}

/// Some tasks, each with a callback around the end of its time. How many were answered, and how many were not.
async fn race<S: Store + Clone>(store: S, seed: u64) -> (usize, usize) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let service = Slow::default();
    let once = Recovery { at_once: 0, extended_wait: s(1), last: 1 };
    let (workflow, books) = slow_flow(&service, assess().callback(s(10)).recovery(once), Duration::ZERO);
    let store = Flaky::new(store, seed, 0).slow(rng.u64(0..4));
    let mut settings = quick();
    settings.supervise_every = Duration::from_millis(20);
    // Every other time the tasks are out of memory when their time comes.
    settings.release_after = if seed.is_multiple_of(2) { s(60) } else { s(1) };
    let node = Arc::new(node_with(store.clone(), &workflow, settings).await);
    let mut callers = tokio::task::JoinSet::new();
    let tasks = submit_many(&node, &workflow, AT_ONCE).await;
    for task in tasks.iter().copied() {
        let (node, service) = (Arc::clone(&node), service.clone());
        let after = Duration::from_millis(rng.u64(9_400..10_300));
        callers.spawn(async move {
            sleep(after).await;
            (task, node.call_back(service.url(task), done("1")).await)
        });
    }
    let mut told = HashMap::new();
    while let Some(called) = callers.join_next().await {
        let (task, became) = called.unwrap();
        told.insert(task, became);
    }
    let mut ended = (0, 0);
    for task in &tasks {
        let rested = node.at_rest(*task).await.unwrap();
        let answered = output(&node, *task, 0).await.as_deref() == Some("1");
        match &told[task] {
            Ok(CalledBack::Taken) => assert!(answered, "seed {seed}: acknowledged, and lost"),
            Ok(other) => panic!("seed {seed}: {other:?}"),
            Err(error) => {
                let over =
                    matches!(error.kind(), ErrorKind::CallbackOver { .. } | ErrorKind::CallbackEarly { .. });
                assert!(over && !answered, "seed {seed}: {error}");
            }
        }
        let expected = if answered { TaskState::Completed } else { TaskState::Undone };
        // Without an undo, and with an unknown outcome, it has nothing to undo.
        assert_eq!(state(&rested), expected, "seed {seed}");
        if answered { ended.0 += 1 } else { ended.1 += 1 }
    }
    assert_eq!(books.calls("then"), ended.0, "seed {seed}");
    ended
}
