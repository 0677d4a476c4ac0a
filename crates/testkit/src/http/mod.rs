//! Scripts over real HTTP/1.1 on loopback: a server that answers, and a proxy in front of one that exists (feature
//! `http`).
//!
//! ```
//! use std::time::Duration;
//! use steadfast_testkit::{Answer, Script, http::Server};
//!
//! # fn main() -> Result<(), steadfast_testkit::Error> {
//! let service = Server::start(Script::succeed())?; // in your tests: the real one
//! let stale = Script::answer(Answer::new().header("age", "86400").cut_body_after(1))?;
//! let proxy = Server::proxy(service.address(), stale.only_marked("x-fault", "on"))?;
//! println!("call {} instead of {}", proxy.url(), service.url());
//! # Ok(()) }
//! ```
//!
//! Time is real here. For waits of hours, and for exact ones, use a [`Service`](crate::Service) in process.

mod body;
mod door;
mod exchange;
mod host;
mod response;
mod upstream;

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc as blocking;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use steadfast_resilience::clock::{Clock, Moment};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::error::Error;
use crate::ledger::Ledger;
use crate::script::Script;
use exchange::Desk;
use host::{Command, Host};

/// The largest request body that a server reads, and the largest answer that a proxy holds to change its body: 8 MiB.
/// More than services take in one request, and small beside the memory of a machine that runs tests. A larger request
/// is answered with 413; what a proxy only passes on has no limit.
pub const MAX_BODY: usize = 8 * 1024 * 1024;

/// How long [`Server::ledger_when`] waits. Far longer than loopback takes, and shorter than the patience of test runners,
/// so that the failure shows the ledger.
pub const WAIT_LIMIT: Duration = Duration::from_secs(20);

/// A real HTTP/1.1 server that behaves as scripted, and writes down every request.
///
/// It runs on a thread of its own, so it needs no runtime and does not care about yours. When it is dropped it stops:
/// then its port is free, its connections are closed and its thread has ended.
pub struct Server {
    desk: Arc<Desk>,
    address: SocketAddr,
    runtime: Handle,
    /// `None` only while it is dropped.
    commands: Option<mpsc::UnboundedSender<Command>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// A server on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// [`Error::Listen`] or [`Error::Thread`], when the machine has no port or thread left.
    pub fn start(script: impl Into<Script>) -> Result<Self, Error> {
        Self::launch(ANY_PORT, None, script.into())
    }

    /// A server on an address of your choice, for programs that are told where to call before it starts.
    ///
    /// # Errors
    /// [`Error::Listen`] when that address cannot be had, or [`Error::Thread`].
    pub fn start_on(address: SocketAddr, script: impl Into<Script>) -> Result<Self, Error> {
        Self::launch(address, None, script.into())
    }

    /// A proxy on a free port of 127.0.0.1, in front of a real service. What the script calls success is passed on:
    ///
    /// | the script says | the proxy |
    /// |---|---|
    /// | succeed, slow | passes the call on, after the time |
    /// | [`Script::answer`] | passes it on, and changes the answer's status, headers or body |
    /// | [`Script::answer_lost`] | passes it on, and closes the connection instead of answering |
    /// | everything else | answers, hangs or closes itself; the upstream hears nothing |
    ///
    /// # Errors
    /// [`Error::Listen`] or [`Error::Thread`], when the machine has no port or thread left. An upstream that cannot be
    /// reached is found out by the requests: they are answered with 502.
    pub fn proxy(upstream: SocketAddr, script: impl Into<Script>) -> Result<Self, Error> {
        Self::launch(ANY_PORT, Some(upstream), script.into())
    }

    /// A proxy on an address of your choice, for environments whose services are told where to call.
    ///
    /// # Errors
    /// [`Error::Listen`] when that address cannot be had, or [`Error::Thread`].
    pub fn proxy_on(
        address: SocketAddr,
        upstream: SocketAddr,
        script: impl Into<Script>,
    ) -> Result<Self, Error> {
        Self::launch(address, Some(upstream), script.into())
    }

