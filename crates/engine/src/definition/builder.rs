//! Building a workflow.

use std::time::Duration;

use super::check::{check, dependents};
use super::{Definition, Invalid, Step, StepId};

/// A workflow that was not checked yet.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct Builder {
    pub(super) name: String,
    pub(super) version: u32,
    pub(super) complete_within: Option<Duration>,
    pub(super) steps: Vec<Step>,
}

impl Builder {
    pub(super) fn new(name: String) -> Self {
        Self { name, version: 1, complete_within: None, steps: Vec::new() }
    }

    /// The version: raise it with every change. Default: 1.
    pub fn version(mut self, version: u32) -> Self {
        self.version = version;
        self
    }

    /// How long a task may take; what is not done by then is undone. Default: without a limit.
    pub fn complete_within(mut self, time: Duration) -> Self {
        self.complete_within = Some(time);
        self
    }

    /// Adds a step.
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Checks it.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its place.
    pub fn build(self) -> Result<Definition, Invalid> {
        let before = check(&self)?;
        let dependents = dependents(&before);
        let Self { name, version, complete_within, mut steps } = self;
        behind_no_return(&mut steps, &dependents);
        Ok(Definition { name, version, complete_within, steps, before, dependents })
    }
}

/// Behind a point of no return nothing is undone, so there a failure is an error when nothing else was said.
fn behind_no_return(steps: &mut [Step], dependents: &[Vec<StepId>]) {
    for place in super::check::behind_no_return(steps, dependents) {
        steps[place].on_failure.get_or_insert(super::OnFailure::Error);
        if steps[place].asks_for().is_some() {
            steps[place].leave_child();
        }
    }
}
