//! The engine as a program sees it: over a real file, over restarts, with everything that can be wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use steadfast::resilience::clock::Clock;
use steadfast::{
    Code, Engine, Failure, OnFailure, Outcome, Service, Settings, StepState, TaskState, What, Workflow,
};
use tokio::sync::watch::Sender;

fn address(folder: &tempfile::TempDir) -> String {
    format!("sqlite:{}", folder.path().join("tasks.db").display())
}

/// Two steps: the first is counted, the second waits while the gate is closed.
fn counted(calls: &Arc<AtomicU32>, gate: &Sender<bool>) -> Workflow<u32, u32> {
    let service = Service::standard("svc");
    let mut flow = Workflow::<u32>::builder("counted");
    let (calls, gate) = (Arc::clone(calls), gate.subscribe());
    let first = flow
        .step("first", &service, move |cx| {
            calls.fetch_add(1, Ordering::SeqCst);
            async move { Ok::<_, Failure>(cx.input + 1) }
        })
        .undo(|_| async { Ok::<_, Failure>(()) })
        .add();
    let second = flow
        .step("second", &service, move |cx| {
            let mut gate = gate.clone();
            async move {
                let _ = gate.wait_for(|open| *open).await;
                Ok::<_, Failure>(cx.output(first)? * 10)
            }
        })
        .after([first])
        .nothing_to_undo()
        .add();
    flow.returns(second).unwrap()
}

fn quick() -> Settings {
    let mut settings = Settings::default();
    settings.grace = Duration::from_millis(50);
    settings
}

#[tokio::test]
async fn a_task_outlives_its_engine_and_goes_on_from_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (calls, gate) = (Arc::new(AtomicU32::new(0)), Sender::new(false));
    let workflow = counted(&calls, &gate);
    let start = || Engine::builder(address(&folder)).workflow(&workflow).settings(quick()).start();
    let engine = start().await.unwrap();
    let task = engine.submit(&workflow, &4).key("four").await.unwrap();
    let id = task.id();
    let mut events = engine.events();
    while calls.load(Ordering::SeqCst) == 0
        || task.status().await.unwrap().steps[1].state != StepState::Running
    {
        events.next().await.unwrap();
    }
    assert_eq!(engine.clone().shut_down().await.unwrap(), 1, "the second step was cut off");
    drop((task, engine, events));
    gate.send_replace(true);
    let engine = start().await.unwrap();
    let task = engine.task(&workflow, id).await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(50));
    assert_eq!(calls.load(Ordering::SeqCst), 1, "what was done is not done again");
    let again = engine.submit(&workflow, &4).key("four").await.unwrap();
    assert_eq!(again.id(), id);
    let error = engine.submit(&workflow, &5).key("four").await.unwrap_err();
    assert_eq!(error.code(), Code::KeyReused);
    let history = task.history().await.unwrap();
    assert!(history.len() >= 3 && history.windows(2).all(|pair| pair[0].revision < pair[1].revision));
}

/// The result is the one that the task's own version names, also when it is asked for by another.
#[tokio::test]
async fn an_upgrade_does_not_change_what_an_earlier_task_gives_back() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::standard("svc");
    let version = |version: u32, names: &'static [&'static str]| {
        let mut flow = Workflow::<u32>::builder("grows").version(version);
        let mut steps = names.iter().map(|name| {
            let step = flow
                .step(name, &service, move |_| async move { Ok::<_, Failure>(format!("{name}, {version}")) });
            step.nothing_to_undo().add()
        });
        let result = steps.find(|step| step.name() == "b").unwrap();
        steps.for_each(drop);
        flow.returns(result).unwrap()
    };
    let (old, new) = (version(1, &["a", "b"]), version(2, &["b", "a", "c"]));
    let engine = Engine::builder(address(&folder)).workflow(&old).workflow(&new).start().await.unwrap();
    let task = engine.submit(&old, &1).key("one").await.unwrap();
    let first = Outcome::Completed("b, 1".to_owned());
    assert_eq!(task.outcome().await.unwrap(), first);
    assert_eq!(engine.submit(&new, &1).key("one").await.unwrap().outcome().await.unwrap(), first);
    assert_eq!(engine.task(&new, task.id()).await.unwrap().outcome().await.unwrap(), first);
    let id = task.id();
    drop(task);
    engine.shut_down().await.unwrap();
    let engine = Engine::builder(address(&folder)).workflow(&new).start().await.unwrap();
    let error = engine.task(&new, id).await.unwrap().outcome().await.unwrap_err();
    assert_eq!(error.code(), Code::UnknownWorkflow, "{error}");
}

