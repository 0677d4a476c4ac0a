//! One policy beside itself without its budget and breaker: what each of them is good for.

use std::thread;

use super::report::Report;
use super::scenario::Scenario;
use crate::pipeline::Builder;
use crate::problem::BuildError;

/// How much of the policy takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// All of it.
    AsWritten,
    /// Without the retry budget.
    NoBudget,
    /// Without the circuit breaker.
    NoBreaker,
    /// Without both: retries alone.
    Neither,
}

impl Variant {
    /// All of them, the policy itself first.
    pub const ALL: [Self; 4] = [Self::AsWritten, Self::NoBudget, Self::NoBreaker, Self::Neither];

    /// In words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AsWritten => "as written",
            Self::NoBudget => "no budget",
            Self::NoBreaker => "no breaker",
            Self::Neither => "neither",
        }
    }

    fn of(self, policy: &Builder) -> Builder {
        let policy = policy.clone();
        match self {
            Self::AsWritten => policy,
            Self::NoBudget => policy.no_budget(),
            Self::NoBreaker => policy.no_breaker(),
            Self::Neither => policy.no_budget().no_breaker(),
        }
    }
}

/// One scenario, lived through in four variants of one policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    reports: Vec<(Variant, Report)>,
}

impl Comparison {
    pub(super) fn of(scenario: &Scenario, policy: &Builder) -> Result<Self, BuildError> {
        let reports = thread::scope(|scope| {
            let run = |variant: Variant| (variant, scope.spawn(move || scenario.run(&variant.of(policy))));
            let threads: Vec<_> = Variant::ALL.iter().copied().map(run).collect();
            let join =
                |(variant, thread): (Variant, thread::ScopedJoinHandle<'_, Result<Report, BuildError>>)| {
                    let report = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                    report.map(|report| (variant, report))
                };
            threads.into_iter().map(join).collect::<Result<Vec<_>, _>>()
        })?;
        Ok(Self { reports })
    }

    /// Every variant with its report, the policy itself first.
    #[must_use]
    pub fn reports(&self) -> &[(Variant, Report)] {
        &self.reports
    }

    /// The report of one variant.
    #[must_use]
    pub fn report(&self, variant: Variant) -> Option<&Report> {
        self.reports.iter().find(|(of, _)| *of == variant).map(|(_, report)| report)
    }
}
