//! Random workflows through a whole node, or two: services that fail and hang, processes that die or are shut down, leases
//! that are lost, large payloads, a store that is slow and fails before and after it has done its work; waits, rounds, later
//! starts, and signals that come early, late, twice and never. In the end every task is completed, undone, or failed with a
//! reason, and the services' own books agree.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use crate::common;

mod audit;
mod why;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use audit::audit;
use common::flaky::Flaky;
use common::told::{Take, Told};
use common::*;
use steadfast_engine::{
    Definition, OnFailure, Repeat, Step, StepId, StepState, TaskState, Time, UndoState, Wait,
};
use steadfast_resilience::clock::{Clock, Moment};
use steadfast_resilience::{Attempt, Breaker, Kind, Pipeline, Retry, Verdict};
use steadfast_runtime::{
    Alert, AlertKind, Answered, Code, Condition, Fault, Handler, Node, Request, Service, Settings, Start,
    Work, Workflow,
};
use steadfast_store::{
    Brought, Memory, Nodes as _, Payload, PayloadKey, Stored, TaskId, Tasks as _, Transfer as _, Verify as _,
};
use steadfast_store_sqlite::Sqlite;

use world::*;

/// How many workflows, where `WORKFLOWS=n` does not say; `SEED=n` runs one of them.
const WORKFLOWS: u64 = 1_000;
/// Tasks of each.
const TASKS: usize = 5;
/// From here on nothing fails any more.
const FAULTS_END: Duration = Duration::from_secs(3_000);

/// A process: a node, and its way to the store.
struct Process {
    node: Node<Flaky>,
    way: Flaky,
    /// As this process has it, with breakers of its own.
    workflow: Arc<Workflow>,
}

async fn start(
    store: &Flaky,
    world: &Arc<World>,
    workflow: impl Fn() -> Arc<Workflow>,
    grace: Duration,
) -> Process {
    let (way, workflow) = (store.own_gate(), workflow());
    loop {
        let mut settings = Settings::default();
        (settings.release_after, settings.grace) = (s(3), grace);
        // A hook that fails, hangs and panics as everything else does.
        let takes = Arc::clone(world);
        let manner = move |_, _: &Alert| match if takes.faulty() { takes.draw(10) } else { 9 } {
            0 => Take::Hang,
            1 => Take::Panic,
            2 | 3 => Take::Fail,
            _ => Take::Well,
        };
        world.told.hook(&mut settings, Arc::new(manner));
        match Node::start(way.clone(), known(&[&workflow]), settings, Clock::tokio()).await {
            Ok(node) => return Process { node, way, workflow },
            Err(_) => Clock::tokio().sleep(s(1)).await,
        }
    }
}

/// What became of one world.
struct Lived {
    workflow: Arc<Workflow>,
    /// The tasks at their end.
    tasks: Vec<Stored>,
    /// What signals said, by task and step.
    said: BTreeMap<(TaskId, StepId), Option<String>>,
    world: Arc<World>,
    crashes: u64,
    shut_downs: u64,
    lapses: u64,
    /// How often each reason was told for a task that does not move.
    answers: BTreeMap<&'static str, usize>,
}

/// Submits a task, for as long as that takes.
async fn submit_to(
    Process { node, workflow, .. }: &Process,
    world: &World,
    (key, start): (&str, Start),
) -> TaskId {
    loop {
        let (key, input) = (Some(Arc::from(key)), Payload::from(vec![1; world.input]));
        match node.submit_for(steadfast_runtime::New { key, input, ..new(workflow) }, start).await {
            Ok(submitted) => return submitted.task,
            Err(_) => Clock::tokio().sleep(s(1)).await,
        }
    }
}