    fn launch(address: SocketAddr, upstream: Option<SocketAddr>, script: Script) -> Result<Self, Error> {
        let (started, has_started) = blocking::channel();
        // Each sender waits for its answer, so there are never more in it than threads that hold the server.
        let (commands, orders) = mpsc::unbounded_channel();
        let thread = thread::Builder::new()
            .name("steadfast-testkit".to_owned())
            .spawn(move || host::live(address, upstream, script, orders, &started))
            .map_err(Error::Thread)?;
        let host = has_started.recv().unwrap_or_else(|gone| Err(Error::Thread(io::Error::other(gone))))?;
        let Host { desk, address, runtime } = host;
        Ok(Self { desk, address, runtime, commands: Some(commands), thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it listens, as `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Follows another script from now on. Requests under way stay as they were decided.
    pub fn follow(&self, script: impl Into<Script>) {
        self.desk.player.follow(script.into(), self.now());
        self.tell(Command::Look);
    }

    /// Refuses connections from now on, and closes those there are, also of requests that hang. Done when it returns.
    /// The port is kept.
    pub fn switch_off(&self) {
        self.desk.player.switch(true);
        self.tell(Command::BreakOff);
    }

    /// Takes connections again, on the same port.
    pub fn switch_on(&self) {
        self.desk.player.switch(false);
        self.tell(Command::Look);
    }

    /// What has happened so far. A request ends with the last byte of its answer, so whoever has read an answer finds it
    /// here; that a caller has left is noticed a moment later: see [`ledger_when`](Self::ledger_when).
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        self.desk.book.ledger()
    }

    /// The ledger, as soon as this is true of it. Works on any executor.
    ///
    /// # Panics
    /// If it is not true within [`WAIT_LIMIT`], with the whole ledger.
    pub async fn ledger_when(&self, is_true: impl Fn(&Ledger) -> bool) -> Ledger {
        let mut changes = self.desk.book.watch();
        // On the server's own timer: the caller's may be paused.
        let limit = self.runtime.spawn(async { Clock::tokio().sleep(WAIT_LIMIT).await });
        let mut limit = std::pin::pin!(limit);
        loop {
            changes.mark_unchanged();
            let ledger = self.ledger();
            if is_true(&ledger) {
                limit.abort();
                return ledger;
            }
            tokio::select! {
                _ = changes.changed() => {}
                _ = &mut limit => panic!("what was waited for did not happen within {WAIT_LIMIT:?}\n\n{}", self.ledger()),
            }
        }
    }

    /// The time on the server's clock, which is tokio's: that of its own runtime, not of the caller's.
    fn now(&self) -> Moment {
        let _guard = self.runtime.enter();
        self.desk.book.clock().now()
    }

    /// Tells the server's thread and waits until it has done it. On that very thread, where a script's predicate runs,
    /// waiting would never end: then it is done a moment later.
    fn tell(&self, command: impl FnOnce(blocking::Sender<()>) -> Command) {
        let (done, is_done) = blocking::channel();
        let sent = self.commands.as_ref().is_some_and(|commands| commands.send(command(done)).is_ok());
        if sent && !self.is_own_thread() {
            let _ = is_done.recv();
        }
    }

    fn is_own_thread(&self) -> bool {
        self.thread.as_ref().is_some_and(|own| own.thread().id() == thread::current().id())
    }
}

const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

impl Drop for Server {
    fn drop(&mut self) {
        // Without anybody to tell it something, the server ends.
        drop(self.commands.take());
        if !self.is_own_thread()
            && let Some(thread) = self.thread.take()
        {
            // It waits for nobody, so this takes a moment, also inside of a runtime. A panic of it was shown already.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("address", &self.address)
            .field("upstream", &self.desk.upstream)
            .finish_non_exhaustive()
    }
}
