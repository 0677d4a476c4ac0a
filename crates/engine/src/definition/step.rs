//! One step of a workflow.

use std::time::Duration;

use super::{Each, Repeat, Wait};

/// How long an attempt may take when nothing is said.
const COMPLETE_WITHIN: Duration = Duration::from_secs(60);

/// What one step does, and what happens when it fails.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a step does nothing until it is part of a workflow"]
pub struct Step {
    pub(super) name: String,
    pub(super) service: String,
    pub(super) after: Vec<String>,
    pub(super) conditional: bool,
    pub(super) complete_within: Duration,
    pub(super) on_failure: Option<OnFailure>,
    pub(super) undo: Option<Undo>,
    pub(super) nothing_to_undo: bool,
    pub(super) undo_when_unknown: bool,
    pub(super) idempotent: bool,
    pub(super) point_of_no_return: bool,
    pub(super) max_calls: Option<u32>,
    pub(super) recovery: Recovery,
    pub(super) waits: Option<Wait>,
    pub(super) repeat: Option<Repeat>,
    pub(super) each: Option<Each>,
    pub(super) heartbeat_within: Option<Duration>,
    /// The workflow of the task that it asks for.
    pub(super) child: Option<String>,
    /// How long its service may take to call back.
    pub(super) callback: Option<Duration>,
}

/// What a step that has failed for good means for its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// Everything that was done is undone.
    Undo,
    /// An operator decides.
    Error,
    /// The task goes on without it.
    Continue,
}

/// How a step is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undo {
    pub(crate) complete_within: Duration,
    pub(crate) reads_output: bool,
    pub(crate) recovery: Recovery,
}

impl Undo {
    /// How long one attempt may take.
    #[must_use]
    pub fn complete_within(&self) -> Duration {
        self.complete_within
    }

    /// Whether it needs what the step gave back.
    #[must_use]
    pub fn reads_output(&self) -> bool {
        self.reads_output
    }
}

/// How often an attempt that gave no answer is made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// Failures up to which it is made again at once.
    pub at_once: u32,
    /// How long to wait after more.
    pub extended_wait: Duration,
    /// Failures with which it is given up.
    pub last: u32,
}

impl Default for Recovery {
    /// Twice at once, then after five minutes each, and given up with the fifth failure.
    fn default() -> Self {
        Self { at_once: 2, extended_wait: Duration::from_secs(300), last: 5 }
    }
}

impl Step {
    /// A step that calls this service, at the beginning of the workflow.
    pub fn new(name: impl Into<String>, service: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            service: service.into(),
            after: Vec::new(),
            conditional: false,
            complete_within: COMPLETE_WITHIN,
            on_failure: None,
            undo: None,
            nothing_to_undo: false,
            undo_when_unknown: false,
            idempotent: true,
            point_of_no_return: false,
            max_calls: None,
            recovery: Recovery::default(),
            waits: None,
            repeat: None,
            each: None,
            heartbeat_within: None,
            child: None,
            callback: None,
        }
    }

    /// Begins once all of these have ended.
    pub fn after<N: Into<String>>(mut self, steps: impl IntoIterator<Item = N>) -> Self {
        self.after.extend(steps.into_iter().map(Into::into));
        self
    }

    /// Runs only if a condition holds when its turn comes; otherwise it is skipped, and so is what comes after it and
    /// after nothing else that ran.
    pub fn conditional(mut self) -> Self {
        self.conditional = true;
        self
    }

    /// How long one attempt may take, retries in place included. Default: one minute.
    pub fn complete_within(mut self, time: Duration) -> Self {
        self.complete_within = time;
        self
    }

    /// What happens when it has failed for good. Default: undo, and behind a point of no return an error.
    pub fn on_failure(mut self, then: OnFailure) -> Self {
        self.on_failure = Some(then);
        self
    }

    /// It can be undone, each attempt within this time, by its key and input alone.
    pub fn undo(mut self, complete_within: Duration) -> Self {
        self.undo = Some(Undo { complete_within, reads_output: false, recovery: Recovery::default() });
        self
    }

    /// The undo needs what the step gave back, which an unknown outcome does not have.
    pub fn undo_reads_output(mut self) -> Self {
        if let Some(undo) = &mut self.undo {
            undo.reads_output = true;
        }
        self
    }

    /// How often an undo that gave no answer is made again.
    pub fn undo_recovery(mut self, recovery: Recovery) -> Self {
        if let Some(undo) = &mut self.undo {
            undo.recovery = recovery;
        }
        self
    }

    /// It leaves nothing behind that would have to be undone.
    pub fn nothing_to_undo(mut self) -> Self {
        self.nothing_to_undo = true;
        self
    }

    /// Undoing it is safe even when nobody knows whether it happened.
    pub fn undo_when_unknown(mut self) -> Self {
        self.undo_when_unknown = true;
        self
    }

    /// It must not be made again when nobody knows whether it happened.
    pub fn not_idempotent(mut self) -> Self {
        self.idempotent = false;
        self
    }

    /// Once it has happened, the task only goes forward.
    pub fn point_of_no_return(mut self) -> Self {
        self.point_of_no_return = true;
        self
    }

    /// The most calls over all attempts, in place, by timers and by recoveries; one that gave no answer counts too.
    pub fn max_calls(mut self, calls: u32) -> Self {
        self.max_calls = Some(calls);
        self
    }

    /// How often an attempt that gave no answer is made again.
    pub fn recovery(mut self, recovery: Recovery) -> Self {
        self.recovery = recovery;
        self
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the steps that it comes after.
    #[must_use]
    pub fn comes_after(&self) -> &[String] {
        &self.after
    }

    /// The service that it calls; empty for a step that waits and calls none.
    #[must_use]
    pub fn service(&self) -> &str {
        &self.service
    }

    /// How it is undone, if it is.
    #[must_use]
    pub fn undo_settings(&self) -> Option<&Undo> {
        self.undo.as_ref()
    }

    pub(crate) fn failure_means(&self) -> OnFailure {
        self.on_failure.unwrap_or(OnFailure::Undo)
    }
}

/// What the rules ask about a step.
impl Step {
    /// Whether a condition says if it is to run.
    #[must_use]
    pub fn is_conditional(&self) -> bool {
        self.conditional
    }

    pub(crate) fn time(&self) -> Duration {
        self.complete_within
    }

    /// Whether it may be made again after it may have happened.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        self.idempotent
    }

    pub(crate) fn is_point_of_no_return(&self) -> bool {
        self.point_of_no_return
    }

    pub(crate) fn most_calls(&self) -> Option<u32> {
        self.max_calls
    }

    pub(crate) fn recoveries(&self) -> Recovery {
        self.recovery
    }

    /// Whether it can be undone although nobody knows whether it happened.
    pub(crate) fn is_undone_when_unknown(&self) -> bool {
        self.undo.is_some() && self.undo_when_unknown
    }
}
