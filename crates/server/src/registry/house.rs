//! The registry as the API asks it.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use steadfast::Workflow;
use steadfast::resilience::Pipeline;
use steadfast_client::wire::policy::Policy;
use steadfast_client::wire::problem::Problem;
use steadfast_client::wire::service::Service;
use steadfast_client::wire::workflow::{self, Change, Format, Version};

use super::folder::parsed;
use super::{Applied, Flow, Limits, NotApplied, Registry};
use crate::config::ServiceConfig;
use crate::house::House;
use crate::origin::host_in;

impl House for Registry {
    fn workflow(&self, name: &str, version: Option<u32>) -> Option<Workflow<Value, Value>> {
        Self::workflow(self, name, version)
    }

    fn workflows(&self, definitions: bool) -> Vec<workflow::Workflow> {
        let flows = self.snapshot();
        flows
            .into_iter()
            .map(|(name, versions)| workflow::Workflow {
                name,
                active: versions
                    .iter()
                    .rev()
                    .find(|(_, flow)| flow.built.is_ok())
                    .map_or(0, |(version, _)| *version),
                versions: versions.iter().map(|(version, flow)| seen(*version, flow, definitions)).collect(),
            })
            .collect()
    }

    fn apply<'h>(
        &'h self,
        name: &'h str,
        text: &'h str,
        format: Format,
        dry_run: bool,
    ) -> BoxFuture<'h, Result<workflow::Applied, Problem>> {
        Box::pin(async move {
            let format = match format {
                Format::Yaml => steadfast_flow::Format::Yaml,
                Format::Json => steadfast_flow::Format::Json,
            };
            let file = parsed(text.to_owned(), format, "body".to_owned()).await.map_err(problem)?;
            if file.name() != name {
                let detail = format!(
                    "the text is of workflow `{}`, and was sent to `{name}`: send it there",
                    file.name()
                );
                return Err(Problem::new(409, "SF549", "It is another workflow's text", detail));
            }
            let applied = Self::apply(self, file, "api", dry_run).await.map_err(problem)?;
            Ok(told(applied, dry_run))
        })
    }

    fn without_secrets(&self, value: Value) -> Value {
        self.inner.agent.without_secrets(value)
    }

    fn services(&self) -> Vec<Service> {
        let config = self.config();
        let limits = |name: &str, own| self.limits_of(name, own);
        config.services.iter().map(|(name, own)| service(name, own, limits(name, own))).collect()
    }

    fn pipeline(&self, service: &str) -> Option<Pipeline> {
        self.config().services.contains_key(service).then(|| self.live().pipeline(service))
    }

    fn is_called(&self, host: &str) -> bool {
        let config = self.config();
        let callbacks = || config.callback_url.as_deref().and_then(host_in);
        config.hosts.iter().any(|own| own == host) || callbacks().is_some_and(|own| own == host)
    }

    fn policies(&self) -> Vec<Policy> {
        let policies = self.live().policies();
        let mut named: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
        for (key, value) in policies.values() {
            let (name, key) = split(key);
            named.entry(name).or_default().insert(key, Value::from(value));
        }
        named.into_iter().map(|(name, settings)| Policy { name, settings: Value::Object(settings) }).collect()
    }
}

/// The name of the settings that a value is of, and its key in them: `retry.patient` and `max_retries`.
fn split(key: &str) -> (String, String) {
    let parts: Vec<_> = key.split('.').collect();
    let of_name = if parts.first() == Some(&"default") { 1 } else { 2 };
    let (name, rest) = parts.split_at(of_name.min(parts.len()));
    (name.join("."), rest.join("."))
}

fn seen(version: u32, flow: &Flow, with_definition: bool) -> Version {
    let definition = with_definition.then(|| flow.file.to_json());
    Version { version, from: flow.from.to_string(), definition }
}

fn told(applied: Applied, dry_run: bool) -> workflow::Applied {
    let change = match (applied.is_new, applied.is_first) {
        (true, true) => Change::New,
        (true, false) => Change::NewVersion,
        (false, _) => Change::Same,
    };
    workflow::Applied { name: applied.name, version: applied.version, change, dry_run, warnings: Vec::new() }
}

fn problem(error: NotApplied) -> Problem {
    match error {
        NotApplied::Bad(error) => {
            let first = error.to_string();
            let problem = Problem::new(422, "SF401", "The workflow makes no sense", first);
            error.complaints().iter().fold(problem, |problem, complaint| {
                problem.at(format!("body:{}: {}", complaint.at, complaint.key), complaint.message.clone())
            })
        }
        NotApplied::Taken(words) => Problem::new(409, "SF549", "The version is taken", words),
        NotApplied::Engine(error) => crate::problem::Refusal::from(error).into_problem(),
    }
}

fn service(name: &str, own: &ServiceConfig, limits: Limits) -> Service {
    let running = limits.most_running.map_or_else(|| "1000".to_owned(), |most| most.to_string());
    let rate = limits.most_per_second.map(|rate| format!(", {rate} a second")).unwrap_or_default();
    let ramp = if limits.ramp { "" } else { ", without a ramp" };
    Service {
        name: name.to_owned(),
        url: Some(own.url.clone()),
        policy: name.to_owned(),
        limits: format!("{running} attempts at a time{rate}{ramp}"),
        ..Service::default()
    }
}
