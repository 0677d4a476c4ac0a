//! The three services behind the shop: small HTTP servers with a ledger each, which misbehave as they are told.
//!
//! Every request that changes something carries an `Idempotency-Key`. The ledger says what was done; the calls that came in are
//! counted apart from it, whether or not they were answered.

mod inventory;
mod payments;
mod shipping;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::body::Bytes;
use hyper::header::{HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, Response, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use steadfast_resilience::clock::{Clock, Moment};

use crate::error::Error;
use crate::ledger::{Answer, Entry, Ledger};
use crate::mood::{Mood, Script};
use crate::wire::{self, Body, BreakOff, Door, Handle, Server};

/// The most calls whose times are kept; the oldest go first. Hours of the story's traffic.
const MAX_CALLS: usize = 200_000;
/// The longest key that is taken.
const MAX_KEY: usize = 255;
/// How many entries `GET /ledger` shows, the newest.
const SHOWN: usize = 100;

/// Which of the three it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reserves and releases.
    Inventory,
    /// Charges and refunds.
    Payments,
    /// Ships and cancels.
    Shipping,
}

impl Kind {
    /// All of them, in the order in which an order meets them.
    pub const ALL: [Self; 3] = [Self::Inventory, Self::Payments, Self::Shipping];

    /// Its name, as workflows call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inventory => "inventory",
            Self::Payments => "payments",
            Self::Shipping => "shipping",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    fn answer(self, ledger: &mut Ledger, asked: &Asked<'_>) -> Answer {
        match self {
            Self::Inventory => inventory::answer(ledger, asked),
            Self::Payments => payments::answer(ledger, asked),
            Self::Shipping => shipping::answer(ledger, asked),
        }
    }
}

/// What a service is asked for.
struct Asked<'r> {
    method: &'r Method,
    /// The parts of the path.
    path: Vec<&'r str>,
    key: &'r str,
    body: &'r Value,
}

impl Asked<'_> {
    /// The body as what it should be, or the refusal that says what was expected.
    fn read<T: DeserializeOwned>(&self) -> Result<T, Answer> {
        serde_json::from_value(self.body.clone())
            .map_err(|error| Answer::refusal(400, format!("the body is not what was expected: {error}")))
    }

    fn unknown(&self) -> Answer {
        let path = self.path.join("/");
        Answer::refusal(404, format!("there is nothing for {} at /{path}", self.method))
    }
}

/// A running service; it stops when dropped.
#[derive(Debug)]
pub struct Service {
    desk: Arc<Desk>,
    server: Server,
}

#[derive(Debug)]
struct Desk {
    kind: Kind,
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    script: Script,
    /// When the script began.
    since: Moment,
    ledger: Ledger,
    calls: VecDeque<Moment>,
}

impl Service {
    /// Starts one on a port of 127.0.0.1; 0 is any free one.
    ///
    /// # Errors
    /// The port cannot be had.
    pub async fn start(kind: Kind, port: u16) -> Result<Self, Error> {
        let clock = Clock::tokio();
        let state = State {
            script: Script::always(Mood::Well),
            since: clock.now(),
            ledger: Ledger::default(),
            calls: VecDeque::new(),
        };
        let desk = Arc::new(Desk { kind, clock, state: Mutex::new(state) });
        let server = Door::take(port).await?.serve(Arc::clone(&desk));
        Ok(Self { desk, server })
    }

