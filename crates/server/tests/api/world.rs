//! A server on 127.0.0.1 over an engine in memory, with workflows that do as the tests say.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use steadfast::resilience::Pipeline;
use steadfast::{Engine, Failure, OnFailure, Service, Workflow};
use steadfast_client::Client;
use steadfast_client::wire::policy::Policy;
use steadfast_client::wire::problem::Problem;
use steadfast_client::wire::service;
use steadfast_client::wire::workflow::{self, Applied, Change, Format, Version};
use steadfast_server::{House, Limits, State, router, serve};
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// What the workflows of a test do as it says.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// Whether `charge` succeeds.
    pub(crate) mended: AtomicBool,
    /// Whether the undo of `hold` succeeds.
    pub(crate) undoable: AtomicBool,
    /// Lets one `gated` task go on.
    pub(crate) gate: Notify,
    /// Whether the house panics when it is asked for policies.
    pub(crate) panics: AtomicBool,
}

/// Workflows and services that were built in Rust.
#[derive(Debug)]
struct Town {
    workflows: Vec<Workflow<Value, Value>>,
    pipelines: BTreeMap<String, Pipeline>,
    script: Arc<Script>,
}

pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) address: SocketAddr,
    pub(crate) engine: Engine,
    pub(crate) script: Arc<Script>,
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) door: JoinHandle<std::io::Result<()>>,
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::with(Limits::default()).await
    }

    pub(crate) async fn with(limits: Limits) -> Self {
        let script = Arc::new(Script::default());
        let services: Vec<_> = ["echo", "bank"].map(Service::standard).into();
        let workflows = workflows(&services, &script);
        let mut builder = Engine::builder("memory:");
        for workflow in &workflows {
            builder = builder.workflow(workflow);
        }
        let engine = builder.start().await.unwrap();
        let mut pipelines: BTreeMap<_, _> =
            services.iter().map(|service| (service.name().to_owned(), service.pipeline().clone())).collect();
        let bare = Pipeline::builder("bare").no_breaker().build().unwrap();
        pipelines.insert("bare".to_owned(), bare);
        let town = Town { workflows, pipelines, script: Arc::clone(&script) };
        let (stop, stopping) = watch::channel(false);
        let state = State::new(engine.clone(), town, limits, None, stopping.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut stopped = stopping;
        let shutdown = async move {
            let _ = stopped.wait_for(|stop| *stop).await;
        };
        let door = tokio::spawn(serve(listener, router(state.clone()), state, shutdown));
        let client = Client::builder(&format!("http://{address}")).retries(0).build().unwrap();
        Self { client, address, engine, script, stop, door }
    }

    pub(crate) async fn end(self) {
        self.stop.send(true).unwrap();
        self.door.await.unwrap().unwrap();
        self.engine.shut_down().await.unwrap();
    }
}

fn workflows(services: &[Service], script: &Arc<Script>) -> Vec<Workflow<Value, Value>> {
    let (echo, bank) = (&services[0], &services[1]);
    let both = echoing(echo);
    let parent = {
        let mut flow = Workflow::<Value>::builder("parent");
        let child = flow.child("ask", &both, |seen| seen.input.clone()).add();
        flow.returns(child).unwrap()
    };
    let (charging, holding, gated) = (charging(bank, script), holding(echo, script), gated(echo, script));
    vec![both, parent, approving(), charging, holding, gated, maybe(echo)]
}

/// Has nothing to do, unless it was given true.
fn maybe(service: &Service) -> Workflow<Value, Value> {
    let mut flow = Workflow::<Value>::builder("maybe");
    let run = |_| async { Ok::<_, Failure>(json!("done")) };
    let step = flow.step("do", service, run).when(|seen| seen.input == true).nothing_to_undo().add();
    flow.returns(step).unwrap()
}

/// Gives back what it was given.
fn echoing(service: &Service) -> Workflow<Value, Value> {
    let mut flow = Workflow::<Value>::builder("echo");
    let run = |cx: steadfast::Context<Value>| async move { Ok::<_, Failure>(cx.input.clone()) };
    let step = flow.step("echo", service, run).nothing_to_undo().add();
    flow.returns(step).unwrap()
}

/// Waits for a signal, and gives back what that says.
fn approving() -> Workflow<Value, Value> {
    let mut flow = Workflow::<Value>::builder("approve");
    let step = flow.signal::<Value>("approval").add();
    flow.returns(step).unwrap()
}

