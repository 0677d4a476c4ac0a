//! Nodes that go while a service is away, and those that stay: nothing that was parked is forgotten. Virtual time.

#![expect(clippy::unwrap_used, reason = "tests")]

use crate::common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::*;
use steadfast_engine::Step;
use steadfast_resilience::clock::Clock;
use steadfast_resilience::{Breaker, Pipeline, Retry};
use steadfast_runtime::{Node, Request, Service, Workflow};
use steadfast_store::{Memory, Parked as _, TaskId};

/// A service that is up or not, as all nodes see it.
#[derive(Clone, Default)]
struct Town {
    up: Arc<AtomicBool>,
}

impl Town {
    fn is_up(&self, up: bool) {
        self.up.store(up, Ordering::SeqCst);
    }

    fn flow(&self, service: Service, away: Script) -> (Arc<Workflow>, Books) {
        let up = Arc::clone(&self.up);
        let act: Script = Arc::new(move |nth| match up.load(Ordering::SeqCst) {
            true => Act::Take(Duration::from_millis(30)),
            false => away(nth),
        });
        let steps = Flow::new("order").undoable(step("a"), service.clone(), act.clone(), act.clone());
        steps.step(step("b").after(["a"]), service, act).build()
    }
}

async fn submit(node: &Node<Memory>, workflow: &Arc<Workflow>, tasks: usize) -> Vec<TaskId> {
    let mut all = Vec::new();
    for _ in 0..tasks {
        all.push(node.submit(new(workflow)).await.unwrap().task);
    }
    all
}

async fn all_end(node: &Node<Memory>, tasks: &[TaskId], within: Duration) {
    let ended = async {
        for task in tasks {
            node.at_rest(*task).await.unwrap();
        }
    };
    tokio::select! {
        () = ended => {}
        () = sleep(within) => panic!("after {within:?} tasks have not ended"),
    }
}

/// B17: a node that goes in an outage, dead or in good order, leaves tasks that nobody owns. One that had nothing to do all the time,
/// and even one whose service has no breaker, takes them.
#[tokio::test(start_paused = true)]
async fn an_idle_node_takes_what_one_that_is_gone_has_parked() {
    for (in_good_order, survivor) in
        [(false, fragile("svc")), (true, fragile("svc")), (false, service("svc")), (true, service("svc"))]
    {
        let (town, store) = (Town::default(), memory());
        let (one_flow, _) = town.flow(fragile("svc"), always(BUSY));
        let (two_flow, books) = town.flow(survivor, always(BUSY));
        let one = node_with(store.clone(), &one_flow, quick()).await;
        let two = node_with(store.clone(), &two_flow, quick()).await;
        let tasks = submit(&one, &one_flow, 10).await;
        // Before anybody looks for them.
        sleep(Duration::from_millis(1500)).await;
        assert!(!store.parked().await.unwrap().is_empty());
        if in_good_order {
            one.shut_down().await.unwrap();
        } else {
            drop(one);
        }
        town.is_up(true);
        all_end(&two, &tasks, s(120)).await;
        assert!(books.effects("b") >= 8, "{}", books.effects("b"));
    }
}

/// B17: nor is what was left when a node went in the midst of its ramp.
#[tokio::test(start_paused = true)]
async fn an_idle_node_takes_over_when_one_goes_in_its_ramp() {
    for in_good_order in [false, true] {
        let (town, store) = (Town::default(), memory());
        let (one_flow, first) = town.flow(fragile("svc"), always(BUSY));
        let (two_flow, second) = town.flow(fragile("svc"), always(BUSY));
        let one = node_with(store.clone(), &one_flow, quick()).await;
        let two = node_with(store.clone(), &two_flow, quick()).await;
        let tasks = submit(&one, &one_flow, 200).await;
        sleep(s(2)).await;
        town.is_up(true);
        // Whichever of them lets them go.
        while first.calls("a") + second.calls("a") < 20 {
            sleep(Duration::from_millis(20)).await;
        }
        if in_good_order {
            one.shut_down().await.unwrap();
        } else {
            drop(one);
        }
        all_end(&two, &tasks, s(300)).await;
    }
}

