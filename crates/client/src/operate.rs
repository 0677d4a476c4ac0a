//! What operators ask: of one task, of many, of a breaker. What has an id of the asker's own is made again where that is needed.

use serde::Serialize;

use crate::client::Client;
use crate::error::Error;
use crate::wire::ask::{Ask, Deadline, Done, Label, Retry, RetryUndo, Skip, TakeAsUndone};
use crate::wire::audit::{AuditFilter, Audits};
use crate::wire::breaker::{Breaker, Breakers, Force, ForceOpen};
use crate::wire::bulk::{Bulk, BulkTasks, Bulks, NewBulk, Prepared};
use crate::wire::filter::Paging;

/// The ways to ask something of a task: a method, its part of the address, its body.
macro_rules! asks {
    ($($(#[$docs:meta])* $name:ident $path:literal $body:ty;)*) => {
        impl Client {$(
            $(#[$docs])*
            ///
            /// # Errors
            /// What the server says, such as why it was refused; no connection.
            pub async fn $name(&self, id: &str, ask: &$body) -> Result<Done, Error> {
                self.ask(id, $path, ask, ask.id.is_some()).await
            }
        )*}
    };
}

asks! {
    /// Has a step made again.
    retry "retry" Retry;
    /// Has a step skipped.
    skip "skip" Skip;
    /// Holds a task.
    pause "pause" Ask;
    /// Lets a task go on that is paused or has failed.
    resume "resume" Ask;
    /// Has a task undone that has not ended.
    cancel "cancel" Ask;
    /// Has a task undone, also one that has completed or failed.
    undo "undo" Ask;
    /// Gives a task another deadline, or none.
    deadline "deadline" Deadline;
    /// Has the undo of a step tried again.
    retry_undo "retry-undo" RetryUndo;
    /// Takes a step as undone.
    take_as_undone "take-as-undone" TakeAsUndone;
    /// Gives a task labels, or takes some away.
    label "label" Label;
}

impl Client {
    async fn ask(&self, id: &str, what: &str, ask: &impl Serialize, again: bool) -> Result<Done, Error> {
        self.post(&["tasks", id, what]).json(ask).repeatable(again).answer().await
    }

    /// Prepares a bulk: its tasks are fixed, and nothing is asked of them yet.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn prepare_bulk(&self, bulk: &NewBulk) -> Result<Prepared, Error> {
        self.post(&["bulks"]).json(bulk).answer().await
    }

    /// Begins a bulk, or goes on with one that was stopped.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn begin_bulk(&self, id: &str) -> Result<Bulk, Error> {
        self.post(&["bulks", id, "begin"]).repeatable(true).answer().await
    }

    /// Stops a bulk.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn stop_bulk(&self, id: &str) -> Result<Bulk, Error> {
        self.post(&["bulks", id, "stop"]).repeatable(true).answer().await
    }

    /// The newest bulks.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn bulks(&self, limit: Option<u32>) -> Result<Bulks, Error> {
        self.get(&["bulks"]).query(limit.map(|limit| ("limit", limit.to_string()))).answer().await
    }

    /// One bulk.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn bulk(&self, id: &str) -> Result<Bulk, Error> {
        self.get(&["bulks", id]).answer().await
    }

    /// The tasks of a bulk.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn bulk_tasks(&self, id: &str, page: &Paging) -> Result<BulkTasks, Error> {
        self.get(&["bulks", id, "tasks"]).query(page.pairs()).answer().await
    }

    /// What operators have done, newest first.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn audit(&self, filter: &AuditFilter, page: &Paging) -> Result<Audits, Error> {
        self.get(&["audit"]).query(filter.pairs()).query(page.pairs()).answer().await
    }

    /// All breakers, without their histories.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn breakers(&self) -> Result<Breakers, Error> {
        self.get(&["breakers"]).answer().await
    }

    /// The breaker of a service, with its history.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn breaker(&self, service: &str) -> Result<Breaker, Error> {
        self.get(&["breakers", service]).answer().await
    }

    /// Holds a breaker open.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn open_breaker(&self, service: &str, force: &ForceOpen) -> Result<Breaker, Error> {
        self.post(&["breakers", service, "open"]).json(force).answer().await
    }

    /// Holds a breaker closed.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn close_breaker(&self, service: &str, force: &Force) -> Result<Breaker, Error> {
        self.force(service, "close", force).await
    }

    /// Lets probes through, however the breaker stands.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn half_open_breaker(&self, service: &str, force: &Force) -> Result<Breaker, Error> {
        self.force(service, "half-open", force).await
    }

    /// Closes a breaker with all counts at zero, and ends whatever was forced.
    ///
    /// # Errors
    /// What the server says; no connection.
    pub async fn reset_breaker(&self, service: &str, force: &Force) -> Result<Breaker, Error> {
        self.force(service, "reset", force).await
    }

    /// Lets a breaker that is open probe now instead of later.
    ///
    /// # Errors
    /// What the server says, such as that it is not open; no connection.
    pub async fn probe_breaker(&self, service: &str, force: &Force) -> Result<Breaker, Error> {
        self.force(service, "probe", force).await
    }

    async fn force(&self, service: &str, what: &str, force: &Force) -> Result<Breaker, Error> {
        self.post(&["breakers", service, what]).json(force).answer().await
    }
}
