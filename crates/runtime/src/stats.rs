//! Counts of what should be rare.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a node has counted since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Tasks that this node holds in memory.
    pub owned: u64,
    /// Attempts under way in this process.
    pub running: u64,
    /// Writes that were refused since somebody else had the task by then.
    pub stale_writes: u64,
    /// Answers that changed nothing: late, doubled, or of an attempt that was given up.
    pub late_answers: u64,
    /// Times that the lease was lost and everything put out of memory.
    pub lapses: u64,
    /// Attempts and deadlines that the supervisor moved on.
    pub recovered: u64,
    /// Store calls that failed.
    pub store_errors: u64,
    /// Claimed tasks whose workflow, in their version and shape, nobody here knows.
    pub unknown_workflows: u64,
    /// Handlers that panicked.
    pub panics: u64,
    /// Blocking handlers that still run although their attempt has ended.
    pub stuck: u64,
    /// Alerts that were delivered, by this node.
    pub delivered: u64,
    /// Messages that could not be delivered and are given up: the outbox keeps them.
    pub undeliverable: u64,
    /// Replies that hooks have taken, on this node.
    pub replied: u64,
    /// Submissions that others have handed in, and that became tasks here.
    pub handed_in: u64,
    /// Submissions that others have handed in, and that could not become what they were meant to.
    pub not_taken: u64,
    /// Times that another program's transaction has held the store for two seconds or more.
    pub held_up: u64,
    /// Alerts that could not be stored: too many waited for a store that was away.
    pub lost_alerts: u64,
}

/// The counts as they grow.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) owned: AtomicU64,
    pub(crate) running: AtomicU64,
    pub(crate) stale_writes: AtomicU64,
    pub(crate) late_answers: AtomicU64,
    pub(crate) lapses: AtomicU64,
    pub(crate) recovered: AtomicU64,
    pub(crate) store_errors: AtomicU64,
    pub(crate) unknown_workflows: AtomicU64,
    pub(crate) panics: AtomicU64,
    pub(crate) delivered: AtomicU64,
    pub(crate) undeliverable: AtomicU64,
    pub(crate) lost_alerts: AtomicU64,
    pub(crate) replied: AtomicU64,
    pub(crate) handed_in: AtomicU64,
    pub(crate) not_taken: AtomicU64,
    pub(crate) held_up: AtomicU64,
}

impl Counters {
    pub(crate) fn stats(&self) -> Stats {
        let told = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Stats {
            owned: told(&self.owned),
            running: told(&self.running),
            stale_writes: told(&self.stale_writes),
            late_answers: told(&self.late_answers),
            lapses: told(&self.lapses),
            recovered: told(&self.recovered),
            store_errors: told(&self.store_errors),
            unknown_workflows: told(&self.unknown_workflows),
            panics: told(&self.panics),
            stuck: crate::handler::stuck(),
            delivered: told(&self.delivered),
            undeliverable: told(&self.undeliverable),
            lost_alerts: told(&self.lost_alerts),
            replied: told(&self.replied),
            handed_in: told(&self.handed_in),
            not_taken: told(&self.not_taken),
            held_up: told(&self.held_up),
        }
    }
}

/// One more.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
