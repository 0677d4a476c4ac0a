//! Many tasks of which an operator asks the same.

use crate::MAX_SCHEDULE;
use crate::error::Error;
use crate::id::{AuditId, TaskId};
use crate::record::{Payload, check_size};

/// The most tasks that are added to a bulk in one write.
pub const MAX_ADDED: usize = 10_000;

/// Many tasks of which an operator asks the same. Which ones is fixed before anything is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bulk {
    /// Made by whoever asks.
    pub id: AuditId,
    /// How often it was written: whoever writes it names the one that it has read, 0 for one that is not there yet.
    pub version: u64,
    /// How many tasks it has.
    pub tasks: u64,
    /// Whether somebody has to see to it.
    pub under_way: bool,
    /// What is asked, and how far it has come; the store does not look into it.
    pub body: Payload,
}

impl Bulk {
    /// Whether it is within the limits that all stores have, with tasks that are added.
    ///
    /// # Errors
    /// What is too large, and by how much.
    pub fn check(&self, more: &[TaskId]) -> Result<(), Error> {
        check_size("a bulk of actions", self.body.len(), MAX_SCHEDULE)?;
        check_size("what is added to a bulk of actions", more.len(), MAX_ADDED)
    }
}

/// What became of a bulk that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PutBulk {
    /// It is stored; this is its version now.
    Done(u64),
    /// Somebody has written it since it was read: this is what stands, or nothing does.
    Other(Option<Bulk>),
}