async fn live(seed: u64) -> Lived {
    let mut rng = fastrand::Rng::with_seed(seed);
    let world = Arc::new(World {
        rng: Mutex::new(fastrand::Rng::with_seed(seed ^ 1)),
        ledger: Mutex::default(),
        began: Clock::tokio().now(),
        input: if rng.bool() { 1 } else { 2_000 },
        blind: AtomicBool::new(false),
        over: AtomicBool::new(false),
        told: Told::default(),
        books: Mutex::default(),
    });
    let has_breaker = seed % 4 == 1;
    let before = rng.clone();
    let workflow = random_workflow(&mut rng, &world, has_breaker);
    let in_process = || random_workflow(&mut before.clone(), &world, has_breaker);
    let slow = if rng.bool() { 0 } else { rng.u64(1..60) };
    let share = rng.u32(0..120);
    // In some worlds nothing goes wrong but the services.
    let share = if seed.is_multiple_of(9) { 0 } else { share };
    let store = Flaky::new(memory(), seed ^ 2, share).slow(slow);
    let mut asked = why::Examiner::new(workflow.definition(), has_breaker, (share, slow) == (0, 0));
    let grace = s(rng.u64(0..15));
    let mut nodes = vec![start(&store, &world, in_process, grace).await];
    if rng.bool() {
        nodes.push(start(&store, &world, in_process, grace).await);
    }
    let mut tasks = Vec::new();
    for nth in 0..TASKS {
        let later = if rng.u8(0..6) == 0 { Start::After(s(rng.u64(1..90))) } else { Start::Now };
        let before = store.store.now().await.unwrap();
        let task = submit_to(&nodes[0], &world, (&format!("key-{nth}"), later)).await;
        let submitted = (before, store.store.now().await.unwrap());
        let later = if let Start::After(time) = later { time } else { Duration::ZERO };
        asked.facts.insert(task, why::Facts { submitted, later, ..why::Facts::default() });
        tasks.push(task);
    }
    let (mut crashes, mut shut_downs, mut lapses) = (0, 0, 0);
    let mut rng_of_asking = fastrand::Rng::with_seed(seed ^ 3);
    loop {
        Clock::tokio().sleep(Duration::from_millis(rng.u64(1..6_000))).await;
        if !world.faulty() {
            store.mend();
        }
        let read = store.store.read(tasks.clone()).await.unwrap();
        let read: Vec<_> = read.into_iter().map(Option::unwrap).collect();
        let node = &nodes[rng_of_asking.usize(0..nodes.len())].node;
        for task in &tasks {
            ask_why(&store, node, *task, &world, &mut asked).await;
        }
        if read.iter().all(|stored| stored.task.state().is_at_rest()) {
            store.mend();
            lapses += nodes.iter().map(|process| process.node.stats().lapses).sum::<u64>();
            still_work(&nodes, &world).await;
            all_is_told(&read, &world).await;
            is_sound(&store.store, &tasks, seed).await;
            let said = said(&store, &workflow, &tasks).await;
            let answers = asked.told;
            return Lived { workflow, tasks: read, said, world, crashes, shut_downs, lapses, answers };
        }
        assert!(Clock::tokio().now().since(world.began) < s(40_000), "stuck: {read:#?}");
        let victim = rng.usize(0..nodes.len());
        if rng.u8(0..3) == 0 || !world.faulty() {
            // Early, late, twice; and never, where the task has to wait for its timeout.
            let (task, number) = (tasks[rng.usize(0..tasks.len())], rng.u8(0..12));
            let name = SIGNALS[rng.usize(0..2)];
            asked.facts.get_mut(&task).unwrap().signals.insert(name);
            let _ = nodes[victim].node.ask(task, &signal(name, number)).await;
        }
        if !world.faulty() {
            continue;
        }
        match rng.u8(0..20) {
            // A process dies, or is shut down, and another begins at once or later. Not in every world: a new process finds
            // what an old one has lost sight of, and that must not be needed.
            fate @ 0..=3 if seed.is_multiple_of(2) => {
                asked.calm = false;
                let process = nodes.swap_remove(victim);
                lapses += process.node.stats().lapses;
                if fate < 2 {
                    crashes += 1;
                } else {
                    shut_downs += 1;
                    let ends = within(grace + s(60), process.node.shut_down()).await;
                    assert!(ends.is_some(), "a node does not shut down");
                }
                drop(process);
                if rng.bool() {
                    Clock::tokio().sleep(s(rng.u64(1..40))).await;
                }
                nodes.push(start(&store, &world, in_process, grace).await);
            }
            4 | 5 => {
                let task = tasks[rng.usize(0..tasks.len())];
                asked.facts.get_mut(&task).unwrap().cancelled = true;
                let cancel = Request::Cancel { by: Arc::from("ann"), why: Arc::from("a whim") };
                let _ = nodes[victim].node.ask(task, &cancel).await;
            }
            // The store is out of a node's reach, and most often its lease is lost.
            6 if !seed.is_multiple_of(3) => {
                asked.calm = false;
                nodes[victim].way.hold();
                Clock::tokio().sleep(s(rng.u64(5..40))).await;
                nodes[victim].way.let_go();
            }
            _ => {}
        }
    }
}

