//! Workflows and services that do as the input of a task says.

use std::collections::BTreeMap;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use steadfast::resilience::Pipeline;
use steadfast::{Context, Engine, Failure, OnFailure, Service, Workflow};
use steadfast_client::wire::policy::Policy;
use steadfast_client::wire::problem::Problem;
use steadfast_client::wire::service;
use steadfast_client::wire::workflow::{self, Applied, Change, Format, Version};
use steadfast_server::House;

#[derive(Debug)]
pub(crate) struct Town {
    workflows: Vec<Workflow<Value, Value>>,
    pipelines: BTreeMap<String, Pipeline>,
}

impl Town {
    pub(crate) async fn start() -> (Self, Engine) {
        let services: Vec<_> = ["inventory", "payments"].map(Service::standard).into();
        let order = ordering(&services[0], &services[1]);
        let parent = {
            let mut flow = Workflow::<Value>::builder("parent");
            let child = flow.child("ask", &order, |seen| seen.input.clone()).add();
            flow.returns(child).unwrap()
        };
        let workflows = vec![order, parent, approving(), charging(&services[1]), holding(&services[0])];
        let mut builder = Engine::builder("memory:");
        for workflow in &workflows {
            builder = builder.workflow(workflow);
        }
        let engine = builder.start().await.unwrap();
        let pipelines =
            services.iter().map(|service| (service.name().to_owned(), service.pipeline().clone())).collect();
        (Self { workflows, pipelines }, engine)
    }
}

/// Reserves and charges; a card that is declined has it undone.
fn ordering(inventory: &Service, payments: &Service) -> Workflow<Value, Value> {
    let mut flow = Workflow::<Value>::builder("place-order");
    let reserve = |_: Context<Value>| async { Ok::<_, Failure>(json!({ "reservation": 7 })) };
    let reserve = flow.step("reserve", inventory, reserve).undo(|_| async { Ok::<_, Failure>(()) }).add();
    let charge = |cx: Context<Value>| async move {
        match cx.input["card"] == "declined" {
            true => Err(Failure::terminal("declined", "the card is not good for it")),
            false => Ok(json!({ "receipt": 7 })),
        }
    };
    let charge = flow.step("charge", payments, charge).after(reserve).nothing_to_undo().add();
    flow.returns(charge).unwrap()
}

/// Waits for a signal, and gives back what that says.
fn approving() -> Workflow<Value, Value> {
    let mut flow = Workflow::<Value>::builder("approve");
    let step = flow.signal::<Value>("approval").add();
    flow.returns(step).unwrap()
}

/// Fails into an operator's hands unless the input is good.
fn charging(payments: &Service) -> Workflow<Value, Value> {
    let mut flow = Workflow::<Value>::builder("charge");
    let run = |cx: Context<Value>| async move {
        match cx.input["good"] == true {
            true => Ok(json!({ "paid": true })),
            false => Err(Failure::terminal("no-account", "the shop has no account there")),
        }
    };
    let step = flow.step("charge", payments, run).on_failure(OnFailure::Error).nothing_to_undo().add();
    flow.returns(step).unwrap()
}

/// Does something that cannot be undone, and then waits for a signal.
fn holding(inventory: &Service) -> Workflow<Value, Value> {
    let mut flow = Workflow::<Value>::builder("hold");
    let run = |_: Context<Value>| async { Ok::<_, Failure>(json!("held")) };
    let undo = |_| async { Err(Failure::terminal("stuck", "it does not let go")) };
    let hold = flow.step("hold", inventory, run).undo(undo).add();
    let go = flow.signal::<Value>("go").after(hold).add();
    flow.returns(go).unwrap()
}

/// What a file would say of it.
fn definition(name: &str) -> Option<Value> {
    (name == "place-order").then(|| {
        json!({
            "workflow": "place-order",
            "complete_within": "10m",
            "returns": "ship",
            "steps": [
                { "name": "reserve", "service": "inventory", "undo": {} },
                { "name": "charge", "service": "payments", "after": ["reserve"], "complete_within": "30s", "undo": {} },
                { "name": "gift", "service": "inventory", "after": ["reserve"], "when": "input.gift" },
                { "name": "approval", "wait_for_signal": "approval", "after": ["reserve"] },
                { "name": "ship", "service": "shipping", "after": ["charge", "gift", "approval"], "point_of_no_return": true },
            ],
        })
    })
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
            let definition = definition(own.name()).filter(|_| definitions);
            let versions = vec![Version { version, from: "the test".to_owned(), definition }];
            workflow::Workflow { name: own.name().to_owned(), active: version, versions }
        };
        self.workflows.iter().map(told).collect()
    }

    fn apply<'h>(
        &'h self,
        name: &'h str,
        text: &'h str,
        _: Format,
        dry_run: bool,
    ) -> BoxFuture<'h, Result<Applied, Problem>> {
        async move {
            if text.contains("broken") {
                let problem =
                    Problem::new(422, "SF502", "The workflow makes no sense", "the workflow makes no sense");
                return Err(problem.at("2:1: stesp", "unknown key: did you mean `steps`?"));
            }
            let change = if self.workflow(name, None).is_some() { Change::Same } else { Change::New };
            let warnings = vec!["nobody calls it yet".to_owned()];
            Ok(Applied { name: name.to_owned(), version: 1, change, dry_run, warnings })
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
            url: Some(format!("http://127.0.0.1:7/{name}")),
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
        vec![Policy { name: "patient".to_owned(), settings: json!({ "retry": { "max_retries": 9 } }) }]
    }
}
