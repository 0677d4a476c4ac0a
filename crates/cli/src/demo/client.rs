//! The callers: a steady stream of calls through one pipeline, and what became of them.
//! Calls come whether or not earlier ones have ended, as users do; a caller that waits its turn would hide an outage.

use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use steadfast_resilience::{IdempotencyKey, Pipeline};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::recovery::{Ended, Recovery};
use super::script::{Mode, Script};
use super::service::MAX_LINE;
use crate::clock::Stopwatch;
use crate::talk;

/// What became of the calls.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Calls {
    pub(crate) made: u64,
    pub(crate) ok: u64,
    /// Attempted, and failed for good.
    pub(crate) failed: u64,
    /// Refused by the breaker: nothing was sent.
    pub(crate) refused: u64,
    /// Those of the refused that the service could have answered, because it was back.
    pub(crate) refused_while_up: u64,
    pub(crate) retries: u64,
    /// Time that the failed and the refused took together.
    pub(crate) until_error: Duration,
    /// The most that a call began after its time in the script: a measure of how busy this machine was.
    pub(crate) most_late: Duration,
}

impl Calls {
    fn begin(&mut self, late: Duration) {
        self.made += 1;
        self.most_late = self.most_late.max(late);
    }
}

/// Everything that the callers share. Clones are one and the same.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) pipeline: Pipeline,
    pub(crate) address: SocketAddr,
    pub(crate) script: Script,
    pub(crate) watch: Stopwatch,
    book: Arc<Mutex<Book>>,
}

/// What the callers write down.
#[derive(Debug, Default)]
struct Book {
    calls: Calls,
    ends: Vec<Ended>,
}

impl Client {
    pub(crate) fn new(pipeline: Pipeline, address: SocketAddr, script: Script, watch: Stopwatch) -> Self {
        Self { pipeline, address, script, watch, book: Arc::default() }
    }

    pub(crate) fn calls(&self) -> Calls {
        self.book().calls
    }

    /// What became of the calls since the service was back.
    pub(crate) fn recovery(&self) -> Recovery {
        Recovery::judge(self.book().ends.clone(), self.script.back_at())
    }

    /// Makes all calls of the script and waits for their ends. Those under way at once are bounded by the rate times
    /// the longest call: a few attempts of limited time and the waits between them.
    pub(crate) async fn make_calls(&self, rate: u32) {
        let mut under_way = JoinSet::new();
        for arrival in self.script.arrivals(rate) {
            self.watch.wait_until(arrival).await;
            under_way.spawn(self.clone().call(arrival));
            while under_way.try_join_next().is_some() {}
        }
        while under_way.join_next().await.is_some() {}
    }

    /// One call through the pipeline: this is all it takes to use the library.
    async fn call(self, made_at: Duration) {
        let began = self.watch.elapsed();
        self.book().calls.begin(began.saturating_sub(made_at));
        let outcome = self
            .pipeline
            .run(|attempt| {
                self.book().calls.retries += u64::from(attempt.number() > 0);
                request(self.address, attempt.key())
            })
            .await;
        self.book().ends.push(Ended { made_at, is_ok: outcome.is_ok() });
        match outcome {
            Ok(()) => self.book().calls.ok += 1,
            Err(error) => self.ended_badly(error, began),
        }
    }

    /// Counts, and shows the first error of each sort in full: it tells the whole story of its call.
    fn ended_badly(&self, error: steadfast_resilience::Error<Error>, began: Duration) {
        let now = self.watch.elapsed();
        let is_refused = error.is_refused();
        let is_first = {
            let calls = &mut self.book().calls;
            calls.until_error += now.saturating_sub(began);
            if is_refused {
                calls.refused += 1;
                calls.refused_while_up += u64::from(self.script.mode_at(now) == Mode::Up);
                calls.refused == 1
            } else {
                calls.failed += 1;
                calls.failed == 1
            }
        };
        if is_first {
            let sort = if is_refused { "refused" } else { "failed" };
            talk::note(now, &format!("First {sort} call: {:#}", anyhow::Error::from(error)));
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request on a connection of its own: plain code that knows nothing of retries.
async fn request(address: SocketAddr, key: IdempotencyKey) -> Result<()> {
    let mut service = TcpStream::connect(address).await?;
    // Closed at once in every case: thousands of connections that linger would use up the local ports.
    service.set_zero_linger()?;
    service.write_all(format!("DO {key}\n").as_bytes()).await?;
    let mut reply = String::new();
    BufReader::new(service.take(MAX_LINE)).read_line(&mut reply).await?;
    if reply.is_empty() {
        return Err(Error::new(ErrorKind::UnexpectedEof, "the service hung up without an answer"));
    }
    if reply.trim_end().strip_prefix("OK ") != Some(&*key.to_string()) {
        return Err(Error::new(ErrorKind::InvalidData, format!("not an answer to {key}: {reply:?}")));
    }
    Ok(())
}
