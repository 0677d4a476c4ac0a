//! The error of a pipeline or breaker: what ended the call, and the whole story of its attempts.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use crate::breaker::Refused;
use crate::classify::{Classify, Kind, Verdict};
use crate::problem::Code;
use crate::retry::Stop;
use crate::story::Story;

/// A call that ended without success.
///
/// The operation's own error is inside, unchanged: [`operation`](Self::operation) shows it,
/// [`into_operation`](Self::into_operation) takes it out, and it is the `source`.
#[derive(Debug)]
pub struct Error<E> {
    cause: Cause<E>,
    stop: Stop,
    story: Option<Box<Story>>,
}

/// What ended the call.
#[derive(Debug)]
#[non_exhaustive]
pub enum Cause<E> {
    /// The last error of the operation itself.
    Operation(E),
    /// The last attempt took longer than it may, or the deadline came first.
    TimedOut,
    /// The circuit breaker refused: nothing was attempted.
    Refused(Refused),
    /// The caller cancelled before any attempt had ended.
    Cancelled {
        /// Whether an attempt was under way: its request may have taken effect.
        under_way: bool,
    },
}

impl<E> Error<E> {
    pub(crate) fn new(cause: Cause<E>, stop: Stop, story: Option<Box<Story>>) -> Self {
        Self { cause, stop, story }
    }

    #[cfg(feature = "tokio")]
    pub(crate) fn refused(refused: Refused) -> Self {
        Self::new(Cause::Refused(refused), Stop::BreakerOpen, None)
    }

    #[cfg(feature = "tokio")]
    pub(crate) fn failed_once(error: E) -> Self {
        Self::new(Cause::Operation(error), Stop::NoRetry, None)
    }

    #[cfg(feature = "tokio")]
    pub(crate) fn timed_out_once() -> Self {
        Self::new(Cause::TimedOut, Stop::NoRetry, None)
    }

    /// What ended the call.
    #[must_use]
    pub fn cause(&self) -> &Cause<E> {
        &self.cause
    }

    /// Why there was no further try.
    #[must_use]
    pub fn stop(&self) -> Stop {
        self.stop
    }

    /// The attempts and waits; `None` when nothing was attempted.
    #[must_use]
    pub fn story(&self) -> Option<&Story> {
        self.story.as_deref()
    }

    /// The operation's own last error.
    #[must_use]
    pub fn operation(&self) -> Option<&E> {
        match &self.cause {
            Cause::Operation(error) => Some(error),
            _ => None,
        }
    }

    /// Takes the operation's own last error out.
    #[must_use]
    pub fn into_operation(self) -> Option<E> {
        match self.cause {
            Cause::Operation(error) => Some(error),
            _ => None,
        }
    }

    /// Whether a breaker refused the call, so that nothing was attempted. A call that failed first and was refused when
    /// it came back to try again is not: its cause is its own error, and its [`stop`](Self::stop) is
    /// [`Stop::BreakerOpen`].
    #[must_use]
    pub fn is_refused(&self) -> bool {
        matches!(self.cause, Cause::Refused(_))
    }

    /// Whether time ran out.
    #[must_use]
    pub fn is_timed_out(&self) -> bool {
        matches!(self.cause, Cause::TimedOut)
    }

    /// Whether the caller cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.stop == Stop::Cancelled
    }

    /// When to try again, where somebody said so: the breaker's next probe, or the service's hint. For a clear "try
    /// again later".
    #[must_use]
    pub fn try_again_in(&self) -> Option<Duration> {
        match &self.cause {
            Cause::Refused(refused) => refused.retry_in(),
            _ => self.story()?.last()?.failure.hint(),
        }
    }

    /// Whether a fallback may stand in: the service could not be had. Not so for terminal errors, which are an answer,
    /// nor for what the caller cancelled.
    #[must_use]
    pub fn allows_fallback(&self) -> bool {
        match self.stop {
            Stop::Terminal | Stop::Cancelled => false,
            // The one neutral outcome that a fallback is for: a pipeline inside of this one was refused.
            Stop::Neutral => {
                self.story().and_then(Story::last).is_some_and(|last| last.failure.kind() == Kind::REFUSED)
            }
            _ => true,
        }
    }

    /// The code, with a page in `docs/errors`.
    #[must_use]
    pub fn code(&self) -> Code {
        match (&self.cause, self.stop) {
            (_, Stop::Cancelled) | (Cause::Cancelled { .. }, _) => Code::Cancelled,
            (Cause::Refused(_), _) => Code::Refused,
            (Cause::TimedOut, _) => Code::TimedOut,
            (Cause::Operation(_), _) => Code::Failed,
        }
    }
}

impl<E> fmt::Display for Error<E> {
    /// Tells its own layer only: the operation's error is the source.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::Refused(refused) => refused.fmt(f)?,
            Cause::Operation(_) => write!(f, "the operation failed; {}", self.stop)?,
            Cause::TimedOut if self.story.is_none() && self.stop == Stop::Deadline => {
                f.write_str("the deadline had passed before the first try")?;
            }
            Cause::TimedOut => write!(f, "the operation took too long; {}", self.stop)?,
            Cause::Cancelled { under_way: false } => {
                f.write_str("the caller cancelled before the first try")?;
            }
            Cause::Cancelled { under_way: true } => {
                f.write_str("the caller cancelled during the first try, which may have taken effect")?;
            }
        }
        if let Some(story) = &self.story {
            write!(f, " ({story})")?;
        }
        write!(f, " [{}]", self.code())
    }
}

/// A pipeline inside of another one: its last error means what it meant, and a refusal, which attempted nothing, says
/// nothing about the service around it.
impl<E: Classify> Classify for Error<E> {
    fn classify(&self) -> Verdict {
        match &self.cause {
            // What must not be repeated in there must not be repeated out here either.
            Cause::Operation(error) if self.stop == Stop::NotIdempotent => {
                Verdict::terminal(error.classify().kind())
            }
            Cause::TimedOut if self.stop == Stop::NotIdempotent => Verdict::terminal(Kind::TIMEOUT),
            Cause::Operation(error) => error.classify(),
            Cause::TimedOut => Verdict::transient(Kind::TIMEOUT),
            Cause::Refused(refused) => refused.classify(),
            Cause::Cancelled { .. } => Verdict::neutral(Kind::CANCELLED),
        }
    }

    fn message(&self) -> Option<String> {
        match &self.cause {
            Cause::Operation(error) => error.message(),
            _ => Some(self.to_string()),
        }
    }
}

impl Classify for Refused {
    fn classify(&self) -> Verdict {
        let verdict = Verdict::neutral(Kind::REFUSED).without_effect();
        self.retry_in().map_or(verdict, |wait| verdict.with_hint(wait))
    }

    fn message(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl<E: StdError + 'static> StdError for Error<E> {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.operation().map(|error| error as &(dyn StdError + 'static))
    }
}
