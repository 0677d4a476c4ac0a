//! From a file that was read to a workflow with code.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;
use steadfast_engine::{StepId, Time};
use steadfast_form::{hint, plain};
use steadfast_runtime::{
    ChildInput, Code, Condition, Done, Fits, Known, List as Listed, Service, Until, Work, Workflow, child,
    children,
};
use steadfast_store::Payload;

use crate::call::Agent;
use crate::code::Code as Problem;
use crate::error::Complaint;
use crate::expression::names::Reads;
use crate::expression::node::Variable;
use crate::expression::{Budget, Variables, name};
use crate::file::misfits;
use crate::handler::{Caller, later, not_called};
use crate::model::{Asks, Calls, Does, Flow, List, Named, Plan};
use crate::read::definition;
use crate::scope::{Fans, of_known, of_work};
use crate::template::{Goes, Json, Test};
use crate::world::World;

/// Builds a workflow, or says what the world around it does not have.
pub(crate) fn build(
    flow: &Flow,
    version: u32,
    world: &dyn World,
    agent: Arc<dyn Agent>,
) -> Result<Workflow, Vec<Complaint>> {
    let mut builder = Builder { world, agent, fans: Arc::clone(&flow.is_each), complaints: Vec::new() };
    let built: Vec<_> = flow.steps.iter().filter_map(|plan| builder.step(plan)).collect();
    if !builder.complaints.is_empty() {
        return Err(builder.complaints);
    }
    let whole = |message: String| vec![Complaint::new(flow.at, "workflow", Problem::BadWorkflow, message)];
    let definition =
        definition(flow, version).map_err(|invalid| whole(invalid.to_string().replace('\n', " ")))?;
    let (codes, services) = built.into_iter().unzip();
    let workflow = Workflow::new(definition, codes, services).map_err(whole)?;
    let result = flow.returns.map(|place| StepId::at(u16::try_from(place).unwrap_or(u16::MAX)));
    Ok(workflow.returning(result).taking(input_fits(flow)))
}

/// Whether an input fits: JSON, and the file's schema.
fn input_fits(flow: &Flow) -> Fits {
    let schema = flow.schema.clone();
    Arc::new(move |given| {
        let input: Value = serde_json::from_slice(given).map_err(|error| error.to_string())?;
        let Some(schema) = &schema else { return Ok(()) };
        let told: Vec<_> = misfits(&schema.0, &input).map(|(key, why)| format!("{key}: {why}")).collect();
        if told.is_empty() { Ok(()) } else { Err(told.join("; ")) }
    })
}

/// Whether an output that an operator gives is one: any JSON.
fn any() -> Fits {
    Arc::new(|given| serde_json::from_slice::<Value>(given).map(drop).map_err(|error| error.to_string()))
}

struct Builder<'b> {
    world: &'b dyn World,
    agent: Arc<dyn Agent>,
    fans: Fans,
    complaints: Vec<Complaint>,
}

