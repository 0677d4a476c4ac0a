//! The outbox: the loop that delivers what is stored there, at least once and in order for each task.
//!
//! What a task tells is stored in the task's own write; what a service tells waits in memory (`pending.rs`) until the store
//! has it. The loop (`desk.rs`) takes messages that are due for a while, so that other nodes leave them alone, hands them to
//! the hooks (`deliver.rs`), and says what became of them. It is woken by what this node stores, and looks rarely otherwise.
//! Must never change a task.

mod deliver;
mod desk;
mod pending;

use std::sync::Mutex;
use std::time::Duration;

use steadfast_resilience::clock::Clock;
use tokio::sync::{Notify, watch};

pub(crate) use desk::run;
use pending::Pending;

use crate::alert::Alert;
use crate::stats::Counters;

/// The node's side of the outbox: what the other loops leave there.
pub(crate) struct Outbox {
    pending: Mutex<Pending>,
    wake: Notify,
    stopping: watch::Sender<bool>,
    ended: watch::Sender<bool>,
}

impl Default for Outbox {
    fn default() -> Self {
        let (stopping, ended) = (watch::Sender::new(false), watch::Sender::new(false));
        Self { pending: Mutex::default(), wake: Notify::new(), stopping, ended }
    }
}

impl Outbox {
    /// Something was stored, or may have been: it is looked for at once.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Leaves an alert that belongs to no task. It never waits.
    pub(crate) fn post(&self, counters: &Counters, alert: &Alert, key: Option<String>) {
        self.pending().add(counters, alert, key);
        self.wake();
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Has what is there delivered once more, and the loop end; for no longer than this.
    pub(crate) async fn finish(&self, clock: &Clock, within: Duration) {
        self.stopping.send_replace(true);
        self.wake();
        let mut ended = self.ended.subscribe();
        tokio::select! {
            _ = ended.wait_for(|ended| *ended) => {}
            () = clock.sleep(within) => {}
        }
    }
}

/// Says that the loop has ended, however it did.
struct Ends<'a>(&'a Outbox);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.ended.send_replace(true);
    }
}

/// How long is waited before a message is delivered again that was tried so often: it doubles each time.
pub(crate) fn wait_after(tries: u32, first: Duration, longest: Duration) -> Duration {
    let doubled = 2_u32.saturating_pow(tries.saturating_sub(1));
    first.saturating_mul(doubled).min(longest)
}
