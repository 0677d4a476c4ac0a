//! Scripted services in virtual time, their breakers' changes, and tasks that call them.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use steadfast::resilience::breaker::{self, State};
use steadfast::resilience::clock::{Clock, Moment};
use steadfast::resilience::{Breaker, Pipeline, Retry};
use steadfast::{
    Context, Engine, Failure, Outcome, Service, StepRef, Steps, Task, Workflow, WorkflowBuilder,
};
use steadfast_testkit::{Ending, KEY_HEADER, Request, Script};

/// How long a call takes that goes well.
pub(crate) const CALL: Duration = Duration::from_millis(20);

/// A remote service, its book, and the changes of the breaker before it.
#[derive(Clone)]
pub(crate) struct Remote {
    pub(crate) scripted: steadfast_testkit::Service,
    pub(crate) service: Service,
    changes: Arc<Mutex<Vec<Change>>>,
    began: Moment,
}

/// A change of a breaker's state, in seconds since the service began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) at: f64,
    pub(crate) from: State,
    pub(crate) to: State,
    pub(crate) open_for: Option<Duration>,
}

/// A call, in seconds since the service began.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) at: f64,
    pub(crate) key: String,
    pub(crate) done: bool,
}

impl Remote {
    /// With the standard breaker, ten retries and room for fifty calls.
    pub(crate) fn standard(name: &str, script: impl Into<Script>) -> Self {
        Self::new(name, script, Breaker::standard(), Retry::exponential().max_retries(10).into())
    }

    pub(crate) fn new(
        name: &str,
        script: impl Into<Script>,
        breaker: breaker::Builder,
        retry: Tries,
    ) -> Self {
        let clock = Clock::tokio();
        let (began, changes) = (clock.now(), Arc::<Mutex<Vec<Change>>>::default());
        let book = Arc::clone(&changes);
        let breaker = breaker.seed(7).on_change(move |change| {
            let at = change.at.since(began).as_secs_f64();
            let change = Change { at, from: change.from, to: change.to, open_for: change.open_for };
            book.lock().unwrap().push(change);
        });
        let pipeline = Pipeline::builder(name)
            .clock(clock.clone())
            .attempt_timeout(Duration::from_secs(2))
            .retry(retry.0)
            .breaker(breaker)
            .seed(7)
            .build()
            .unwrap();
        let service = Service::new(pipeline).most_running(50);
        Self { scripted: steadfast_testkit::Service::new(clock, script), service, changes, began }
    }

    /// Adds a step that calls it.
    pub(crate) fn step(&self, flow: &mut WorkflowBuilder<usize>, name: &'static str) -> StepRef<()> {
        self.step_after(flow, name, None::<&str>)
    }

    /// Adds a step that calls it after others.
    pub(crate) fn step_after(
        &self,
        flow: &mut WorkflowBuilder<usize>,
        name: &'static str,
        others: impl Steps,
    ) -> StepRef<()> {
        let scripted = self.scripted.clone();
        let call = move |cx: Context<usize>| {
            let request = Request::new("POST", "/").with_header(KEY_HEADER, cx.key().to_string());
            let calling = scripted.call(request);
            async move { calling.await.map(drop).map_err(Failure::of) }
        };
        flow.step(name, &self.service, call).after(others).nothing_to_undo().add()
    }

    /// A workflow of one step.
    pub(crate) fn alone(&self, name: &'static str) -> Workflow<usize, ()> {
        let mut flow = Workflow::<usize>::builder(name);
        let step = self.step(&mut flow, "call");
        flow.returns(step).unwrap()
    }

    pub(crate) fn now(&self) -> f64 {
        Clock::tokio().now().since(self.began).as_secs_f64()
    }

    pub(crate) fn changes(&self) -> Vec<Change> {
        self.changes.lock().unwrap().clone()
    }

    /// When its breaker went to this state.
    pub(crate) fn times_of(&self, to: State) -> Vec<f64> {
        self.changes().iter().filter(|change| change.to == to).map(|change| change.at).collect()
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        let ledger = self.scripted.ledger();
        assert_eq!(ledger.left_out(), 0, "the ledger is full");
        let call = |entry: &steadfast_testkit::Entry| Call {
            at: entry.began().as_secs_f64(),
            key: entry.key().unwrap().to_owned(),
            done: entry.ending() == Ending::Answered(200),
        };
        ledger.entries().iter().map(call).collect()
    }

    pub(crate) fn calls_between(&self, from: f64, until: f64) -> usize {
        self.calls().iter().filter(|call| call.at >= from && call.at < until).count()
    }

    /// It has done each of these tasks once, and nothing else.
    pub(crate) fn assert_did_each_once(&self, tasks: usize) {
        let mut keys: Vec<_> =
            self.calls().into_iter().filter(|call| call.done).map(|call| call.key).collect();
        assert_eq!(keys.len(), tasks, "calls that went well");
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), tasks, "keys of them");
    }
}

/// A retry policy of any kind.
pub(crate) struct Tries(steadfast::resilience::retry::Builder);

impl From<steadfast::resilience::retry::Builder> for Tries {
    fn from(retry: steadfast::resilience::retry::Builder) -> Self {
        Self(retry)
    }
}

pub(crate) async fn start(flows: &[&Workflow<usize, ()>]) -> Engine {
    let mut engine = Engine::builder("memory:").clock(Clock::tokio());
    for flow in flows {
        engine = engine.workflow(flow);
    }
    engine.start().await.unwrap()
}

/// Submits tasks at an even rate for a time, each of the next workflow; returns them as they are.
pub(crate) async fn submit(
    engine: &Engine,
    flows: &[&Workflow<usize, ()>],
    rate: u32,
    lasts: Duration,
) -> Vec<(f64, Task<()>)> {
    let clock = Clock::tokio();
    let (began, mut tasks) = (clock.now(), Vec::new());
    while clock.now().since(began) < lasts {
        let flow = flows[tasks.len() % flows.len()];
        let at = clock.now().since(began).as_secs_f64();
        tasks.push((at, engine.submit(flow, &tasks.len()).await.unwrap()));
        clock.sleep(Duration::from_secs(1) / rate).await;
    }
    tasks
}

/// All of them complete.
pub(crate) async fn all_complete(tasks: &[(f64, Task<()>)]) {
    for (_, task) in tasks {
        assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(()));
    }
}