    /// Which one it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.desk.kind
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Where it listens, as `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Behaves like this from now on.
    pub fn set(&self, mood: Mood) {
        self.follow(Script::always(mood), self.desk.clock.now());
    }

    /// Follows this script, which has begun at that time.
    pub fn follow(&self, script: Script, since: Moment) {
        let mut state = self.desk.state();
        (state.script, state.since) = (script, since);
    }

    /// How it behaves now.
    #[must_use]
    pub fn mood(&self) -> Mood {
        self.desk.state().mood(self.desk.clock.now())
    }

    /// Does everything again that it is asked for again: a mistake that services make, for showing that it is found.
    pub fn ignore_keys(&self, ignores: bool) {
        self.desk.state().ledger.ignore_keys(ignores);
    }

    /// All that it has ever done.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        self.desk.state().ledger.entries().to_vec()
    }

    /// How often something was asked for again, and answered as before.
    #[must_use]
    pub fn repeats(&self) -> u64 {
        self.desk.state().ledger.repeats()
    }

    /// When calls came in, answered or not, the oldest first, on [`Clock::tokio`].
    #[must_use]
    pub fn calls(&self) -> Vec<Moment> {
        self.desk.state().calls.iter().copied().collect()
    }
}

impl State {
    fn mood(&self, now: Moment) -> Mood {
        self.script.mood_at(now.since(self.since))
    }
}

impl Desk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call, and says what it meets.
    fn arrived(&self) -> Mood {
        let now = self.clock.now();
        let mut state = self.state();
        if state.calls.len() >= MAX_CALLS {
            state.calls.pop_front();
        }
        state.calls.push_back(now);
        state.mood(now)
    }

    /// Does what it is asked for.
    fn act(&self, request: &Request<Bytes>) -> Response<Body> {
        let answer = self.answer(request);
        let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        wire::json(status, &answer.body)
    }

    fn answer(&self, request: &Request<Bytes>) -> Answer {
        let key = request.headers().get("idempotency-key").and_then(|key| key.to_str().ok());
        let Some(key) = key.filter(|key| !key.is_empty() && key.len() <= MAX_KEY) else {
            let words = format!("give an `Idempotency-Key` of 1 to {MAX_KEY} letters");
            return Answer::refusal(400, words);
        };
        let body = match request.body() {
            none if none.is_empty() => Value::Null,
            bytes => match serde_json::from_slice(bytes) {
                Ok(body) => body,
                Err(error) => return Answer::refusal(400, format!("the body is no JSON: {error}")),
            },
        };
        let path = request.uri().path().split('/').filter(|part| !part.is_empty()).collect();
        let asked = Asked { method: request.method(), path, key, body: &body };
        self.kind.answer(&mut self.state().ledger, &asked)
    }

    /// The newest entries, for people who look.
    fn shown(&self) -> Value {
        let state = self.state();
        let entries = state.ledger.entries();
        let newest: Vec<_> = entries.iter().rev().take(SHOWN).collect();
        let standing = entries.iter().filter(|entry| !entry.taken_back).count();
        json!({
            "service": self.kind.name(),
            "mood": state.mood(self.clock.now()).name(),
            "made": entries.len(),
            "standing": standing,
            "answered_as_before": state.ledger.repeats(),
            "newest": newest,
        })
    }
}

impl Handle for Desk {
    async fn handle(&self, request: Request<Bytes>) -> Result<Response<Body>, BreakOff> {
        // For people: it is not counted, and answers in every mood.
        if request.method() == Method::GET && request.uri().path() == "/ledger" {
            return Ok(wire::json(StatusCode::OK, &self.shown()));
        }
        match self.arrived() {
            Mood::Well => Ok(self.act(&request)),
            Mood::Slow(wait) => {
                let answer = self.act(&request);
                self.clock.sleep(wait).await;
                Ok(answer)
            }
            Mood::Mute => {
                self.act(&request);
                Err(BreakOff)
            }
            Mood::Down => Err(BreakOff),
            Mood::Busy(wait) => Ok(busy(wait)),
            Mood::Hanging => std::future::pending().await,
        }
    }
}

/// Asks to be left alone, in whole seconds: a wait is never shortened.
fn busy(wait: Duration) -> Response<Body> {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let answer = Answer::refusal(503, "too much to do: come again later");
    let mut response = wire::json(StatusCode::SERVICE_UNAVAILABLE, &answer.body);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}
