//! An exchange in memory, for the threads of one process and for tests. It can be silenced, as a store can fall silent.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::{Exchange, ExchangeError, InstanceId, News, Offer, ProbeRight, Snapshot, Swap};
use crate::clock::{Clock, Moment};

/// Keeps the newest snapshot of every instance.
#[derive(Debug, Default)]
pub struct MemoryExchange {
    clock: Clock,
    breakers: Mutex<HashMap<String, Known>>,
    silent: AtomicBool,
}

#[derive(Debug, Default)]
struct Known {
    snapshots: HashMap<InstanceId, (Snapshot, Moment)>,
    lease: Option<(InstanceId, Moment)>,
}

/// A snapshot older than this is that of an instance that is gone.
const KEPT: Duration = Duration::from_secs(60);

impl MemoryExchange {
    /// An empty exchange on this clock.
    #[must_use]
    pub fn new(clock: impl Into<Clock>) -> Self {
        Self { clock: clock.into(), ..Self::default() }
    }

    /// Makes it answer nobody, or everybody again.
    pub fn silence(&self, silent: bool) {
        self.silent.store(silent, Ordering::Release);
    }

    fn take(&self, instance: InstanceId, offers: Vec<Offer>) -> Vec<News> {
        let now = self.clock.now();
        let mut breakers = self.breakers.lock().unwrap_or_else(PoisonError::into_inner);
        offers
            .into_iter()
            .map(|offer| breakers.entry(offer.breaker.to_string()).or_default().swap(instance, offer, now))
            .collect()
    }
}

impl Known {
    fn swap(&mut self, instance: InstanceId, offer: Offer, now: Moment) -> News {
        let probe = offer.probe_for.map_or(ProbeRight::NotAsked, |time| self.lease(instance, time, now));
        self.snapshots.insert(instance, (offer.snapshot, now));
        self.snapshots.retain(|_, (_, left)| now.since(*left) < KEPT);
        let others = self.snapshots.iter().filter(|(whose, _)| **whose != instance);
        News { others: others.map(|(_, (snapshot, left))| aged(snapshot, now.since(*left))).collect(), probe }
    }

    fn lease(&mut self, instance: InstanceId, time: Duration, now: Moment) -> ProbeRight {
        match self.lease {
            Some((holder, until)) if holder != instance && now < until => ProbeRight::Held(until.since(now)),
            _ => {
                self.lease = Some((instance, now + time));
                ProbeRight::Mine
            }
        }
    }
}

fn aged(snapshot: &Snapshot, age: Duration) -> Snapshot {
    Snapshot { open_for: snapshot.open_for.map(|time| time.saturating_sub(age)), age, ..snapshot.clone() }
}

impl Exchange for MemoryExchange {
    fn swap(&self, instance: InstanceId, offers: Vec<Offer>) -> Swap<'_> {
        Box::pin(async move {
            if self.silent.load(Ordering::Acquire) {
                return Err(ExchangeError("silenced".into()));
            }
            Ok(self.take(instance, offers))
        })
    }
}