impl Builder<'_> {
    fn step(&mut self, plan: &Plan) -> Option<(Code, Service)> {
        let (code, service) = match &plan.does {
            Does::Waits => (Code::waits(), Service::none()),
            Does::Until(until, reads) => {
                let until = Some(self.until(until, reads, plan));
                (Code { until, ..Code::waits() }, Service::none())
            }
            Does::Calls(calls) => self.calls(plan, calls)?,
            Does::Asks(asks) => self.asks(plan, asks)?,
        };
        let condition = (!plan.when.is_empty()).then(|| self.condition(&plan.when));
        Some((Code { condition, output: Some(any()), ..code }, service))
    }

    fn unknown(&mut self, of: &Named, code: Problem, what: &str, known: &[String], add: &str) {
        let name = plain(&of.name);
        let hint = match known.is_empty() {
            true => add.to_owned(),
            false => hint(&of.name, known.iter().map(String::as_str)),
        };
        let message = format!("there is no {what} `{name}`: {hint}");
        self.complaints.push(Complaint::new(of.at, &of.key, code, message));
    }

    fn calls(&mut self, plan: &Plan, calls: &Arc<Calls>) -> Option<(Code, Service)> {
        let service = self.service(calls)?;
        let caller = |undo: bool| -> Arc<Caller> {
            let operation =
                if undo { Arc::from(format!("{}.undo", plan.name)) } else { Arc::clone(&plan.name) };
            Arc::new(Caller {
                agent: Arc::clone(&self.agent),
                calls: Arc::clone(calls),
                step: Arc::clone(&plan.name),
                service: Arc::from(service.name()),
                operation,
                fans: Arc::clone(&self.fans),
                undo,
            })
        };
        let mut code = Code::new(caller(false));
        if calls.undo.is_some() {
            code.undo = Some(caller(true));
        }
        code.later = calls.accepted.as_ref().map(|_| later(calls, &plan.name, &self.fans));
        code.done = calls.until.clone().map(done);
        code.list = calls.each.as_ref().map(|each| self.list(each));
        Some((code, service))
    }

    fn service(&mut self, calls: &Calls) -> Option<Service> {
        let Some(service) = self.world.service(&calls.service.name) else {
            let known = self.world.services();
            self.unknown(
                &calls.service,
                Problem::UnknownService,
                "service",
                &known,
                "name it in the configuration",
            );
            return None;
        };
        let Some(retry) = &calls.retry else { return Some(service) };
        let found = self.world.service_with_retry(&calls.service.name, &retry.name);
        if found.is_none() {
            let known = self.world.retries();
            self.unknown(retry, Problem::UnknownRetry, "retry policy", &known, "name it among the policies");
        }
        found
    }

    fn asks(&mut self, plan: &Plan, asks: &Arc<Asks>) -> Option<(Code, Service)> {
        let Some(workflow) = self.world.workflow(&asks.workflow.name) else {
            let known = self.world.workflows();
            if known.contains(&asks.workflow.name.to_string()) {
                let Named { name, at, key, .. } = &asks.workflow;
                let message = format!(
                    "`{}` cannot be asked for: something is wrong with it, or it asks for this one in turn, and that would never end",
                    plain(name)
                );
                self.complaints.push(Complaint::new(*at, key, Problem::UnknownWorkflow, message));
                return None;
            }
            self.unknown(
                &asks.workflow,
                Problem::UnknownWorkflow,
                "workflow",
                &known,
                "store it before this one",
            );
            return None;
        };
        let (of, step, fans) = (Arc::clone(asks), Arc::clone(&plan.name), Arc::clone(&self.fans));
        let input: ChildInput = Arc::new(move |work: &Work| match &of.input {
            Some((input, reads)) => {
                let value = of_work(reads, work, &step, &fans)
                    .and_then(|variables| input.value(&variables, &Budget::new(), Goes::Nowhere));
                value.and_then(|value| packed(&value)).map_err(not_called)
            }
            None => Ok(match &work.item {
                Some(item) => item.value.clone(),
                None => Payload::from(work.known.input()),
            }),
        });
        let (run, undo) = child(&workflow, &input, any());
        let list = asks.each.as_ref().map(|each| self.list(each));
        let code = Code { undo: Some(undo), child: Some(workflow), list, ..Code::new(run) };
        Some((code, children()))
    }

    // ---- what is asked before a step runs ----

    fn condition(&self, when: &Arc<[Test]>) -> Condition {
        let (when, fans) = (Arc::clone(when), Arc::clone(&self.fans));
        Arc::new(move |known: &Known| {
            let budget = Budget::new();
            for test in &*when {
                let variables = of_known(test.expression.reads(), known, &fans)?;
                if !test.holds(&variables, &budget)? {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    fn until(&self, until: &Arc<Json>, reads: &Reads, plan: &Plan) -> Until {
        let (until, reads, fans) = (Arc::clone(until), reads.clone(), Arc::clone(&self.fans));
        let key = format!("{}.wait_until", plan.key);
        Arc::new(move |known: &Known| {
            let value = until.value(&of_known(&reads, known, &fans)?, &Budget::new(), Goes::Nowhere)?;
            time(&value).ok_or_else(|| {
                let found = name(&value);
                format!("{key}: expected a time such as 2026-11-17T10:00:00Z, or milliseconds since 1970, found {found} ({})", Problem::FailedExpression)
            })
        })
    }

    fn list(&self, each: &List) -> Listed {
        let (each, fans) = (each.clone(), Arc::clone(&self.fans));
        Arc::new(move |known: &Known| {
            let value =
                each.items.value(&of_known(&each.reads, known, &fans)?, &Budget::new(), Goes::Nowhere)?;
            match value {
                Value::Array(items) => items.iter().map(packed).collect(),
                other => {
                    let why = format!("expected a list, found {}", name(&other));
                    Err(each.origin.failed(Problem::FailedExpression, &why))
                }
            }
        })
    }
}

/// Whether a round was the last.
fn done(until: Test) -> Done {
    Arc::new(move |output: &[u8]| {
        let output =
            serde_json::from_slice(output).map_err(|error| format!("the output is no JSON: {error}"))?;
        let mut variables = Variables::default();
        variables.set(Variable::Output, output);
        until.holds(&variables, &Budget::new())
    })
}

fn packed(value: &Value) -> Result<Payload, String> {
    serde_json::to_vec(value)
        .map(Payload::from)
        .map_err(|error| format!("it cannot be written as JSON: {error}"))
}

/// A time: RFC 3339, or milliseconds since 1970. One before that has passed, and is no wait.
fn time(value: &Value) -> Option<Time> {
    let millis = match value {
        Value::String(text) => text.trim().parse::<Timestamp>().ok()?.as_millisecond(),
        Value::Number(number) => number.as_i64()?,
        _ => return None,
    };
    Some(Time::from_millis(u64::try_from(millis).unwrap_or(0)))
}
