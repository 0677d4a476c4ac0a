//! One request of one caller: what the script says, done on the wire.

use std::fmt;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::{Response, StatusCode};
use tokio::sync::Notify;

use super::MAX_BODY;
use super::body::Outgoing;
use super::response;
use super::upstream::{self, Trouble};
use crate::ledger::{Book, Ending, Open};
use crate::player::Player;
use crate::reply::PLAIN_BODY;
use crate::request::Request;
use crate::script::{Answer, Behaviour, Decision};

/// What all connections of a server share.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) player: Player,
    pub(super) book: Arc<Book>,
    /// Where plain answers come from: the upstream, or here.
    pub(super) upstream: Option<SocketAddr>,
    /// A call may have brought the script to a part in which the door is shut.
    pub(super) moved_on: Notify,
}

/// The connection is to be closed without an answer. An error is how hyper is told to.
#[derive(Debug)]
pub(super) struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("closed without an answer, as scripted")
    }
}

impl std::error::Error for Closed {}

type Answered = Result<Response<Outgoing>, Closed>;

impl Desk {
    pub(super) async fn serve(&self, incoming: hyper::Request<Incoming>) -> Answered {
        let now = self.book.clock().now();
        let (decision, entry) =
            self.book.open_with(written_down(&incoming), now, |request| self.player.next(request, now));
        self.moved_on.notify_one();
        match (&decision.behaviour, self.upstream) {
            // Without reading on: nobody is there.
            (Behaviour::Refuse, _) => {
                self.pause(decision.delay).await;
                entry.close(Ending::Refused);
                Err(Closed)
            }
            (Behaviour::Succeed | Behaviour::Answer(_) | Behaviour::LoseAnswer, Some(upstream)) => {
                self.pause(decision.delay).await;
                forward(incoming, entry, upstream, &decision.behaviour).await
            }
            _ => self.act(incoming, entry, &decision).await,
        }
    }

    /// Answers, or does not, without asking anybody.
    async fn act(&self, incoming: hyper::Request<Incoming>, entry: Open, decision: &Decision) -> Answered {
        let (head, body) = incoming.into_parts();
        match read(body, &entry).await {
            Read::Whole => {}
            Read::TooLarge => {
                return Ok(response::finish(response::too_large(), entry, &head.method, &Answer::new()));
            }
            // Nobody is there to be answered: dropping the entry says so.
            Read::BrokenOff => return Err(Closed),
        }
        self.pause(decision.delay).await;
        let plain = Answer::new();
        let (response, answer) = match &decision.behaviour {
            Behaviour::Hang => pending().await,
            Behaviour::Drop | Behaviour::LoseAnswer | Behaviour::Refuse => {
                entry.close(Ending::Dropped);
                return Err(Closed);
            }
            Behaviour::Succeed => (response::plain(StatusCode::OK, PLAIN_BODY), &plain),
            Behaviour::Fail(verdict) => (response::failure(verdict), &plain),
            Behaviour::Answer(answer) => {
                let response = response::plain(StatusCode::OK, answer.body_of(PLAIN_BODY));
                (response::changed(response, answer), answer.as_ref())
            }
        };
        Ok(response::finish(response, entry, &head.method, answer))
    }

    async fn pause(&self, delay: Duration) {
        if !delay.is_zero() {
            self.book.clock().sleep(delay).await;
        }
    }
}

/// Passes the request on, and the answer back with its changes.
async fn forward(
    incoming: hyper::Request<Incoming>,
    entry: Open,
    upstream: SocketAddr,
    behaviour: &Behaviour,
) -> Answered {
    let method = incoming.method().clone();
    let asked = upstream::ask(incoming, upstream, entry.taker()).await;
    if matches!(behaviour, Behaviour::LoseAnswer) && asked.is_ok() {
        entry.close(Ending::Dropped);
        return Err(Closed);
    }
    let answer = match behaviour {
        Behaviour::Answer(answer) => answer.as_ref(),
        _ => &Answer::new(),
    };
    let passed = match asked {
        Ok(response) => upstream::with_body_of(answer, response).await,
        Err(error) => Err(error),
    };
    match passed {
        Ok(response) => Ok(response::finish(response::changed(response, answer), entry, &method, answer)),
        // Nobody is there to be answered: dropping the entry says so.
        Err(Trouble::CallerLeft) => Err(Closed),
        Err(Trouble::Upstream(error)) => {
            entry.close(Ending::NoUpstream);
            Ok(response::no_upstream(upstream, &error))
        }
    }
}

/// How the reading of a body ended.
enum Read {
    Whole,
    TooLarge,
    BrokenOff,
}

/// Reads the body into the ledger.
async fn read(mut body: Incoming, entry: &Open) -> Read {
    let mut size = 0;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return Read::BrokenOff };
        let Some(data) = frame.data_ref() else { continue };
        size += data.len();
        entry.took(data);
        if size > MAX_BODY {
            return Read::TooLarge;
        }
    }
    Read::Whole
}

/// The head of a request as scripts and the ledger see it.
fn written_down(incoming: &hyper::Request<Incoming>) -> Request {
    let path = incoming.uri().path_and_query().map_or("/", |path| path.as_str());
    let request = Request::new(incoming.method().as_str(), path);
    incoming.headers().iter().fold(request, |request, (name, value)| {
        request.with_header(name.as_str(), String::from_utf8_lossy(value.as_bytes()))
    })
}
