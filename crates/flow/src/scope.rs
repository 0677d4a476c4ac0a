//! What the expressions of a step see when they are evaluated: what is read of a task, and nothing more.

use std::sync::Arc;

use serde_json::{Value, json};
use steadfast_engine::StepId;
use steadfast_runtime::{Known, Work};

use crate::call::Reply;
use crate::expression::Variables;
use crate::expression::names::Reads;
use crate::expression::node::Variable;

/// What a workflow's steps are, for those who read their outputs: by place, whether it is made for each item of a list.
pub(crate) type Fans = Arc<[bool]>;

/// What is known before a step runs: the input, and outputs of steps.
pub(crate) fn of_known(reads: &Reads, known: &Known, fans: &Fans) -> Result<Variables, String> {
    let mut variables = Variables::default();
    if reads.has(Variable::Input) {
        variables.set(Variable::Input, parsed(known.input(), "the input")?);
    }
    for step in &reads.steps {
        let id = StepId::at(u16::try_from(*step).unwrap_or(u16::MAX));
        let output = match known.output(id) {
            Some(output) => Some(parsed(output, "the output of a step")?),
            None if fans.get(*step) == Some(&true) => results(known, id)?,
            None => None,
        };
        variables.set_output(*step, output);
    }
    Ok(variables)
}

/// What became of the items of a step: a list, with null for those that have failed.
fn results(known: &Known, step: StepId) -> Result<Option<Value>, String> {
    let Some(results) = known.results(step) else { return Ok(None) };
    let parse = |result: Option<&[u8]>| {
        result.map_or(Ok(Value::Null), |output| parsed(output, "the output of an item"))
    };
    results.into_iter().map(parse).collect::<Result<_, _>>().map(|list| Some(Value::Array(list)))
}

/// What an attempt knows beside.
pub(crate) fn of_work(reads: &Reads, work: &Work, step: &str, fans: &Fans) -> Result<Variables, String> {
    of_call(reads, work, (step, None), fans)
}

/// What its call knows beside: where the service may answer later.
pub(crate) fn of_call(
    reads: &Reads,
    work: &Work,
    (step, callback): (&str, Option<&str>),
    fans: &Fans,
) -> Result<Variables, String> {
    let mut variables = of_known(reads, &work.known, fans)?;
    if reads.has(Variable::Output) {
        let own = work.known.output(work.step).unwrap_or_default();
        variables.set(Variable::Output, parsed(own, "the step's output")?);
    }
    if let Some(item) = &work.item {
        if reads.has(Variable::Item) {
            variables.set(Variable::Item, parsed(&item.value, "the item")?);
        }
        variables.set(Variable::Index, Value::from(item.place));
    }
    if reads.has(Variable::Step) {
        // An undo finds what it undoes by the key that the step itself had.
        let key = if work.undo { work.key_of(step) } else { work.key };
        let round = work.round.saturating_add(1);
        let mut own = json!({"name": step, "key": key.to_string(), "attempt": work.number, "round": round});
        if let Some(url) = callback {
            own["callback"] = Value::from(url);
        }
        variables.set(Variable::Step, own);
    }
    if reads.has(Variable::Task) {
        variables.set(Variable::Task, json!({"id": work.task.to_string()}));
    }
    Ok(variables)
}

/// What a service has answered.
pub(crate) fn of_reply(reply: Reply) -> Value {
    let mut headers = serde_json::Map::new();
    for (name, value) in reply.headers {
        headers.insert(name.to_ascii_lowercase(), Value::String(value));
    }
    json!({"status": reply.status, "headers": headers, "body": reply.body})
}

fn parsed(bytes: &[u8], what: &str) -> Result<Value, String> {
    serde_json::from_slice(bytes).map_err(|error| format!("{what} is no JSON: {error}"))
}
