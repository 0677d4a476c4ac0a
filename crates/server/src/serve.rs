//! The door: connections in, and in the end no more.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioTimer;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use crate::code::Code;
use crate::limits::Limits;
use crate::state::State;
use crate::unread::Unread;

/// How long nobody is let in after the system could not: it has too many open files, and others have to close theirs.
const AFTER_FAULT: Duration = Duration::from_millis(100);
/// The most headers of a request: browsers send twenty.
const MOST_HEADERS: usize = 100;
/// The most bytes of the head of a request, and of what is read ahead of its body.
const BUFFER: usize = 64 << 10;

/// Refuses an address that others than this machine could reach: there is no authentication yet.
///
/// # Errors
/// Why, and what to do.
pub fn check_address(address: SocketAddr) -> io::Result<()> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    let words = format!(
        "cannot listen on {address}: others could reach it, and the server does not yet ask who they are; use 127.0.0.1 or \
         ::1, with a proxy in front that does [{}]",
        Code::NotLoopback
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, words))
}

/// Serves a router on a listener until `shutdown` is ready. Then nobody is let in any more, requests under way may end within
/// [`Limits::grace`], and the rest is cut off. Streams, and those who wait for the end of a task, end when the state is told to stop.
///
/// # Errors
/// An address that others could reach.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    state: State,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    check_address(listener.local_addr()?)?;
    let limits = *state.limits();
    let places = Arc::new(Semaphore::new(limits.most_connections.min(Semaphore::MAX_PERMITS)));
    let graceful = GracefulShutdown::new();
    let builder = http1(&limits);
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &places) => accepted,
            // Those that have ended are forgotten.
            Some(_) = connections.join_next() => continue,
            () = &mut shutdown => break,
        };
        match accepted {
            Ok((stream, place)) => {
                let service = TowerToHyperService::new(router.clone());
                let stream = Unread::new(stream, state.clock().clone(), limits.unread_within);
                let connection = builder.serve_connection(stream, service);
                let connection = graceful.watch(connection);
                connections.spawn(async move {
                    // A client that goes away, or talks nonsense, is no news.
                    if let Err(error) = connection.await {
                        tracing::debug!(%error, "a connection broke");
                    }
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "nobody can be let in for a moment");
                state.clock().sleep(AFTER_FAULT).await;
            }
        }
    }
    drop(listener);
    // When this returns, those that are left are dropped with the set.
    tokio::select! {
        () = graceful.shutdown() => {}
        () = state.clock().sleep(limits.grace) => {
            tracing::warn!(connections = connections.len(), "requests were cut off that took longer than the grace");
        }
    }
    Ok(())
}

/// Lets somebody in, once there is a place.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(TcpStream, Option<OwnedSemaphorePermit>)> {
    // It is never closed.
    let place = Arc::clone(places).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Answers are small, and each is waited for.
                let _ = stream.set_nodelay(true);
                return Ok((stream, place));
            }
            // Somebody who went away before the door was open.
            Err(error) if is_theirs(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

fn is_theirs(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

fn http1(limits: &Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits.head_within);
    builder.max_headers(MOST_HEADERS).max_buf_size(BUFFER);
    builder
}
