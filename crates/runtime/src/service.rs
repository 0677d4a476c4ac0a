//! A service that steps call.

use std::sync::Arc;

use steadfast_resilience::Pipeline;

/// How many attempts run at a time where nothing is said.
const MOST_RUNNING: usize = 1_000;

/// A service: its name, the pipeline around each call, and how many attempts may run at a time on one node.
#[derive(Clone, Debug)]
pub struct Service {
    name: Arc<str>,
    pipeline: Pipeline,
    most_running: usize,
}

impl Service {
    /// A service whose calls go through this pipeline. It has the pipeline's name.
    #[must_use]
    pub fn new(pipeline: Pipeline) -> Self {
        Self { name: Arc::from(pipeline.name()), pipeline, most_running: MOST_RUNNING }
    }

    /// A service with the standard pipeline.
    #[must_use]
    pub fn standard(name: &str) -> Self {
        Self::new(Pipeline::standard(name))
    }

    /// How many attempts may run at a time on one node; others wait in line, in memory, and no time limit runs for them.
    /// Default: 1000. Zero is taken as one.
    #[must_use]
    pub fn most_running(mut self, attempts: usize) -> Self {
        self.most_running = attempts.max(1);
        self
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The pipeline around each call.
    #[must_use]
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    pub(crate) fn limit(&self) -> usize {
        self.most_running
    }
}
