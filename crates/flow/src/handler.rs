//! The code of steps that call: an attempt becomes a call, its answer an output.

use std::sync::Arc;

use serde_json::Value;
use steadfast_resilience::{Attempt, Kind, Verdict};
use steadfast_runtime::{Answered, Fault, Handler, Later, Work};
use steadfast_store::Payload;

use crate::call::{Agent, Call, Reply};
use crate::code::Code;
use crate::expression::Budget;
use crate::expression::node::Variable;
use crate::model::Calls;
use crate::request::Request;
use crate::scope::{Fans, of_call, of_reply, of_work};
use crate::template::Goes;

/// The kind of an expression that failed before anything was called.
pub(crate) const BAD_EXPRESSION: Kind = Kind::new("bad-expression");
/// The kind of an output that could not be made of an answer.
const BAD_OUTPUT: Kind = Kind::new("bad-output");

/// Calls a service, or undoes what was called.
#[derive(Clone)]
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
        let callback = self.callback(work)?;
        let of = (&*self.step, callback.as_deref());
        let rendered = request.render(&of_call(&request.reads, work, of, &self.fans)?)?;
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
            callback,
            trace: work.trace.clone(),
        })
    }

    /// Where the service may answer later, if it may.
    fn callback(&self, work: &Work) -> Result<Option<String>, String> {
        let Some(id) = work.callback.filter(|_| self.calls.accepted.is_some()) else { return Ok(None) };
        let url = self.agent.callback_url(&id);
        url.map(Some).ok_or_else(|| {
            format!(
                "{}: this program has no address at which services could call back",
                Code::FailedExpression
            )
        })
    }

    /// Whether the service has said that it will call back.
    fn answers_later(&self, work: &Work, reply: &Reply) -> bool {
        let accepted = self.calls.accepted.as_ref().filter(|_| work.callback.is_some());
        accepted.is_some_and(|accepted| accepted.includes(reply.status))
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
        let (this, work) = (self.clone(), Arc::clone(work));
        Box::pin(async move {
            let reply = called.await?;
            match this.answers_later(&work, &reply) {
                true => Ok(Payload::from(&b""[..])),
                false => output(&this.calls, &work, &this.step, &this.fans, reply).map_err(unkept),
            }
        })
    }
}

/// What a step gives, from what its service said when it called back.
pub(crate) fn later(calls: &Arc<Calls>, step: &Arc<str>, fans: &Fans) -> Later {
    let (calls, step, fans) = (Arc::clone(calls), Arc::clone(step), Arc::clone(fans));
    Arc::new(move |work: &Arc<Work>, said: &Payload| {
        let body = serde_json::from_slice(said).map_err(|error| format!("it is no JSON: {error}"))?;
        let reply = Reply { status: 200, headers: Vec::new(), body };
        output(&calls, work, &step, &fans, reply)
    })
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
