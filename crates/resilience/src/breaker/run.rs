//! A breaker around one operation, without a pipeline.

#[cfg(feature = "tokio")]
use std::future::{Future, poll_fn};
#[cfg(feature = "tokio")]
use std::pin::pin;

use super::{Breaker, Permit};
use crate::classify::{Classify, Kind, Verdict};
#[cfg(feature = "tokio")]
use crate::clock::Limited;
use crate::clock::Moment;
use crate::error::{Cause, Error};
use crate::log;

impl Breaker {
    /// Runs an operation unless the circuit is open, and counts how it went. Its own errors pass through unchanged
    /// inside of [`Error`]; with [`Builder::timeout`](super::Builder::timeout) it is dropped when it takes too long.
    ///
    /// # Errors
    /// [`Error::is_refused`] when the circuit is open; otherwise the operation's own error, or its timeout.
    #[cfg(feature = "tokio")]
    pub async fn run<T, E, F>(&self, operation: impl FnOnce() -> F) -> Result<T, Error<E>>
    where
        F: Future<Output = Result<T, E>>,
        E: Classify,
    {
        let permit = self.enter()?;
        let mut limited = pin!(Limited::new(operation(), self.core().settings.timeout));
        let outcome = poll_fn(|cx| limited.as_mut().poll_within(cx, self.clock())).await;
        self.leave(permit, outcome)
    }

    /// The same on this thread. An operation under way cannot be ended from outside: [`Builder::timeout`] has no effect
    /// here, so give it a time limit of its own.
    ///
    /// # Errors
    /// [`Error::is_refused`] when the circuit is open; otherwise the operation's own error.
    ///
    /// [`Builder::timeout`]: super::Builder::timeout
    pub fn run_blocking<T, E: Classify>(
        &self,
        operation: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, Error<E>> {
        let permit = self.enter()?;
        let outcome = operation();
        self.leave(permit, Some(outcome))
    }

    fn enter<E>(&self) -> Result<Permit<'_>, Error<E>> {
        let core = self.core();
        let ticket = core.acquire(|| self.clock().now()).map_err(Error::refused)?;
        // The time is asked for only where a rule needs it.
        let timed = core.times_calls() || core.settings.log_successes;
        let started = if timed { self.clock().now() } else { Moment::ZERO };
        Ok(Permit::new(self, ticket, started))
    }

    /// Counts how the operation went; `None` when it was cut off.
    fn leave<T, E: Classify>(
        &self,
        permit: Permit<'_>,
        outcome: Option<Result<T, E>>,
    ) -> Result<T, Error<E>> {
        let now = self.clock().now();
        let core = self.core();
        match outcome {
            Some(Ok(value)) => {
                let started = permit.started();
                permit.success(now);
                if core.settings.log_successes {
                    log::call_succeeded(self.name(), now.since(started));
                }
                Ok(value)
            }
            Some(Err(error)) => {
                let verdict = error.classify();
                permit.settle_with(&verdict, now, &|| error.message());
                log::failed_call(self.name(), &verdict, &|| error.message());
                Err(Error::once(&core.name, Cause::Operation(error), verdict))
            }
            None => {
                let verdict = Verdict::transient(Kind::TIMEOUT);
                permit.failure(&verdict, now);
                log::failed_call(self.name(), &verdict, &|| None);
                Err(Error::once(&core.name, Cause::TimedOut, verdict))
            }
        }
    }
}
