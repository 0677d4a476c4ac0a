//! The error of a pipeline or breaker: what ended the call, and the whole story of its attempts.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::breaker::Refused;
use crate::classify::{Class, Classify, Kind, Verdict};
use crate::limit::Limited;
use crate::problem::Code;
use crate::retry::Stop;
use crate::story::Story;

/// Nobody who is told to come later should come at once.
const SOONEST: Duration = Duration::from_secs(1);

/// A call that ended without success.
///
/// The operation's own error is inside, unchanged: [`operation`](Self::operation) shows it,
/// [`into_operation`](Self::into_operation) takes it out, and it is the `source`.
#[derive(Debug)]
pub struct Error<E> {
    cause: Cause<E>,
    stop: Stop,
    /// `None` for a refusal, which is made in nanoseconds and looks its breaker up when it is read.
    about: Option<Box<About>>,
}

/// Which call it was, and how it went.
#[derive(Debug)]
pub(crate) struct About {
    /// The pipeline's or the breaker's name.
    pub(crate) name: Arc<str>,
    /// What the caller named it; empty when it did not.
    pub(crate) operation: Cow<'static, str>,
    /// The name of the breaker that the call brought along.
    pub(crate) breaker: Option<Arc<str>>,
    pub(crate) story: Option<Story>,
    /// What the last attempt's end meant; `None` when there was none.
    pub(crate) failure: Option<Verdict>,
    /// The breaker's next probe, when it is the breaker that keeps the call from another try.
    pub(crate) next_probe: Option<Duration>,
    /// The wait that the policy wants before the next try, for a caller who sees to long waits.
    pub(crate) next_try: Option<Duration>,
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
    /// A limit on calls refused: nothing was attempted.
    Limited(Limited),
}

impl<E> Error<E> {
    pub(crate) fn new(cause: Cause<E>, stop: Stop, about: About) -> Self {
        Self { cause, stop, about: Some(Box::new(about)) }
    }

    pub(crate) fn refused(refused: Refused) -> Self {
        Self { cause: Cause::Refused(refused), stop: Stop::BreakerOpen, about: None }
    }

    /// The one attempt of a call through a breaker alone.
    #[cold]
    #[inline(never)]
    pub(crate) fn once(breaker: &Arc<str>, cause: Cause<E>, failure: Verdict) -> Self {
        let about = About {
            name: Arc::clone(breaker),
            operation: Cow::Borrowed(""),
            breaker: None,
            story: None,
            failure: Some(failure),
            next_probe: None,
            next_try: None,
        };
        Self::new(cause, Stop::NoRetry, about)
    }

    /// The name of the pipeline, or of the breaker that refused.
    #[must_use]
    pub fn name(&self) -> Arc<str> {
        match (&self.about, &self.cause) {
            (Some(about), _) => Arc::clone(&about.name),
            (None, Cause::Refused(refused)) => refused.breaker(),
            (None, _) => "".into(),
        }
    }

    /// The operation's name, where the call gave it one ([`Call::named`](crate::pipeline::Call::named)) and the service
    /// was asked.
    #[must_use]
    pub fn operation_name(&self) -> Option<&str> {
        self.about.as_deref().map(|about| &*about.operation).filter(|name| !name.is_empty())
    }