/// Asks a task why it does not move. What it says is examined if it stood still meanwhile.
async fn ask_why(store: &Flaky, node: &Node<Flaky>, task: TaskId, world: &World, asked: &mut why::Examiner) {
    let read = || async { store.store.read(vec![task]).await.unwrap().remove(0).unwrap() };
    let before = read().await;
    let Ok(why) = node.why(task).await else { return };
    let after = read().await;
    if (before.revision, before.epoch, before.owner) == (after.revision, after.epoch, after.owner) {
        let now = store.store.now().await.unwrap();
        asked.examine(&after, why, now, &world.books.lock().unwrap());
    }
}

/// A signal that says its own name and number.
fn signal(name: &str, number: u8) -> Request {
    let says = format!("{name} {number}");
    let id = Some(Arc::from(&*says));
    Request::Signal { name: Arc::from(name), id, says: Payload::from(says.into_bytes()) }
}

/// What the signals said that steps waited for.
async fn said(
    store: &Flaky,
    workflow: &Workflow,
    tasks: &[TaskId],
) -> BTreeMap<(TaskId, StepId), Option<String>> {
    let definition = workflow.definition();
    let waits = definition.ids().filter(|id| definition.step(*id).signal_name().is_some());
    let places: Vec<_> = waits.flat_map(|step| tasks.iter().map(move |task| (*task, step))).collect();
    let keys = places.iter().map(|(task, step)| PayloadKey { task: *task, step: Some(*step) }).collect();
    let read = store.store.payloads(keys).await.unwrap();
    let words = |said: Option<Payload>| said.map(|said| String::from_utf8(said.to_vec()).unwrap());
    places.into_iter().zip(read.into_iter().map(words)).collect()
}

/// What comes of it, if that comes in time.
async fn within<T>(time: Duration, what: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        done = what => Some(done),
        () = Clock::tokio().sleep(time) => None,
    }
}

/// Each node works as on its first day: no place at a service is lost. Nothing fails any more.
async fn still_work(nodes: &[Process], world: &Arc<World>) {
    world.over.store(true, Ordering::SeqCst);
    // What outlived a lease ends by its complete-by.
    Clock::tokio().sleep(s(30)).await;
    for (nth, process) in nodes.iter().enumerate() {
        for task in 0..TASKS {
            let key = format!("after-{nth}-{task}");
            let task = submit_to(process, world, (&key, Start::Now)).await;
            for name in SIGNALS {
                for number in 0..process.workflow.definition().waits_for(name).count() {
                    let signal = signal(name, u8::try_from(number).unwrap());
                    // Its wait may have been skipped, or the task may have ended without it.
                    let _ = process.node.ask(task, &signal).await;
                }
            }
            let ended = within(s(600), process.node.at_rest(task)).await;
            let Some(ended) = ended else {
                let (why, circuits) = (process.node.why(task).await, process.node.circuits().await);
                panic!("a task does not end though nothing fails: {why:?}\n{circuits:?}");
            };
            let ended = ended.unwrap().task;
            assert_eq!(ended.state(), TaskState::Completed, "{ended:#?}");
        }
    }
}

/// I26: nothing of it contradicts itself, in some worlds also as it comes into a file.
async fn is_sound(store: &Memory, tasks: &[TaskId], seed: u64) {
    assert_eq!(store.verify(None).await.unwrap().findings, []);
    if seed.is_multiple_of(50) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("world.db");
        let file = Sqlite::open_inline(&path, || Time::from_millis(1)).unwrap();
        let wholes = store.whole(tasks.to_vec()).await.unwrap().into_iter().flatten().collect();
        assert_eq!(file.bring(wholes).await.unwrap(), vec![Brought::New; tasks.len()]);
        drop(file);
        let verified = steadfast_store_sqlite::verify_file(&path).unwrap();
        assert_eq!((verified.looked_at, verified.findings), (tasks.len() as u64, vec![]));
    }
}

