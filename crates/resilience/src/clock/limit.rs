//! A future with a time limit. The timer is set only when the future has to wait: one that is ready at once costs none.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pin_project_lite::pin_project;

use super::{Clock, Sleep};

pin_project! {
    /// `Some(output)`, or `None` when the limit came first.
    pub(crate) struct Limited<F> {
        #[pin]
        future: F,
        #[pin]
        timer: Option<Sleep>,
        limit: Option<Duration>,
    }
}

impl<F: Future> Limited<F> {
    pub(crate) fn new(future: F, limit: Option<Duration>) -> Self {
        Self { future, timer: None, limit }
    }

    /// The clock comes in with each poll, so that the future need not hold one.
    #[inline]
    pub(crate) fn poll_within(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        clock: &Clock,
    ) -> Poll<Option<F::Output>> {
        let this = self.project();
        poll_within(this.future, this.timer, this.limit, cx, clock)
    }
}

/// The same for a future, a timer and a limit that are kept apart.
#[inline]
pub(crate) fn poll_within<F: Future>(
    future: Pin<&mut F>,
    mut timer: Pin<&mut Option<Sleep>>,
    limit: &mut Option<Duration>,
    cx: &mut Context<'_>,
    clock: &Clock,
) -> Poll<Option<F::Output>> {
    if let Poll::Ready(output) = future.poll(cx) {
        return Poll::Ready(Some(output));
    }
    if let Some(limit) = limit.take() {
        timer.set(Some(clock.sleep(limit)));
    }
    match timer.as_pin_mut() {
        None => Poll::Pending,
        Some(timer) => {
            ready!(timer.poll(cx));
            Poll::Ready(None)
        }
    }
}
