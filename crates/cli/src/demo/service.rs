//! A real service on a local port: one line asks, one line answers. What it cannot serve at once waits in its queue.
//! It takes every request in, up or down, as services do whose database stands still behind them.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::ledger::{Ledger, Reply, Seen};
use super::script::Mode;
use super::worker::{Ticket, Worker};
use crate::clock::{Stopwatch, pause};

/// The longest request: a verb and a key of 32 digits, with room to spare. Strangers on the port cannot fill memory.
pub(crate) const MAX_LINE: u64 = 128;

/// More than three attempts for every call of the longest and busiest show, so that no caller of ours meets it: the
/// queue is endless in the story, and bounded in memory.
const MAX_QUEUE: usize = 65_536;

/// Wait after a failed `accept`, such as too many open files: they need a moment to close.
const ACCEPT_AGAIN: Duration = Duration::from_millis(10);

/// The running service; it stops when dropped.
#[derive(Debug)]
pub(crate) struct Service {
    address: SocketAddr,
    desk: Arc<Desk>,
    tasks: [JoinHandle<()>; 2],
}

/// Where requests are taken in.
#[derive(Debug)]
struct Desk {
    queue: mpsc::Sender<Ticket>,
    mode: watch::Sender<Mode>,
    ledger: Arc<Mutex<Ledger>>,
    watch: Stopwatch,
}

impl Service {
    /// Starts a service that takes `service_time` for a request.
    pub(crate) async fn start(service_time: Duration) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .context("cannot listen on 127.0.0.1: the demo needs one free local port")?;
        let address = listener.local_addr().context("cannot find out the port of the demo's service")?;
        let (tickets, queue) = mpsc::channel(MAX_QUEUE);
        let (switch, mode) = watch::channel(Mode::Up);
        let (ledger, watch) = (Arc::default(), Stopwatch::start());
        let worker = Worker { queue, mode, ledger: Arc::clone(&ledger), watch: watch.clone(), service_time };
        let desk = Arc::new(Desk { queue: tickets, mode: switch, ledger, watch });
        let tasks = [tokio::spawn(worker.work()), tokio::spawn(accept(listener, Arc::clone(&desk)))];
        Ok(Self { address, desk, tasks })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn switch(&self, mode: Mode) {
        self.desk.ledger().switched();
        self.desk.mode.send_replace(mode);
    }

    pub(crate) fn seen(&self) -> Seen {
        self.desk.ledger().seen()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Desk {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a request into the queue. Its answer is an error at once if that is full.
    fn take(&self, key: &str) -> oneshot::Receiver<Reply> {
        let (reply, answer) = oneshot::channel();
        let ticket = Ticket { key: key.to_owned(), came_at: self.watch.elapsed(), reply };
        let mode = *self.mode.borrow();
        // Written down before the worker can have served it.
        let mut ledger = self.ledger();
        if self.queue.try_send(ticket).is_ok() {
            ledger.came(mode);
        }
        answer
    }
}

async fn accept(listener: TcpListener, desk: Arc<Desk>) {
    loop {
        match listener.accept().await {
            Ok((caller, _)) => drop(tokio::spawn(converse(caller, Arc::clone(&desk)))),
            Err(_) => pause(ACCEPT_AGAIN).await,
        }
    }
}

/// Talks with one caller. What goes wrong is the caller's to notice.
async fn converse(mut caller: TcpStream, desk: Arc<Desk>) {
    let (asking, mut answering) = caller.split();
    let mut asking = BufReader::new(asking.take(MAX_LINE));
    let mut line = String::new();
    if asking.read_line(&mut line).await.is_err() {
        return;
    }
    let Some(key) = line.trim_end().strip_prefix("DO ") else { return };
    tokio::select! {
        reply = desk.take(key) => {
            if reply == Ok(Reply::Ok) {
                let _ = answering.write_all(format!("OK {key}\n").as_bytes()).await;
            }
        }
        // The caller hung up. Its connection can go; its request stays in the queue, and nobody takes it out.
        _ = asking.read_u8() => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(service: &Service, key: &str) -> TcpStream {
        let mut caller = TcpStream::connect(service.address()).await.unwrap();
        caller.write_all(format!("DO {key}\n").as_bytes()).await.unwrap();
        caller
    }

    async fn waiting(service: &Service, requests: u64) {
        while service.seen().waiting() < requests {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_request_outlives_its_caller() {
        let service = Service::start(Duration::from_millis(1)).await.unwrap();
        service.switch(Mode::Down);
        drop(ask(&service, "gave-up").await);
        waiting(&service, 1).await;
        let mut patient = ask(&service, "patient").await;
        waiting(&service, 2).await;

        service.switch(Mode::Up);
        let mut answer = String::new();
        patient.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer, "OK patient\n");
        let seen = service.seen();
        assert_eq!((seen.while_down, seen.served, seen.for_nobody, seen.waiting()), (2, 2, 1, 0));
    }
}
