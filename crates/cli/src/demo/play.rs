//! One run of the script: the service, the callers and the show side by side, and the numbers at the end.
//! It listens to the breaker; it decides nothing.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use steadfast_resilience::breaker::{Change, State};

use super::client::{Calls, Client};
use super::contender::Contender;
use super::ledger::Seen;
use super::live;
use super::recovery::Recovery;
use super::script::{Mode, Script};
use super::service::Service;
use crate::clock::Stopwatch;
use crate::talk;

/// How a run went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) calls: Calls,
    pub(crate) recovery: Recovery,
    pub(crate) seen: Seen,
    /// `None` without a breaker.
    pub(crate) breaker: Option<Circuit>,
}

/// What the breaker did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circuit {
    pub(crate) state: State,
    pub(crate) trips: u32,
    pub(crate) failed_probes: u32,
    /// From the service's return until the breaker closed; `None` if it did not.
    pub(crate) closed_after: Option<Duration>,
    /// How long it was open before its last probes.
    pub(crate) last_open: Option<Duration>,
}

/// What listeners note down of a breaker's changes.
#[derive(Debug, Default)]
struct Log {
    trips: u32,
    failed_probes: u32,
    closed_at: Option<Duration>,
    last_open: Option<Duration>,
}

impl Log {
    fn add(&mut self, change: &Change, at: Duration) {
        self.last_open = change.open_for.or(self.last_open);
        match (change.from, change.to) {
            (State::HalfOpen, State::Open) => self.failed_probes += 1,
            (_, State::Open) => self.trips += 1,
            (_, State::Closed) => self.closed_at = Some(at),
            _ => {}
        }
    }
}

/// Plays the script once.
pub(crate) async fn play(script: Script, rate: u32, contender: Contender) -> Result<Outcome> {
    let service = Service::start(script.service_time(rate)).await?;
    let pipeline = contender.pipeline(script)?;
    let watch = Stopwatch::start();
    let log = Arc::new(Mutex::new(Log::default()));
    if let Some(breaker) = pipeline.breaker() {
        let (log, watch) = (Arc::clone(&log), watch.clone());
        breaker.on_change(move |change| {
            let at = watch.since_start(change.at);
            talk::note(at, &change.to_string());
            log.lock().unwrap_or_else(PoisonError::into_inner).add(change, at);
        });
    }
    let client = Client::new(pipeline, service.address(), script, watch);
    // The show comes first: a half second that ends as the service is switched belongs before it.
    tokio::join!(
        biased;
        live::show(&client, &service, rate),
        direct(&client, &service, script.service_time(rate)),
        client.make_calls(rate),
    );
    let log = log.lock().unwrap_or_else(PoisonError::into_inner);
    let breaker = client.pipeline.breaker().map(|breaker| circuit(&log, breaker.state(), script));
    Ok(Outcome { calls: client.calls(), recovery: client.recovery(), seen: service.seen(), breaker })
}

/// Takes the service down and brings it back.
async fn direct(client: &Client, service: &Service, service_time: Duration) {
    let (script, watch) = (client.script, &client.watch);
    watch.wait_until(script.down_at()).await;
    service.switch(Mode::Down);
    talk::note(watch.elapsed(), "The service goes down: it takes requests in, and answers none.");
    watch.wait_until(script.back_at()).await;
    service.switch(Mode::Up);
    let waiting = service.seen().waiting();
    let work = service_time.as_secs_f64() * f64::from(u32::try_from(waiting).unwrap_or(u32::MAX));
    let words = format!("The service is up again. {waiting} requests wait in its queue: {work:.1}s of work.");
    talk::note(watch.elapsed(), &words);
}

fn circuit(log: &Log, state: State, script: Script) -> Circuit {
    Circuit {
        state,
        trips: log.trips,
        failed_probes: log.failed_probes,
        closed_after: log.closed_at.and_then(|at| at.checked_sub(script.back_at())),
        last_open: log.last_open,
    }
}
