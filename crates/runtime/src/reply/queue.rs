//! Queues of replies, for those who poll them.

use std::sync::Arc;
use std::time::Duration;

use steadfast_store::{ReplyId, Settled, Store};
use tokio::sync::watch;

use super::{Reply, ReplyTo};
use crate::error::{Error, ErrorKind};
use crate::node::Node;

/// From this share of the most that may wait, a queue is nearly full.
pub(super) const NEARLY: f64 = 0.8;
/// How often somebody who waits for replies looks for those that another node has stored.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// The least between two looks.
const SHORTEST_LOOK: Duration = Duration::from_millis(10);

/// Replies that wait for one address.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueStatus {
    /// The address.
    pub address: Arc<str>,
    /// How many wait.
    pub waiting: u64,
    /// The most that may.
    pub most: u64,
    /// How near that is.
    pub level: QueueLevel,
}

/// How full a queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueueLevel {
    /// There is room.
    Well,
    /// Four fifths are full.
    NearlyFull,
    /// Submissions that name it are refused.
    Full,
}

impl QueueLevel {
    pub(super) fn of(waiting: u64, most: u64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a share need not be exact")]
        let share = waiting as f64 / most as f64;
        match waiting >= most {
            true => Self::Full,
            false if share >= NEARLY => Self::NearlyFull,
            false => Self::Well,
        }
    }
}

/// Wakes those who wait for replies, and those who watch how many there are.
pub(crate) struct Changes(watch::Sender<u64>);

impl Default for Changes {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl Changes {
    /// Replies were stored, or settled.
    pub(crate) fn changed(&self) {
        self.0.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}

impl<S: Store> Node<S> {
    /// Hands out replies that wait in a queue, at most so many, of each task only the first: nobody else gets them for this long.
    ///
    /// # Errors
    /// The store's; an address that makes no sense.
    pub async fn take_replies(
        &self,
        from: &ReplyTo,
        most: usize,
        lease: Duration,
    ) -> Result<Vec<Reply>, Error> {
        from.check().map_err(ErrorKind::from)?;
        let handed = self.shared.store.take_replies(Arc::clone(from.text()), most, lease).await?;
        Ok(handed.replies.into_iter().map(Reply::of).collect())
    }

    /// The same, once there is at least one.
    ///
    /// # Errors
    /// The same; the node has stopped.
    pub async fn wait_for_replies(
        &self,
        from: &ReplyTo,
        most: usize,
        lease: Duration,
    ) -> Result<Vec<Reply>, Error> {
        from.check().map_err(ErrorKind::from)?;
        let mut stored = self.shared.replies.subscribe();
        loop {
            stored.mark_unchanged();
            let handed = self.shared.store.take_replies(Arc::clone(from.text()), most, lease).await?;
            if !handed.replies.is_empty() {
                return Ok(handed.replies.into_iter().map(Reply::of).collect());
            }
            if self.shared.inbox.is_closed() {
                return Err(ErrorKind::ShuttingDown.into());
            }
            let next = handed.next.map_or(LOOK_EVERY, |next| next.since(self.now()));
            tokio::select! {
                _ = stored.changed() => {}
                () = self.shared.inbox.closed() => {}
                () = self.shared.clock.sleep(next.clamp(SHORTEST_LOOK, LOOK_EVERY)) => {}
            }
        }
    }

    /// Acknowledges replies: they are gone, and the next ones of their tasks can be had. How many of them were there.
    ///
    /// # Errors
    /// The store's.
    pub async fn acknowledge(&self, replies: impl IntoIterator<Item = ReplyId>) -> Result<usize, Error> {
        let settled = replies.into_iter().map(|reply| (reply, Settled::Delivered)).collect();
        let settled = self.shared.store.settle_replies(settled).await?;
        self.shared.replies.changed();
        Ok(settled)
    }

    /// Gives replies back that cannot be acted on now: they come again after this long, and what is behind them waits too.
    ///
    /// # Errors
    /// The store's.
    pub async fn give_back(
        &self,
        replies: impl IntoIterator<Item = ReplyId>,
        after: Duration,
    ) -> Result<usize, Error> {
        let again = Settled::Again(self.now() + after);
        let settled = replies.into_iter().map(|reply| (reply, again)).collect();
        Ok(self.shared.store.settle_replies(settled).await?)
    }

    /// All addresses to which replies wait, by name.
    ///
    /// # Errors
    /// The store's.
    pub async fn reply_queues(&self) -> Result<Vec<QueueStatus>, Error> {
        let most = self.shared.settings.replies.most_waiting;
        let queues = self.shared.store.reply_queues().await?;
        let status = queues.into_iter().map(|queue| QueueStatus {
            level: QueueLevel::of(queue.waiting, most),
            address: queue.address,
            waiting: queue.waiting,
            most,
        });
        Ok(status.collect())
    }
}