#[tokio::test]
async fn what_could_never_work_is_not_started() {
    let flow = |name: &'static str, service: &Service| {
        let mut flow = Workflow::<u32>::builder(name);
        flow.step("a", service, |_| async { Ok::<_, Failure>(()) }).nothing_to_undo().add();
        flow.build().unwrap()
    };
    let svc = || Service::standard("svc");
    for (other, words) in [
        (svc().most_running(2), "2 attempts at a time"),
        (svc().most_per_second(20.0).unwrap(), "20 a second"),
        (svc().without_ramp(), "without a ramp"),
    ] {
        let (one, other) = (flow("one", &svc()), flow("other", &other));
        let error = Engine::builder("memory:").workflow(&one).workflow(&other).start().await.unwrap_err();
        assert_eq!(error.code(), Code::BadWorkflow);
        assert!(error.to_string().contains("two services are named `svc`"), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    let limited = svc().most_running(2).most_per_second(20.0).unwrap();
    let same = flow("other", &limited.clone());
    Engine::builder("memory:").workflow(&flow("one", &limited)).workflow(&same).start().await.unwrap();
    let change = |change: fn(&mut Settings)| {
        let mut settings = Settings::default();
        change(&mut settings);
        settings
    };
    for (settings, name) in [
        (change(|settings| settings.lease = Duration::ZERO), "`lease`"),
        (change(|settings| settings.look_every = Duration::ZERO), "`look_every`"),
        (change(|settings| settings.supervise_every = Duration::ZERO), "`supervise_every`"),
        (change(|settings| settings.most_owned = 0), "`most_owned`"),
        (change(|settings| settings.most_open = 0), "`most_open`"),
    ] {
        let error = Engine::builder("memory:")
            .workflow(&flow("one", &svc()))
            .settings(settings)
            .start()
            .await
            .unwrap_err();
        assert_eq!(error.code(), Code::BadSettings);
        assert!(error.to_string().starts_with(name), "{error}");
    }
}

/// What is too large to be kept in memory with its task is judged by, also before it is stored.
#[tokio::test]
async fn conditions_see_what_is_large() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::standard("svc");
    let mut flow = Workflow::<String>::builder("large");
    let first = flow
        .step("first", &service, |cx| async move { Ok::<_, Failure>(cx.input.to_uppercase()) })
        .when(|seen| seen.input.len() == 5_000)
        .nothing_to_undo()
        .add();
    let second = flow
        .step("second", &service, move |cx| async move { Ok::<_, Failure>(cx.output(first)?.len()) })
        .after([first])
        .when(move |seen| seen.output(first).is_ok_and(|words| words.starts_with("XX")))
        .nothing_to_undo()
        .add();
    let flow = flow.returns(second).unwrap();
    let engine = Engine::builder(address(&folder)).workflow(&flow).start().await.unwrap();
    let task = engine.submit(&flow, &"x".repeat(5_000)).await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(5_000));
}

#[tokio::test]
async fn an_engine_that_is_dropped_stops_and_the_next_one_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (calls, gate) = (Arc::new(AtomicU32::new(0)), Sender::new(false));
    let workflow = counted(&calls, &gate);
    let start = || Engine::builder(address(&folder)).workflow(&workflow).start();
    let engine = start().await.unwrap();
    let mut events = engine.events();
    let task = engine.submit(&workflow, &4).await.unwrap();
    let id = task.id();
    drop(engine);
    while task.status().await.unwrap().steps[1].state != StepState::Running {
        events.next().await.unwrap();
    }
    drop(task);
    while events.next().await.is_some() {}
    gate.send_replace(true);
    let engine = start().await.unwrap();
    let task = engine.task(&workflow, id).await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(50));
}

#[tokio::test]
async fn a_second_engine_on_the_same_file_is_refused_until_the_first_has_gone() {
    let folder = tempfile::tempdir().unwrap();
    let workflow = counted(&Arc::default(), &Sender::new(true));
    let start = || Engine::builder(address(&folder)).workflow(&workflow).start();
    let engine = start().await.unwrap();
    let error = start().await.unwrap_err();
    assert_eq!((error.code(), error.is_transient()), (Code::StoreOwned, false));
    assert!(error.to_string().contains("another process, or another engine in this one, has"), "{error}");
    engine.shut_down().await.unwrap();
    start().await.unwrap();
}

