//! The two ways to call the service that the demo compares, as pipelines.
//! Both wait alike between tries and have the same time limit; they differ in budget and breaker alone.

use std::time::Duration;

use anyhow::{Result, ensure};
use steadfast_resilience::{Breaker, Pipeline, Retry};

use super::script::Script;

/// How long an attempt may take. The service is on this machine; the default of 10 s is for those that are not.
pub(crate) const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(300);

/// Retries of the second contender: three attempts, as many programs make them.
const PLAIN_RETRIES: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contender {
    /// The library's defaults.
    Steadfast,
    /// Three attempts, and nothing that looks further than one call.
    ThreeAttempts,
}

impl Contender {
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Steadfast => "Steadfast's defaults: 3 retries, a retry budget, a circuit breaker",
            Self::ThreeAttempts => "the same script with 3 attempts, no retry budget, no circuit breaker",
        }
    }

    pub(crate) fn pipeline(self, script: Script) -> Result<Pipeline> {
        let builder = Pipeline::builder("demo").attempt_timeout(ATTEMPT_TIMEOUT);
        let pipeline = match self {
            Self::Steadfast => builder.breaker(Breaker::standard().open_for(script.open_for())),
            Self::ThreeAttempts => {
                builder.retry(Retry::standard().max_retries(PLAIN_RETRIES)).no_budget().no_breaker()
            }
        }
        .build()?;
        ensure!(pipeline.warnings().is_empty(), "the demo's settings: {:?}", pipeline.warnings());
        Ok(pipeline)
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{MAX_SECONDS, MIN_SECONDS};
    use super::*;

    #[test]
    fn both_pipelines_build_without_a_warning_at_every_length() {
        for seconds in MIN_SECONDS..=MAX_SECONDS {
            for contender in [Contender::Steadfast, Contender::ThreeAttempts] {
                let pipeline = contender.pipeline(Script::of_seconds(seconds)).unwrap();
                assert_eq!(pipeline.breaker().is_some(), contender == Contender::Steadfast);
                assert_eq!(pipeline.budget().is_some(), contender == Contender::Steadfast);
            }
        }
    }
}
