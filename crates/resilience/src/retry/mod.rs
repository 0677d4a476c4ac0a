//! Retry: decides whether to try again, and after how long. It never sleeps and never asks the time.
//!
//! [`Retry`] holds settings; [`State`] is what one call has used up; [`Retry::next`] takes a failure and says
//! [`Decision::After`] or [`Decision::Stop`]. A pipeline waits in between; an engine may write a durable timer instead.
//!
//! ```
//! use std::time::Duration;
//! use steadfast_resilience::retry::{At, Decision, Retry};
//! use steadfast_resilience::{clock::Moment, Kind, Verdict};
//!
//! let retry = Retry::fixed(Duration::from_secs(1)).no_jitter().max_retries(1).build()?;
//! let mut state = retry.start(Moment::ZERO);
//! let failure = Verdict::transient(Kind::TIMEOUT);
//! assert_eq!(retry.next(&mut state, &failure, At::now(Moment::ZERO)), Decision::After(Duration::from_secs(1)));
//! assert!(matches!(retry.next(&mut state, &failure, At::now(Moment::ZERO)), Decision::Stop(_)));
//! # Ok::<(), steadfast_resilience::BuildError>(())
//! ```

mod budget;
mod builder;
mod decide;
mod jitter;
mod policy;
mod preset;
mod strategy;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

pub use budget::{Budget, Builder as BudgetBuilder};
pub use builder::Builder;
pub use decide::{At, Decision, State, Stop};
pub use jitter::Jitter;
pub use policy::{FailedTry, Policy};

use crate::classify::{Kind, Verdict};
pub(crate) use strategy::Strategy;

/// Built and checked retry settings. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Retry {
    settings: Arc<Settings>,
}

/// How a retry behaves below another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nested {
    /// Retry, and report the product of both.
    #[default]
    Report,
    /// Fail at once and leave retrying to the outer policy.
    FailFast,
}

#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// For logs; policies in files have one.
    pub(crate) name: Option<Arc<str>>,
    pub(crate) strategy: Strategy,
    pub(crate) jitter: Jitter,
    pub(crate) fast_first: bool,
    /// `None` is without a limit.
    pub(crate) max_retries: Option<u32>,
    pub(crate) max_elapsed: Option<Duration>,
    pub(crate) max_hint: Duration,
    pub(crate) min_throttled: Duration,
    pub(crate) repeat_effects: bool,
    pub(crate) nested: Nested,
    pub(crate) rules: Vec<Rule>,
    pub(crate) hook: Option<policy::Hook>,
    /// Remembers that a setting of the exponential strategy was given to another one, for the check.
    pub(crate) misplaced_backoff: Option<&'static str>,
}

/// A wait and a count of its own for one kind or code of error.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) on: On,
    pub(crate) strategy: Option<Strategy>,
    pub(crate) max_retries: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Kind(Kind),
    Code(i32),
}

impl std::fmt::Display for On {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Kind(kind) => write!(f, "`{kind}`"),
            Self::Code(code) => write!(f, "code {code}"),
        }
    }
}

impl On {
    pub(crate) fn matches(self, failure: &Verdict) -> bool {
        match self {
            Self::Kind(kind) => failure.kind() == kind,
            Self::Code(code) => failure.code() == Some(code),
        }
    }
}

impl Retry {
    /// At most this many retries, so one call more; `None` when only time ends it.
    #[must_use]
    pub fn max_retries(&self) -> Option<u32> {
        self.settings.max_retries
    }

    /// The most calls that one operation can become; `u32::MAX` without a limit.
    #[must_use]
    pub fn max_calls(&self) -> u32 {
        self.settings.max_retries.map_or(u32::MAX, |retries| retries.saturating_add(1))
    }

    /// The limit over all attempts and waits.
    #[must_use]
    pub fn max_elapsed(&self) -> Option<Duration> {
        self.settings.max_elapsed
    }

    /// How it behaves below another retry.
    #[must_use]
    pub fn nested(&self) -> Nested {
        self.settings.nested
    }

    /// The policy's name, as a policy file or [`Builder::named`] gave it.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.settings.name.as_deref()
    }

    /// How the waits grow, in one word: `exponential`, `fixed`, `incremental`, `schedule`, `immediate`, `adaptive`,
    /// `custom`, or `none` when there is no retry.
    #[must_use]
    pub fn strategy(&self) -> &'static str {
        match self.settings.max_retries {
            Some(0) => "none",
            _ => self.settings.strategy.as_str(),
        }
    }

    /// Back to a builder, to change some settings for one operation.
    pub fn to_builder(&self) -> Builder {
        Builder::from_settings((*self.settings).clone())
    }

    pub(crate) fn hook(&self) -> Option<&policy::Hook> {
        self.settings.hook.as_ref()
    }

    /// The longest that this many waits can take together, with every chance against one.
    #[cfg(feature = "policy")]
    pub(crate) fn longest_waits(&self, retries: u32) -> Duration {
        let settings = self.settings();
        let longest = |n: u32| match n {
            0 if settings.fast_first => Duration::ZERO,
            n => settings.strategy.longest(n, settings.jitter),
        };
        // Beyond this the waits have long reached their cap.
        const SEPARATE: u32 = 200;
        let first: Duration =
            (0..retries.min(SEPARATE)).map(longest).fold(Duration::ZERO, Duration::saturating_add);
        first.saturating_add(longest(SEPARATE).saturating_mul(retries.saturating_sub(SEPARATE)))
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }
}
