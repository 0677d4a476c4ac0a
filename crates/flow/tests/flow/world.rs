//! A world of services that answer as they are told, and keep books.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use steadfast::resilience::clock::Clock;
use steadfast::resilience::{Kind, Pipeline, Retry, Verdict};
use steadfast::{Engine, Outcome, Workflow};
use steadfast_flow::{Agent, Call, Calling, FlowFile, Reply, World};
use steadfast_runtime::{CallbackId, Fault, Service};

pub(crate) fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Services and workflows by name.
#[derive(Default)]
pub(crate) struct House {
    pub(crate) services: BTreeMap<String, Service>,
    pub(crate) workflows: BTreeMap<String, Arc<steadfast_runtime::Workflow>>,
}

impl House {
    /// With these services, in tokio's time: three quick retries, no breaker.
    pub(crate) fn with(services: &[&str]) -> Self {
        let services = services.iter().map(|name| ((*name).to_owned(), service(name, 3))).collect();
        Self { services, workflows: BTreeMap::new() }
    }
}

pub(crate) fn service(name: &str, retries: u32) -> Service {
    let pipeline = Pipeline::builder(name)
        .clock(Clock::tokio())
        .no_breaker()
        .no_budget()
        .attempt_timeout(s(30))
        .retry(Retry::fixed(Duration::from_millis(100)).max_retries(retries));
    Service::new(pipeline.build().unwrap())
}

impl World for House {
    fn service(&self, name: &str) -> Option<Service> {
        self.services.get(name).cloned()
    }

    fn services(&self) -> Vec<String> {
        self.services.keys().cloned().collect()
    }

    fn workflow(&self, name: &str) -> Option<Arc<steadfast_runtime::Workflow>> {
        self.workflows.get(name).cloned()
    }

    fn workflows(&self) -> Vec<String> {
        self.workflows.keys().cloned().collect()
    }

    fn service_with_retry(&self, name: &str, retry: &str) -> Option<Service> {
        (retry == "patient").then(|| service(name, 9))
    }

    fn retries(&self) -> Vec<String> {
        vec!["patient".to_owned()]
    }
}

/// How a service answers a call.
pub(crate) type Script = Arc<dyn Fn(&Call, usize) -> Result<Reply, Fault> + Send + Sync>;

/// Answers by a script, and keeps what it was asked.
#[derive(Clone)]
pub(crate) struct Books {
    script: Script,
    calls: Arc<Mutex<Vec<Call>>>,
    /// What URLs begin with at which services may answer later.
    callbacks: Option<&'static str>,
}

impl Books {
    /// The script sees the call and how many of the same operation there were before.
    pub(crate) fn new(script: impl Fn(&Call, usize) -> Result<Reply, Fault> + Send + Sync + 'static) -> Self {
        Self { script: Arc::new(script), calls: Arc::default(), callbacks: Some("http://me/") }
    }

    /// Nobody would hear services that answer later.
    pub(crate) fn deaf(self) -> Self {
        Self { callbacks: None, ..self }
    }

    /// Each call as `METHOD path body`.
    pub(crate) fn asked(&self) -> Vec<String> {
        let line = |call: &Call| {
            let body = call.body.as_ref().map(|body| format!(" {}", String::from_utf8_lossy(body)));
            format!("{} {}{}", call.method, call.path, body.unwrap_or_default())
        };
        self.calls().iter().map(line).collect()
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }
}

impl Agent for Books {
    fn call(&self, call: Call) -> Calling {
        let mut calls = self.calls.lock().unwrap();
        let before = calls.iter().filter(|known| known.operation == call.operation).count();
        calls.push(call.clone());
        drop(calls);
        let answer = (self.script)(&call, before);
        Box::pin(std::future::ready(answer))
    }

    fn callback_url(&self, end: &CallbackId) -> Option<String> {
        self.callbacks.map(|begins| format!("{begins}{end}"))
    }
}

pub(crate) fn reply(body: Value) -> Result<Reply, Fault> {
    Ok(Reply { status: 200, headers: vec![("etag".to_owned(), "v1".to_owned())], body })
}

pub(crate) fn refuse() -> Result<Reply, Fault> {
    Err(Fault { verdict: Verdict::terminal(Kind::BAD_REQUEST), message: "no".to_owned() })
}

/// Nobody knows whether it happened.
pub(crate) fn lost() -> Result<Reply, Fault> {
    Err(Fault { verdict: Verdict::transient(Kind::CONNECTION_LOST), message: "gone".to_owned() })
}

/// A file built in a house.
pub(crate) fn built(file: &FlowFile, house: &House, books: &Books) -> Workflow<Value, Value> {
    let built = file.build(1, house, Arc::new(books.clone())).unwrap_or_else(|error| panic!("{error}"));
    Workflow::untyped(Arc::new(built))
}

/// An engine that works on this, in virtual time.
pub(crate) async fn engine(workflow: &Workflow<Value, Value>) -> Engine {
    Engine::builder("memory:").clock(Clock::tokio()).workflow(workflow).start().await.unwrap()
}

/// Runs one task to its end.
pub(crate) async fn run(text: &str, house: &House, books: &Books, input: Value) -> Outcome<Value> {
    let workflow = built(&crate::good(text), house, books);
    let engine = engine(&workflow).await;
    let outcome = engine.submit(&workflow, &input).await.unwrap().outcome().await.unwrap();
    engine.shut_down().await.unwrap();
    outcome
}
