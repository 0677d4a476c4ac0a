//! The store as the place where breakers exchange what they know.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use steadfast_resilience::breaker::share::{
    Exchange, ExchangeError, InstanceId, News, Offer, ProbeRight, Swap,
};
use steadfast_store::{Circuit, Error, Kept, Store};

use super::record::Body;
use crate::shared::Shared;

/// Tries when others write the same circuit at the same time.
const TRIES: usize = 5;

pub(super) struct InStore<S> {
    shared: Arc<Shared<S>>,
    /// The service of each breaker.
    services: Mutex<HashMap<Arc<str>, Arc<str>>>,
    /// What was last told of each gate: it is written when it changes.
    told: Mutex<HashMap<Arc<str>, super::Release>>,
}

impl<S: Store> InStore<S> {
    pub(super) fn new(shared: Arc<Shared<S>>) -> Self {
        Self { shared, services: Mutex::default(), told: Mutex::default() }
    }

    /// This breaker is the one of that service.
    pub(super) fn knows(&self, breaker: &str, service: &Arc<str>) {
        self.services().insert(Arc::from(breaker), Arc::clone(service));
    }

    fn service_of(&self, breaker: &str) -> Option<Arc<str>> {
        self.services().get(breaker).cloned()
    }

    fn services(&self) -> std::sync::MutexGuard<'_, HashMap<Arc<str>, Arc<str>>> {
        self.services.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn take(&self, instance: InstanceId, offers: Vec<Offer>) -> Result<Vec<News>, Error> {
        let known = self.shared.store.circuits().await?;
        let mut known: HashMap<_, _> =
            known.into_iter().map(|circuit| (Arc::clone(&circuit.service), circuit)).collect();
        for (service, circuit) in &known {
            self.heard(service, circuit);
        }
        let mut news: Vec<_> =
            offers.iter().map(|_| News { others: Vec::new(), probe: ProbeRight::NotAsked }).collect();
        let mut left: Vec<_> = (0..offers.len()).collect();
        for _ in 0..TRIES {
            let (mut batch, mut written) = (Vec::new(), Vec::new());
            for nth in left.drain(..) {
                let offer = &offers[nth];
                let Some(service) = &self.service_of(&offer.breaker) else { continue };
                let (version, mut body) = known.get(service).map_or_else(
                    || (0, Body::default()),
                    |circuit| (circuit.version, Body::unpack(&circuit.body)),
                );
                let release = self.changed(service);
                let (heard, is_new) = body.swap(instance, offer, release, self.shared.now());
                news[nth] = heard;
                if is_new {
                    batch.push(Circuit { service: Arc::clone(service), version, body: body.pack() });
                    written.push((nth, Arc::clone(service), release));
                }
            }
            if batch.is_empty() {
                return Ok(news);
            }
            steadfast_store::failpoint!("circuit.before_keep");
            let kept = self.shared.store.keep(batch).await?;
            steadfast_store::failpoint!("circuit.after_keep");
            for ((nth, service, release), kept) in written.into_iter().zip(kept) {
                match kept {
                    // What the gate has said meanwhile is for the next round.
                    Kept::Done(_) => drop(release.map(|release| self.told().insert(service, release))),
                    Kept::Other(other) => {
                        match other {
                            Some(circuit) => drop(known.insert(service, circuit)),
                            None => drop(known.remove(&service)),
                        }
                        left.push(nth);
                    }
                }
            }
            if left.is_empty() {
                return Ok(news);
            }
        }
        // The next round tells it.
        Ok(news)
    }

    /// What the store has of a gate is where that gate begins, and need not be told again.
    fn heard(&self, service: &Arc<str>, circuit: &Circuit) {
        let heard = self.shared.board.heard(service, || Body::unpack(&circuit.body).release);
        if let Some(release) = heard {
            self.told().insert(Arc::clone(service), release);
        }
    }

    /// What a gate has to say that is not told yet.
    fn changed(&self, service: &Arc<str>) -> Option<super::Release> {
        let release = self.shared.board.release(service)?;
        (self.told().get(service) != Some(&release)).then_some(release)
    }

    fn told(&self) -> std::sync::MutexGuard<'_, HashMap<Arc<str>, super::Release>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Store> Exchange for InStore<S> {
    fn swap(&self, instance: InstanceId, offers: Vec<Offer>) -> Swap<'_> {
        Box::pin(
            async move { self.take(instance, offers).await.map_err(|error| ExchangeError(Box::new(error))) },
        )
    }
}
