//! What can go wrong for whoever asks a server for something.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use steadfast_resilience::classify::{self, Classify, Verdict};

use crate::wire::problem::Problem;

/// Something that could not be done. What the server said is inside: see [`problem`](Self::problem).
pub struct Error {
    kind: Kind,
    message: String,
    problem: Option<Box<Problem>>,
    source: Option<reqwest::Error>,
}

/// Which sort of thing went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The server said no: see the problem.
    Problem,
    /// There was no connection, or it broke. Whether the server has done anything is not known.
    Unreachable,
    /// It took longer than it may.
    TimedOut,
    /// An answer that this version cannot read.
    BadAnswer,
    /// A request that cannot be made, such as one to an address that is none.
    BadRequest,
}

impl Error {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), problem: None, source: None }
    }

    pub(crate) fn lost(base: &str, source: reqwest::Error) -> Self {
        let kind = match () {
            () if source.is_timeout() => Kind::TimedOut,
            () if source.is_builder() => Kind::BadRequest,
            () => Kind::Unreachable,
        };
        // Without the URL: its query may hold what must not be logged.
        let source = source.without_url();
        let causes = source.message().unwrap_or_else(|| source.to_string());
        let message = match kind {
            Kind::TimedOut => format!("the server at {base} did not answer in time"),
            Kind::BadRequest => format!("the request cannot be made: {causes}"),
            _ => format!(
                "the server at {base} cannot be reached: {causes}; is it running, and is this its address?"
            ),
        };
        Self { kind, message, problem: None, source: Some(source) }
    }

    /// Which sort of thing went wrong.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What the server said, if it said no.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        self.problem.as_deref()
    }

    /// The code of the problem, such as `SF408`, if the server said one.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.problem().map(|problem| problem.code.as_str()).filter(|code| !code.is_empty())
    }

    /// Whether the same may work later without anybody doing anything.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match (&self.problem, self.kind) {
            (Some(problem), _) => problem.transient,
            (None, kind) => matches!(kind, Kind::Unreachable | Kind::TimedOut),
        }
    }

    /// How long the server asks to be left alone, if it does.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.problem().and_then(Problem::retry_after)
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        let message = problem.to_string();
        Self { kind: Kind::Problem, message, problem: Some(Box::new(problem)), source: None }
    }
}

impl Classify for Error {
    fn classify(&self) -> Verdict {
        if let Some(source) = &self.source {
            return source.classify();
        }
        let Some(problem) = self.problem() else { return Verdict::terminal(classify::Kind::SERVER_ERROR) };
        let verdict = match (problem.transient, problem.status) {
            // It has done nothing with it.
            (true, 429) => Verdict::throttled(classify::Kind::THROTTLED),
            (true, _) => Verdict::transient(classify::Kind::SERVER_ERROR),
            (false, 500..) => Verdict::terminal(classify::Kind::SERVER_ERROR),
            (false, _) => Verdict::terminal(classify::Kind::BAD_REQUEST),
        };
        match problem.retry_after() {
            Some(time) => verdict.with_hint(time),
            None => verdict,
        }
    }

    fn message(&self) -> Option<String> {
        Some(self.message.clone())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// For people: it is what a `main` prints that returns the error.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match self.problem().map(|problem| problem.page.as_str()).filter(|page| !page.is_empty()) {
            Some(page) => write!(f, "\n  what to do: {page}"),
            None => Ok(()),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}