    /// The name of the breaker that the call brought along, such as that of its host.
    #[must_use]
    pub fn breaker_name(&self) -> Option<&str> {
        self.about.as_deref()?.breaker.as_deref()
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
        self.about.as_deref()?.story.as_ref()
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

    /// What the last attempt's end meant: its class, kind and hint. `None` when nothing was attempted, or nothing had
    /// ended yet.
    #[must_use]
    pub fn failure(&self) -> Option<&Verdict> {
        self.about.as_deref()?.failure.as_ref()
    }

    /// Takes what ended the call out.
    #[must_use]
    pub fn into_cause(self) -> Cause<E> {
        self.cause
    }

    /// Whether a breaker refused the call, so that nothing was attempted. A call that failed first and was refused when
    /// it came back to try again is not: its cause is its own error, and its [`stop`](Self::stop) is
    /// [`Stop::BreakerOpen`].
    #[must_use]
    pub fn is_refused(&self) -> bool {
        matches!(self.cause, Cause::Refused(_))
    }

    /// Whether a limit on calls refused, so that nothing was attempted.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        matches!(self.cause, Cause::Limited(_))
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

    /// When to try again, where somebody said so: the breaker's next probe, the next turn under a rate limit, or the
    /// service's hint. For a clear "try
    /// again later". Not below a second: while a probe is under way nobody knows when the next one is.
    #[must_use]
    pub fn try_again_in(&self) -> Option<Duration> {
        let told = match &self.cause {
            Cause::Refused(refused) => refused.retry_in(),
            Cause::Limited(limited) => limited.retry_in,
            _ => self.about.as_deref().and_then(|about| about.next_probe.or_else(|| about.failure?.hint())),
        };
        told.map(|time| time.max(SOONEST))
    }

    /// The wait that the policy wants before the next try, where the call leaves long waits to its caller
    /// ([`longest_wait`](crate::pipeline::Call::longest_wait)); `None` where it wants no further try.
    #[must_use]
    pub fn next_try_in(&self) -> Option<Duration> {
        self.about.as_deref()?.next_try
    }

    /// Whether a fallback may stand in: the service could not be had. Not so for terminal errors, which are an answer,
    /// nor for what the caller cancelled.
    #[must_use]
    pub fn allows_fallback(&self) -> bool {
        fallback_may_stand_in(self.stop, self.failure())
    }

    /// The code, with a page in `docs/errors`.
    #[must_use]
    pub fn code(&self) -> Code {
        match (&self.cause, self.stop) {
            (_, Stop::Cancelled) | (Cause::Cancelled { .. }, _) => Code::Cancelled,
            (Cause::Refused(_), _) => Code::Refused,
            (Cause::TimedOut, _) => Code::TimedOut,
            (Cause::Limited(_), _) => Code::Limited,
            (Cause::Operation(_), _) => Code::Failed,
        }
    }
}

/// Whether a fallback may stand in for a call that ended so, after this last failure.
pub(crate) fn fallback_may_stand_in(stop: Stop, last: Option<&Verdict>) -> bool {
    match last.map(|last| (last.class(), last.kind())) {
        _ if stop == Stop::Cancelled => false,
        Some((Class::Terminal, _)) => false,
        // The one neutral outcome that a fallback is for: a pipeline inside of this one was refused.
        Some((Class::Neutral, kind)) => kind == Kind::REFUSED,
        _ => true,
    }
}

impl<E> fmt::Display for Error<E> {
    /// Tells its own layer only: the operation's error is the source.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Cause::Refused(refused) = &self.cause {
            return write!(f, "{refused} [{}]", self.code());
        }
        write!(f, "a call to `{}` ", self.name())?;
        if let Some(operation) = self.operation_name() {
            write!(f, "({operation}) ")?;
        }
        if let Some(breaker) = self.breaker_name() {
            write!(f, "through `{breaker}` ")?;
        }
        match &self.cause {
            Cause::TimedOut if self.story().is_none() && self.stop == Stop::Deadline => {
                f.write_str("was not tried; its deadline had passed")?;
            }
            Cause::TimedOut => write!(f, "took too long; {}", self.stop)?,
            Cause::Cancelled { under_way: false } => {
                f.write_str("was cancelled by its caller before the first try")?;
            }
            Cause::Cancelled { under_way: true } => {
                f.write_str("was cancelled by its caller during the first try, which may have taken effect")?;
            }
            Cause::Limited(limited) => write!(f, "was not tried; {limited}")?,
            _ => write!(f, "failed; {}", self.stop)?,
        }
        if let Some(story) = self.story() {
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
            Cause::Limited(limited) => limited.classify(),
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

impl Classify for Limited {
    fn classify(&self) -> Verdict {
        let verdict = Verdict::neutral(Kind::REFUSED).without_effect();
        self.retry_in.map_or(verdict, |wait| verdict.with_hint(wait))
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
