//! The loop: stores what waits in memory, takes what is due, has it delivered, says what became of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use steadfast_resilience::clock::Moment;
use steadfast_store::{Error, OutboxId, OutboxKind, Settled, Store, TaskId, Undelivered};
use tokio::task::JoinSet;

use super::deliver::{Delivered, Delivery, in_order};
use super::{Ends, Outbox};
use crate::shared::Shared;
use crate::stats::count;

/// The most deliveries under way: hooks that hang are given up after their limit, and so many may hang at a time.
const MOST_UNDER_WAY: usize = 64;
/// The most messages that are stored at once.
const MOST_STORED: usize = 64;
/// The most messages of which it is remembered what was tried.
const MOST_REMEMBERED: usize = 10_000;
/// The least between two looks that nobody asked for: this node's clock can be ahead of the store's, which then says that
/// nothing is due yet.
const SHORTEST_LOOK: Duration = Duration::from_millis(100);
/// The pauses after the store has failed.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Delivers for as long as the node lives.
pub(crate) async fn run<S: Store>(shared: Arc<Shared<S>>) {
    let _ends = Ends(&shared.outbox);
    let mut desk = Desk::new(&shared);
    loop {
        let stopping = *shared.outbox.stopping.borrow();
        let rest = match desk.turn().await {
            Ok(rest) => rest,
            Err(error) => {
                shared.store_failed("messages were not stored, taken or settled", &error);
                if stopping {
                    return;
                }
                desk.failed()
            }
        };
        if stopping {
            return desk.close().await;
        }
        desk.wait(rest).await;
    }
}

struct Desk<S> {
    shared: Arc<Shared<S>>,
    under_way: JoinSet<Vec<Delivered>>,
    /// What became of messages, and the store does not know yet.
    settled: Vec<(OutboxId, Settled)>,
    /// Which hooks have had a message that is to be tried again.
    had: BTreeMap<OutboxId, Vec<bool>>,
    /// When the outbox is to be looked into, if nothing wakes it.
    look_at: Moment,
    pause: Duration,
}

impl<S: Store> Desk<S> {
    fn new(shared: &Arc<Shared<S>>) -> Self {
        Self {
            shared: Arc::clone(shared),
            under_way: JoinSet::new(),
            settled: Vec::new(),
            had: BTreeMap::new(),
            look_at: Moment::ZERO,
            pause: FIRST_PAUSE,
        }
    }

    fn outbox(&self) -> &Outbox {
        &self.shared.outbox
    }

    /// Does all that can be done now; how long there is nothing to do after that.
    async fn turn(&mut self) -> Result<Duration, Error> {
        while let Some(done) = self.under_way.try_join_next() {
            self.delivered(done.unwrap_or_default());
        }
        self.settle().await?;
        self.store().await?;
        while self.shared.clock.now() >= self.look_at && self.under_way.len() < MOST_UNDER_WAY {
            self.take().await?;
        }
        self.pause = FIRST_PAUSE;
        Ok(match self.under_way.len() < MOST_UNDER_WAY {
            true => self.look_at.since(self.shared.clock.now()),
            false => Duration::MAX,
        })
    }

    /// Waits until there is something to do.
    async fn wait(&mut self, rest: Duration) {
        let (shared, looks) = (Arc::clone(&self.shared), self.under_way.len() < MOST_UNDER_WAY);
        tokio::select! {
            () = shared.outbox.wake.notified(), if looks => self.look_at = Moment::ZERO,
            Some(done) = self.under_way.join_next() => {
                self.delivered(done.unwrap_or_default());
                // What came behind it for the same task has its turn.
                self.look_at = Moment::ZERO;
            }
            () = shared.clock.sleep(rest) => {}
        }
    }

    /// How long the store is left alone that has just failed.
    fn failed(&mut self) -> Duration {
        let pause = self.pause;
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        self.look_at = self.shared.clock.now() + pause;
        pause
    }

    // ---- the store ----

    /// Says what became of messages. It is said again if nobody knows whether the store has heard it.
    async fn settle(&mut self) -> Result<(), Error> {
        if !self.settled.is_empty() {
            self.shared.store.settle(self.settled.clone()).await?;
            self.settled.clear();
        }
        Ok(())
    }

