//! Services' circuits in the store: what is known of them outlives the process, and all nodes go by it.
//!
//! Each node decides from its own breakers. This loop takes rounds beside: it tells the store what has changed here, and hears
//! what has changed elsewhere. A round is taken at once when a breaker or a gate changes, and twice a second while the node
//! has work; a node without work hears of a trip elsewhere when it has work again. While the store is silent each node goes on
//! with what it knows. Beside that, each node looks now and then for tasks that are parked: those who parked them may be gone.

mod exchange;
mod record;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use steadfast_engine::Time;
use steadfast_resilience::Breaker;
use steadfast_resilience::breaker::share::{InstanceId, Sharing};
use steadfast_store::{Error, Store};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Notify, oneshot};

pub use record::Past;
pub(crate) use record::Release;

use crate::scheduler::Inbox;
use crate::service::Service;
use crate::shared::Shared;
use exchange::InStore;
use record::Body;

/// How often a node with work hears what the others know.
const EVERY: Duration = Duration::from_millis(500);

/// What the scheduler and the breakers tell this loop.
#[derive(Debug)]
pub(crate) struct Board {
    has_work: AtomicBool,
    works: Notify,
    /// How releases stand, by service: as the store had them at first, then as the gates say.
    releases: Mutex<HashMap<Arc<str>, Release>>,
    changed: Notify,
    /// Services that came while the node worked, and who waits until the store was asked for them.
    came: Mutex<Vec<Came>>,
    inbox: UnboundedSender<Inbox>,
}

/// Services with their breakers, and who is told when they are in step with what the store knows.
type Came = (Vec<(Arc<str>, Breaker)>, oneshot::Sender<()>);

impl Board {
    pub(crate) fn new(inbox: UnboundedSender<Inbox>) -> Self {
        let (has_work, works, changed) = (AtomicBool::new(false), Notify::new(), Notify::new());
        Self { has_work, works, releases: Mutex::default(), changed, came: Mutex::default(), inbox }
    }

    /// Whether the node has anything to do.
    pub(crate) fn has_work(&self, has_work: bool) {
        if self.has_work.swap(has_work, Ordering::Relaxed) != has_work && has_work {
            self.works.notify_one();
        }
    }

    /// How a service's gate stands: told when that changes.
    pub(crate) fn put(&self, service: &Arc<str>, release: Release) {
        self.releases().insert(Arc::clone(service), release);
        self.changed.notify_one();
    }

    /// How a service's gate stood when another node wrote it. `None` if this node knows better.
    fn heard(&self, service: &Arc<str>, written: impl FnOnce() -> Release) -> Option<Release> {
        let mut releases = self.releases();
        let knows_better = releases.get(service).is_some_and(|known| *known != Release::default());
        if knows_better {
            return None;
        }
        let release = written();
        releases.insert(Arc::clone(service), release);
        Some(release)
    }

    /// Calls a second before the circuit opened, as far as anybody knows.
    pub(crate) fn steady(&self, service: &str) -> Option<f64> {
        self.release(service).and_then(|release| release.steady)
    }

    pub(crate) fn release(&self, service: &str) -> Option<Release> {
        self.releases().get(service).copied()
    }

    fn releases(&self) -> std::sync::MutexGuard<'_, HashMap<Arc<str>, Release>> {
        self.releases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// More services are called from now on.
    pub(crate) fn add(&self, services: &[Service], told: oneshot::Sender<()>) {
        self.came().push((breakers(services), told));
        self.changed.notify_one();
    }

    fn came(&self) -> std::sync::MutexGuard<'_, Vec<Came>> {
        self.came.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A breaker has changed: the gates look at it, and the others hear of it.
    fn breaker_changed(&self) {
        self.changed.notify_one();
        let _ = self.inbox.send(Inbox::Gates);
    }
}

/// One service's circuit, as the store has it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CircuitRecord {
    /// Which service.
    pub service: Arc<str>,
    /// The state that it had last, in words.
    pub state: String,
    /// Until when it stays open, if it has an end.
    pub open_until: Option<Time>,
    /// Recoveries that failed, or did not last, since one did.
    pub failed_recoveries: u32,
    /// Who set it by hand and why, if somebody did.
    pub forced_by: Option<(String, String)>,
    /// Calls a second before it opened.
    pub steady: Option<f64>,
    /// The stage of the ramp, while one is under way.
    pub stage: Option<u32>,
    /// What happened to it lately, oldest first.
    pub history: Vec<Past>,
}

/// All circuits that the store knows.
pub(crate) async fn read<S: Store>(shared: &Shared<S>) -> Result<Vec<CircuitRecord>, Error> {
    let circuits = shared.store.circuits().await?;
    Ok(circuits.iter().map(|circuit| Body::unpack(&circuit.body).record(&circuit.service)).collect())
}

