//! Looking for tasks.

use std::sync::Arc;

use steadfast_engine::{TaskState, Time};

use crate::id::TaskId;
use crate::record::Stored;

/// Which tasks are looked for. What is not said does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// In one of these states; empty for any.
    pub states: Vec<TaskState>,
    /// Of this namespace.
    pub namespace: Option<Arc<str>>,
    /// Of this workflow.
    pub workflow: Option<Arc<str>>,
    /// Submitted under this key.
    pub key: Option<Arc<str>>,
    /// Parked on this service, with nobody at work on them.
    pub parked_on: Option<Arc<str>>,
    /// Submitted at this time or later.
    pub from: Option<Time>,
    /// Submitted before this time.
    pub before: Option<Time>,
    /// Asked for by this task.
    pub parent: Option<TaskId>,
    /// With all of these labels: names with values.
    pub labels: Vec<(Arc<str>, Arc<str>)>,
}

impl Filter {
    /// Whether a task is one of those that are looked for, as far as its rows say: its labels are beside them.
    #[must_use]
    pub fn matches(&self, stored: &Stored) -> bool {
        let is = |wanted: &Option<Arc<str>>, own: Option<&Arc<str>>| {
            wanted.as_ref().is_none_or(|wanted| own.is_some_and(|own| own == wanted))
        };
        (self.states.is_empty() || self.states.contains(&stored.task.state()))
            && is(&self.namespace, Some(&stored.namespace))
            && is(&self.workflow, Some(&stored.workflow))
            && is(&self.key, stored.key.as_ref())
            && is(&self.parked_on, stored.parked_on.as_ref().filter(|_| stored.owner.is_none()))
            && self.parent.is_none_or(|parent| stored.parent == Some(parent))
            && self.from.is_none_or(|from| stored.submitted_at >= from)
            && self.before.is_none_or(|before| stored.submitted_at < before)
    }
}

/// Some of the tasks that are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// They, newest id first.
    pub tasks: Vec<Stored>,
    /// Behind which id to look on; `None` if all were looked at. A store may look at so many in one call that none matches.
    pub behind: Option<TaskId>,
}
