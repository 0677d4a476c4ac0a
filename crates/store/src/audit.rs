//! What operators have done: who, when, why, and what became of it.

use std::sync::Arc;

use steadfast_engine::Time;

use crate::error::Error;
use crate::id::{AuditId, TaskId};
use crate::record::{Payload, check_size};
use crate::{MAX_KEY, MAX_PAYLOAD};

/// Who asked for something, or the reason, in bytes.
pub const MAX_REASON: usize = 4 << 10;

/// Something that an operator has asked for. It is stored with what became of it, in one write, and never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// Made by whoever asked: under the same id nothing is done twice.
    pub id: AuditId,
    /// To which task; `None` for what is about more than one.
    pub task: Option<TaskId>,
    /// Who.
    pub by: Arc<str>,
    /// Why.
    pub why: Arc<str>,
    /// What, by its name.
    pub action: Arc<str>,
    /// Why it was not done; `None` if it was.
    pub refused: Option<Arc<str>>,
    /// What was before and what is so since, as JSON; the store does not look into it.
    pub detail: Payload,
}

impl Audit {
    /// Whether it is within the limits that all stores have.
    ///
    /// # Errors
    /// What is too large, and by how much.
    pub fn check(&self) -> Result<(), Error> {
        check_size("who asks, with the reason,", self.by.len() + self.why.len(), MAX_REASON)?;
        check_size("the name of an action", self.action.len(), MAX_KEY)?;
        check_size("what an action has changed", self.detail.len(), MAX_PAYLOAD)
    }
}

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audited {
    /// When, by the store's clock.
    pub at: Time,
    /// What.
    pub audit: Audit,
}