#[tokio::test]
async fn what_is_wrong_with_a_store_has_its_own_error() {
    let workflow = counted(&Arc::default(), &Sender::new(true));
    let code = async |address: String| {
        Engine::builder(address).workflow(&workflow).start().await.unwrap_err().code()
    };
    for bad in ["orders.db", "sqlite:", "memory:x", "postgres://here"] {
        assert_eq!(code(bad.to_owned()).await, Code::BadAddress, "{bad}");
    }
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(code("sqlite::memory:".to_owned()).await, Code::BadAddress);
    assert!(!std::path::Path::new(":memory:.owner").exists());
    assert_eq!(
        code(format!("sqlite://{}/no/such/folder.db", folder.path().display())).await,
        Code::StoreReadOnly
    );
    let damaged = folder.path().join("damaged.db");
    std::fs::write(&damaged, vec![7; 8192]).unwrap();
    assert_eq!(code(format!("sqlite:{}", damaged.display())).await, Code::StoreCorrupt);
    assert_eq!(std::fs::read(&damaged).unwrap(), vec![7; 8192], "nothing of it is touched");
}

#[tokio::test]
async fn what_is_too_large_or_unknown_is_refused_and_stores_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::standard("svc");
    let mut flow = Workflow::<String>::builder("text");
    flow.step("a", &service, |cx| async move { Ok::<_, Failure>(cx.input.len()) }).nothing_to_undo().add();
    let text = flow.build().unwrap();
    let other = counted(&Arc::default(), &Sender::new(true));
    let engine = Engine::builder(address(&folder)).workflow(&text).start().await.unwrap();
    let long = "x".repeat(2 << 20);
    let error = engine.submit(&text, &long).await.unwrap_err();
    assert_eq!(error.code(), Code::TooLarge);
    assert!(error.to_string().contains("2097154 bytes, at most 1048576"), "{error}");
    assert_eq!(engine.submit(&text, &String::new()).key(&long).await.unwrap_err().code(), Code::TooLarge);
    let namespaced = engine.submit(&text, &String::new()).namespace(&long);
    assert_eq!(namespaced.await.unwrap_err().code(), Code::TooLarge);
    assert_eq!(engine.submit(&text, &String::new()).key("").await.unwrap_err().code(), Code::EmptyKey);
    assert_eq!(engine.submit(&other, &1).await.unwrap_err().code(), Code::UnknownWorkflow);
    let task = engine.submit(&text, &"fine".to_owned()).await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(()));
    assert_eq!(engine.task(&other, task.id()).await.unwrap_err().code(), Code::UnknownTask);
    assert_eq!(task.cancel("ann", "late").await.unwrap_err().code(), Code::TooLate);
    assert_eq!(task.cancel("ann", &long).await.unwrap_err().code(), Code::TooLarge);
    assert_eq!(task.undo(&long, "late").await.unwrap_err().code(), Code::TooLarge);
    // One and the same may come again, as it does with those that ask for its tasks; another of its name may not.
    let again = counted(&Arc::default(), &Sender::new(true));
    let once = Engine::builder("memory:").workflow(&other).workflow(&other.clone()).start().await.unwrap();
    once.shut_down().await.unwrap();
    let twice = Engine::builder("memory:").workflow(&other).workflow(&again).start().await.unwrap_err();
    assert_eq!(twice.code(), Code::BadWorkflow);
    let nobody = steadfast::TaskId::from_u128(1);
    assert_eq!(engine.task(&text, nobody).await.unwrap_err().code(), Code::UnknownTask);
}

