//! A breaker around one operation, without a pipeline.

#[cfg(feature = "tokio")]
use std::future::Future;
#[cfg(feature = "tokio")]
use std::pin::Pin;
#[cfg(feature = "tokio")]
use std::task::{Context, Poll, ready};
#[cfg(feature = "tokio")]
use std::time::Duration;

#[cfg(feature = "tokio")]
use pin_project_lite::pin_project;

use super::{Breaker, Permit, Refused};
use crate::classify::{Classify, Kind, Verdict};
use crate::clock::Moment;
#[cfg(feature = "tokio")]
use crate::clock::{Sleep, poll_within};
use crate::error::{Cause, Error};
use crate::log;

#[cfg(feature = "tokio")]
pin_project! {
    /// An operation behind a breaker. Written out, because the compiler's own state machine costs 10 ns more.
    struct Guarded<'b, O, F> {
        // First, so that the operation's future is gone before its place is given back.
        #[pin]
        future: Option<F>,
        #[pin]
        timer: Option<Sleep>,
        limit: Option<Duration>,
        permit: Option<Permit<'b>>,
        operation: Option<O>,
        breaker: &'b Breaker,
    }
}

#[cfg(feature = "tokio")]
impl<T, E, O, F> Future for Guarded<'_, O, F>
where
    O: FnOnce() -> F,
    F: Future<Output = Result<T, E>>,
    E: Classify,
{
    type Output = Result<T, Error<E>>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let breaker = *this.breaker;
        if let Some(operation) = this.operation.take() {
            match breaker.enter() {
                Ok(permit) => *this.permit = Some(permit),
                Err(refused) => return Poll::Ready(Err(Error::refused(refused))),
            }
            this.future.set(Some(operation()));
        }
        // After the end, when nobody should poll, there is no permit any more.
        let (Some(future), Some(_)) = (this.future.as_pin_mut(), &this.permit) else {
            return Poll::Pending;
        };
        let outcome = ready!(poll_within(future, this.timer, this.limit, cx, breaker.clock()));
        let Some(permit) = this.permit.take() else { return Poll::Pending };
        Poll::Ready(match outcome {
            Some(Ok(value)) => {
                breaker.succeeded(permit);
                Ok(value)
            }
            Some(Err(error)) => Err(breaker.failed(permit, Some(error))),
            None => Err(breaker.failed(permit, None)),
        })
    }
}

impl Breaker {
    /// Runs an operation unless the circuit is open, and counts how it went. Its own errors pass through unchanged
    /// inside of [`Error`]; with [`Builder::timeout`](super::Builder::timeout) it is dropped when it takes too long.
    ///
    /// # Errors
    /// [`Error::is_refused`] when the circuit is open; otherwise the operation's own error, or its timeout.
    #[cfg(feature = "tokio")]
    #[inline]
    pub fn run<T, E, F>(&self, operation: impl FnOnce() -> F) -> impl Future<Output = Result<T, Error<E>>>
    where
        F: Future<Output = Result<T, E>>,
        E: Classify,
    {
        let limit = self.core().timeout();
        Guarded { future: None, timer: None, limit, permit: None, operation: Some(operation), breaker: self }
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
        let permit = self.enter().map_err(Error::refused)?;
        match operation() {
            Ok(value) => {
                self.succeeded(permit);
                Ok(value)
            }
            Err(error) => Err(self.failed(permit, Some(error))),
        }
    }

    #[inline]
    fn enter(&self) -> Result<Permit<'_>, Refused> {
        let core = self.core();
        let ticket = core.acquire(|| self.clock().now())?;
        // The time is asked for only where a rule needs it.
        let started = if core.times_calls() { self.clock().now() } else { Moment::ZERO };
        Ok(Permit::new(self, ticket, started))
    }

    #[inline]
    fn succeeded(&self, permit: Permit<'_>) {
        let (now, started) = (self.clock().now(), permit.started());
        permit.success(now);
        if self.core().log_successes() {
            log::call_succeeded(self.name(), now.since(started));
        }
    }

    /// `None` when it was cut off.
    #[cold]
    #[inline(never)]
    fn failed<E: Classify>(&self, permit: Permit<'_>, error: Option<E>) -> Error<E> {
        let words = || match &error {
            Some(error) => error.message(),
            None => self.core().timeout().map(|limit| format!("no answer within {limit:?}")),
        };
        let verdict = error.as_ref().map_or(Verdict::transient(Kind::TIMEOUT), Classify::classify);
        permit.settle_with(&verdict, self.clock().now(), &words);
        log::failed_call(self.name(), &verdict, &words);
        let cause = error.map_or(Cause::TimedOut, Cause::Operation);
        Error::once(&self.core().name, cause, verdict)
    }
}
