//! Alerts as a program gets them, over a real file and a restart [O1, T4].

use std::time::Duration;

use steadfast::resilience::clock::Clock;
use steadfast::resilience::telemetry::alert::{Measure, Rule, Threshold};
use steadfast::{
    Alert, AlertKind, AlertState, Engine, EngineBuilder, Failure, OnFailure, Outcome, Service, Settings,
    Workflow,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// One step that is refused.
fn refused(service: &Service) -> Workflow<u32, ()> {
    let mut flow = Workflow::<u32>::builder("refused");
    let only = flow
        .step("pay", service, |_| async {
            Err::<(), _>(Failure::terminal("card-declined", "the card was declined"))
        })
        .on_failure(OnFailure::Error)
        .nothing_to_undo()
        .add();
    flow.returns(only).unwrap()
}

fn quick() -> Settings {
    let mut settings = Settings::default();
    settings.grace = Duration::from_millis(50);
    settings.alerts.first_wait = Duration::from_millis(10);
    settings
}

/// Has every alert sent there; the hook says whether it has taken it.
fn telling(builder: EngineBuilder, told: &UnboundedSender<Alert>, takes: bool) -> EngineBuilder {
    let told = told.clone();
    builder.on_alert(move |alert| {
        told.send(alert).unwrap();
        async move { if takes { Ok(()) } else { Err("the pager is away".into()) } }
    })
}

async fn next(told: &mut UnboundedReceiver<Alert>) -> Alert {
    let told = tokio::select! {
        told = told.recv() => told,
        () = Clock::system().sleep(Duration::from_secs(30)) => None,
    };
    told.unwrap()
}

#[tokio::test]
async fn an_alert_waits_for_an_engine_whose_hook_takes_it() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("sqlite:{}", folder.path().join("tasks.db").display());
    let workflow = refused(&Service::standard("bank"));
    let start = |told, takes| {
        // The settings come last, and the hook stays.
        let builder = Engine::builder(&address).workflow(&workflow);
        telling(builder, told, takes).settings(quick()).start()
    };
    let (send, mut told) = unbounded_channel();
    let engine = start(&send, false).await.unwrap();
    let task = engine.submit(&workflow, &7).await.unwrap();
    assert!(matches!(task.outcome().await.unwrap(), Outcome::Failed(_)));
    let first = next(&mut told).await;
    assert_eq!(
        (first.kind, first.task, first.state),
        (AlertKind::TaskFailed, Some(task.id()), AlertState::Raised)
    );
    assert!(
        first.words.contains("step `pay` failed: card-declined: the card was declined"),
        "{}",
        first.words
    );
    engine.shut_down().await.unwrap();
    drop(task);

    let (send, mut told) = unbounded_channel();
    let engine = start(&send, true).await.unwrap();
    assert_eq!(next(&mut told).await, first, "the same, with its id");
    engine.clone().shut_down().await.unwrap();
    assert_eq!((engine.stats().delivered, engine.stats().undeliverable), (1, 0));
    assert!(told.try_recv().is_err(), "once");
}

#[tokio::test]
async fn a_program_says_when_a_service_does_badly() {
    let service = Service::standard("bank");
    let workflow = refused(&service);
    let (send, mut told) = unbounded_channel();
    let strict = Rule::new(Measure::TimeToSuccess, Threshold::At(0.0)).lasting(Duration::ZERO).min_calls(1);
    let mut settings = quick();
    settings.alerts.watch_every = Duration::from_millis(10);
    let builder =
        Engine::builder("memory:").workflow(&workflow).alert_rules([]).alert_rules_for("bank", [strict]);
    let engine = telling(builder, &send, true).settings(settings).start().await.unwrap();
    // Any call that succeeds is too slow for this rule, once it has looked.
    let calls = async {
        loop {
            service.pipeline().run(|_| async { Ok::<_, std::io::Error>(()) }).await.unwrap();
            Clock::system().sleep(Duration::from_millis(5)).await;
        }
    };
    let slow = tokio::select! {
        slow = next(&mut told) => slow,
        () = calls => return,
    };
    assert_eq!((slow.kind, slow.service.as_deref()), (AlertKind::SlowSuccess, Some("bank")));
    engine.shut_down().await.unwrap();
}
