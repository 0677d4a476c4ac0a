//! One run of the script: the service, the callers and the show side by side, and the numbers at the end.
//! It listens to the breaker; it decides nothing.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use steadfast_resilience::breaker::{Change, State};

use super::client::{Calls, Client};
use super::contender::Contender;
use super::live;
use super::script::{Mode, Script};
use super::service::{Seen, Service};
use crate::clock::Stopwatch;
use crate::talk;

/// How a run went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) calls: Calls,
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
}

/// What listeners note down of a breaker's changes.
#[derive(Debug, Default)]
struct Log {
    trips: u32,
    failed_probes: u32,
    closed_at: Option<Duration>,
}

impl Log {
    fn add(&mut self, change: &Change, at: Duration) {
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
    let service = Service::start().await?;
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
        direct(&client, &service),
        client.make_calls(rate),
    );
    let log = log.lock().unwrap_or_else(PoisonError::into_inner);
    let breaker = client.pipeline.breaker().map(|breaker| circuit(&log, breaker.state(), script));
    Ok(Outcome { calls: client.calls(), seen: service.seen(), breaker })
}

/// Takes the service down and brings it back.
async fn direct(client: &Client, service: &Service) {
    for (at, mode, words) in [
        (client.script.down_at(), Mode::Down, "The service goes down: it hangs up on every caller."),
        (client.script.back_at(), Mode::Up, "The service is up again."),
    ] {
        client.watch.wait_until(at).await;
        service.switch(mode);
        talk::note(client.watch.elapsed(), words);
    }
}

fn circuit(log: &Log, state: State, script: Script) -> Circuit {
    Circuit {
        state,
        trips: log.trips,
        failed_probes: log.failed_probes,
        closed_after: log.closed_at.and_then(|at| at.checked_sub(script.back_at())),
    }
}