/// A service whose probes hang has its tasks wait in the store, not in the memory that others need.
#[tokio::test(start_paused = true)]
async fn probes_that_hang_leave_room_for_other_services() {
    let breaker = Breaker::consecutive(2).open_for(s(5));
    let pipeline = Pipeline::builder("hangs").clock(Clock::tokio()).no_budget().attempt_timeout(s(30));
    let hangs =
        Service::new(pipeline.retry(Retry::fixed(s(5)).max_retries(100)).breaker(breaker).build().unwrap());
    let (dead, _) = Flow::new("dead")
        .step(Step::new("a", "hangs").complete_within(s(60)), hangs.most_running(10), always(Act::Hang))
        .build();
    let (well, books) = Flow::new("well")
        .step(Step::new("a", "well").complete_within(s(10)), service("well"), always(Act::Succeed))
        .build();
    let mut settings = quick();
    settings.most_owned = 200;
    let node = Node::start(memory(), known(&[&dead, &well]), settings, Clock::tokio()).await.unwrap();
    submit(&node, &dead, 10).await;
    sleep(s(31)).await;
    for _ in 0..600 {
        submit(&node, &dead, 4).await;
        submit(&node, &well, 2).await;
        sleep(Duration::from_millis(100)).await;
    }
    sleep(s(1)).await;
    assert_eq!(books.effects("a"), 1_200, "all of a minute's work is done");
}

/// Three nodes that die and come back, a service that goes up and down and hangs, operators who force its circuit, and cancels: in
/// the end every task ends, and none is written all the time.
#[tokio::test(start_paused = true)]
async fn whatever_happens_while_a_service_flaps_all_tasks_end() {
    for seed in 0..40 {
        flapping(fastrand::Rng::with_seed(seed), if seed % 2 == 0 { s(1) } else { s(5) }).await;
    }
}

async fn flapping(mut rng: fastrand::Rng, retry: Duration) {
    let (town, store, luck) = (Town::default(), memory(), Arc::new(AtomicBool::new(false)));
    let away: Script = {
        let luck = Arc::clone(&luck);
        Arc::new(move |_| if luck.fetch_xor(true, Ordering::SeqCst) { BUSY } else { Act::Hang })
    };
    let process = || {
        let pipeline = Pipeline::builder("svc").clock(Clock::tokio()).no_budget().attempt_timeout(s(5));
        let pipeline = pipeline
            .retry(Retry::fixed(retry).max_retries(1_000))
            .breaker(Breaker::consecutive(2).open_for(s(2)).growing_to(s(10)));
        let service = Service::new(pipeline.build().unwrap()).most_running(3);
        let breaker = service.pipeline().breaker().unwrap();
        (town.flow(service, away.clone()).0, breaker)
    };
    let mut nodes = Vec::new();
    for _ in 0..3 {
        let (flow, breaker) = process();
        nodes.push((Some(node_with(store.clone(), &flow, quick()).await), flow, breaker));
    }
    let mut tasks = Vec::new();
    for _ in 0..60 {
        sleep(Duration::from_millis(rng.u64(1..3_000))).await;
        if rng.u8(0..3) == 0 {
            town.is_up(!town.up.load(Ordering::SeqCst));
        }
        let alive = nodes.iter().filter(|(node, ..)| node.is_some()).count();
        let (node, flow, breaker) = &mut nodes[rng.usize(0..3)];
        match (rng.u8(0..5), &node) {
            (0, Some(_)) if alive > 1 => *node = None,
            (1, None) => {
                (*flow, *breaker) = process();
                *node = Some(node_with(store.clone(), flow, quick()).await);
            }
            (2, Some(_)) => match rng.u8(0..4) {
                0 => breaker.force_open(Some(s(5)), "ann", "a test"),
                1 => breaker.reset("ann", "a test"),
                2 => breaker.half_open("ann", "a test"),
                _ => {}
            },
            (3, Some(node)) if !tasks.is_empty() => {
                let cancel = Request::Cancel { by: Arc::from("ann"), why: Arc::from("a test") };
                let _ = node.ask(tasks[rng.usize(0..tasks.len())], &cancel).await;
            }
            (4, Some(node)) => tasks.extend(submit(node, flow, rng.usize(0..20)).await),
            _ => {}
        }
    }
    town.is_up(true);
    for (node, _, breaker) in &nodes {
        if node.is_some() {
            breaker.reset("ann", "the end");
        }
    }
    let node = nodes.iter().find_map(|(node, ..)| node.as_ref()).unwrap();
    all_end(node, &tasks, s(3_600)).await;
    for task in tasks {
        let revision = node.read(task).await.unwrap().revision;
        assert!(revision < 1_000, "{revision} writes of one task");
    }
}
