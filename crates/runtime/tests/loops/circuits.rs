//! Circuits outlive the process, and all nodes go by them. Virtual time.

use crate::common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::flaky::Flaky;
use common::*;
use steadfast_engine::TaskState;
use steadfast_resilience::clock::Clock;
use steadfast_runtime::{Node, Service, Workflow};
use steadfast_store::{Memory, Store};

/// A service that is up or down, with a breaker of its own for each process.
struct World {
    up: Arc<AtomicBool>,
    store: Memory,
}

impl World {
    fn new() -> Self {
        Self { up: Arc::new(AtomicBool::new(true)), store: memory() }
    }

    fn is_up(&self, up: bool) {
        self.up.store(up, Ordering::SeqCst);
    }

    /// The workflow as another process has it.
    fn flow(&self) -> (Arc<Workflow>, Books) {
        self.flow_of(fragile("svc"))
    }

    fn flow_of(&self, service: Service) -> (Arc<Workflow>, Books) {
        let up = Arc::clone(&self.up);
        let script: Script = Arc::new(move |_| if up.load(Ordering::SeqCst) { Act::Succeed } else { BUSY });
        Flow::new("order").step(step("a"), service, script).build()
    }

    async fn node(&self) -> (Node<Memory>, Arc<Workflow>, Books) {
        self.node_of(fragile("svc")).await
    }

    async fn node_of(&self, service: Service) -> (Node<Memory>, Arc<Workflow>, Books) {
        let (workflow, books) = self.flow_of(service);
        (node_with(self.store.clone(), &workflow, quick()).await, workflow, books)
    }
}

/// Runs until the service's breaker is open and everybody is parked.
async fn break_it(
    world: &World,
    node: &Node<Memory>,
    workflow: &Arc<Workflow>,
) -> Vec<steadfast_store::TaskId> {
    world.is_up(false);
    let tasks = submit(node, workflow, 10).await;
    sleep(s(1)).await;
    tasks
}

/// B17, B16: the next process knows that the service is away, and calls nobody before the open time is over.
#[tokio::test(start_paused = true)]
async fn an_open_circuit_outlives_its_process() {
    let world = World::new();
    let (node, workflow, books) = world.node().await;
    let tasks = break_it(&world, &node, &workflow).await;
    let called = books.calls("a");
    assert!((2..=10).contains(&called), "{called}");
    drop(node);

    world.is_up(true);
    let began = Clock::tokio().now();
    let (node, _, books) = world.node().await;
    sleep(s(15)).await;
    assert_eq!(books.calls("a"), 0, "it is open for 20 s");
    let record = node.circuits().await.unwrap().remove(0);
    assert_eq!((&*record.service, record.state.as_str()), ("svc", "open"));
    for task in tasks {
        assert_eq!(node.at_rest(task).await.unwrap().task.state(), TaskState::Completed);
    }
    assert!(Clock::tokio().now().since(began) >= s(17));
    let history: Vec<_> =
        node.circuits().await.unwrap()[0].history.iter().map(|past| past.state.clone()).collect();
    assert_eq!(history.last().map(String::as_str), Some("closed"), "{history:?}");
    assert!(history.contains(&"open".to_owned()), "{history:?}");
}

/// B13: what an operator holds open stays so over a restart, until somebody says otherwise.
#[tokio::test(start_paused = true)]
async fn a_forced_state_outlives_its_process() {
    let world = World::new();
    let service = fragile("svc");
    let (node, _, _) = world.node_of(service.clone()).await;
    service.pipeline().breaker().unwrap().force_open(None, "ann", "maintenance");
    sleep(s(1)).await;
    drop(node);
    let service = fragile("svc");
    let (node, workflow, books) = world.node_of(service.clone()).await;
    let task = submit(&node, &workflow, 1).await[0];
    sleep(s(3_600)).await;
    assert_eq!(books.calls("a"), 0);
    let record = node.circuits().await.unwrap().remove(0);
    assert_eq!(record.forced_by, Some(("ann".to_owned(), "maintenance".to_owned())));
    service.pipeline().breaker().unwrap().reset("ann", "done");
    assert_eq!(node.at_rest(task).await.unwrap().task.state(), TaskState::Completed);
}

/// B16: a trip at one node shuts the gates of the others within a moment, and one of them probes.
#[tokio::test(start_paused = true)]
async fn nodes_share_a_trip_and_one_of_them_probes() {
    let world = World::new();
    let (one, flow_one, books_one) = world.node().await;
    let (two, flow_two, books_two) = world.node().await;
    break_it(&world, &one, &flow_one).await;
    let calls = || books_one.calls("a") + books_two.calls("a");
    let parked = submit(&two, &flow_two, 20).await;
    sleep(s(5)).await;
    // It had nothing to do, and hears of the trip when it has: what begins in that moment is one call.
    assert!(books_two.calls("a") <= 1, "{}", books_two.calls("a"));
    let before = calls();
    let more = submit(&two, &flow_two, 20).await;
    sleep(s(5)).await;
    assert_eq!(calls(), before, "it was told");
    // Probes that fail: one at each end of an open time, by whichever node.
    sleep(s(120)).await;
    let probes = calls() - before;
    assert!((2..=8).contains(&probes), "{probes} probes in two minutes");
    world.is_up(true);
    for task in parked.into_iter().chain(more) {
        assert_eq!(two.at_rest(task).await.unwrap().task.state(), TaskState::Completed);
    }
}