/// The breakers of services, by service.
fn breakers<'s>(services: impl IntoIterator<Item = &'s Service>) -> Vec<(Arc<str>, Breaker)> {
    services
        .into_iter()
        .filter_map(|service| Some((Arc::from(service.name()), service.pipeline().breaker()?)))
        .collect()
}

/// Breakers of services, in step with those of other nodes and of nodes before.
pub(crate) struct Circuits<S> {
    shared: Arc<Shared<S>>,
    store: Arc<InStore<S>>,
    sharing: Sharing,
    breakers: Vec<Breaker>,
}

impl<S: Store> Circuits<S> {
    pub(crate) fn new(shared: &Arc<Shared<S>>) -> Self {
        let instance = InstanceId(instance_of(shared.lease.node().as_u128()));
        let store = Arc::new(InStore::new(Arc::clone(shared)));
        let sharing = Sharing::new(Arc::<InStore<S>>::clone(&store), instance, EVERY);
        let circuits = Self { shared: Arc::clone(shared), store, sharing, breakers: Vec::new() };
        circuits.with(breakers(shared.workflows.load().services()))
    }

    /// Shares these breakers too.
    fn with(mut self, breakers: Vec<(Arc<str>, Breaker)>) -> Self {
        for (service, breaker) in breakers {
            self.store.knows(breaker.name(), &service);
            self.sharing = self.sharing.with(&breaker);
            let board: Weak<Board> = Arc::downgrade(&self.shared.board);
            breaker.on_change(move |_| {
                if let Some(board) = board.upgrade() {
                    board.breaker_changed();
                }
            });
            self.breakers.push(breaker);
        }
        self
    }

    /// Shares the breakers of services that came, and hears what the store knows of them.
    async fn take_in(mut self, came: Vec<Came>) -> Self {
        let (breakers, told): (Vec<_>, Vec<_>) = came.into_iter().unzip();
        self = self.with(breakers.into_iter().flatten().collect());
        self.round().await;
        for told in told {
            let _ = told.send(());
        }
        self
    }

    /// Takes a round: tells the store, and hears from it.
    pub(crate) async fn round(&self) {
        if self.breakers.is_empty() {
            return;
        }
        // What is parked can be had by any node: each of them has calls to make.
        let mut some_are_open = false;
        for breaker in &self.breakers {
            if !breaker.is_closed() {
                some_are_open = true;
                breaker.somebody_waits();
            }
        }
        if let Err(error) = self.sharing.round().await {
            tracing::warn!(error = &*error.0, "circuits are not shared until the store answers again");
        }
        if some_are_open {
            // The right to probe may have come, or gone.
            let _ = self.shared.board.inbox.send(Inbox::Gates);
        }
    }

    /// The services on which tasks are parked.
    async fn parked(&self) -> Vec<Arc<str>> {
        match self.shared.store.parked().await {
            Ok(parked) => parked.into_iter().map(|(service, _)| service).collect(),
            Err(error) => {
                self.shared.store_failed("what is parked could not be counted", &error);
                Vec::new()
            }
        }
    }

    /// Takes rounds until it is dropped, and looks for what nodes have parked that are gone.
    pub(crate) async fn keep_going(mut self) {
        let (board, clock) = (Arc::clone(&self.shared.board), self.shared.clock.clone());
        // All that are parked are counted: half as often as those are looked for that are due.
        let look_every = self.shared.settings.look_every * 2;
        let (mut next, mut looks) = (clock.now() + EVERY, clock.now() + look_every);
        let mut worked = false;
        loop {
            let came = std::mem::take(&mut *board.came());
            if !came.is_empty() {
                self = self.take_in(came).await;
            }
            let all_well = self.breakers.iter().all(Breaker::is_closed);
            let idle = all_well && !worked && !board.has_work.load(Ordering::Relaxed);
            let due = if idle || self.breakers.is_empty() { looks } else { next.min(looks) };
            let changed = tokio::select! {
                () = board.changed.notified() => true,
                // Work that comes and goes is no reason for more rounds than work that stays.
                () = board.works.notified(), if idle => {
                    worked = true;
                    continue;
                }
                () = clock.sleep(due.since(clock.now())) => false,
            };
            let mut parked = Vec::new();
            if clock.now() >= looks {
                (parked, looks) = (self.parked().await, clock.now() + look_every);
            }
            // An open circuit is heard of before anybody is let go.
            if changed || !parked.is_empty() || !idle && clock.now() >= next {
                self.round().await;
                (next, worked) = (clock.now() + EVERY, false);
            }
            if !parked.is_empty() {
                let _ = board.inbox.send(Inbox::Parked(parked));
            }
        }
    }
}

/// A node's number among those that share: both halves of its id.
#[expect(clippy::cast_possible_truncation, reason = "the halves are folded")]
fn instance_of(node: u128) -> u64 {
    (node >> 64) as u64 ^ node as u64
}
