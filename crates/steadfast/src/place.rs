//! Which workflow a step is of, and what comes before it: outputs of others must not be taken for its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use steadfast_engine::StepId;

/// Tells the workflows of a program apart, also those that have the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowId(u64);

impl FlowId {
    /// One that no other workflow has.
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// What the code of steps has to know of its workflow.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) id: FlowId,
    /// By step: all that come before it. Set when the workflow is built, before any code of it can run.
    before: OnceLock<Vec<Vec<StepId>>>,
    /// The names of all steps, set with it.
    names: OnceLock<Vec<String>>,
}

impl Flow {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { id: FlowId::new(), before: OnceLock::new(), names: OnceLock::new() })
    }

    pub(crate) fn is_built(&self, workflow: &steadfast_runtime::Workflow) {
        let before = workflow.definition().ids().map(|id| workflow.before(id).to_vec());
        self.before.get_or_init(|| before.collect());
        let names = workflow.definition().steps().iter().map(|step| step.name().to_owned());
        self.names.get_or_init(|| names.collect());
    }

    /// Whether it has a step of this name.
    pub(crate) fn has(&self, step: &str) -> bool {
        self.names.get().is_some_and(|names| names.iter().any(|name| name == step))
    }
}

/// The step whose code, undo or condition it is.
#[derive(Clone, Debug)]
pub struct Place {
    pub(crate) flow: Arc<Flow>,
    pub(crate) id: StepId,
    pub(crate) name: &'static str,
}

impl Place {
    /// Whether a step of the same workflow comes before this one, or is it.
    pub(crate) fn may_read(&self, step: StepId) -> bool {
        let before = self.flow.before.get().and_then(|before| before.get(self.id.ordinal()));
        step == self.id || before.is_some_and(|before| before.contains(&step))
    }
}