    /// Stores what waits in memory.
    async fn store(&mut self) -> Result<(), Error> {
        while !self.outbox().pending().is_empty() {
            let batch = self.outbox().pending().first(MOST_STORED);
            let messages = batch.len();
            match self.shared.store.send(batch).await {
                // One that no store takes must not keep the others.
                Err(error) if !error.is_transient() && messages > 1 => self.store_alone(messages).await?,
                Err(error) if error.kind() == steadfast_store::Kind::TooLarge => self.lose(&error),
                stored => {
                    stored?;
                    self.outbox().pending().stored(messages);
                }
            }
            self.look_at = Moment::ZERO;
        }
        Ok(())
    }

    async fn store_alone(&mut self, messages: usize) -> Result<(), Error> {
        for _ in 0..messages {
            let one = self.outbox().pending().first(1);
            match self.shared.store.send(one).await {
                Err(error) if error.kind() == steadfast_store::Kind::TooLarge => self.lose(&error),
                stored => {
                    stored?;
                    self.outbox().pending().stored(1);
                }
            }
        }
        Ok(())
    }

    fn lose(&mut self, error: &Error) {
        count(&self.shared.counters.lost_alerts);
        tracing::error!(error = error as &dyn std::error::Error, "an alert cannot be stored and is lost");
        self.outbox().pending().stored(1);
    }

    /// Takes what is due, and has it delivered.
    async fn take(&mut self) -> Result<(), Error> {
        let alerts = &self.shared.settings.alerts;
        let (hold, most) = (alerts.hold(), MOST_UNDER_WAY - self.under_way.len());
        let (now, look_every) = (self.shared.clock.now(), alerts.look_every);
        let handed = self.shared.store.undelivered(OutboxKind::Alert, most, hold).await?;
        let next = handed.next.map_or(look_every, |next| next.since(self.shared.now()));
        // As many as were asked for: there may be more.
        let more = handed.messages.len() == most;
        self.look_at =
            if more { Moment::ZERO } else { now + next.clamp(SHORTEST_LOOK, look_every.max(SHORTEST_LOOK)) };
        for deliveries in self.by_task(handed.messages) {
            // A tenth earlier than the store thinks: clocks run differently.
            let delivering = in_order(Arc::clone(&self.shared), deliveries, now + hold.mul_f64(0.9));
            self.under_way.spawn(delivering);
        }
        Ok(())
    }

    /// Messages about one task together, in their order; each of the others alone.
    fn by_task(&self, messages: Vec<Undelivered>) -> Vec<Vec<Delivery>> {
        let mut groups: Vec<(Option<TaskId>, Vec<Delivery>)> = Vec::new();
        for message in messages {
            let (task, had) = (message.task, self.had.get(&message.id).cloned());
            let delivery = Delivery { message, had };
            match groups.iter_mut().find(|(of, _)| task.is_some() && *of == task) {
                Some((_, group)) => group.push(delivery),
                None => groups.push((task, vec![delivery])),
            }
        }
        groups.into_iter().map(|(_, group)| group).collect()
    }

    // ---- deliveries ----

    fn delivered(&mut self, done: Vec<Delivered>) {
        for Delivered { id, settled, had } in done {
            match settled {
                Settled::Delivered | Settled::GivenUp => drop(self.had.remove(&id)),
                // Not tried: nothing is to be remembered.
                Settled::Again(_) if had.is_empty() && !self.shared.settings.alerts.hooks.is_empty() => {}
                Settled::Again(_) => drop(self.had.insert(id, had)),
            }
            if settled == Settled::Delivered {
                count(&self.shared.counters.delivered);
            }
            self.settled.push((id, settled));
        }
        while self.had.len() > MOST_REMEMBERED {
            self.had.pop_first();
        }
    }

    /// Waits for what is under way, and says what became of it.
    async fn close(mut self) {
        while let Some(done) = self.under_way.join_next().await {
            self.delivered(done.unwrap_or_default());
        }
        if let Err(error) = self.settle().await {
            self.shared.store_failed("what was delivered could not be settled", &error);
        }
    }
}
