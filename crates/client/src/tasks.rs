//! Submitting tasks, finding them, and asking how they stand.

use std::time::Duration;

use reqwest::header::HeaderName;
use serde_json::Value;

use crate::client::Client;
use crate::error::Error;
use crate::events::Events;
use crate::wire::callback::CalledBack;
use crate::wire::filter::{Filter, Paging};
use crate::wire::submit::{Batch, Batched, Signal, Submit, Submitted};
use crate::wire::task::{History, Task, Tasks};
use crate::wire::why::Why;

/// Says which submission it is, as the body does.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");

impl Client {
    /// Submits a task. When this returns, it is stored and will be worked on. One with a key is made again where that is needed.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn submit(&self, task: &Submit) -> Result<Submitted, Error> {
        self.post(&["tasks"]).json(task).repeatable(task.key.is_some()).answer().await
    }

    /// Submits a task and waits for its end, at most so long: without an outcome it is still under way.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn submit_and_wait(&self, task: &Submit, at_most: Duration) -> Result<Submitted, Error> {
        let wait = [("wait", format!("{}ms", at_most.as_millis()))];
        let request = self.post(&["tasks"]).query(wait).json(task);
        request.repeatable(task.key.is_some()).waiting(at_most).answer().await
    }

    /// Submits a task under the key of the header `Idempotency-Key`, for those who have it from a request of their own.
    ///
    /// # Errors
    /// What the server says, also if the task has another key; no connection.
    pub async fn submit_under(&self, key: &str, task: &Submit) -> Result<Submitted, Error> {
        self.post(&["tasks"]).header(KEY, key).json(task).repeatable(true).answer().await
    }

    /// Submits many tasks, each stored or refused for itself. It is made again only if all of them have keys.
    ///
    /// # Errors
    /// What the server says to the batch as a whole; no connection.
    pub async fn submit_batch(&self, tasks: Vec<Submit>) -> Result<Batched, Error> {
        let repeatable = tasks.iter().all(|task| task.key.is_some());
        self.post(&["tasks", "batch"]).json(&Batch { tasks }).repeatable(repeatable).answer().await
    }

    /// Tasks that are looked for, newest first.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn tasks(&self, filter: &Filter, page: &Paging) -> Result<Tasks, Error> {
        self.get(&["tasks"]).query(filter.pairs()).query(page.pairs()).answer().await
    }

    /// A task as a whole; with its input, outputs and result if payloads are asked for.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn task(&self, id: &str, payloads: bool) -> Result<Task, Error> {
        let query = payloads.then(|| ("payloads", "true".to_owned()));
        self.get(&["tasks", id]).query(query).answer().await
    }

    /// Answers for a step whose service has taken the work on: what that gives, or an object with an `error`. The callback is what
    /// stands at the end of the URL that the service was given. It may be sent again.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn call_back(&self, callback: &str, says: &Value) -> Result<CalledBack, Error> {
        self.post(&["callbacks", callback]).json(says).repeatable(true).answer().await
    }

    /// Why a task does not move, or how it has ended.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn why(&self, id: &str) -> Result<Why, Error> {
        self.get(&["tasks", id, "why"]).answer().await
    }

    /// What happened to a task behind this revision, oldest first; from the beginning with `None`.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn history(&self, id: &str, after: Option<u64>, limit: Option<u32>) -> Result<History, Error> {
        let after = after.map(|after| ("after", after.to_string()));
        let limit = limit.map(|limit| ("limit", limit.to_string()));
        self.get(&["tasks", id, "history"]).query(after).query(limit).answer().await
    }

    /// The tasks that a task has asked for.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn children(&self, id: &str, page: &Paging) -> Result<Tasks, Error> {
        self.get(&["tasks", id, "children"]).query(page.pairs()).answer().await
    }

    /// What happens to a task, as it happens: from its beginning, or behind the place that is given. Nothing is asked of the server
    /// before the first [`Events::next`].
    #[must_use]
    pub fn events(&self, id: &str, after: Option<u64>) -> Events {
        Events::new(self.clone(), id, after)
    }

    /// Sends a signal to a task. When this returns, it is stored and will be acted on. One with an id is made again where that is
    /// needed.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn signal(&self, id: &str, signal: &Signal) -> Result<(), Error> {
        let request = self.post(&["tasks", id, "signals"]).json(signal).repeatable(signal.id.is_some());
        request.plain().await.map(drop)
    }
}
