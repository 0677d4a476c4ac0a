//! A service behind a real socket, and its callers' connections.
//!
//! What it sees it writes down itself, in the ledger of the test kit. Of connections that are refused it sees nothing: those
//! are counted where they are made.

use std::sync::{Arc, Mutex};

use anyhow::Result;
use http_body_util::{BodyExt as _, Empty};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use steadfast::Failure;
use steadfast_testkit::http::Server;
use steadfast_testkit::{Ending, Script};
use tokio::net::TcpStream;

use super::remote::{Watch, locked};
use super::{Away, Call, Plan};

type Connection = SendRequest<Empty<Bytes>>;

/// A scripted service on loopback, and a pool of connections to it.
#[derive(Clone)]
pub(super) struct Wire {
    server: Arc<Server>,
    /// When the server's time began, in seconds of the drill.
    from: f64,
    up: Script,
    watch: Watch,
    /// Connections that nobody uses.
    idle: Arc<Mutex<Vec<Connection>>>,
    refused: Arc<Mutex<Vec<Call>>>,
    sent: Arc<Mutex<Vec<f64>>>,
}

impl Wire {
    pub(super) fn start(plan: &Plan, watch: &Watch) -> Result<Self> {
        let up = Script::from(Script::slow(plan.call));
        let server = Arc::new(Server::start(up.clone())?);
        let (from, watch) = (watch.at(), watch.clone());
        let (idle, refused, sent) = (Arc::default(), Arc::default(), Arc::default());
        Ok(Self { server, from, up, watch, idle, refused, sent })
    }

    pub(super) fn set(&self, away: Option<Away>) {
        match away {
            Some(Away::Refusing) => self.server.switch_off(),
            Some(Away::Hanging) => self.server.follow(Script::hang()),
            None => {
                self.server.follow(self.up.clone());
                self.server.switch_on();
            }
        }
    }

    pub(super) async fn call(self, key: String) -> Result<(), Failure> {
        let sent = self.watch.at();
        locked(&self.sent).push(sent);
        let mut connection = match self.idle_connection() {
            Some(idle) => idle,
            None => match self.connect().await {
                Ok(new) => new,
                Err(error) => {
                    locked(&self.refused).push(Call { began: sent, key, done: false });
                    return Err(Failure::refused("unreachable", error));
                }
            },
        };
        let request =
            Request::post("/reservations").header("host", "warehouse").header("idempotency-key", key);
        let request = request.body(Empty::new()).map_err(lost)?;
        let answer = connection.send_request(request).await.map_err(lost)?;
        let status = answer.status();
        answer.into_body().collect().await.map_err(lost)?;
        locked(&self.idle).push(connection);
        match status.is_success() {
            true => Ok(()),
            false => Err(Failure::transient("server-error", status)),
        }
    }

    /// The one that was used last, unless it was closed meanwhile.
    fn idle_connection(&self) -> Option<Connection> {
        let mut idle = locked(&self.idle);
        std::iter::from_fn(|| idle.pop()).find(Connection::is_ready)
    }

    async fn connect(&self) -> Result<Connection> {
        let stream = TcpStream::connect(self.server.address()).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // It ends with its sender, or when the service closes it; what goes wrong shows there.
        drop(tokio::spawn(connection));
        Ok(sender)
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        let ledger = self.server.ledger();
        let call = |entry: &steadfast_testkit::Entry| Call {
            began: self.from + entry.began().as_secs_f64(),
            key: entry.key().unwrap_or_default().to_owned(),
            done: entry.ending() == Ending::Answered(200),
        };
        let mut calls: Vec<_> = ledger.entries().iter().map(call).collect();
        calls.append(&mut locked(&self.refused));
        calls
    }

    pub(super) fn sent(&self) -> Vec<f64> {
        let mut sent = std::mem::take(&mut *locked(&self.sent));
        sent.sort_by(f64::total_cmp);
        sent
    }
}

/// Whether the service did something is not known.
fn lost(error: impl std::fmt::Display) -> Failure {
    Failure::transient("connection-lost", error)
}
