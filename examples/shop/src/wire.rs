//! A small HTTP/1.1 server on loopback, for the services and the storefront. It is here so that a service can break off
//! without an answer, which frameworks do not let one do.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::Value;
use steadfast_resilience::clock::Clock;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinHandle, JoinSet};

use crate::error::Error;

/// The largest request: an order with room to spare.
const MAX_BODY: usize = 16 << 10;
/// Connections at a time: all that the engine may have, and dozens of open pages. Others wait to be accepted.
const MAX_CONNECTIONS: usize = 256;
/// How long a request may take to come in: who drips has no place for long.
const READ_WITHIN: Duration = Duration::from_secs(10);
/// Wait after a failed `accept`, such as too many open files: they need a moment to close.
const ACCEPT_AGAIN: Duration = Duration::from_millis(10);

pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// The connection is closed instead of an answer.
#[derive(Debug)]
pub(crate) struct BreakOff;

impl fmt::Display for BreakOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("broken off, as scripted")
    }
}

impl std::error::Error for BreakOff {}

/// Answers requests.
pub(crate) trait Handle: Send + Sync + 'static {
    fn handle(
        &self,
        request: Request<Bytes>,
    ) -> impl Future<Output = Result<Response<Body>, BreakOff>> + Send;
}

/// A running server; it stops, with its connections, when dropped.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

/// A port that was taken. Connections wait until it is [served](Self::serve).
#[derive(Debug)]
pub(crate) struct Door {
    listener: TcpListener,
    pub(crate) address: SocketAddr,
}

impl Door {
    /// Takes a port of 127.0.0.1; 0 is any free one.
    pub(crate) async fn take(port: u16) -> Result<Self, Error> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let failed = |source| Error::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address })
    }

    pub(crate) fn serve(self, handler: Arc<impl Handle>) -> Server {
        Server { address: self.address, accepting: tokio::spawn(accept(self.listener, handler)) }
    }
}

impl Server {
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, handler: Arc<impl Handle>) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut open = JoinSet::new();
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        while open.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((caller, _)) => drop(open.spawn(converse(caller, Arc::clone(&handler), place))),
            Err(_) => Clock::tokio().sleep(ACCEPT_AGAIN).await,
        }
    }
}

/// Talks with one caller. What goes wrong is the caller's to notice.
async fn converse(caller: TcpStream, handler: Arc<impl Handle>, _place: OwnedSemaphorePermit) {
    // Answers are small, and somebody waits for each.
    let _ = caller.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| {
        let handler = Arc::clone(&handler);
        async move {
            match whole(request).await {
                Ok(request) => handler.handle(request).await,
                Err(refusal) => Ok(refusal),
            }
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(READ_WITHIN);
    let _ = builder.serve_connection(TokioIo::new(caller), service).await;
}

/// A request with its body, or what is wrong with that.
async fn whole(request: Request<Incoming>) -> Result<Request<Bytes>, Response<Body>> {
    let (head, body) = request.into_parts();
    tokio::select! {
        read = Limited::new(body, MAX_BODY).collect() => match read {
            Ok(body) => Ok(Request::from_parts(head, body.to_bytes())),
            Err(_) => {
                let words = format!("the body is larger than {MAX_BODY} bytes, or broke off\n");
                Err(text(StatusCode::PAYLOAD_TOO_LARGE, words))
            }
        },
        () = Clock::tokio().sleep(READ_WITHIN) => {
            let words = format!("the body did not come within {} s\n", READ_WITHIN.as_secs());
            Err(text(StatusCode::REQUEST_TIMEOUT, words))
        }
    }
}

/// An answer of this type.
pub(crate) fn answer(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Full::new(body.into()).boxed_unsync());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

pub(crate) fn text(status: StatusCode, words: impl Into<Bytes>) -> Response<Body> {
    answer(status, "text/plain; charset=utf-8", words)
}

pub(crate) fn json(status: StatusCode, body: &Value) -> Response<Body> {
    answer(status, "application/json", body.to_string())
}
