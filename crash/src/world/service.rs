//! The workflows with their code: every step calls a service that keeps books.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use steadfast_engine::Step;
use steadfast_resilience::clock::Clock;
use steadfast_resilience::{Attempt, Breaker, Kind, Pipeline, Retry, Verdict};
use steadfast_runtime::{
    Answered, ChildInput, Code, Fault, Handler, Service, Work, Workflow, Workflows, child, children,
};
use steadfast_store::Payload;

use super::definition::{AWAY, SERVICE};
use super::{Act, COMPLETE_WITHIN, Ledger, act_of, definitions};

/// How long the breaker is open of the one that is away.
const OPEN_FOR: Duration = Duration::from_millis(50);

/// A service that is tried again soon, by a durable timer: longer than the driver's `longest_wait`.
fn service(name: &str) -> Result<Service> {
    let pipeline = Pipeline::builder(name)
        .clock(Clock::system())
        .no_budget()
        .attempt_timeout(Duration::from_secs(10))
        .retry(Retry::fixed(Duration::from_millis(20)).max_retries(50));
    let pipeline = match name {
        AWAY => pipeline.breaker(Breaker::consecutive(2).open_for(OPEN_FOR)),
        _ => pipeline.no_breaker(),
    };
    Ok(Service::new(pipeline.build().map_err(|error| anyhow!("{error}"))?))
}

/// All workflows, over these books.
///
/// # Errors
/// A workflow that is not well-formed.
pub fn workflows(ledger: &Arc<Ledger>) -> Result<Workflows> {
    let mut all = Workflows::default();
    let services = [SERVICE, AWAY]
        .map(|name| Ok((name, service(name)?)))
        .into_iter()
        .collect::<Result<HashMap<_, _>>>()?;
    for definition in definitions()? {
        let code = |step: &Step| match step.asks_for() {
            Some(workflow) => {
                asking(all.get(workflow, 1).context("it is made after those that it asks for")?)
            }
            None => Ok(Code {
                undo: Some(handler(ledger, step.name())),
                ..Code::new(handler(ledger, step.name()))
            }),
        };
        let codes = definition.steps().iter().map(code).collect::<Result<_>>()?;
        let of = |step: &Step| match step.asks_for() {
            Some(_) => Ok(children()),
            None => services.get(step.service()).cloned().context("no such service"),
        };
        let services = definition.steps().iter().map(of).collect::<Result<_>>()?;
        let workflow = Workflow::new(definition, codes, services).map_err(|error| anyhow!(error))?;
        all.add(Arc::new(workflow)).map_err(|error| anyhow!(error))?;
    }
    Ok(all)
}

/// Asks for a task of this workflow with the same number.
fn asking(workflow: &Arc<Workflow>) -> Result<Code> {
    let input: ChildInput = Arc::new(|work: &Work| Ok(Payload::from(work.known.input())));
    let (run, undo) = child(workflow, &input, Arc::new(|_| Ok(())));
    Ok(Code { undo: Some(undo), child: Some(Arc::clone(workflow)), ..Code::new(run) })
}

fn handler(ledger: &Arc<Ledger>, step: &str) -> Arc<dyn Handler> {
    let (ledger, step) = (Arc::clone(ledger), step.to_owned());
    Arc::new(move |work: &Arc<Work>, _: Attempt| -> Answered {
        // What the service does happens here and now: an attempt that is cut off later cannot do it late.
        let answer = call(&ledger, &step, work);
        Box::pin(async move {
            match answer {
                Ok(Answer::Silence) => std::future::pending().await,
                Ok(Answer::Done) => Ok(Payload::from(b"1".as_slice())),
                // Nothing yet: that is how a handler says that its service took the work on.
                Ok(Answer::Later) => Ok(Payload::from(b"".as_slice())),
                Ok(Answer::No) => Err(Fault::terminal(Kind::BAD_REQUEST, "scripted")),
                Ok(Answer::NotNow) => Err(Fault {
                    verdict: Verdict::transient(Kind::OVERLOADED).without_effect(),
                    message: "scripted".to_owned(),
                }),
                Err(error) => Err(Fault {
                    verdict: Verdict::transient(Kind::CONNECTION_LOST),
                    message: format!("the ledger: {error:#}"),
                }),
            }
        })
    })
}

enum Answer {
    Done,
    Later,
    No,
    NotNow,
    Silence,
}

fn call(ledger: &Ledger, step: &str, work: &Work) -> Result<Answer> {
    let first = ledger.called(work)? == 0;
    let number = std::str::from_utf8(work.known.input())?.parse()?;
    let act = if work.undo { Act::Do } else { act_of(number, step) };
    match act {
        Act::Refuse => return Ok(Answer::No),
        Act::BusyFirst if first => return Ok(Answer::NotNow),
        Act::NotWhileAway if ledger.is_away(work)? => return Ok(Answer::NotNow),
        _ => ledger.done(work)?,
    }
    match act {
        Act::SilentFirst if first => return Ok(Answer::Silence),
        Act::LateFirst if first => tokio::task::block_in_place(hold),
        Act::DoAndCallBack => {
            if let Some(url) = work.callback {
                ledger.owes(url);
                return Ok(Answer::Later);
            }
        }
        _ => {}
    }
    Ok(Answer::Done)
}

/// Holds the thread until the attempt's time is over. An agent whose call only hangs sees its end coming, by its own clock,
/// and may just answer; this one cannot, so that the supervisor has to find it.
fn hold() {
    let (clock, began) = (Clock::system(), Clock::system().now());
    while clock.now().since(began) < COMPLETE_WITHIN + Duration::from_millis(30) {
        std::thread::park_timeout(Duration::from_millis(5));
    }
}
