//! Messages that are not stored yet: the store may be away at the very moment that there is something to tell.

use std::collections::VecDeque;

use steadfast_store::Outgoing;

use crate::alert::Alert;
use crate::stats::{Counters, count};

/// The most that wait for the store: hundreds of services in trouble, and no more memory than a few tasks have.
const MOST: usize = 1_000;

#[derive(Default)]
pub(super) struct Pending(VecDeque<Outgoing>);

impl Pending {
    /// Takes an alert in, unless there are too many: that is told and counted.
    pub(super) fn add(&mut self, counters: &Counters, alert: &Alert, key: Option<String>) {
        if self.0.len() >= MOST {
            count(&counters.lost_alerts);
            tracing::error!(alert = %alert.id, kind = alert.kind.as_str(), service = alert.service.as_deref(),
                "the store does not answer and {MOST} alerts wait for it: this one is lost: {}", alert.words);
            return;
        }
        self.0.push_back(alert.message(key));
    }

    /// Copies of the first of them, in their order.
    pub(super) fn first(&self, most: usize) -> Vec<Outgoing> {
        self.0.iter().take(most).cloned().collect()
    }

    /// So many are stored.
    pub(super) fn stored(&mut self, messages: usize) {
        self.0.drain(..messages.min(self.0.len()));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