/// O1: every task that failed is told of, by one alert, as often as it takes; and no other task is.
async fn all_is_told(tasks: &[Stored], world: &World) {
    let failed = |stored: &&Stored| stored.task.state() == TaskState::Failed;
    let began = Clock::tokio().now();
    let told = |stored: &Stored| world.told.times(stored.id, AlertKind::TaskFailed) > 0;
    // The longest wait between two tries is five minutes.
    while !tasks.iter().filter(failed).all(told) && Clock::tokio().now().since(began) < s(1_000) {
        Clock::tokio().sleep(s(1)).await;
    }
    let alerts = world.told.calls();
    for stored in tasks {
        let ids = |kind| {
            let of = |alert: &&Alert| alert.task == Some(stored.id) && alert.kind == kind;
            alerts.iter().filter(of).map(|alert| alert.id).collect::<BTreeSet<_>>().len()
        };
        let fails = failed(&stored);
        assert_eq!(told(stored), fails, "{} was told of, or was not: {stored:#?}", stored.id);
        assert_eq!(ids(AlertKind::TaskFailed), usize::from(fails), "{}", stored.id);
        let stuck = stored.task.steps().iter().filter(|record| record.undo == UndoState::Failed).count();
        assert_eq!(ids(AlertKind::UndoStuck), stuck, "{}: each comes before its task's own", stored.id);
    }
}

#[test]
fn a_thousand_random_workflows_end_as_a_whole_or_with_a_reason() {
    let told = |name: &str| std::env::var(name).ok().map(|number| number.parse::<u64>().unwrap());
    let only = told("SEED");
    let seeds = only.map_or_else(|| 0..told("WORKFLOWS").unwrap_or(WORKFLOWS), |seed| seed..seed + 1);
    let (mut ended, mut stuck_undo, mut tasks) = (BTreeMap::new(), 0_usize, 0_usize);
    let (mut crashes, mut shut_downs, mut lapses) = (0, 0, 0);
    let (mut taken, mut without, mut rounds) = (0_usize, 0_usize, 0_u32);
    let (mut alerts, mut again) = (0_usize, 0_usize);
    let mut answers = BTreeMap::<_, usize>::new();
    for seed in seeds {
        let lived = std::panic::catch_unwind(|| {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
            runtime.unwrap().block_on(async {
                let lived = live(seed).await;
                let ledger = lived.world.ledger.lock().unwrap();
                lived.tasks.iter().for_each(|stored| audit(&lived.workflow, stored, &lived, &ledger));
                drop(ledger);
                assert!(!lived.world.blind.load(Ordering::SeqCst), "a condition did not see what it should");
                lived
            })
        });
        let Ok(lived) = lived else {
            panic!("replay with: SEED={seed} cargo test -p steadfast-runtime --test loops random");
        };
        crashes += lived.crashes;
        shut_downs += lived.shut_downs;
        again += lived.world.told.calls().len() - lived.world.told.taken().len();
        lapses += lived.lapses;
        lived.answers.iter().for_each(|(kind, times)| *answers.entry(*kind).or_default() += times);
        let is_null = |said: &&String| said.as_str() == "null";
        without += lived.said.values().flatten().filter(is_null).count();
        taken += lived.said.values().flatten().filter(|said| !is_null(said)).count();
        for stored in lived.tasks {
            rounds += stored.task.steps().iter().map(steadfast_engine::Record::rounds).sum::<u32>();
            tasks += 1;
            *ended.entry(stored.task.state()).or_insert(0_usize) += 1;
            let failed = |record: &steadfast_engine::Record| record.undo == UndoState::Failed;
            stuck_undo += usize::from(stored.task.steps().iter().any(failed));
            alerts += usize::from(stored.task.state() == TaskState::Failed);
        }
    }
    if only.is_none() {
        println!("{tasks} tasks: {ended:?}, {stuck_undo} with an undo that failed");
        println!("{alerts} failed and told of; a hook failed {again} times");
        assert!(alerts * 10 >= tasks && again >= 300, "{alerts} alerts, {again} that failed");
        println!("{crashes} crashes, {shut_downs} shut-downs, {lapses} leases lost");
        println!("asked why: {answers:?}");
        for kind in why::KINDS {
            let times = answers.get(kind).copied().unwrap_or(0);
            assert!(times * 10 >= tasks / 100, "`{kind}` was told {times} times only");
        }
        println!("{taken} signals taken, {without} waits without, {rounds} rounds more than one");
        assert!(
            taken * 20 >= tasks && without * 200 >= tasks && rounds * 20 >= 1_000,
            "{taken}, {without}, {rounds}"
        );
        assert!(ended[&TaskState::Undone] * 5 >= tasks, "at least a fifth is undone: {ended:?}");
        assert!(stuck_undo * 20 >= tasks, "at least a twentieth has an undo that failed: {stuck_undo}");
        assert!(crashes.min(shut_downs).min(lapses) >= 100, "{crashes}, {shut_downs}, {lapses}");
    }
}
