//! The loop that begins recurring work. Any number of nodes may run it: each run has a key, and each schedule a version.
//!
//! It asks the store for what is next, and sleeps until then; once a minute it asks anyway, since other nodes change schedules
//! too. It goes by the store's time, which never goes back: a clock that is set back fires nothing again, and one that is
//! set ahead is noticed with the next renewal of the lease.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::{BoxFuture, join_all};
use futures_util::stream::FuturesUnordered;
use steadfast_engine::Time;
use steadfast_resilience::clock::Moment;
use steadfast_store::{Error, Schedule, Store, TaskId};

use super::fire::{Turn, turn};
use crate::shared::Shared;

/// The most schedules that have their turn at once: their submissions share commits.
const MOST_AT_ONCE: usize = 64;
/// The store is asked at least this often.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// After so long a store that failed is asked again.
const AGAIN: Duration = Duration::from_secs(1);

/// Begins runs, for as long as the node lives.
pub(crate) async fn watch<S: Store>(shared: Arc<Shared<S>>) {
    let mut watch = Watch { shared: &shared, held: HashMap::new(), ends: FuturesUnordered::new() };
    let (mut look_at, mut wake_at) = (shared.clock.now(), None);
    loop {
        let is_due = wake_at.is_some_and(|at| at <= shared.now());
        if is_due || look_at <= shared.clock.now() {
            (look_at, wake_at) = watch.look().await;
        }
        let to_wake = wake_at.map_or(Duration::MAX, |at: Time| at.since(shared.now()));
        let rest = look_at.since(shared.clock.now()).min(to_wake);
        tokio::select! {
            () = shared.clock.sleep(rest) => {}
            () = shared.bell.changed.notified() => {
                watch.held.clear();
                look_at = shared.clock.now();
            }
            // What is due is seen by the time as it is now.
            () = shared.bell.time.notified() => {}
            Some(name) = watch.ends.next() => {
                watch.held.remove(&name);
                look_at = shared.clock.now();
            }
        }
    }
}

struct Watch<'a, S> {
    shared: &'a Shared<S>,
    /// Schedules that are due, and to be left alone until then.
    held: HashMap<Arc<str>, Moment>,
    /// The ends of tasks that schedules wait for.
    ends: FuturesUnordered<BoxFuture<'a, Arc<str>>>,
}

impl<S: Store> Watch<'_, S> {
    /// Gives all that are due their turn. When to look again at the latest, and by the store's time.
    async fn look(&mut self) -> (Moment, Option<Time>) {
        match self.round().await {
            Ok(next) => next,
            Err(error) => {
                self.shared.store_failed("nobody knows which schedules are due", &error);
                (self.shared.clock.now() + AGAIN, None)
            }
        }
    }

    async fn round(&mut self) -> Result<(Moment, Option<Time>), Error> {
        let began = self.shared.clock.now();
        self.held.retain(|_, until| *until > began);
        let most = MOST_AT_ONCE + self.held.len();
        let upcoming = self.shared.store.upcoming(most).await?;
        let now = self.shared.now();
        let ahead = upcoming.iter().filter_map(|schedule| schedule.wake_at).find(|at| *at > now);
        let is_due = |schedule: &&Schedule| {
            schedule.wake_at.is_some_and(|at| at <= now) && !self.held.contains_key(&schedule.name)
        };
        let due: Vec<_> = upcoming.iter().filter(is_due).take(MOST_AT_ONCE).collect();
        let turns = join_all(due.iter().map(|schedule| turn(self.shared, schedule, now))).await;
        let moved = turns.iter().any(|turn| matches!(turn, Turn::Done));
        for (schedule, turn) in due.into_iter().zip(turns) {
            self.settle(&schedule.name, turn);
        }
        // The store knows when those are next that were moved on, and what is behind those that were all due.
        let more = moved || (ahead.is_none() && upcoming.len() == most);
        let soonest = self.held.values().copied().min().unwrap_or(Moment::FAR);
        let look_at = if more { began } else { soonest.min(began + LOOK_EVERY) };
        Ok((look_at, ahead))
    }

    fn settle(&mut self, name: &Arc<str>, turn: Turn) {
        let (wait, task) = match turn {
            Turn::Done => return,
            Turn::Later(wait) => (wait, None),
            Turn::Waits(task, wait) => (wait, Some(task)),
        };
        self.held.insert(Arc::clone(name), self.shared.clock.now() + wait);
        if let Some(task) = task {
            self.ends.push(Box::pin(end_of(self.shared, task, Arc::clone(name), wait)));
        }
    }
}

/// Waits for the end of a task on this node, or until it is looked at anyway.
async fn end_of<S: Store>(shared: &Shared<S>, task: TaskId, name: Arc<str>, wait: Duration) -> Arc<str> {
    let waiting = shared.watchers.wait_for(task);
    let mut ended = std::pin::pin!(waiting.notify.notified());
    ended.as_mut().enable();
    // It may have ended before anybody listened.
    if let Ok(read) = shared.store.read(vec![task]).await
        && read.iter().flatten().all(|stored| stored.task.state().is_at_rest())
    {
        shared.watchers.forget(task);
        return name;
    }
    tokio::select! {
        () = ended => {}
        () = shared.clock.sleep(wait) => shared.watchers.forget(task),
    }
    name
}
