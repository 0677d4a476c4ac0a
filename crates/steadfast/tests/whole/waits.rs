//! Waits, signals, rounds, heartbeats and later starts as a program sees them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use steadfast::resilience::clock::Clock;
use steadfast::resilience::{Pipeline, Retry};
use steadfast::{
    Code, Engine, Failure, Outcome, Service, Settings, StepState, TaskId, TaskState, Time, Workflow,
};

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// In tokio's time, without a limit of its own on an attempt.
fn service(name: &str) -> Service {
    let retry = Retry::fixed(Duration::from_millis(100)).max_retries(3);
    let pipeline =
        Pipeline::builder(name).clock(Clock::tokio()).no_attempt_timeout().retry(retry).no_budget();
    Service::new(pipeline.build().unwrap())
}

async fn engine<In, Out>(workflow: &Workflow<In, Out>) -> Engine {
    Engine::builder("memory:").clock(Clock::tokio()).workflow(workflow).start().await.unwrap()
}

async fn sleep(time: Duration) {
    Clock::tokio().sleep(time).await;
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Approval {
    by: String,
}

/// Gives who approved it; `nobody` after an hour.
fn approved() -> Workflow<u32, String> {
    let mut flow = Workflow::<u32>::builder("approved");
    let approval = flow.signal::<Approval>("approval").timeout(s(3_600)).or_none().add();
    let rest = flow.wait_for("rest", s(60)).after(approval).add();
    let ends = flow
        .step("end", &service("svc"), move |cx| async move {
            cx.output(rest)?;
            let approval: Option<Approval> = cx.output(approval)?;
            Ok::<_, Failure>(approval.map_or_else(|| "nobody".to_owned(), |approval| approval.by))
        })
        .after((approval, rest))
        .nothing_to_undo()
        .add();
    flow.returns(ends).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_signal_has_a_type_and_its_absence_too() {
    let workflow = approved();
    let engine = engine(&workflow).await;
    let (yes, none) =
        (engine.submit(&workflow, &1).await.unwrap(), engine.submit(&workflow, &2).await.unwrap());
    sleep(s(10)).await;
    let status = yes.status().await.unwrap();
    assert_eq!((status.state, status.steps[0].state), (TaskState::Waiting, StepState::Waiting));
    assert_eq!(
        status.why,
        "`approval`: it waits for signal `approval`: for 10 s so far, and for 3590 s more, then it goes on without it; \
         send the signal"
    );
    yes.signal("approval", &Approval { by: "ann".to_owned() }).await.unwrap();
    assert_eq!(yes.outcome().await.unwrap(), Outcome::Completed("ann".to_owned()));
    assert_eq!(none.outcome().await.unwrap(), Outcome::Completed("nobody".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_signal_is_refused_with_a_code_that_says_what_to_do() {
    let workflow = approved();
    let engine = engine(&workflow).await;
    let task = engine.submit(&workflow, &1).await.unwrap();
    let says = Approval { by: "ann".to_owned() };
    let refused = task.signal("aproval", &says).await.unwrap_err();
    assert_eq!(refused.code(), Code::UnknownSignal);
    let refused = engine.signal(TaskId::from_u128(1), "approval", &says).await.unwrap_err();
    assert_eq!(refused.code(), Code::UnknownTask);
    let refused = task.signal("approval", &"x".repeat(1 << 20)).await.unwrap_err();
    assert_eq!(refused.code(), Code::TooLarge);
    engine.signal(task.id(), "approval", &says).id("1").await.unwrap();
    engine.signal(task.id(), "approval", &says).id("1").await.unwrap();
    sleep(s(1)).await;
    let refused = task.signal("approval", &says).id("2").await.unwrap_err();
    assert_eq!(refused.code(), Code::TooLate, "{refused}");
    task.outcome().await.unwrap();
    let refused = task.signal("approval", &says).await.unwrap_err();
    assert_eq!(refused.code(), Code::TooLate);
    task.signal("approval", &says).id("1").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_signal_that_does_not_fit_its_type_fails_who_reads_it() {
    let workflow = approved();
    let engine = engine(&workflow).await;
    let task = engine.submit(&workflow, &1).await.unwrap();
    task.signal("approval", &7).await.unwrap();
    let Outcome::Undone(why) = task.outcome().await.unwrap() else { panic!("not undone") };
    assert!(why.to_string().contains("the output of `approval` does not fit its type"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn a_time_is_computed_and_a_task_starts_later() {
    let mut flow = Workflow::<u64>::builder("later").complete_within(s(120));
    flow.wait_until("rest", |seen| Time::from_millis(seen.input)).add();
    let workflow = flow.build().unwrap();
    let engine = engine(&workflow).await;
    // Long ago: no wait.
    let task = engine.submit(&workflow, &1_000).start_at(SystemTime::UNIX_EPOCH).await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(()));
    let task = engine.submit(&workflow, &1_000).start_after(s(600)).await.unwrap();
    sleep(s(1)).await;
    let status = task.status().await.unwrap();
    assert_eq!(status.state, TaskState::Pending);
    assert!(status.why.starts_with("it starts in 599 s; "), "{}", status.why);
    let began = Clock::tokio().now();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(()), "its deadline counts from its start");
    assert!(Clock::tokio().now().since(began) >= s(598));
    let task = engine.submit(&workflow, &1_000).start_after(s(600)).await.unwrap();
    task.cancel("ann", "enough").await.unwrap();
    let Outcome::Undone(why) = task.outcome().await.unwrap() else { panic!("not undone") };
    assert_eq!(why.to_string(), "cancelled by ann: enough");
}

#[tokio::test(start_paused = true)]
async fn a_step_is_repeated_until_it_is_done() {
    let mut flow = Workflow::<u32>::builder("poll");
    let keys = Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let seen = Arc::clone(&keys);
    let poll = flow
        .step("poll", &service("svc"), move |cx| {
            seen.lock().unwrap().insert(cx.key().to_string());
            async move {
                match cx.attempt() {
                    2 if cx.try_number() == 1 => Err(Failure::refused("busy", "later")),
                    _ => Ok(cx.round()),
                }
            }
        })
        .repeat_until(s(300), |round| *round >= 3)
        .at_most(5)
        .nothing_to_undo()
        .add();
    let workflow = flow.returns(poll).unwrap();
    let engine = engine(&workflow).await;
    let task = engine.submit(&workflow, &1).await.unwrap();
    sleep(s(10)).await;
    assert_eq!(
        task.status().await.unwrap().why,
        "`poll`: it was not done after round 1 of 5; the next one is in 290 s, it waits for 10 s so far"
    );
    assert_eq!(engine.stats().owned, 0);
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(3));
    assert_eq!(keys.lock().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_long_step_tells_how_far_it_is_and_goes_on_from_there() {
    let mut flow = Workflow::<u32>::builder("copy");
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let copy = flow
        .step("copy", &service("svc"), move |cx| {
            let first = counted.fetch_add(1, Ordering::SeqCst) == 0;
            async move {
                let from: u32 = cx.last_progress().await?.unwrap_or(0);
                for part in from + 1..=cx.input {
                    if first && part == 5 {
                        std::future::pending::<()>().await;
                    }
                    sleep(s(3)).await;
                    cx.progress(&part)?;
                }
                Ok::<_, Failure>(from)
            }
        })
        .complete_within(s(3_600))
        .heartbeat_within(s(10))
        .nothing_to_undo()
        .add();
    let workflow = flow.returns(copy).unwrap();
    let engine = engine(&workflow).await;
    let task = engine.submit(&workflow, &8).await.unwrap();
    sleep(s(7)).await;
    let status = task.status().await.unwrap();
    assert_eq!(status.steps[0].progress.as_deref(), Some("2"));
    assert_eq!(
        status.why,
        "`copy`: an attempt runs for 7 s so far, and for 3593 s more at most, and is given up when it is not heard of for 10 s"
    );
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(4), "it went on from the fourth part");
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

#[test]
fn mistakes_are_told_with_their_place() {
    let svc = Service::standard("svc");
    let mut flow = Workflow::<u32>::builder("w");
    flow.step("a", &svc, |_| async { Ok::<_, Failure>(1) }).at_most(3).nothing_to_undo().add();
    flow.signal::<u32>("go").or_none().add();
    flow.step("b", &svc, |_| async { Ok::<_, Failure>(1) })
        .repeat_until(s(1), |output| *output > 0)
        .nothing_to_undo()
        .add();
    let told = flow.build().unwrap_err().to_string();
    for part in [
        "step `a`: at_most says how often a step is repeated: say repeat_until before it",
        "step `go`: it goes on without its signal, and has no timeout: add one",
        "step `b`: it is repeated without an end: add at_most, or a complete_within to the workflow",
    ] {
        assert!(told.contains(part), "{told}");
    }
}

#[tokio::test]
async fn a_signal_that_came_early_is_kept_in_the_file_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("sqlite:{}", folder.path().join("tasks.db").display());
    let mut flow = Workflow::<u32>::builder("kept");
    let go = flow.signal::<String>("go").add();
    let more = flow.signal_step::<String>("more", "go").after(go).add();
    let end = flow
        .step("end", &Service::standard("svc"), move |cx| async move {
            Ok::<_, Failure>(format!("{}{}", cx.output(go)?, cx.output(more)?))
        })
        .after(more)
        .nothing_to_undo()
        .add();
    let workflow = flow.returns(end).unwrap();
    let mut settings = Settings::default();
    settings.look_every = Duration::from_millis(20);
    let start = || Engine::builder(&address).workflow(&workflow).settings(settings.clone()).start();
    let engine = start().await.unwrap();
    let task = engine.submit(&workflow, &1).start_after(Duration::from_millis(400)).await.unwrap();
    let (id, large) = (task.id(), "x".repeat(5_000));
    task.signal("go", &large).id("1").await.unwrap();
    task.signal("go", "!").id("2").await.unwrap();
    engine.shut_down().await.unwrap();
    drop(task);
    let engine = start().await.unwrap();
    let task = engine.task(&workflow, id).await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(large + "!"));
}
