//! This node's life as others see it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use steadfast_resilience::clock::{Clock, Moment};
use steadfast_store::{NodeId, Store};
use tokio::sync::Notify;

use crate::scheduler::Inbox;
use crate::shared::Shared;

/// After so many renewals the open tasks are counted anew.
const COUNT_EVERY: u64 = 12;

/// Who this node is, and until when it may act.
#[derive(Debug)]
pub(crate) struct Lease {
    clock: Clock,
    held: Mutex<Held>,
    renew_now: Notify,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    node: NodeId,
    /// By this machine's clock, and before the store's end of it.
    until: Moment,
}

impl Lease {
    pub(crate) fn new(clock: Clock) -> Self {
        let held = Held { node: fresh(), until: Moment::ZERO };
        Self { clock, held: Mutex::new(held), renew_now: Notify::new() }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn node(&self) -> NodeId {
        self.held().node
    }

    /// Whether this node may still act: by its own clock, which it need not ask anybody for.
    pub(crate) fn holds(&self) -> bool {
        self.clock.now() < self.held().until
    }

    /// Becomes another node: whatever the one before owned can be claimed, by this one too.
    pub(crate) fn begin_anew(&self) {
        *self.held() = Held { node: fresh(), until: Moment::ZERO };
        self.renew_now.notify_one();
    }

    fn renewed(&self, node: NodeId, until: Moment) {
        let mut held = self.held();
        if held.node == node {
            held.until = held.until.max(until);
        }
    }
}

fn fresh() -> NodeId {
    NodeId::from_u128(uuid::Uuid::now_v7().as_u128())
}

/// Renews the lease once.
pub(crate) async fn renew<S: Store>(shared: &Shared<S>) -> Result<(), steadfast_store::Error> {
    let (node, asked, lease) = (shared.lease.node(), shared.clock.now(), shared.settings.lease);
    steadfast_store::failpoint!("lease.before_renewal");
    let until = shared.store.renew(node, lease).await?;
    steadfast_store::failpoint!("lease.after_renewal");
    if shared.lease.node() != node {
        // It has become another one meanwhile: nobody should wait for the one before.
        return shared.store.leave(node).await;
    }
    // A tenth earlier than the store thinks: clocks run differently, and acting takes time.
    shared.lease.renewed(node, asked + lease.mul_f64(0.9));
    let now = steadfast_engine::Time::from_millis(
        until.as_millis().saturating_sub(u64::try_from(lease.as_millis()).unwrap_or(u64::MAX)),
    );
    shared.time.set(now, asked);
    Ok(())
}

/// Renews it for as long as the node lives.
pub(crate) async fn keep<S: Store>(shared: Arc<Shared<S>>) {
    let mut asked = shared.clock.now();
    for nth in 1_u64.. {
        // From when it was asked for the last time: after one that had to wait for long the next one comes at once.
        let due = asked + shared.settings.lease / 3;
        let pause = shared.clock.sleep(due.since(shared.clock.now()));
        tokio::select! {
            () = pause => {}
            () = shared.lease.renew_now.notified() => {}
        }
        asked = shared.clock.now();
        let held = shared.lease.holds();
        if let Err(error) = renew(&shared).await {
            asked = shared.clock.now();
            shared.store_failed("the lease was not renewed", &error);
            continue;
        }
        // Nothing was claimed without it. Whoever had it looks often enough.
        if !held {
            shared.tell(Inbox::Look);
        }
        shared.bell.time_was_told();
        // Other nodes submit and finish too.
        if nth.is_multiple_of(COUNT_EVERY) {
            match shared.store.open_tasks().await {
                Ok(open) => shared.tell(Inbox::Open(open)),
                Err(error) => shared.store_failed("open tasks could not be counted", &error),
            }
        }
    }
}
