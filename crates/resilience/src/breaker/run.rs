//! A breaker around one operation, without a pipeline.

use std::future::{Future, poll_fn};
use std::pin::pin;

use super::Breaker;
use crate::classify::{Classify, Kind, Verdict};
use crate::clock::{Limited, Moment};
use crate::error::Error;
use crate::log;

impl Breaker {
    /// Runs an operation unless the circuit is open, and counts how it went. Its own errors pass through unchanged
    /// inside of [`Error`]; with [`Builder::timeout`](super::Builder::timeout) it is dropped when it takes too long.
    ///
    /// # Errors
    /// [`Error::is_refused`] when the circuit is open; otherwise the operation's own error, or its timeout.
    pub async fn run<T, E, F>(&self, operation: impl FnOnce() -> F) -> Result<T, Error<E>>
    where
        F: Future<Output = Result<T, E>>,
        E: Classify,
    {
        let core = self.core();
        let ticket = core.acquire(|| self.clock().now()).map_err(Error::refused)?;
        // The time is asked for only where a rule needs it.
        let started =
            if core.times_calls() || core.settings.log_successes { self.clock().now() } else { Moment::ZERO };
        let permit = super::Permit::new(self, ticket, started);
        let mut limited = pin!(Limited::new(operation(), core.settings.timeout));
        let outcome = poll_fn(|cx| limited.as_mut().poll_within(cx, self.clock())).await;
        let now = self.clock().now();
        match outcome {
            Some(Ok(value)) => {
                permit.success(now);
                if core.settings.log_successes {
                    log::succeeded(self.name(), 0, now.since(started));
                }
                Ok(value)
            }
            Some(Err(error)) => {
                let verdict = error.classify();
                permit.settle_with(&verdict, now, &|| error.message());
                log::failed_call(self.name(), &verdict);
                Err(Error::failed_once(error))
            }
            None => {
                let verdict = Verdict::transient(Kind::TIMEOUT);
                permit.failure(&verdict, now);
                log::failed_call(self.name(), &verdict);
                Err(Error::timed_out_once())
            }
        }
    }
}
