//! Places at a service: how many attempts run, and who waits in line.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::StepId;
use steadfast_resilience::Pipeline;
use steadfast_store::TaskId;

use crate::workflow::Workflows;

/// How long a step waits at least for an open breaker, or for room at its service.
pub(crate) const SHORTEST_PARK: Duration = Duration::from_secs(1);
/// How long it waits at most before it asks again.
pub(crate) const LONGEST_PARK: Duration = Duration::from_secs(60);

pub(crate) struct Slots {
    pipeline: Pipeline,
    most: usize,
    used: usize,
    line: VecDeque<(TaskId, StepId)>,
}

/// What a step is told that wants to run.
pub(crate) enum Permit {
    /// It has a place.
    Granted,
    /// It waits in line.
    InLine,
    /// The breaker is open: come back after this.
    Open(Duration),
}

/// One for each service of all workflows.
pub(super) fn all(workflows: &Workflows) -> HashMap<Arc<str>, Slots> {
    let mut all = HashMap::new();
    for workflow in workflows.all() {
        for id in workflow.definition().ids() {
            let service = workflow.service(id);
            all.entry(Arc::from(service.name())).or_insert_with(|| Slots {
                pipeline: service.pipeline().clone(),
                most: service.limit(),
                used: 0,
                line: VecDeque::new(),
            });
        }
    }
    all
}

impl Slots {
    /// Takes a place, or one in the line.
    pub(super) fn take(&mut self, task: TaskId, step: StepId) -> Permit {
        if let Some(wait) = self.refused_for() {
            return Permit::Open(wait);
        }
        if self.used < self.most {
            self.used += 1;
            return Permit::Granted;
        }
        self.line.push_back((task, step));
        Permit::InLine
    }

    /// For how long the breaker refuses, if it does. The attempt itself asks again: here it is only looked at.
    fn refused_for(&self) -> Option<Duration> {
        let wait = self.pipeline.breaker()?.refuses_for()?;
        Some(wait.clamp(SHORTEST_PARK, LONGEST_PARK))
    }

    /// Takes a place for an attempt that runs already.
    pub(super) fn take_anyway(&mut self) {
        self.used += 1;
    }

    /// A place is free again.
    pub(super) fn free(&mut self) {
        self.used = self.used.saturating_sub(1);
    }

    /// The next in line, if there is a place; it has it.
    pub(super) fn next(&mut self) -> Option<(TaskId, StepId)> {
        if self.used >= self.most {
            return None;
        }
        let next = self.line.pop_front()?;
        self.used += 1;
        Some(next)
    }

    pub(super) fn has_line(&self) -> bool {
        !self.line.is_empty()
    }

    pub(super) fn forget_line(&mut self) {
        self.line.clear();
    }
}
