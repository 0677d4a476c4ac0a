//! Breakers that act as one over many instances: they exchange snapshots, and calls never wait for that.
//!
//! Each instance decides from its own breaker, in nanoseconds. A [`Sharing`] takes rounds beside the calls: it tells
//! what this instance knows, hears what the others know, and acts on it. A trip anywhere opens everywhere; one
//! instance, which holds the lease, probes, and all follow what it finds. Forced states go round too. While the
//! exchange is silent each goes on with what it knows, and an open state ends by its own timer.
//!
//! [`MemoryExchange`] serves the threads of one process and tests; a store serves many machines.

mod memory;
mod snapshot;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub use memory::MemoryExchange;
pub use snapshot::{News, Offer, ProbeRight, Snapshot};

use super::Breaker;
#[cfg(feature = "tokio")]
use crate::log;
use crate::sync::lock;

/// Names one instance among those that share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstanceId(pub u64);

/// The exchange could not be reached, or did not answer.
#[derive(Debug)]
pub struct ExchangeError(pub Box<dyn std::error::Error + Send + Sync>);

impl std::fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the breakers' exchange did not answer; each instance goes on with what it knows")
    }
}

impl std::error::Error for ExchangeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}

/// What a [`Exchange::swap`] returns.
pub type Swap<'a> = Pin<Box<dyn Future<Output = Result<Vec<News>, ExchangeError>> + Send + 'a>>;

/// Where instances leave their snapshots and find those of the others: one round trip for all breakers at once.
///
/// Contract: `swap` keeps each offer as the newest of its instance and breaker; grants the right to probe a breaker
/// to at most one instance at a time, for the time asked, renewed when its holder asks again; and answers every offer
/// with the newest snapshot of every *other* instance, with its age filled in and its open time shortened by that.
pub trait Exchange: Send + Sync {
    /// Leaves these offers and brings the news about the same breakers, in the same order.
    fn swap(&self, instance: InstanceId, offers: Vec<Offer>) -> Swap<'_>;
}

/// Keeps breakers of one instance in step with those of the others.
pub struct Sharing {
    exchange: Arc<dyn Exchange>,
    instance: InstanceId,
    every: Duration,
    breakers: Vec<Breaker>,
}

impl std::fmt::Debug for Sharing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sharing")
            .field("instance", &self.instance)
            .field("breakers", &self.breakers)
            .finish_non_exhaustive()
    }
}

/// Rounds that an instance without the lease waits beyond the open time before it probes on its own: the exchange is
/// silent then, or everybody else is gone.
const GRACE_ROUNDS: u32 = 3;

/// More often than this an exchange would be asked for nothing new.
const SHORTEST_ROUND: Duration = Duration::from_millis(10);

impl Sharing {
    /// Rounds are to be taken at this interval, 10 ms at the least.
    #[must_use]
    pub fn new(exchange: Arc<dyn Exchange>, instance: InstanceId, every: Duration) -> Self {
        let every = every.max(SHORTEST_ROUND);
        Self { exchange, instance, every, breakers: Vec::new() }
    }

    /// Shares this breaker's state. Breakers of the same name belong together.
    #[must_use]
    pub fn with(mut self, breaker: &Breaker) -> Self {
        lock(&breaker.core().control).probe_grace = Some(self.every.saturating_mul(GRACE_ROUNDS));
        self.breakers.push(breaker.clone());
        self
    }

    /// Takes one round: tells, hears, acts.
    ///
    /// # Errors
    /// When the exchange does not answer. Nothing changes then; the next round tries again.
    pub async fn round(&self) -> Result<(), ExchangeError> {
        if self.swap().await? {
            // News of ours met older news of higher rank: told again at once, so that the others hear it this round.
            self.swap().await?;
        }
        Ok(())
    }

    /// One exchange; true when something has to be told again.
    async fn swap(&self) -> Result<bool, ExchangeError> {
        let offers = self.breakers.iter().map(|breaker| breaker.offer(self.instance, self.every)).collect();
        let news = self.exchange.swap(self.instance, offers).await?;
        let mut tell_again = false;
        for (breaker, news) in self.breakers.iter().zip(news) {
            tell_again |= breaker.absorb(&news, self.every);
        }
        Ok(tell_again)
    }

    /// Takes rounds for ever. Spawn it; drop it to stop.
    #[cfg(feature = "tokio")]
    pub async fn keep_going(self) {
        let Some(clock) = self.breakers.first().map(|breaker| breaker.clock().clone()) else { return };
        loop {
            if let Err(error) = self.round().await {
                log::exchange_silent(&error);
            }
            clock.sleep(self.every).await;
        }
    }
}
