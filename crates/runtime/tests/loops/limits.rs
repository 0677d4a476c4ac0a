//! Limits, priority and fairness at services, in virtual time: what the service itself has seen.

#![expect(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use steadfast_engine::{Definition, Step, StepState, TaskState};
use steadfast_resilience::breaker::Builder;
use steadfast_resilience::clock::{Clock, Moment};
use steadfast_resilience::retry::Budget;
use steadfast_resilience::{Attempt, Breaker, Kind, Pipeline, Retry, Verdict};
use steadfast_runtime::{Answered, Code, Fault, New, Node, Service, Work, Workflow};
use steadfast_store::{Memory, Payload, TaskId};

/// What a service was asked for, and when; each task is called by its input.
#[derive(Clone, Default)]
struct Ledger {
    begun: Arc<Mutex<Vec<(Moment, String)>>>,
    under_way: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Ledger {
    fn begun(&self) -> Vec<Moment> {
        self.begun.lock().unwrap().iter().map(|(at, _)| *at).collect()
    }

    fn calls(&self) -> usize {
        self.begun.lock().unwrap().len()
    }

    /// The names of those that called, in their order.
    fn names(&self) -> Vec<String> {
        self.begun.lock().unwrap().iter().map(|(_, name)| name.clone()).collect()
    }

    fn calls_of(&self, name: &str) -> usize {
        self.names().iter().filter(|of| *of == name).count()
    }

    /// A workflow of one step; `act` says what becomes of the n-th call, from 0.
    fn workflow(&self, name: &str, service: &Service, act: fn(usize) -> Act) -> Arc<Workflow> {
        self.within(name, service, None, act)
    }

    fn within(
        &self,
        name: &str,
        service: &Service,
        within: Option<Duration>,
        act: fn(usize) -> Act,
    ) -> Arc<Workflow> {
        let builder = Definition::builder(name).step(one_step());
        let definition = match within {
            Some(time) => builder.complete_within(time),
            None => builder,
        };
        self.of(definition, service, act)
    }

    fn of(
        &self,
        definition: steadfast_engine::Builder,
        service: &Service,
        act: fn(usize) -> Act,
    ) -> Arc<Workflow> {
        let ledger = self.clone();
        let handler = move |work: &Arc<Work>, _: Attempt| -> Answered {
            let ledger = ledger.clone();
            let name = String::from_utf8_lossy(work.known.input()).into_owned();
            Box::pin(async move {
                let clock = Clock::tokio();
                let nth = {
                    let mut begun = ledger.begun.lock().unwrap();
                    begun.push((clock.now(), name));
                    begun.len() - 1
                };
                let now = ledger.under_way.fetch_add(1, Ordering::SeqCst) + 1;
                ledger.most.fetch_max(now, Ordering::SeqCst);
                let answer = match act(nth) {
                    Act::Fail(verdict) => Err(Fault { verdict, message: "scripted".to_owned() }),
                    Act::Take(time) => {
                        clock.sleep(time).await;
                        Ok(Payload::default())
                    }
                    _ => Ok(Payload::default()),
                };
                ledger.under_way.fetch_sub(1, Ordering::SeqCst);
                answer
            })
        };
        let code = Code::new(Arc::new(handler));
        let workflow = Workflow::new(definition.build().unwrap(), vec![code], vec![service.clone()]);
        Arc::new(workflow.unwrap())
    }
}

fn one_step() -> Step {
    step("a").complete_within(s(60)).nothing_to_undo()
}

async fn start(workflows: &[&Arc<Workflow>]) -> Node<Memory> {
    Node::start(memory(), known(workflows), quick(), Clock::tokio()).await.unwrap()
}

/// Submits so many tasks of this name, in this namespace, with this priority.
async fn crowd(
    node: &Node<Memory>,
    workflow: &Arc<Workflow>,
    count: usize,
    (name, namespace, priority): (&str, &str, i8),
) -> Vec<TaskId> {
    let mut tasks = Vec::new();
    for _ in 0..count {
        let (namespace, input) = (Arc::from(namespace), Payload::from(name.as_bytes()));
        let new = New { namespace, priority, input, ..new(workflow) };
        tasks.push(node.submit(new).await.unwrap().task);
    }
    tasks
}

async fn all_complete(node: &Node<Memory>, tasks: Vec<TaskId>) {
    for task in tasks {
        assert_eq!(state(&node.at_rest(task).await.unwrap()), TaskState::Completed);
    }
}

fn built(pipeline: steadfast_resilience::pipeline::Builder) -> Service {
    Service::new(pipeline.clock(Clock::tokio()).attempt_timeout(s(30)).build().unwrap())
}

fn tripping(breaker: Builder, retry: steadfast_resilience::retry::Builder) -> Service {
    built(Pipeline::builder("svc").no_budget().breaker(breaker).retry(retry))
}

#[tokio::test(start_paused = true)]
async fn no_more_attempts_run_at_a_time_than_allowed_under_load_and_after_failures() {
    let ledger = Ledger::default();
    let service = service("svc").most_running(5);
    let workflow = ledger.workflow("w", &service, |nth| match nth % 7 {
        2 => BUSY,
        3 => LOST,
        _ => Act::Take(Duration::from_millis(300)),
    });
    let node = start(&[&workflow]).await;
    let tasks = crowd(&node, &workflow, 200, ("t", "", 0)).await;
    all_complete(&node, tasks).await;
    assert_eq!(ledger.most.load(Ordering::SeqCst), 5, "never more, and all of them");
    assert!(ledger.calls() > 250, "{} calls, of which some failed", ledger.calls());
}

#[tokio::test(start_paused = true)]
async fn the_rate_is_held_in_any_second_and_no_time_limit_runs_meanwhile() {
    let ledger = Ledger::default();
    let service = service("svc").most_per_second(20.0).unwrap();
    let workflow = ledger.workflow("w", &service, |_| Act::Succeed);
    let node = start(&[&workflow]).await;
    // The last of them waits for 100 s, and its step has 60 s from the time when it begins.
    let tasks = crowd(&node, &workflow, 2_000, ("t", "", 0)).await;
    let last = tasks[1_999];
    sleep(s(70)).await;
    let waiting = node.read(last).await.unwrap();
    let step = &waiting.task.steps()[0];
    assert_eq!((step.complete_by, step.attempt, step.failures), (None, 0, 0), "{:?}", step.state);
    all_complete(&node, tasks).await;
    let begun = ledger.begun();
    assert_eq!((begun.len(), node.stats().recovered), (2_000, 0));
    for (nth, from) in begun.iter().enumerate() {
        let within = begun[nth..].iter().take_while(|at| at.since(*from) < s(1)).count();
        assert!(within <= 22, "{within} in a second: 20, and 2 at once");
    }
    let took = begun[1_999].since(begun[0]);
    assert!((s(99)..s(102)).contains(&took), "{took:?}: the rate is made use of");
}

#[tokio::test(start_paused = true)]
async fn a_high_priority_overtakes_a_thousand_that_wait() {
    let ledger = Ledger::default();
    let service = service("svc").most_running(2);
    let workflow = ledger.workflow("w", &service, |_| Act::Take(s(1)));
    let node = start(&[&workflow]).await;
    let low = crowd(&node, &workflow, 1_000, ("low", "", -5)).await;
    sleep(Duration::from_millis(10_500)).await;
    let high = crowd(&node, &workflow, 3, ("high", "", 5)).await;
    let before = ledger.calls();
    all_complete(&node, high).await;
    let next: Vec<_> = ledger.names().split_off(before);
    let high = next[..4].iter().filter(|name| *name == "high").count();
    assert_eq!(high, 3, "two at once, and the third beside one of the others: {next:?}");
    assert!(before < 30, "{before} of the others had their turn before");
    all_complete(&node, low).await;
}

#[tokio::test(start_paused = true)]
async fn namespaces_share_a_service_evenly_however_many_tasks_each_has() {
    let ledger = Ledger::default();
    let service = service("svc").most_running(10);
    let workflow = ledger.workflow("w", &service, |_| Act::Take(s(1)));
    let node = start(&[&workflow]).await;
    crowd(&node, &workflow, 2_000, ("greedy", "greedy", 0)).await;
    sleep(s(10)).await;
    crowd(&node, &workflow, 300, ("modest", "modest", 0)).await;
    let before = (ledger.calls_of("greedy"), ledger.calls_of("modest"));
    sleep(s(40)).await;
    let had = (ledger.calls_of("greedy") - before.0, ledger.calls_of("modest") - before.1);
    let all = had.0 + had.1;
    assert!((380..=400).contains(&all), "all places are made use of: {all}");
    assert!((45 * all..=55 * all).contains(&(100 * had.1)), "{had:?}");
    // What it did not want before is not made up for.
    assert!(before.1 <= 10, "{before:?}");
}

#[tokio::test(start_paused = true)]
async fn workflows_of_a_namespace_share_what_it_has_evenly() {
    let ledger = Ledger::default();
    let service = service("svc").most_running(10);
    let reports = ledger.workflow("reports", &service, |_| Act::Take(s(1)));
    let orders = ledger.workflow("orders", &service, |_| Act::Take(s(1)));
    let node = start(&[&reports, &orders]).await;
    crowd(&node, &reports, 1_000, ("report", "a", 0)).await;
    crowd(&node, &orders, 300, ("order", "a", 0)).await;
    crowd(&node, &reports, 600, ("other", "b", 0)).await;
    sleep(Duration::from_millis(500)).await;
    let before = ledger.calls();
    sleep(s(40)).await;
    let mut had = BTreeMap::<_, usize>::new();
    for name in ledger.names().split_off(before) {
        *had.entry(name).or_default() += 1;
    }
    let all: usize = had.values().sum();
    let is_share = |name: &str, share: usize| {
        let had = 100 * had[name];
        ((share - 5) * all..=(share + 5) * all).contains(&had)
    };
    assert!(is_share("other", 50), "half for each namespace: {had:?}");
    assert!(is_share("order", 25) && is_share("report", 25), "and half of that for each workflow: {had:?}");
}

/// Every second call fails: the budget pays for a tenth of what succeeds, and the rest of the steps wait their time.
#[tokio::test(start_paused = true)]
async fn all_tasks_of_a_service_share_its_retry_budget_and_none_fails_for_it() {
    let ledger = Ledger::default();
    let retry = Retry::fixed(Duration::from_millis(100)).max_retries(50);
    let budget = Budget::share(0.1).reserve(5);
    let service = built(Pipeline::builder("svc").no_breaker().retry(retry).budget(budget));
    let workflow = ledger.workflow("w", &service, |nth| if nth % 2 == 0 { BUSY } else { Act::Succeed });
    let node = start(&[&workflow]).await;
    let tasks = crowd(&node, &workflow, 400, ("t", "", 0)).await;
    sleep(s(5)).await;
    // Of 400 first calls half failed. Retries in place: the reserve, and a tenth of 200 successes.
    let retries = ledger.calls() - 400;
    assert!((10..=5 + 30).contains(&retries), "{retries} retries");
    let mut waiting = 0;
    for task in &tasks {
        let stored = node.read(*task).await.unwrap();
        assert!(stored.task.head().ending.is_none(), "none fails");
        waiting += usize::from(stored.task.steps()[0].state == StepState::Waiting);
    }
    assert!(waiting > 150, "{waiting} wait for better times");
    all_complete(&node, tasks).await;
}

/// Of the first call the service says that it wants to be left alone for 30 s.
#[tokio::test(start_paused = true)]
async fn a_hint_of_one_answer_pauses_the_service_once_for_all_tasks() {
    let ledger = Ledger::default();
    let service = tripping(Breaker::standard().successes_to_close(1), Retry::fixed(s(1)).max_retries(5));
    let workflow = ledger.workflow("w", &service.most_running(1), |nth| match nth {
        0 => Act::Fail(Verdict::throttled(Kind::OVERLOADED).without_effect().with_hint(s(30))),
        _ => Act::Succeed,
    });
    let node = start(&[&workflow]).await;
    let began = Clock::tokio().now();
    let tasks = crowd(&node, &workflow, 20, ("t", "", 0)).await;
    sleep(s(29)).await;
    assert_eq!(ledger.calls(), 1, "nobody else has called");
    for task in &tasks[1..] {
        let step = node.read(*task).await.unwrap().task.steps()[0].clone();
        assert_eq!((step.attempt, step.calls, step.failures), (0, 0, 0), "no attempt is spent");
    }
    all_complete(&node, tasks).await;
    let begun = ledger.begun();
    assert_eq!(begun.len(), 21);
    assert!(begun[1].since(began) >= s(30) && begun[20].since(began) < s(60), "{:?}", begun[20].since(began));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_away_for_long_is_waited_for_at_the_gate() {
    let ledger = Ledger::default();
    let breaker = Breaker::standard().open_for(s(100)).successes_to_close(1);
    let service = tripping(breaker, Retry::fixed(s(1)).max_retries(3));
    let workflow = ledger.workflow("w", &service, |nth| match nth {
        0 => Act::Fail(Verdict::lasting(Kind::OFFLINE).without_effect()),
        _ => Act::Succeed,
    });
    let node = start(&[&workflow]).await;
    let tasks = crowd(&node, &workflow, 1, ("t", "", 0)).await;
    sleep(s(50)).await;
    let stored = node.read(tasks[0]).await.unwrap();
    let step = &stored.task.steps()[0];
    assert_eq!(
        (step.state, step.failures, step.calls),
        (StepState::Parked, 1, 1),
        "the attempt counts as made"
    );
    assert_eq!((node.stats().owned, ledger.calls()), (0, 1), "it is out of memory");
    all_complete(&node, tasks).await;
    let begun = ledger.begun();
    assert!(begun[1].since(begun[0]) >= s(100));
}

#[tokio::test(start_paused = true)]
async fn one_that_stays_away_is_tried_as_often_as_the_policy_says_and_no_more() {
    let away: fn(usize) -> Act = |_| Act::Fail(Verdict::lasting(Kind::OFFLINE).without_effect());
    let breaker = || Breaker::standard().open_for(s(100)).growing_by(1.0);
    let pipeline =
        |retries| Pipeline::builder("svc").no_budget().retry(Retry::fixed(s(1)).max_retries(retries));
    // Without a breaker, with one that lasting failures do not trip, and with no retry at all.
    let services = [
        (built(pipeline(3).no_breaker()), 4, 180),
        (built(pipeline(3).breaker(breaker().lasting_trips(false))), 4, 180),
        (built(pipeline(0).breaker(breaker())), 1, 0),
    ];
    for (service, calls, least) in services {
        let ledger = Ledger::default();
        let workflow = ledger.workflow("w", &service, away);
        let node = start(&[&workflow]).await;
        let began = Clock::tokio().now();
        let tasks = crowd(&node, &workflow, 1, ("t", "", 0)).await;
        let ended = node.at_rest(tasks[0]).await.unwrap();
        assert_eq!((state(&ended), ledger.calls()), (TaskState::Undone, calls));
        let took = Clock::tokio().now().since(began);
        assert!(took >= s(least) && took < s(least + 200), "{took:?}");
    }
}

/// B17: a probe is made for all who wait, and costs none of the retries of the one that makes it. The deadline ends it all
/// the same, and so does a limit to the calls.
#[tokio::test(start_paused = true)]
async fn probes_cost_no_retry() {
    let breaker = Breaker::standard().open_for(s(100)).growing_by(1.0);
    let service = tripping(breaker, Retry::fixed(s(1)).max_retries(1));
    let ledger = Ledger::default();
    // It refuses, hangs up, refuses, ... for an hour.
    let workflow = ledger.workflow("w", &service, |nth| match nth {
        36.. => Act::Succeed,
        _ if nth % 2 == 0 => Act::Fail(Verdict::lasting(Kind::OFFLINE).without_effect()),
        _ => Act::Fail(Verdict::transient(Kind::CONNECTION_LOST)),
    });
    let node = start(&[&workflow]).await;
    let began = Clock::tokio().now();
    let tasks = crowd(&node, &workflow, 1, ("t", "", 0)).await;
    sleep(s(3_400)).await;
    let step = node.read(tasks[0]).await.unwrap().task.steps()[0].clone();
    assert_eq!((step.state, step.calls), (StepState::Parked, 1), "the first call counts, no probe does");
    assert!(step.failures > 30, "{step:?}");
    all_complete(&node, tasks).await;
    assert!(Clock::tokio().now().since(began) >= s(3_600));
}

#[tokio::test(start_paused = true)]
async fn probes_end_with_the_deadline_and_with_the_most_calls() {
    let away: fn(usize) -> Act = |_| Act::Fail(Verdict::lasting(Kind::OFFLINE).without_effect());
    let builder = || Definition::builder("w");
    let ways = [
        (builder().step(one_step()).complete_within(s(1_000)), 10),
        (builder().step(one_step().max_calls(3)), 3),
    ];
    for (definition, calls) in ways {
        let breaker = Breaker::standard().open_for(s(100)).growing_by(1.0);
        let service = tripping(breaker, Retry::fixed(s(1)).max_retries(50));
        let ledger = Ledger::default();
        let workflow = ledger.of(definition, &service, away);
        let node = start(&[&workflow]).await;
        let tasks = crowd(&node, &workflow, 1, ("t", "", 0)).await;
        let ended = node.at_rest(tasks[0]).await.unwrap();
        assert_eq!((state(&ended), ledger.calls()), (TaskState::Undone, calls));
    }
}

#[tokio::test(start_paused = true)]
async fn a_hint_beyond_the_policys_cap_is_waited_for_and_bounded_by_the_deadline() {
    let act: fn(usize) -> Act = |nth| match nth {
        0 => Act::Fail(Verdict::throttled(Kind::OVERLOADED).without_effect().with_hint(s(3_600))),
        _ => Act::Succeed,
    };
    for breaker in [Some(Breaker::standard().successes_to_close(1)), None] {
        for (within, ends) in [(None, TaskState::Completed), (Some(s(1_800)), TaskState::Undone)] {
            let ledger = Ledger::default();
            let retry = Retry::fixed(s(1)).max_retries(3).max_hint(s(60));
            let pipeline = Pipeline::builder("svc").no_budget().retry(retry);
            let service = built(match breaker.clone() {
                Some(breaker) => pipeline.breaker(breaker),
                None => pipeline.no_breaker(),
            });
            let workflow = ledger.within("w", &service, within, act);
            let node = start(&[&workflow]).await;
            let tasks = crowd(&node, &workflow, 1, ("t", "", 0)).await;
            sleep(s(60)).await;
            let stored = node.read(tasks[0]).await.unwrap();
            let waits = stored.task.steps()[0].state == StepState::Waiting;
            assert_eq!(waits, within.is_none(), "a wait that ends behind the deadline is not begun");
            assert_eq!(state(&node.at_rest(tasks[0]).await.unwrap()), ends);
            let begun = ledger.begun();
            assert_eq!(begun.len(), 1 + usize::from(within.is_none()));
            assert!(begun.last().unwrap().since(begun[0]) >= s(if within.is_none() { 3_600 } else { 0 }));
        }
    }
}
