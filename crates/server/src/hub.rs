//! Who waits for news of a task. One listener hears all that the engine tells, and wakes those who watch that task: a stream
//! that nothing happens to costs a place in a map.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use steadfast::{Engine, Events, TaskId};
use tokio::sync::watch;

/// Those who watch tasks.
pub(crate) struct Hub {
    engine: Engine,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    watched: Mutex<Watched>,
}

#[derive(Default)]
struct Watched {
    tasks: HashMap<TaskId, watch::Sender<()>>,
    /// Whether the listener runs. It ends when nobody watches anything, so that the engine tells nobody then.
    listens: bool,
}

/// Somebody who watches a task.
pub(crate) struct Watching {
    task: TaskId,
    news: watch::Receiver<()>,
    shared: Arc<Shared>,
}

impl Hub {
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine, shared: Arc::default() }
    }

    /// Watches a task: whatever is written of it from now on wakes the watcher.
    pub(crate) fn watch(&self, task: TaskId) -> Watching {
        let mut watched = self.shared.watched();
        let news = watched.tasks.entry(task).or_insert_with(|| watch::channel(()).0).subscribe();
        if !std::mem::replace(&mut watched.listens, true) {
            let events = self.engine.events();
            tokio::spawn(Arc::clone(&self.shared).listen(events));
        }
        Watching { task, news, shared: Arc::clone(&self.shared) }
    }
}

impl Shared {
    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn listen(self: Arc<Self>, mut events: Events) {
        loop {
            let told = events.next().await;
            let mut watched = self.watched();
            let Some(told) = told else {
                // The engine has stopped: all of them look once more.
                watched.tasks.values().for_each(|news| news.send_modify(|()| {}));
                watched.listens = false;
                return;
            };
            if let Some(news) = watched.tasks.get(&told.task) {
                news.send_modify(|()| {});
            }
            if watched.tasks.is_empty() {
                watched.listens = false;
                return;
            }
        }
    }
}

impl Watching {
    /// Returns when something was written of the task since this was asked last.
    pub(crate) async fn news(&mut self) {
        // The sender stays in the map for as long as somebody watches.
        let _ = self.news.changed().await;
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut watched = self.shared.watched();
        // This one is not counted any more, so that of two that go at once the second finds nobody.
        self.news = watch::channel(()).1;
        if watched.tasks.get(&self.task).is_some_and(|news| news.receiver_count() == 0) {
            watched.tasks.remove(&self.task);
        }
    }
}