/// B17: a process that dies over a ramp is followed by one that goes on with it, as fast and no faster.
#[tokio::test(start_paused = true)]
async fn a_ramp_goes_on_where_its_process_died() {
    let world = World::new();
    let (node, workflow, books) = world.node().await;
    // Ten a second, as a rule.
    for _ in 0..200 {
        submit(&node, &workflow, 1).await;
        sleep(Duration::from_millis(100)).await;
    }
    world.is_up(false);
    submit(&node, &workflow, 200).await;
    sleep(s(1)).await;
    world.is_up(true);
    let before = books.calls("a");
    while books.calls("a") < before + 20 {
        sleep(Duration::from_millis(50)).await;
    }
    sleep(s(1)).await;
    let record = node.circuits().await.unwrap().remove(0);
    let (steady, stage) = (record.steady.unwrap(), record.stage.unwrap());
    assert!((9.0..=11.0).contains(&steady) && stage >= 2, "{steady} a second, stage {stage}");
    drop(node);
    // Its lease has to end first.
    sleep(s(3)).await;
    let (node, _, books) = world.node().await;
    sleep(s(3)).await;
    let (from, began) = (books.calls("a"), Clock::tokio().now());
    sleep(s(5)).await;
    let rate = f64::from(u32::try_from(books.calls("a") - from).unwrap())
        / Clock::tokio().now().since(began).as_secs_f64();
    assert!((steady..=steady * 1.25 + 0.5).contains(&rate), "{rate} a second after {steady}");
    drop(node);
}

/// A store that fails: each node goes on with what it knows, and tells it later.
#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_keeps_no_breaker_from_opening() {
    let world = World::new();
    let (workflow, books) = world.flow();
    let store = Flaky::new(world.store.clone(), 7, 300);
    let node = node_with(store.clone(), &workflow, quick()).await;
    world.is_up(false);
    let tasks = submit(&node, &workflow, 20).await;
    sleep(s(15)).await;
    let called = books.calls("a");
    assert!(called <= 20, "{called}");
    world.is_up(true);
    store.mend();
    for task in tasks {
        assert_eq!(node.at_rest(task).await.unwrap().task.state(), TaskState::Completed);
    }
    sleep(s(1)).await;
    assert_eq!(node.circuits().await.unwrap()[0].state, "closed");
}

/// What a gate says while the store is busy with what it said before is not lost.
#[tokio::test(start_paused = true)]
async fn a_ramp_that_begins_while_the_store_is_busy_is_written_too() {
    let world = World::new();
    let service = fragile("svc");
    let breaker = service.pipeline().breaker().unwrap();
    let (workflow, _) = world.flow_of(service);
    let store = Flaky::new(world.store.clone(), 7, 0);
    let node = node_with(store.clone(), &workflow, quick()).await;
    breaker.force_open(None, "ann", "maintenance");
    submit(&node, &workflow, 40).await;
    sleep(s(1)).await;
    store.held.send_replace("keep");
    breaker.force_open(None, "ann", "longer");
    sleep(Duration::from_millis(10)).await;
    // The ramp begins while that is being written.
    breaker.reset("ann", "done");
    sleep(Duration::from_millis(10)).await;
    store.held.send_replace("");
    sleep(Duration::from_millis(100)).await;
    let record = node.circuits().await.unwrap().remove(0);
    assert_eq!((record.state.as_str(), record.stage), ("closed", Some(0)));
}

/// Work that comes and goes asks the store for circuits no more often than work that stays: twice a second.
#[tokio::test(start_paused = true)]
async fn a_node_that_is_idle_again_and_again_reads_no_more_than_a_busy_one() {
    let world = World::new();
    let (workflow, _) = world.flow();
    let store = Flaky::new(world.store.clone(), 7, 0);
    let node = node_with(store.clone(), &workflow, quick()).await;
    assert_eq!(store.made("circuits"), 1, "read once at the start");
    for _ in 0..100 {
        let task = submit(&node, &workflow, 1).await[0];
        node.at_rest(task).await.unwrap();
        sleep(Duration::from_millis(20)).await;
    }
    let busy = store.made("circuits");
    assert!((3..=7).contains(&busy), "{busy} reads in 2 s of one task after the other");
    sleep(s(60)).await;
    let idle = store.made("circuits") - busy;
    assert!(idle <= 2, "{idle} reads in a minute of nothing to do");
}

/// A store whose circuits cannot be read when a node starts: it starts all the same, and hears of them later.
#[tokio::test(start_paused = true)]
async fn a_node_starts_without_circuits() {
    let world = World::new();
    let (node, workflow, _) = world.node().await;
    let tasks = break_it(&world, &node, &workflow).await;
    drop(node);
    world.is_up(true);
    let (workflow, books) = world.flow();
    let store = Flaky::new(world.store.clone(), 7, 0);
    store.fail_before("circuits");
    let node = node_with(store.clone(), &workflow, quick()).await;
    assert!(!store.is_armed());
    for task in tasks {
        assert_eq!(node.at_rest(task).await.unwrap().task.state(), TaskState::Completed);
    }
    assert!(books.calls("a") > 0);
}

/// Submits until so many are taken, by a store that may fail.
async fn submit<S: Store>(
    node: &Node<S>,
    workflow: &Arc<Workflow>,
    tasks: usize,
) -> Vec<steadfast_store::TaskId> {
    let mut all = Vec::new();
    while all.len() < tasks {
        match node.submit(new(workflow)).await {
            Ok(submitted) => all.push(submitted.task),
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    }
    all
}
