//! What an outcome means: one classification that retry, breaker, budget and logs all read.
//!
//! [`Classify`] is implemented by errors, and by `Ok` values that can be failures in disguise (an HTTP
//! response with status 503). It answers with a [`Verdict`]: the class, the kind, the service's hint, and
//! whether the request may have taken effect. A [`Classifier`] replaces it for one operation.
//!
//! This module decides nothing: what follows from a verdict is said in `retry` and `breaker`.

mod chain;
mod classifier;
pub mod grpc;
pub mod http;
mod io;
#[cfg(feature = "reqwest")]
mod reqwest;
pub mod sqlstate;
mod unclassified;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

pub use chain::{Chain, chain};
pub use classifier::{Classifier, ErrorsOnly, Judged};
pub use unclassified::{Unclassified, UnclassifiedEntry};

/// What an outcome says about trying again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// It worked.
    Success,
    /// A passing fault: try again.
    Transient,
    /// The service asks for less: try again, later. Counted apart from other failures.
    Throttled,
    /// The service is away for long: stop retrying, let breaker, queue or fallback take over.
    Lasting,
    /// Trying again cannot help: stop at once and report.
    Terminal,
    /// Nobody classified it: terminal for retry, a failure for the breaker, and listed in
    /// [`Unclassified`] so that the rules can be revised.
    Unclassified,
    /// It says nothing about the service, such as a call that its caller cancelled: not retried, not counted.
    Neutral,
}

impl Class {
    /// Whether a retry policy may try again after this.
    #[must_use]
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::Transient | Self::Throttled)
    }

    /// The class as one word, as it stands in logs and messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Transient => "transient",
            Self::Throttled => "throttled",
            Self::Lasting => "lasting",
            Self::Terminal => "terminal",
            Self::Unclassified => "unclassified",
            Self::Neutral => "neutral",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A short name for a sort of failure, such as `timeout` or `connect-refused`.
///
/// Settings refer to kinds by name: a breaker has thresholds per kind, a retry policy has waits per kind.
/// Names are lower case with hyphens. Your own kinds are constants: `const STOCK: Kind = Kind::new("no-stock");`
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind(&'static str);

impl Kind {
    /// An attempt or a call that took too long.
    pub const TIMEOUT: Self = Self("timeout");
    /// The service's host refused the connection.
    pub const CONNECT_REFUSED: Self = Self("connect-refused");
    /// The host could not be reached or found.
    pub const UNREACHABLE: Self = Self("unreachable");
    /// A connection broke while in use.
    pub const CONNECTION_LOST: Self = Self("connection-lost");
    /// The service said that it is switched off.
    pub const OFFLINE: Self = Self("offline");
    /// The service asks its caller to send less.
    pub const THROTTLED: Self = Self("throttled");
    /// The service has more work than it can do.
    pub const OVERLOADED: Self = Self("overloaded");
    /// The service failed on its side.
    pub const SERVER_ERROR: Self = Self("server-error");
    /// Two writers met; another try finds the other one done.
    pub const CONFLICT: Self = Self("conflict");
    /// The request itself is wrong.
    pub const BAD_REQUEST: Self = Self("bad-request");
    /// The caller may not do this.
    pub const DENIED: Self = Self("denied");
    /// The thing asked for does not exist.
    pub const NOT_FOUND: Self = Self("not-found");
    /// A circuit breaker refused: nothing was attempted.
    pub const REFUSED: Self = Self("refused");
    /// The caller gave up.
    pub const CANCELLED: Self = Self("cancelled");
    /// A call that succeeded but took longer than the breaker's limit.
    pub const SLOW: Self = Self("slow");
    /// Nobody classified the error.
    pub const UNCLASSIFIED: Self = Self("unclassified");
    /// It worked.
    pub const OK: Self = Self("ok");

    /// All that the library gives.
    #[cfg(feature = "policy")]
    pub(crate) const KNOWN: [Self; 17] = [
        Self::TIMEOUT,
        Self::CONNECT_REFUSED,
        Self::UNREACHABLE,
        Self::CONNECTION_LOST,
        Self::OFFLINE,
        Self::THROTTLED,
        Self::OVERLOADED,
        Self::SERVER_ERROR,
        Self::CONFLICT,
        Self::BAD_REQUEST,
        Self::DENIED,
        Self::NOT_FOUND,
        Self::REFUSED,
        Self::CANCELLED,
        Self::SLOW,
        Self::UNCLASSIFIED,
        Self::OK,
    ];

    /// A kind of your own.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// A kind whose name is only known at run time, such as one from a file. Each name is kept for ever, once: not for
    /// names that strangers can make up.
    #[must_use]
    pub fn named(name: &str) -> Self {
        static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(name) {
            return Self(known);
        }
        let kept: &'static str = Box::leak(name.into());
        known.insert(kept);
        Self(kept)
    }

    /// The name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kind({})", self.0)
    }
}

/// Whether a failed request may have changed something at the service.
///
/// An operation that is declared not idempotent is retried only after [`Effect::None`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// The request never reached the service, or the service says that it did nothing with it.
    None,
    /// The request may have reached the service and been carried out.
    Possible,
}

