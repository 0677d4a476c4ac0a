//! A service that steps call.

use std::sync::Arc;

use steadfast_resilience::{BuildError, Limit, Pipeline, Retry};

/// How many attempts run at a time where nothing is said.
const MOST_RUNNING: usize = 1_000;
/// The retries of a standard service: more than the failures in a row that open its breaker.
const RETRIES: u32 = 12;

/// A service: its name, the pipeline around each call, how many attempts may run at a time and begin in a second on one
/// node, and how it is met when it was away.
#[derive(Clone, Debug)]
pub struct Service {
    name: Arc<str>,
    pipeline: Pipeline,
    most_running: usize,
    /// Attempts a second, and what counts them.
    rate: Option<(f64, Limit)>,
    ramped: bool,
}

impl Service {
    /// A service whose calls go through this pipeline. It has the pipeline's name.
    #[must_use]
    pub fn new(pipeline: Pipeline) -> Self {
        Self {
            name: Arc::from(pipeline.name()),
            pipeline,
            most_running: MOST_RUNNING,
            rate: None,
            ramped: true,
        }
    }

    /// No service at all: for steps that wait and call none.
    #[must_use]
    pub fn none() -> Self {
        Self { name: Arc::from(""), ..Self::standard("none") }
    }

    /// Whether it stands for no service.
    pub(crate) fn is_none(&self) -> bool {
        self.name.is_empty()
    }

    /// A service with the standard pipeline, but for its retries: twelve, between 100 ms and 10 s with full jitter. Those are more
    /// than the failures in a row that open its breaker, so that a step that is alone waits for a service that is away and does
    /// not give up before anybody knows.
    #[must_use]
    pub fn standard(name: &str) -> Self {
        let patient = Pipeline::builder(name).retry(Retry::exponential().max_retries(RETRIES)).build();
        // A blank name, which has no other pipeline.
        Self::new(patient.unwrap_or_else(|_| Pipeline::standard(name)))
    }

    /// How many attempts may run at a time on one node; others wait in line, in memory, and no time limit runs for them.
    /// A higher priority goes first; of one priority, namespaces have the same share of the places, and so have the
    /// workflows of each. Default: 1000. Zero is taken as one.
    #[must_use]
    pub fn most_running(mut self, attempts: usize) -> Self {
        self.most_running = attempts.max(1);
        self
    }

    /// How many attempts may begin in a second on one node, as a mean; a tenth of that may begin at once. Others wait in
    /// line, in memory, and no time limit runs for them. Calls that an attempt makes again in place are not counted: a
    /// [`Limit`] of the pipeline counts each call.
    ///
    /// # Errors
    /// A rate that makes no sense: it is from 0.001 to 1 000 000.
    pub fn most_per_second(mut self, attempts: f64) -> Result<Self, BuildError> {
        self.rate = Some((attempts, Limit::rate(attempts).build()?));
        Ok(self)
    }

    /// What waited for its breaker comes back all at once when that closes, and not in growing steps. For services that bear
    /// it, and for tests that show what the ramp is good for.
    #[must_use]
    pub fn without_ramp(mut self) -> Self {
        self.ramped = false;
        self
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same, without a copy of it.
    pub(crate) fn shared_name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// The pipeline around each call.
    #[must_use]
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    pub(crate) fn is_ramped(&self) -> bool {
        self.ramped
    }

    pub(crate) fn rate(&self) -> Option<&Limit> {
        self.rate.as_ref().map(|(_, limit)| limit)
    }

    /// Its limits in words: two services of one name must have the same.
    pub(crate) fn limits(&self) -> String {
        let rate = self.rate.as_ref().map_or(String::new(), |(rate, _)| format!(", {rate} a second"));
        let ramp = if self.ramped { "" } else { ", without a ramp" };
        format!("{} attempts at a time{rate}{ramp}", self.most_running)
    }

    pub(crate) fn limit(&self) -> usize {
        self.most_running
    }
}
