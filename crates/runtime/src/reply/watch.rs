//! Queues that fill since nobody reads them: told before they are full, when they are, and when that is over.

use std::collections::HashMap;
use std::sync::Arc;

use steadfast_store::{Error, Store};

use super::queue::QueueLevel;
use crate::alert::{Alert, AlertKind, AlertState};
use crate::shared::Shared;

/// Looks after replies were stored or settled here, no more often than services are watched: a node that tells nobody anything
/// asks the store once.
pub(crate) async fn watch<S: Store>(shared: Arc<Shared<S>>) {
    let mut changes = shared.replies.subscribe();
    let mut told = HashMap::new();
    loop {
        changes.mark_unchanged();
        if let Err(error) = look(&shared, &mut told).await {
            shared.store_failed("queues of replies could not be looked at", &error);
        }
        shared.clock.sleep(shared.settings.alerts.watch_every).await;
        if changes.changed().await.is_err() {
            return;
        }
    }
}

async fn look<S: Store>(shared: &Shared<S>, told: &mut HashMap<Arc<str>, QueueLevel>) -> Result<(), Error> {
    let most = shared.settings.replies.most_waiting;
    let queues = shared.store.reply_queues().await?;
    let mut levels: HashMap<_, _> = queues
        .iter()
        .map(|queue| (Arc::clone(&queue.address), (QueueLevel::of(queue.waiting, most), queue.waiting)))
        .collect();
    for address in told.keys() {
        levels.entry(Arc::clone(address)).or_insert((QueueLevel::Well, 0));
    }
    for (address, (level, waiting)) in levels {
        let before = told.get(&address).copied().unwrap_or(QueueLevel::Well);
        if level != before {
            let alert = alert(shared, &address, level, waiting, most);
            shared.outbox.post(&shared.counters, &alert, None);
        }
        match level {
            QueueLevel::Well => drop(told.remove(&address)),
            _ => drop(told.insert(address, level)),
        }
    }
    Ok(())
}

fn alert<S: Store>(shared: &Shared<S>, address: &str, level: QueueLevel, waiting: u64, most: u64) -> Alert {
    let (state, how, advice) = match level {
        QueueLevel::Well => (AlertState::Cleared, "there is room again", "nothing: it is over"),
        QueueLevel::NearlyFull => (
            AlertState::Raised,
            "it is nearly full",
            "see to it that somebody reads and acknowledges it; once it is full, submissions that name it are refused",
        ),
        QueueLevel::Full => (
            AlertState::Raised,
            "it is full: submissions that name it are refused, and progress is left out",
            "see to it that somebody reads and acknowledges it, or raise `replies.most_waiting`",
        ),
    };
    let words = format!("{waiting} of at most {most} replies wait for `{address}`: {how}");
    let (now, node) = (shared.now(), shared.lease.node());
    #[expect(clippy::cast_precision_loss, reason = "for people to read")]
    let (value, threshold) = (Some(waiting as f64), Some(most as f64));
    Alert { value, threshold, ..Alert::new(AlertKind::ReplyQueue, state, now, node, &words, advice) }
}
