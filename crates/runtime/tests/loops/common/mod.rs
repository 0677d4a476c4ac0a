//! Nodes in virtual time over services that keep books.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]
#![expect(clippy::unwrap_used, reason = "tests")]

pub mod flaky;
pub mod race;
pub mod told;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use steadfast_engine::{Definition, Step, StepId, TaskState, Time};
use steadfast_resilience::clock::Clock;
use steadfast_resilience::{Attempt, Breaker, Kind, Pipeline, Retry, Verdict};
use steadfast_runtime::{
    Answered, Code, Condition, Done, Fault, Handler, New, Node, Service, Settings, Work, Workflow, Workflows,
};
use steadfast_store::{Memory, Payload, Store, Stored, TaskId};

pub fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Waits in virtual time.
pub async fn sleep(time: Duration) {
    Clock::tokio().sleep(time).await;
}

/// Quick leases, so that tests are short to read.
pub fn quick() -> Settings {
    let mut settings = Settings::default();
    settings.lease = s(3);
    settings.look_every = s(1);
    settings.supervise_every = s(1);
    settings
}

/// A store in memory whose clock is tokio's, which the tests pause.
pub fn memory() -> Memory {
    let clock = Clock::tokio();
    let began = clock.now();
    Memory::new(move || Time::from_millis(1_000_000) + clock.now().since(began))
}

/// A service in tokio's time: three quick retries, a breaker that never trips.
pub fn service(name: &str) -> Service {
    let pipeline = Pipeline::builder(name)
        .clock(Clock::tokio())
        .no_breaker()
        .no_budget()
        .attempt_timeout(s(30))
        .retry(Retry::fixed(Duration::from_millis(100)).max_retries(3));
    Service::new(pipeline.build().unwrap())
}

/// A service whose failures are waited for this long.
pub fn waiting(name: &str, time: Duration) -> Service {
    let pipeline = Pipeline::builder(name).clock(Clock::tokio()).no_breaker().no_budget();
    Service::new(pipeline.retry(Retry::fixed(time).max_retries(5)).build().unwrap())
}

/// A service with a breaker that trips at the second failure, and no retries.
pub fn fragile(name: &str) -> Service {
    let pipeline = Pipeline::builder(name)
        .clock(Clock::tokio())
        .no_budget()
        .attempt_timeout(s(30))
        .retry(Retry::fixed(s(5)).max_retries(20))
        .breaker(Breaker::consecutive(2).open_for(s(20)));
    Service::new(pipeline.build().unwrap())
}

/// What services were asked for, by step (`name` or `undo name`), each call with its key.
#[derive(Clone, Default)]
pub struct Books(Arc<Mutex<BTreeMap<String, Vec<String>>>>);

impl Books {
    pub fn note(&self, what: &str, key: &str) {
        self.0.lock().unwrap().entry(what.to_owned()).or_default().push(key.to_owned());
    }

    /// Calls, of all tasks.
    pub fn calls(&self, what: &str) -> usize {
        self.0.lock().unwrap().get(what).map_or(0, Vec::len)
    }

    /// Different keys among them.
    pub fn effects(&self, what: &str) -> usize {
        let mut keys = self.0.lock().unwrap().get(what).cloned().unwrap_or_default();
        keys.sort();
        keys.dedup();
        keys.len()
    }
}

/// What a scripted handler does at its n-th call, from 0, over all tasks.
pub type Script = Arc<dyn Fn(u32) -> Act + Send + Sync>;

#[derive(Clone, Debug)]
pub enum Act {
    Succeed,
    Output(String),
    /// Its output is the input that it sees.
    Echo,
    /// Its output is that of another step, or `none`.
    EchoBefore(StepId),
    Fail(Verdict),
    Hang,
    Take(Duration),
    Panic,
}

pub const BUSY: Act = Act::Fail(Verdict::transient(Kind::OVERLOADED).without_effect());
pub const LOST: Act = Act::Fail(Verdict::transient(Kind::CONNECTION_LOST));
pub const NO: Act = Act::Fail(Verdict::terminal(Kind::BAD_REQUEST));

pub fn always(act: Act) -> Script {
    Arc::new(move |_| act.clone())
}

/// These acts first, then success.
pub fn first(acts: Vec<Act>) -> Script {
    Arc::new(move |nth| acts.get(nth as usize).cloned().unwrap_or(Act::Succeed))
}

fn handler(name: String, books: Books, script: Script) -> Arc<dyn Handler> {
    let calls = AtomicU32::new(0);
    let handler = move |work: &Arc<Work>, _: Attempt| -> Answered {
        let act = script(calls.fetch_add(1, Ordering::SeqCst));
        books.note(&name, &work.key.to_string());
        let (name, work) = (name.clone(), Arc::clone(work));
        Box::pin(async move {
            let done = Ok(Payload::from(format!("\"{name}\"").into_bytes()));
            match act {
                Act::Succeed => done,
                Act::Output(text) => Ok(Payload::from(text.into_bytes())),
                Act::Echo => Ok(Payload::from(work.known.input())),
                Act::EchoBefore(step) => Ok(Payload::from(work.known.output(step).unwrap_or(b"none"))),
                Act::Fail(verdict) => Err(Fault { verdict, message: "scripted".to_owned() }),
                Act::Hang => std::future::pending().await,
                Act::Take(time) => {
                    Clock::tokio().sleep(time).await;
                    done
                }
                Act::Panic => std::panic::resume_unwind(Box::new("scripted")),
            }
        })
    };
    Arc::new(handler)
}

