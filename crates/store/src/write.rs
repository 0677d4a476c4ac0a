//! Writes to tasks, and what guards them.

use std::sync::Arc;

use steadfast_engine::{Head, Plan, Record, StepId, Time};

use crate::MAX_PAYLOAD;
use crate::audit::Audit;
use crate::error::Error;
use crate::id::TaskId;
use crate::outbox::Outgoing;
use crate::record::{MailId, Payload, check_size};

/// A write to one task. It is done as a whole, if its guard holds.
#[derive(Clone, Debug)]
pub struct Write {
    /// To which task.
    pub task: TaskId,
    /// What must hold.
    pub guard: Guard,
    /// The task's own row, if it changes.
    pub head: Option<Head>,
    /// The rows of steps that change.
    pub steps: Vec<(StepId, Record)>,
    /// Outputs of steps, and what is kept at places beyond the steps: what signals said, and how far attempts have come.
    pub outputs: Vec<(StepId, Payload)>,
    /// Mail up to here is consumed by this write.
    pub mail_read: Option<MailId>,
    /// Who holds the task from then on.
    pub hold: Hold,
    /// The service whose breaker a task waits for that is released: it is found by that, nearest deadline first
    /// ([`Parked::claim_parked`](crate::Parked::claim_parked)). Without meaning for one that is not released.
    pub parked_on: Option<Arc<str>>,
    /// What is to be told of it: stored with it, or not at all. Most writes tell nothing, and pay nothing for that.
    pub messages: Vec<Outgoing>,
    /// What operators have asked for and this write has done, or refuses to do.
    pub audits: Vec<Audit>,
}

impl Write {
    /// What a plan writes.
    #[must_use]
    pub fn of(plan: &Plan, task: TaskId, guard: Guard) -> Self {
        let (head, steps) = (plan.head().cloned(), plan.steps().to_vec());
        Self {
            task,
            guard,
            head,
            steps,
            outputs: Vec::new(),
            mail_read: None,
            hold: Hold::Keep,
            parked_on: None,
            messages: Vec::new(),
            audits: Vec::new(),
        }
    }

    /// Whether it does more than let go of the task, or keep how far an attempt has come. One that does not is no entry of
    /// the history: a task that nobody can work on is claimed and released for as long as it waits, an attempt that runs for
    /// hours tells of itself each second, and their histories would grow for ever.
    #[must_use]
    pub fn has_entry(&self) -> bool {
        let outputs = self.outputs.iter().any(|(step, _)| step.is_made());
        let says = self.head.is_some() || !self.steps.is_empty() || outputs || self.mail_read.is_some();
        says || self.outputs.is_empty() && !matches!(self.hold, Hold::Release(_))
    }

    /// Whether it is within the limits that all stores have.
    ///
    /// # Errors
    /// What is too large, and by how much.
    pub fn check(&self) -> Result<(), Error> {
        self.outputs.iter().try_for_each(|(_, output)| check_size("an output", output.len(), MAX_PAYLOAD))?;
        self.audits.iter().try_for_each(Audit::check)?;
        self.messages.iter().try_for_each(Outgoing::check)
    }
}

/// What must hold for a write to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The task's epoch: nobody has claimed or recovered it since.
    pub epoch: u64,
    /// The task's revision: nothing was written since it was read.
    pub revision: u64,
    /// No mail came after this one; `None` when mail does not matter. A timeout minds it: a message that came first wins.
    pub mail: Option<MailId>,
}

/// Who holds a task after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Whoever did.
    Keep,
    /// Nobody: it waits until then, or for mail.
    Release(Time),
    /// Nobody, at once, and its epoch is raised: whoever held it can write no more.
    Take,
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It is done; this is the task's revision now.
    Done(u64),
    /// It was not.
    Refused(Refusal),
}

/// Why a write was refused. Nothing of it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// There is no such task.
    Unknown,
    /// Somebody else has claimed or recovered it.
    Epoch,
    /// It was written since it was read.
    Revision,
    /// Mail came first.
    Mail,
}