/// The classification of one outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    class: Class,
    effect: Effect,
    kind: Kind,
    code: Option<i32>,
    hint: Option<Duration>,
}

impl Verdict {
    const fn new(class: Class, kind: Kind, effect: Effect) -> Self {
        Self { class, effect, kind, code: None, hint: None }
    }

    /// It worked.
    #[must_use]
    pub const fn success() -> Self {
        Self::new(Class::Success, Kind::OK, Effect::Possible)
    }

    /// A passing fault: try again.
    #[must_use]
    pub const fn transient(kind: Kind) -> Self {
        Self::new(Class::Transient, kind, Effect::Possible)
    }

    /// The service asks for less: try again, later. The service refused, so nothing took effect.
    #[must_use]
    pub const fn throttled(kind: Kind) -> Self {
        Self::new(Class::Throttled, kind, Effect::None)
    }

    /// The service is away for long: do not retry.
    #[must_use]
    pub const fn lasting(kind: Kind) -> Self {
        Self::new(Class::Lasting, kind, Effect::Possible)
    }

    /// Trying again cannot help.
    #[must_use]
    pub const fn terminal(kind: Kind) -> Self {
        Self::new(Class::Terminal, kind, Effect::Possible)
    }

    /// Nobody knows what this error means.
    #[must_use]
    pub const fn unclassified() -> Self {
        Self::new(Class::Unclassified, Kind::UNCLASSIFIED, Effect::Possible)
    }

    /// It says nothing about the service.
    #[must_use]
    pub const fn neutral(kind: Kind) -> Self {
        Self::new(Class::Neutral, kind, Effect::Possible)
    }

    /// With the time that the service asks to be left alone (`Retry-After` and the like).
    #[must_use]
    pub const fn with_hint(mut self, hint: Duration) -> Self {
        self.hint = Some(hint);
        self
    }

    /// With the error's own code: an HTTP status, a gRPC code, an OS error number.
    #[must_use]
    pub const fn with_code(mut self, code: i32) -> Self {
        self.code = Some(code);
        self
    }

    /// With the knowledge that nothing took effect, so that trying again repeats nothing.
    #[must_use]
    pub const fn without_effect(mut self) -> Self {
        self.effect = Effect::None;
        self
    }

    /// With another class, and everything else as it was.
    #[must_use]
    pub const fn with_class(mut self, class: Class) -> Self {
        self.class = class;
        self
    }

    /// What the outcome says about trying again.
    #[must_use]
    pub const fn class(&self) -> Class {
        self.class
    }

    /// The sort of outcome.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The error's own code.
    #[must_use]
    pub const fn code(&self) -> Option<i32> {
        self.code
    }

    /// How long the service asks to be left alone.
    #[must_use]
    pub const fn hint(&self) -> Option<Duration> {
        self.hint
    }

    /// Whether the request may have changed something.
    #[must_use]
    pub const fn effect(&self) -> Effect {
        self.effect
    }

    /// Whether it worked.
    #[must_use]
    pub const fn is_success(&self) -> bool {
        matches!(self.class, Class::Success)
    }
}

/// Class and kind, as they stand in messages: `transient timeout`.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.class)?;
        if self.class.as_str() == self.kind.as_str() { Ok(()) } else { write!(f, " {}", self.kind) }
    }
}

/// An error, or a value, that knows what it means for its caller.
///
/// ```
/// use steadfast_resilience::{Classify, Kind, Verdict};
///
/// enum PaymentError { Declined, Busy, Unreachable }
///
/// impl Classify for PaymentError {
///     fn classify(&self) -> Verdict {
///         match self {
///             Self::Declined => Verdict::terminal(Kind::new("declined")),
///             Self::Busy => Verdict::throttled(Kind::THROTTLED),
///             Self::Unreachable => Verdict::transient(Kind::UNREACHABLE).without_effect(),
///         }
///     }
/// }
/// ```
///
/// Errors of other crates, for which you cannot implement it, are classified call by call
/// ([`Call::classify`](crate::pipeline::Call::classify)) or through [`chain`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what it means for its caller",
    label = "needs `Classify`",
    note = "implement `steadfast_resilience::Classify` for it: is it transient, throttled, lasting or terminal?",
    note = "for an error of another crate, classify call by call: `pipeline.call().classify(|outcome| ...).run(...)`"
)]
pub trait Classify {
    /// What this outcome means. Cheap and pure: it runs after every attempt that did not plainly succeed.
    fn classify(&self) -> Verdict;

    /// The failure in words, for the record of a trip and for the list of errors that nobody classified. Errors with a
    /// `Display` say `Some(self.to_string())`. Asked for only then.
    fn message(&self) -> Option<String> {
        None
    }
}

macro_rules! classify_through {
    ($($pointer:ty),*) => {$(
        impl<C: Classify + ?Sized> Classify for $pointer {
            fn classify(&self) -> Verdict {
                (**self).classify()
            }

            fn message(&self) -> Option<String> {
                (**self).message()
            }
        }
    )*};
}

classify_through!(&C, Box<C>, std::sync::Arc<C>);

/// For operations that cannot fail.
impl Classify for std::convert::Infallible {
    fn classify(&self) -> Verdict {
        match *self {}
    }
}
