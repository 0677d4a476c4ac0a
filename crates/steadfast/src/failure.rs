//! How a step fails.

use std::fmt;

use steadfast_resilience::{Classify, Kind, Verdict};
use steadfast_runtime::Fault;

/// How a step failed: what it means, and words for people. Errors of your own do as well, if they say what they mean
/// ([`Classify`]): see [`Failure::of`].
#[derive(Clone, Debug)]
pub struct Failure {
    verdict: Verdict,
    message: String,
}

impl Failure {
    /// A passing fault: it is tried again. Whether the service did something is not known.
    pub fn transient(kind: &str, message: impl fmt::Display) -> Self {
        Self { verdict: Verdict::transient(Kind::named(kind)), message: message.to_string() }
    }

    /// A passing fault of which one knows that the service did nothing.
    pub fn refused(kind: &str, message: impl fmt::Display) -> Self {
        let verdict = Verdict::transient(Kind::named(kind)).without_effect();
        Self { verdict, message: message.to_string() }
    }

    /// The service says no, for good: it did nothing, and trying again cannot help.
    pub fn terminal(kind: &str, message: impl fmt::Display) -> Self {
        Self { verdict: Verdict::terminal(Kind::named(kind)).without_effect(), message: message.to_string() }
    }

    /// An error that says itself what it means, such as one of `std::io`.
    pub fn of<E: Classify + fmt::Display>(error: E) -> Self {
        Self { verdict: error.classify(), message: error.to_string() }
    }

    /// No failure: the service has taken the work on, and will call back. Only the code of a step with a
    /// [`callback`](crate::StepBuilder::callback) may end so.
    #[must_use]
    pub fn later() -> Self {
        let message = "the service will call back, and the step has no `.callback(..)`: add one".to_owned();
        Self { verdict: Verdict::terminal(LATER), message }
    }

    /// With this meaning.
    #[must_use]
    pub fn with_verdict(mut self, verdict: Verdict) -> Self {
        self.verdict = verdict;
        self
    }

    /// What it means.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl Classify for Failure {
    fn classify(&self) -> Verdict {
        self.verdict
    }
}

/// The kind of what is no failure, but an answer that comes later.
pub(crate) const LATER: Kind = Kind::new("answers-later");

/// As an agent takes it.
pub(crate) fn fault<E: Classify + fmt::Display>(error: &E) -> Fault {
    Fault { verdict: error.classify(), message: error.to_string() }
}
