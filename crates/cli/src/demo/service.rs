//! A real service on a local port: one line asks, one line answers. It keeps a ledger of what it carried out.
//! The ledger is the show's auditor: it counts what reached the service, whatever the callers believe.

use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::script::Mode;
use crate::clock::pause;

/// While up, the answer to one in this many new requests is lost on its way, after the work was done. It is the first
/// reason for retries, and the reason for idempotency keys.
pub(crate) const LOSES_ONE_IN: u64 = 50;

/// The longest request: a verb and a key of 32 digits, with room to spare. Strangers on the port cannot fill memory.
pub(crate) const MAX_LINE: u64 = 128;

/// Wait after a failed `accept`, such as too many open files: they need a moment to close.
const ACCEPT_AGAIN: Duration = Duration::from_millis(10);

/// The running service; it stops when dropped.
#[derive(Debug)]
pub(crate) struct Service {
    address: SocketAddr,
    ledger: Arc<Mutex<Ledger>>,
    accepting: JoinHandle<()>,
}

/// What the service saw.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// Requests that came in.
    pub(crate) requests: u64,
    /// Those that came in while it was down.
    pub(crate) while_down: u64,
    /// Operations carried out, each key once.
    pub(crate) carried_out: u64,
    /// Requests whose key had been carried out before: answered, and not carried out again.
    pub(crate) repeats: u64,
}

#[derive(Debug)]
struct Ledger {
    mode: Mode,
    /// New requests since it last came up.
    taken: u64,
    done: HashSet<String>,
    seen: Seen,
}

#[derive(Debug, PartialEq, Eq)]
enum Reply {
    Ok,
    HangUp,
}

impl Service {
    pub(crate) async fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .context("cannot listen on 127.0.0.1: the demo needs one free local port")?;
        let address = listener.local_addr().context("cannot find out the port of the demo's service")?;
        let ledger = Arc::new(Mutex::new(Ledger::new()));
        let accepting = tokio::spawn(accept(listener, Arc::clone(&ledger)));
        Ok(Self { address, ledger, accepting })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn switch(&self, mode: Mode) {
        let mut ledger = lock(&self.ledger);
        ledger.mode = mode;
        ledger.taken = 0;
    }

    pub(crate) fn seen(&self) -> Seen {
        lock(&self.ledger).seen
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Ledger {
    fn new() -> Self {
        Self { mode: Mode::Up, taken: 0, done: HashSet::new(), seen: Seen::default() }
    }

    /// Decides what becomes of a request, and writes it down.
    fn take(&mut self, key: &str) -> Reply {
        self.seen.requests += 1;
        if self.mode == Mode::Down {
            self.seen.while_down += 1;
            return Reply::HangUp;
        }
        if self.done.contains(key) {
            self.seen.repeats += 1;
            return Reply::Ok;
        }
        self.done.insert(key.to_owned());
        self.seen.carried_out += 1;
        self.taken += 1;
        // In the middle of each such row, so that the first probes after an outage are not the ones to suffer.
        if self.taken % LOSES_ONE_IN == LOSES_ONE_IN / 2 { Reply::HangUp } else { Reply::Ok }
    }
}

fn lock(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, ledger: Arc<Mutex<Ledger>>) {
    loop {
        match listener.accept().await {
            Ok((caller, _)) => drop(tokio::spawn(serve(caller, Arc::clone(&ledger)))),
            Err(_) => pause(ACCEPT_AGAIN).await,
        }
    }
}

/// Serves one caller. What goes wrong is the caller's to notice.
async fn serve(mut caller: TcpStream, ledger: Arc<Mutex<Ledger>>) {
    let (asking, mut answering) = caller.split();
    let mut line = String::new();
    if BufReader::new(asking.take(MAX_LINE)).read_line(&mut line).await.is_err() {
        return;
    }
    let Some(key) = line.trim_end().strip_prefix("DO ") else { return };
    let reply = lock(&ledger).take(key);
    if reply == Reply::Ok {
        let _ = answering.write_all(format!("OK {key}\n").as_bytes()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_key_is_answered_and_not_carried_out_again() {
        let mut ledger = Ledger::new();
        assert_eq!(ledger.take("a"), Reply::Ok);
        assert_eq!(ledger.take("a"), Reply::Ok);
        assert_eq!((ledger.seen.requests, ledger.seen.carried_out, ledger.seen.repeats), (2, 1, 1));
    }

    #[test]
    fn a_lost_answer_is_work_done() {
        let mut ledger = Ledger::new();
        let lost: Vec<_> =
            (0..100).map(|n| n.to_string()).filter(|key| ledger.take(key) == Reply::HangUp).collect();
        assert_eq!(lost, ["24", "74"]);
        assert_eq!(ledger.seen.carried_out, 100);
        assert_eq!(ledger.take("24"), Reply::Ok, "tried again, it is recognised");
        assert_eq!(ledger.seen.repeats, 1);
    }

    #[test]
    fn while_down_nothing_is_carried_out() {
        let mut ledger = Ledger { mode: Mode::Down, ..Ledger::new() };
        assert_eq!(ledger.take("a"), Reply::HangUp);
        assert_eq!((ledger.seen.while_down, ledger.seen.carried_out), (1, 0));
    }
}
