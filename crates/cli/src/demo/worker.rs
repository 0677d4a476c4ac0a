//! The service's one worker: it serves the queue in order, each request as long as the last.
//! It does not look whether the caller still waits: neither do most real services, and that is what outages feed on.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use super::ledger::{Ledger, Reply};
use super::script::Mode;
use crate::clock::Stopwatch;

/// A request in the queue.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(crate) key: String,
    pub(crate) came_at: Duration,
    /// Closed when the caller has given up.
    pub(crate) reply: oneshot::Sender<Reply>,
}

#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) queue: mpsc::Receiver<Ticket>,
    pub(crate) mode: watch::Receiver<Mode>,
    pub(crate) ledger: Arc<Mutex<Ledger>>,
    pub(crate) watch: Stopwatch,
    /// What one request takes.
    pub(crate) service_time: Duration,
}

impl Worker {
    /// Works until the service is gone.
    pub(crate) async fn work(mut self) {
        let mut free_at = Duration::ZERO;
        while let Some(ticket) = self.queue.recv().await {
            // Reckoned from when it could begin, not from now: a late wake-up must not cost capacity.
            free_at = free_at.max(ticket.came_at) + self.service_time;
            self.watch.wait_until(free_at).await;
            while *self.mode.borrow() == Mode::Down {
                if self.mode.wait_for(|mode| *mode == Mode::Up).await.is_err() {
                    return;
                }
                // What was under way when it went down begins anew.
                free_at = self.watch.elapsed() + self.service_time;
                self.watch.wait_until(free_at).await;
            }
            self.finish(ticket);
        }
    }

    fn finish(&self, ticket: Ticket) {
        let somebody_waits = !ticket.reply.is_closed();
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody there to take it: the ledger has that already.
        let _ = ticket.reply.send(ledger.served(ticket.key, somebody_waits));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVICE_TIME: Duration = Duration::from_millis(1);

    struct Bench {
        queue: mpsc::Sender<Ticket>,
        mode: watch::Sender<Mode>,
        ledger: Arc<Mutex<Ledger>>,
    }

    impl Bench {
        fn start(mode: Mode) -> Self {
            let (sender, queue) = mpsc::channel(100);
            let (switch, mode) = watch::channel(mode);
            let ledger = Arc::new(Mutex::new(Ledger::default()));
            let worker = Worker {
                queue,
                mode,
                ledger: Arc::clone(&ledger),
                watch: Stopwatch::start(),
                service_time: SERVICE_TIME,
            };
            tokio::spawn(worker.work());
            Self { queue: sender, mode: switch, ledger }
        }

        fn ask(&self, key: &str) -> oneshot::Receiver<Reply> {
            let (reply, answer) = oneshot::channel();
            let ticket = Ticket { key: key.to_owned(), came_at: Duration::ZERO, reply };
            self.ledger.lock().unwrap().came(*self.mode.borrow());
            self.queue.try_send(ticket).unwrap();
            answer
        }
    }

    #[tokio::test]
    async fn while_down_nothing_is_served_and_then_everything_in_order() {
        let bench = Bench::start(Mode::Down);
        drop(bench.ask("gave up"));
        let mut first = bench.ask("first");
        let last = bench.ask("last");
        tokio::task::yield_now().await;
        assert_eq!(bench.ledger.lock().unwrap().seen().served, 0);

        bench.mode.send_replace(Mode::Up);
        assert_eq!(last.await.unwrap(), Reply::Ok);
        assert_eq!(first.try_recv().unwrap(), Reply::Ok, "it came before the last");
        let seen = bench.ledger.lock().unwrap().seen();
        assert_eq!((seen.served, seen.for_nobody, seen.carried_out), (3, 1, 3));
    }
}
