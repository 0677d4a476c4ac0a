//! Retry policies of the user's own, and the hook after each failed try.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::Decision;
use crate::classify::Verdict;

/// A strategy of your own. It has two jobs: make a fresh instance for a call, and say what to do after a failure.
///
/// ```
/// use std::time::Duration;
/// use steadfast_resilience::retry::{Policy, Retry};
/// use steadfast_resilience::{Kind, Verdict};
///
/// #[derive(Debug)]
/// struct Fibonacci(u64, u64);
///
/// impl Policy for Fibonacci {
///     fn fresh(&self) -> Box<dyn Policy> {
///         Box::new(Self(1, 1))
///     }
///     fn next(&mut self, _retries: u32, failure: &Verdict) -> Option<Duration> {
///         if failure.kind() == Kind::CONFLICT {
///             return None;
///         }
///         let wait = self.0;
///         (self.0, self.1) = (self.1, self.0 + self.1);
///         Some(Duration::from_secs(wait))
///     }
/// }
///
/// let retry = Retry::custom(Fibonacci(1, 1)).max_retries(6).build()?;
/// # Ok::<(), steadfast_resilience::BuildError>(())
/// ```
pub trait Policy: fmt::Debug + Send + Sync {
    /// A fresh instance for one call. Made at the call's first failure, never before.
    fn fresh(&self) -> Box<dyn Policy>;

    /// After a failure: the wait before the next try, or `None` to stop. `retries` is 0 at the first error.
    ///
    /// The limits (count, elapsed time, deadline, budget, hints) are kept by the caller.
    fn next(&mut self, retries: u32, failure: &Verdict) -> Option<Duration>;
}

/// What the hook after a failed try is told.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FailedTry<'a> {
    /// Retries before this try: 0 for the first.
    pub retries: u32,
    /// What the failure means.
    pub failure: &'a Verdict,
    /// What happens next.
    pub decision: &'a Decision,
    /// Time since the operation began.
    pub elapsed: Duration,
}

/// Runs after each failed try.
#[derive(Clone)]
pub(crate) struct Hook(Arc<dyn Fn(&FailedTry<'_>) + Send + Sync>);

impl Hook {
    pub(crate) fn new(hook: impl Fn(&FailedTry<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(hook))
    }

    pub(crate) fn call(&self, failed: &FailedTry<'_>) {
        (self.0)(failed);
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}