/// A step with its service and its code.
type Part = (Step, Service, Code);

/// A workflow that is being put together.
pub struct Flow {
    pub books: Books,
    name: &'static str,
    version: u32,
    within: Option<Duration>,
    steps: Vec<Part>,
}

impl Flow {
    pub fn new(name: &'static str) -> Self {
        Self { books: Books::default(), name, version: 1, within: None, steps: Vec::new() }
    }

    pub fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    pub fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }

    /// A step without an undo.
    pub fn step(mut self, step: Step, service: Service, script: Script) -> Self {
        let code = self.code(&step, script);
        self.steps.push((step.nothing_to_undo(), service, code));
        self
    }

    pub fn step_if(mut self, step: Step, service: Service, script: Script, condition: Condition) -> Self {
        let code = Code { condition: Some(condition), ..self.code(&step, script) };
        self.steps.push((step.nothing_to_undo().conditional(), service, code));
        self
    }

    /// A step that waits.
    pub fn wait(self, step: Step) -> Self {
        self.coded(step, Service::none(), Code::waits())
    }

    /// A step that is repeated until its output is this.
    pub fn repeated(self, step: Step, service: Service, script: Script, done: &'static str) -> Self {
        let done: Done = Arc::new(move |output| Ok(output == done.as_bytes()));
        let code = Code { done: Some(done), ..self.code(&step, script) };
        self.coded(step.nothing_to_undo(), service, code)
    }

    /// A step with code of its own.
    pub fn coded(mut self, step: Step, service: Service, code: Code) -> Self {
        self.steps.push((step, service, code));
        self
    }

    fn code(&self, step: &Step, script: Script) -> Code {
        Code::new(handler(step.name().to_owned(), self.books.clone(), script))
    }

    /// A step with an undo.
    pub fn undoable(mut self, step: Step, service: Service, script: Script, undo: Script) -> Self {
        let undo = Some(handler(format!("undo {}", step.name()), self.books.clone(), undo));
        let code = Code { undo, ..self.code(&step, script) };
        self.steps.push((step.undo(s(10)), service, code));
        self
    }

    pub fn build(self) -> (Arc<Workflow>, Books) {
        let mut builder = Definition::builder(self.name).version(self.version);
        if let Some(time) = self.within {
            builder = builder.complete_within(time);
        }
        let (mut codes, mut services) = (Vec::new(), Vec::new());
        for (step, service, code) in self.steps {
            builder = builder.step(step);
            codes.push(code);
            services.push(service);
        }
        let workflow = Workflow::new(builder.build().unwrap(), codes, services).unwrap();
        (Arc::new(workflow), self.books)
    }
}

pub fn step(name: &str) -> Step {
    Step::new(name, "svc").complete_within(s(10))
}

/// Three steps in a row with undos, all of which succeed but as the scripts say.
pub fn saga(scripts: [Script; 3], undos: [Script; 3]) -> (Arc<Workflow>, Books) {
    let [a, b, c] = scripts;
    let [ua, ub, uc] = undos;
    Flow::new("saga")
        .undoable(step("a"), service("svc"), a, ua)
        .undoable(step("b").after(["a"]), service("svc"), b, ub)
        .undoable(step("c").after(["b"]), service("svc"), c, uc)
        .build()
}

pub fn fine() -> [Script; 3] {
    [always(Act::Succeed), always(Act::Succeed), always(Act::Succeed)]
}

pub fn known(workflows: &[&Arc<Workflow>]) -> Workflows {
    let mut all = Workflows::default();
    workflows.iter().for_each(|workflow| all.add(Arc::clone(workflow)).unwrap());
    all
}

pub async fn node<T: Store>(store: T, workflow: &Arc<Workflow>) -> Node<T> {
    node_with(store, workflow, Settings::default()).await
}

pub async fn node_with<T: Store>(store: T, workflow: &Arc<Workflow>, settings: Settings) -> Node<T> {
    Node::start(store, known(&[workflow]), settings, Clock::tokio()).await.unwrap()
}

pub fn new(workflow: &Arc<Workflow>) -> New {
    New {
        workflow: Arc::clone(workflow),
        namespace: Arc::from(""),
        key: None,
        priority: 0,
        input: Payload::from(b"1".as_slice()),
    }
}

pub async fn submit<T: Store>(node: &Node<T>, workflow: &Arc<Workflow>) -> TaskId {
    node.submit(new(workflow)).await.unwrap().task
}

pub async fn submit_many<T: Store>(node: &Node<T>, workflow: &Arc<Workflow>, count: usize) -> Vec<TaskId> {
    let mut tasks = Vec::new();
    for _ in 0..count {
        tasks.push(submit(node, workflow).await);
    }
    tasks
}

/// Submits one and waits for its end.
pub async fn run<T: Store>(node: &Node<T>, workflow: &Arc<Workflow>) -> Stored {
    let task = submit(node, workflow).await;
    node.at_rest(task).await.unwrap()
}

pub fn state(stored: &Stored) -> TaskState {
    stored.task.state()
}
