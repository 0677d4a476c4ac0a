//! What all requests share.

use std::fmt;
use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusHandle;
use steadfast::Engine;
use steadfast::resilience::clock::Clock;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::house::House;
use crate::hub::Hub;
use crate::limits::Limits;
use crate::problem::Refusal;

/// What has been measured, as text for Prometheus. Whoever installs the recorder has it.
pub type Metrics = PrometheusHandle;

/// What all requests share. Clones are one and the same.
#[derive(Clone)]
pub struct State {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    house: Arc<dyn House>,
    limits: Limits,
    metrics: Option<Metrics>,
    stopping: watch::Receiver<bool>,
    clock: Clock,
    hub: Hub,
    in_flight: Arc<Semaphore>,
    submitting: Arc<Semaphore>,
    values: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    streams: Arc<Semaphore>,
}

impl State {
    /// For this engine and these workflows and services. Once `stopping` is true, or its sender is gone, the server says that it is not
    /// ready, streams end, and nobody waits any more for the end of a task.
    #[must_use]
    pub fn new(
        engine: Engine,
        house: impl House,
        limits: Limits,
        metrics: Option<Metrics>,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        let places = |most: usize| Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
        let inner = Inner {
            hub: Hub::new(engine.clone()),
            engine,
            house: Arc::new(house),
            metrics,
            stopping,
            clock: Clock::system(),
            in_flight: places(limits.most_in_flight),
            submitting: places(limits.most_submitting),
            values: places(limits.most_values),
            waiting: places(limits.most_waiting),
            streams: places(limits.most_streams),
            limits,
        };
        Self { inner: Arc::new(inner) }
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    /// Whoever knows workflows and services.
    #[must_use]
    pub fn house(&self) -> &dyn House {
        &*self.inner.house
    }

    /// How much and how long.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.inner.limits
    }

    pub(crate) fn metrics(&self) -> Option<&Metrics> {
        self.inner.metrics.as_ref()
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.inner.clock
    }

    pub(crate) fn hub(&self) -> &Hub {
        &self.inner.hub
    }

    /// Whether the server is about to end.
    pub(crate) fn is_stopping(&self) -> bool {
        *self.inner.stopping.borrow() || self.inner.stopping.has_changed().is_err()
    }

    /// Returns once the server is about to end.
    pub(crate) async fn stopped(&self) {
        let mut stopping = self.inner.stopping.clone();
        // A sender that is gone has said it too.
        let _ = stopping.wait_for(|stop| *stop).await;
    }

    /// A place among the requests that are worked on.
    pub(crate) fn place(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let most = self.inner.limits.most_in_flight;
        let full =
            || Refusal::overloaded(&format!("{most} requests are under way, which is the most at a time"));
        Arc::clone(&self.inner.in_flight).try_acquire_owned().map_err(|_| full())
    }

    /// Places for so many submissions.
    pub(crate) fn place_to_submit(&self, tasks: usize) -> Result<OwnedSemaphorePermit, Refusal> {
        let most = self.inner.limits.most_submitting;
        let full = || {
            Refusal::overloaded(&format!(
                "{most} submissions wait for the store, which is the most at a time"
            ))
        };
        // A batch that is larger than all of the room may have all of it.
        let places = u32::try_from(tasks.min(most).max(1)).unwrap_or(u32::MAX);
        Arc::clone(&self.inner.submitting).try_acquire_many_owned(places).map_err(|_| full())
    }

    /// Places for so many values of a body.
    pub(crate) fn place_for_values(&self, values: usize) -> Result<OwnedSemaphorePermit, Refusal> {
        let most = self.inner.limits.most_values;
        let full = || {
            Refusal::overloaded(&format!(
                "bodies with {most} values are worked on, which is the most at a time"
            ))
        };
        let places = u32::try_from(values.min(most)).unwrap_or(u32::MAX);
        Arc::clone(&self.inner.values).try_acquire_many_owned(places).map_err(|_| full())
    }

    /// A place among those who wait for the end of a task, if there is one.
    pub(crate) fn place_to_wait(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.inner.waiting).try_acquire_owned().ok()
    }

    /// A place for a stream.
    pub(crate) fn place_to_stream(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        let most = self.inner.limits.most_streams;
        let full = || Refusal::overloaded(&format!("{most} streams are open, which is the most at a time"));
        Arc::clone(&self.inner.streams).try_acquire_owned().map_err(|_| full())
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("engine", &self.inner.engine).finish_non_exhaustive()
    }
}
