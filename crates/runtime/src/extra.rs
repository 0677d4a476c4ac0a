//! What few submissions have: an id of their own, somebody to reply to, a row that they were handed in by.

use std::sync::Arc;

use steadfast_store::{ArrivalId, Labels, Store, TaskId};

use crate::error::Error;
use crate::node::{New, Node, Start, Submitted};
use crate::reply::ReplyTo;
use crate::trace::Trace;

/// What few submissions have.
#[derive(Clone, Debug, Default)]
pub struct Extra {
    /// The task's id, if whoever submits has chosen one.
    pub task: Option<TaskId>,
    /// To whom it replies.
    pub reply_to: Option<ReplyTo>,
    /// What whoever submits knows it by; it comes back in every reply.
    pub correlation: Option<Arc<str>>,
    /// The row that it was handed in by.
    pub arrival: Option<ArrivalId>,
    /// Its labels.
    pub labels: Labels,
    /// The trace that it belongs to.
    pub trace: Option<Arc<Trace>>,
}

impl Extra {
    pub(crate) fn is_some(&self) -> bool {
        let chosen = self.task.is_some() || self.reply_to.is_some() || self.arrival.is_some();
        chosen || self.labels.count() > 0 || self.trace.is_some()
    }
}

impl<S: Store> Node<S> {
    /// Submits a task that replies to somebody. What is said of the address when the key was used before counts.
    ///
    /// # Errors
    /// As for [`Node::submit`]; an address that nobody can reply to, or for which too many replies wait.
    pub async fn submit_with(&self, new: New, start: Start, extra: Extra) -> Result<Submitted, Error> {
        self.shared.submit_with(new, start, extra).await
    }

    /// The store that it works on.
    #[must_use]
    pub fn store(&self) -> &S {
        &self.shared.store
    }

    /// An id that no other task has.
    #[must_use]
    pub fn fresh_task() -> TaskId {
        TaskId::from_u128(uuid::Uuid::now_v7().as_u128())
    }
}
