//! Hooks that fail, hang and panic, and processes that die over them: an alert is delivered at least once [O1].

#![expect(clippy::unwrap_used, reason = "tests")]

use crate::common;

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::flaky::Flaky;
use common::told::{Manner, Take, Told};
use common::*;
use steadfast_engine::OnFailure;
use steadfast_resilience::clock::Clock;
use steadfast_runtime::{AlertKind, Workflow};
use steadfast_store::{Outbox as _, OutboxKind};

fn failing() -> Arc<Workflow> {
    Flow::new("failing").step(step("a").on_failure(OnFailure::Error), service("svc"), always(NO)).build().0
}

/// These first, then well.
fn at_first(takes: &'static [Take]) -> Manner {
    Arc::new(move |nth, _| takes.get(nth).copied().unwrap_or(Take::Well))
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_is_told_again_with_growing_waits_under_the_same_id() {
    for take in [Take::Fail, Take::Panic] {
        let takes: &'static [Take] = if take == Take::Fail { &[Take::Fail; 3] } else { &[Take::Panic; 3] };
        let (told, workflow) = (Told::default(), failing());
        let node = node_with(memory(), &workflow, told.settings_with(at_first(takes))).await;
        run(&node, &workflow).await;
        let began = Clock::tokio().now();
        while told.taken().is_empty() {
            sleep(Duration::from_millis(100)).await;
        }
        let took = Clock::tokio().now().since(began);
        assert!(took >= s(7) && took < s(8), "1, 2 and 4 seconds: {took:?}");
        sleep(s(600)).await;
        let ids: BTreeSet<_> = told.calls().iter().map(|alert| alert.id).collect();
        assert_eq!((told.calls().len(), told.taken().len(), ids.len()), (4, 1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_hangs_holds_back_no_other_task() {
    let (told, workflow) = (Told::default(), failing());
    let node = node_with(memory(), &workflow, told.settings_with(at_first(&[Take::Hang]))).await;
    let first = submit(&node, &workflow).await;
    sleep(s(1)).await;
    assert_eq!(told.calls().len(), 1);
    let others = submit_many(&node, &workflow, 10).await;
    sleep(s(1)).await;
    for task in others {
        assert_eq!(told.times(task, AlertKind::TaskFailed), 1, "delivered while the first one hangs");
    }
    assert_eq!(told.times(first, AlertKind::TaskFailed), 0);
    // Ten seconds is its limit, and a second the first wait.
    sleep(s(10)).await;
    assert_eq!((told.times(first, AlertKind::TaskFailed), told.calls().len()), (1, 12));
}

/// So many hooks that hang are under way at a time, and then others have their turn.
#[tokio::test(start_paused = true)]
async fn hooks_that_all_hang_are_bounded_and_nothing_is_lost() {
    let (told, workflow) = (Told::default(), failing());
    let hang_once: Manner = {
        let seen = Mutex::new(BTreeSet::new());
        Arc::new(move |_, alert| if seen.lock().unwrap().insert(alert.id) { Take::Hang } else { Take::Well })
    };
    let node = node_with(memory(), &workflow, told.settings_with(hang_once)).await;
    let tasks = submit_many(&node, &workflow, 150).await;
    sleep(s(5)).await;
    assert_eq!(told.calls().len(), 64);
    sleep(s(60)).await;
    for task in tasks {
        assert_eq!(told.times(task, AlertKind::TaskFailed), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn only_the_hook_that_failed_is_told_again() {
    let (well, bad, workflow) = (Told::default(), Told::default(), failing());
    let mut settings = well.settings();
    bad.hook(&mut settings, at_first(&[Take::Fail, Take::Hang]));
    let node = node_with(memory(), &workflow, settings).await;
    run(&node, &workflow).await;
    sleep(s(60)).await;
    assert_eq!((well.calls().len(), bad.calls().len(), bad.taken().len()), (1, 3, 1));
}

#[tokio::test(start_paused = true)]
async fn what_is_never_taken_is_given_up_kept_and_counted() {
    let (told, store, workflow) = (Told::default(), memory(), failing());
    let mut settings = told.settings_with(Arc::new(|_, _| Take::Fail));
    settings.alerts.tries = 4;
    let node = node_with(store.clone(), &workflow, settings).await;
    let ended = run(&node, &workflow).await;
    sleep(s(600)).await;
    assert_eq!((told.calls().len(), node.stats().undeliverable, node.stats().delivered), (4, 1, 0));
    let kept = store.undeliverable(OutboxKind::Alert, 9).await.unwrap();
    assert_eq!((kept.len(), kept[0].task, kept[0].tries), (1, Some(ended.id), 4));
}

/// N2: what came first for a task arrives first, also when it fails at first.
#[tokio::test(start_paused = true)]
async fn alerts_of_a_task_arrive_in_their_order() {
    let told = Told::default();
    let (workflow, _) = Flow::new("w")
        .undoable(step("a"), service("svc"), always(Act::Succeed), always(NO))
        .step(step("b").after(["a"]), service("svc"), always(NO))
        .build();
    let node = node_with(memory(), &workflow, told.settings_with(at_first(&[Take::Fail, Take::Hang]))).await;
    run(&node, &workflow).await;
    sleep(s(60)).await;
    assert_eq!(told.kinds(), [AlertKind::UndoStuck, AlertKind::TaskFailed]);
    assert_eq!(told.calls()[2].kind, AlertKind::UndoStuck, "the other one waited for it");
}

#[tokio::test(start_paused = true)]
async fn an_alert_outlives_the_process_that_should_have_delivered_it() {
    let (told, store, workflow) = (Told::default(), memory(), failing());
    // It dies in the midst of a delivery.
    let node = node_with(store.clone(), &workflow, told.settings_with(Arc::new(|_, _| Take::Hang))).await;
    let ended = run(&node, &workflow).await;
    sleep(s(1)).await;
    assert_eq!((told.calls().len(), told.taken().len()), (1, 0));
    drop(node);
    // Before one: the write is done, and nobody was told.
    let flaky = Flaky::new(store.clone(), 1, 0);
    flaky.held.send_replace("undelivered");
    let node = node_with(flaky, &workflow, told.settings()).await;
    let unseen = run(&node, &workflow).await;
    drop(node);
    assert_eq!(told.taken().len(), 0);
    let _node = node_with(store.clone(), &workflow, told.settings()).await;
    sleep(s(1)).await;
    assert_eq!(told.times(unseen.id, AlertKind::TaskFailed), 1, "at once: nobody else has it");
    sleep(s(40)).await;
    assert_eq!(told.times(ended.id, AlertKind::TaskFailed), 1, "once the dead one's time is over");
}

#[tokio::test(start_paused = true)]
async fn a_delivery_of_which_the_store_did_not_hear_is_made_again_under_the_same_id() {
    for (call, calls) in [("settle", 1), ("undelivered", 1), ("write", 1)] {
        for after in [true, false] {
            let (told, flaky, workflow) = (Told::default(), Flaky::new(memory(), 1, 0), failing());
            let node = node_with(flaky.clone(), &workflow, told.settings()).await;
            sleep(s(1)).await;
            match after {
                true => flaky.fail_after(call),
                false => flaky.fail_before(call),
            }
            let ended = run(&node, &workflow).await;
            sleep(s(120)).await;
            assert!(node.stats().store_errors >= 1, "{call} has failed");
            assert_eq!(told.times(ended.id, AlertKind::TaskFailed), calls, "{call}, after: {after}");
            let left = flaky.store.undelivered(OutboxKind::Alert, 9, s(1)).await.unwrap();
            assert_eq!((left.messages, left.next), (vec![], None), "{call}, after: {after}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_shut_down_tells_what_it_has_to_tell() {
    let (told, workflow) = (Told::default(), failing());
    let node = node_with(memory(), &workflow, told.settings()).await;
    let task = submit(&node, &workflow).await;
    node.at_rest(task).await.unwrap();
    node.shut_down().await.unwrap();
    assert_eq!(told.times(task, AlertKind::TaskFailed), 1);
    // One that hangs is not waited for longer than its limit.
    let node = node_with(memory(), &workflow, told.settings_with(Arc::new(|_, _| Take::Hang))).await;
    let task = submit(&node, &workflow).await;
    node.at_rest(task).await.unwrap();
    let began = Clock::tokio().now();
    node.shut_down().await.unwrap();
    let took = Clock::tokio().now().since(began);
    assert!(took <= s(11), "{took:?}");
    node.shut_down().await.unwrap();
}

// ---- the log ----

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn of(&self, words: &str) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().filter(|line| line.contains(words)).map(str::to_owned).collect()
    }
}

/// Without a hook the log is where it arrives; with one that fails, it is there once all the same.
#[tokio::test(start_paused = true)]
async fn every_alert_is_a_line_of_the_log_once() {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let (told, workflow) = (Told::default(), failing());
    for settings in [quick(), told.settings_with(at_first(&[Take::Fail, Take::Panic, Take::Hang]))] {
        let node = node_with(memory(), &workflow, settings).await;
        let ended = run(&node, &workflow).await;
        sleep(s(120)).await;
        let task = ended.id.to_string();
        let told: Vec<_> =
            lines.of("steadfast::alert").into_iter().filter(|line| line.contains(&task)).collect();
        let [line] = &told[..] else { panic!("{told:#?}") };
        for part in
            ["ERROR", "kind=\"task-failed\"", "workflow=\"failing\"", "advice=", "has failed, an operator"]
        {
            assert!(line.contains(part), "{part}: {line}");
        }
        assert_eq!(node.stats().delivered, 1);
    }
    assert_eq!(lines.of("an alert was not delivered").len(), 3, "each with its reason");
}