/// Fails into an operator's hands until it is mended.
fn charging(service: &Service, script: &Arc<Script>) -> Workflow<Value, Value> {
    let script = Arc::clone(script);
    let mut flow = Workflow::<Value>::builder("charge");
    let run = move |cx: steadfast::Context<Value>| {
        let mended = script.mended.load(Ordering::SeqCst) || cx.input["good"] == true;
        async move {
            match mended {
                true => Ok(json!({ "paid": cx.input })),
                false => Err(Failure::terminal("no-account", "none there")),
            }
        }
    };
    let step = flow.step("charge", service, run).on_failure(OnFailure::Error).nothing_to_undo().add();
    flow.returns(step).unwrap()
}

/// Does something that can be undone, or not, and then waits for a signal.
fn holding(service: &Service, script: &Arc<Script>) -> Workflow<Value, Value> {
    let script = Arc::clone(script);
    let mut flow = Workflow::<Value>::builder("hold");
    let run = |_| async { Ok::<_, Failure>(json!("held")) };
    let undo = move |_| {
        let undoable = script.undoable.load(Ordering::SeqCst);
        async move { if undoable { Ok(()) } else { Err(Failure::terminal("stuck", "it does not let go")) } }
    };
    let hold = flow.step("hold", service, run).undo(undo).add();
    let go = flow.signal::<Value>("go").after(hold).add();
    flow.returns(go).unwrap()
}

/// Runs until the test lets it go.
fn gated(service: &Service, script: &Arc<Script>) -> Workflow<Value, Value> {
    let script = Arc::clone(script);
    let mut flow = Workflow::<Value>::builder("gated");
    let run = move |_| {
        let script = Arc::clone(&script);
        async move {
            script.gate.notified().await;
            Ok::<_, Failure>(json!("through"))
        }
    };
    let step = flow.step("wait", service, run).nothing_to_undo().add();
    flow.returns(step).unwrap()
}

impl House for Town {
    fn workflow(&self, name: &str, version: Option<u32>) -> Option<Workflow<Value, Value>> {
        let fits = |own: &&Workflow<Value, Value>| {
            own.name() == name && version.is_none_or(|version| own.definition().version() == version)
        };
        self.workflows.iter().find(fits).cloned()
    }

    fn workflows(&self, definitions: bool) -> Vec<workflow::Workflow> {
        let told = |own: &Workflow<Value, Value>| {
            let version = own.definition().version();
            let definition = definitions.then(|| json!({ "workflow": own.name() }));
            let versions = vec![Version { version, from: "the test".to_owned(), definition }];
            workflow::Workflow { name: own.name().to_owned(), active: version, versions }
        };
        self.workflows.iter().map(told).collect()
    }

    fn apply<'h>(
        &'h self,
        name: &'h str,
        text: &'h str,
        format: Format,
        dry_run: bool,
    ) -> BoxFuture<'h, Result<Applied, Problem>> {
        async move {
            let said = match format {
                Format::Json => serde_json::from_str(text).unwrap_or_default(),
                Format::Yaml => json!({ "workflow": text.trim().strip_prefix("workflow: ") }),
            };
            if said["workflow"] != name {
                let problem =
                    Problem::new(422, "SF401", "The workflow makes no sense", "it has another name");
                return Err(problem.at("line 1, column 1", format!("expected `workflow: {name}`")));
            }
            let change = if self.workflow(name, None).is_some() { Change::Same } else { Change::New };
            Ok(Applied { name: name.to_owned(), version: 1, change, dry_run, warnings: Vec::new() })
        }
        .boxed()
    }

    fn is_called(&self, _: &str) -> bool {
        false
    }

    fn without_secrets(&self, value: Value) -> Value {
        value
    }

    fn services(&self) -> Vec<service::Service> {
        let told = |name: &String| service::Service {
            name: name.clone(),
            policy: "standard".to_owned(),
            limits: "1000 attempts at a time".to_owned(),
            ..service::Service::default()
        };
        self.pipelines.keys().map(told).collect()
    }

    fn pipeline(&self, service: &str) -> Option<Pipeline> {
        self.pipelines.get(service).cloned()
    }

    fn policies(&self) -> Vec<Policy> {
        assert!(!self.script.panics.load(Ordering::SeqCst), "this is a secret that belongs into no answer");
        vec![Policy { name: "standard".to_owned(), settings: json!({}) }]
    }
}