#[test]
fn a_workflow_that_makes_no_sense_is_refused_with_every_mistake() {
    let service = Service::standard("svc");
    let mut flow = Workflow::<u32>::builder("bad");
    let ok = |_| async { Ok::<_, Failure>(1_u32) };
    flow.step("a", &service, ok).after(["nobody"]).nothing_to_undo().add();
    flow.step("a", &service, ok).add();
    flow.step("b", &service, ok)
        .undo_with_output(|_, _| async { Ok::<_, Failure>(()) })
        .undo_when_unknown()
        .add();
    let error = flow.build().unwrap_err();
    assert_eq!(error.code(), Code::BadWorkflow);
    let words = error.to_string();
    for mistake in ["`nobody`, which is no step", "another step has the same name", "undo"] {
        assert!(words.contains(mistake), "{mistake}: {words}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_says_why_a_task_does_not_move() {
    let pipeline = steadfast::resilience::Pipeline::builder("svc")
        .clock(Clock::tokio())
        .no_budget()
        .retry(steadfast::resilience::Retry::fixed(Duration::from_secs(100)).max_retries(3))
        .build()
        .unwrap();
    let mut flow = Workflow::<u32>::builder("slow");
    flow.step("call", &Service::new(pipeline), |cx| async move {
        match cx.attempt() {
            1 => Err(Failure::transient("busy", "come back later")),
            _ => Ok(cx.input),
        }
    })
    .nothing_to_undo()
    .on_failure(OnFailure::Error)
    .add();
    let slow = flow.build().unwrap();
    let engine = Engine::builder("memory:").clock(Clock::tokio()).workflow(&slow).start().await.unwrap();
    let task = engine.submit(&slow, &1).await.unwrap();
    Clock::tokio().sleep(Duration::from_secs(2)).await;
    let status = task.status().await.unwrap();
    assert_eq!(status.state, TaskState::Waiting);
    assert!(status.why.starts_with("`call`: the next attempt is in "), "{}", status.why);
    assert_eq!(status.steps[0].last_failure.as_deref(), Some("busy: come back later"));
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(()));
    assert_eq!(task.status().await.unwrap().why, "it is done");
}

#[tokio::test]
async fn events_tell_of_every_step_and_of_the_end() {
    let workflow = counted(&Arc::default(), &Sender::new(true));
    let engine = Engine::builder("memory:").workflow(&workflow).start().await.unwrap();
    let mut events = engine.events();
    let task = engine.submit(&workflow, &1).await.unwrap();
    let mut told = Vec::new();
    loop {
        let event = events.next().await.unwrap();
        assert_eq!((event.task, &*event.workflow), (task.id(), "counted"));
        let done = event.what == What::Task(TaskState::Completed);
        told.push(match event.what {
            What::Step { name, state, .. } => format!("{name} {state:?}"),
            what => format!("{what:?}"),
        });
        if done {
            break;
        }
    }
    let expected = [
        "Submitted",
        "first Running",
        "Task(Running)",
        "first Completed",
        "second Running",
        "second Completed",
        "Task(Completed)",
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn blocking_code_does_not_run_where_others_wait() {
    let mut flow = Workflow::<u32>::builder("blocking");
    let service = Service::standard("svc");
    let step = flow
        .blocking_step("block", &service, |cx| {
            if cx.input == 0 {
                return Err(Failure::terminal("zero", "there is nothing to do"));
            }
            Ok(std::thread::current().name().unwrap_or_default().to_owned())
        })
        .nothing_to_undo()
        .add();
    let workflow = flow.returns(step).unwrap();
    let engine = Engine::builder("memory:").workflow(&workflow).start().await.unwrap();
    let here = std::thread::current().name().unwrap_or_default().to_owned();
    match engine.submit(&workflow, &1).await.unwrap().outcome().await.unwrap() {
        Outcome::Completed(thread) => assert_ne!(thread, here),
        other => panic!("{other:?}"),
    }
    match engine.submit(&workflow, &0).await.unwrap().outcome().await.unwrap() {
        Outcome::Undone(why) => {
            assert_eq!(why.to_string(), "step `block` failed: zero: there is nothing to do");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_undo_may_block_as_its_step_may() {
    let threads = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (first, second) = (Arc::clone(&threads), Arc::clone(&threads));
    let name = || std::thread::current().name().unwrap_or_default().to_owned();
    let mut flow = Workflow::<u32>::builder("blocking");
    let service = Service::standard("svc");
    flow.blocking_step("a", &service, |cx| Ok::<_, Failure>(cx.input))
        .blocking_undo(move |cx| {
            first.lock().unwrap().push((cx.input, name()));
            Ok::<_, Failure>(())
        })
        .add();
    flow.blocking_step("b", &service, |cx| Ok::<_, Failure>(cx.input * 2))
        .after("a")
        .blocking_undo_with_output(move |_, output| {
            second.lock().unwrap().push((output, name()));
            Ok::<_, Failure>(())
        })
        .add();
    let workflow = flow.build().unwrap();
    let engine = Engine::builder("memory:").workflow(&workflow).start().await.unwrap();
    let task = engine.submit(&workflow, &7).await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(()));
    task.undo("ann", "to see").await.unwrap();
    assert!(matches!(task.outcome().await.unwrap(), Outcome::Undone(_)));
    let threads = threads.lock().unwrap();
    assert_eq!(threads.iter().map(|(seen, _)| *seen).collect::<Vec<_>>(), [14, 7]);
    assert!(threads.iter().all(|(_, thread)| *thread != name()), "{threads:?}");
}

#[test]
fn the_id_of_a_task_travels_as_the_text_that_it_is_shown_as() {
    let id = steadfast::TaskId::from_u128(0x0192_f3a0_5b1c_7d2e_8f00_0123_4567_89ab);
    let json = serde_json::to_string(&id).unwrap();
    assert_eq!(json, "\"0192f3a0-5b1c-7d2e-8f00-0123456789ab\"");
    assert_eq!(serde_json::from_str::<steadfast::TaskId>(&json).unwrap(), id);
    let error = serde_json::from_str::<steadfast::TaskId>("\"order-7\"").unwrap_err();
    assert!(error.to_string().starts_with("an id has 32 hexadecimal digits"), "{error}");
}
