//! The code of steps that call: an attempt becomes a call, its answer an output.

use std::sync::Arc;

use serde_json::Value;
use steadfast_resilience::{Attempt, Kind, Verdict};
use steadfast_runtime::{Answered, Fault, Handler, Work};
use steadfast_store::Payload;

use crate::call::{Agent, Call, Reply};
use crate::expression::Budget;
use crate::expression::node::Variable;
use crate::model::Calls;
use crate::request::Request;
use crate::scope::{Fans, of_reply, of_work};
use crate::template::Goes;

/// The kind of an expression that failed before anything was called.
pub(crate) const BAD_EXPRESSION: Kind = Kind::new("bad-expression");
/// The kind of an output that could not be made of an answer.
const BAD_OUTPUT: Kind = Kind::new("bad-output");

/// Calls a service, or undoes what was called.
pub(crate) struct Caller {
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) calls: Arc<Calls>,
    pub(crate) step: Arc<str>,
    pub(crate) service: Arc<str>,
    /// The step's name, or that of its undo.
    pub(crate) operation: Arc<str>,
    pub(crate) fans: Fans,
    pub(crate) undo: bool,
}

impl Caller {
    fn request(&self) -> &Request {
        match &self.calls.undo {
            Some(undo) if self.undo => undo,
            _ => &self.calls.request,
        }
    }

    fn prepared(&self, work: &Work, attempt: Attempt) -> Result<Call, String> {
        let request = self.request();
        let rendered = request.render(&of_work(&request.reads, work, &self.step, &self.fans)?)?;
        Ok(Call {
            service: Arc::clone(&self.service),
            operation: Arc::clone(&self.operation),
            method: request.method.clone(),
            path: rendered.path,
            query: rendered.query,
            headers: rendered.headers,
            body: rendered.body,
            expect: request.expect.clone(),
            key: work.key,
            task: work.task,
            step: Arc::clone(&self.step),
            undo: self.undo,
            attempt,
            number: work.number,
            callback: None,
        })
    }
}

impl Handler for Caller {
    fn call(&self, work: &Arc<Work>, attempt: Attempt) -> Answered {
        let call = match self.prepared(work, attempt) {
            Ok(call) => call,
            Err(why) => return Box::pin(std::future::ready(Err(not_called(why)))),
        };
        let called = self.agent.call(call);
        if self.undo {
            return Box::pin(async move { called.await.map(|_| Payload::from(&b"null"[..])) });
        }
        let (calls, work) = (Arc::clone(&self.calls), Arc::clone(work));
        let (step, fans) = (Arc::clone(&self.step), Arc::clone(&self.fans));
        Box::pin(async move { output(&calls, &work, &step, &fans, called.await?).map_err(unkept) })
    }
}

/// The output of a step, from what its service has answered.
fn output(calls: &Calls, work: &Work, step: &str, fans: &Fans, reply: Reply) -> Result<Payload, String> {
    let value: Value = match &calls.output {
        None => reply.body,
        Some((output, reads)) => {
            let mut variables = of_work(reads, work, step, fans)?;
            variables.set(Variable::Response, of_reply(reply));
            output.value(&variables, &Budget::new(), Goes::Nowhere)?
        }
    };
    let bytes = serde_json::to_vec(&value).map_err(|error| format!("the output is no JSON: {error}"))?;
    Ok(Payload::from(bytes))
}

/// Nothing was called, and trying again cannot help.
pub(crate) fn not_called(why: String) -> Fault {
    Fault { verdict: Verdict::neutral(BAD_EXPRESSION).without_effect(), message: why }
}

/// It happened, and its output cannot be made. That nobody must take for "nothing was done", nor for a fault of the service:
/// a neutral verdict is not tried again, says nothing to the breaker, and leaves open whether it had an effect.
fn unkept(why: String) -> Fault {
    Fault { verdict: Verdict::neutral(BAD_OUTPUT), message: why }
}
