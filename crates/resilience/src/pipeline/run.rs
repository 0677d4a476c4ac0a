//! The async doors: a named future that drives a [`Flow`], without a box.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::attempt::Attempt;
use super::call::{Call, Options};
use super::flow::{Begin, Flow, Last, Next};
use super::held::Held;
use super::nesting::Nesting;
use super::{Inner, Pipeline};
use crate::classify::{Classifier, Classify, ErrorsOnly};
use crate::clock::{Limited, Sleep};
use crate::error::Error;
use crate::retry::Stop;

/// Something that can be attempted again and again. Every `FnMut(Attempt) -> impl Future<Output = Result<T, E>>` is.
pub trait Operation<T, E> {
    /// One attempt.
    type Future: Future<Output = Result<T, E>>;

    /// Begins an attempt.
    fn attempt(&mut self, attempt: Attempt) -> Self::Future;
}

impl<T, E, F, Fut> Operation<T, E> for F
where
    F: FnMut(Attempt) -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    type Future = Fut;

    #[inline]
    fn attempt(&mut self, attempt: Attempt) -> Fut {
        self(attempt)
    }
}

impl Pipeline {
    /// Runs an operation: under the breaker, with a time limit for each attempt, tried again as the retry policy and
    /// the budget allow. Works inside of `tokio::spawn`.
    ///
    /// The closure is called once for each attempt and makes a new future each time. For closures that need `&mut` of
    /// something outside, see [`run_mut`](Self::run_mut).
    #[inline]
    pub fn run<T, E, F, Fut>(&self, operation: F) -> Run<'_, T, E, F, ErrorsOnly>
    where
        F: FnMut(Attempt) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: Classify,
    {
        Run { execution: Execution::new(self.source.hold(), None, operation, ErrorsOnly) }
    }

    /// Like [`run`](Self::run), for async closures that borrow something mutably. Such futures cannot be given to
    /// `tokio::spawn` yet (rust-lang/rust#138207); await them in place.
    ///
    /// # Errors
    /// The operation's own error, a refusal, a timeout, or the caller's cancellation, with the story.
    pub async fn run_mut<T, E>(
        &self,
        operation: impl AsyncFnMut(Attempt) -> Result<T, E>,
    ) -> Result<T, Error<E>>
    where
        E: Classify,
    {
        self.call().run_mut(operation).await
    }
}

impl<'p, C> Call<'p, C> {
    /// Runs the operation: see [`Pipeline::run`].
    pub fn run<T, E, F, Fut>(self, operation: F) -> Run<'p, T, E, F, C>
    where
        F: FnMut(Attempt) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        C: Classifier<T, E>,
    {
        Run {
            execution: Execution::new(
                self.pipeline.source.hold(),
                Some(self.options),
                operation,
                self.classifier,
            ),
        }
    }

    /// Runs the operation: see [`Pipeline::run_mut`].
    ///
    /// # Errors
    /// The operation's own error, a refusal, a timeout, or the caller's cancellation, with the story.
    pub async fn run_mut<T, E>(
        self,
        mut operation: impl AsyncFnMut(Attempt) -> Result<T, E>,
    ) -> Result<T, Error<E>>
    where
        C: Classifier<T, E>,
    {
        let mut flow = Flow::new(self.pipeline.source.hold(), Some(self.options));
        let mut last = None;
        loop {
            let wait = match flow.begin() {
                Begin::End(stop, refused) => return flow.finish(last, stop, refused),
                Begin::Wait(wait) => wait,
                Begin::Attempt(attempt) => {
                    let future = {
                        let _inside = (attempt.nesting.enter(), flow.spans().enter_attempt());
                        operation(attempt)
                    };
                    let attempted = Attempting::new(future, &attempt);
                    let Some(ended) = attempted.or_cancelled(&flow).await else {
                        return flow.finish(last, Stop::Cancelled, None);
                    };
                    let next = flow.judge(&ended, &self.classifier);
                    last = Some(ended);
                    match next {
                        Next::Done => return flow.finish(last, Stop::NoRetry, None),
                        Next::End(stop) => return flow.finish(last, stop, None),
                        Next::Wait(wait) => wait,
                    }
                }
            };
            let sleep = std::pin::pin!(flow.pipeline.clock.sleep(wait));
            wait_or_cancel(sleep, &flow).await;
        }
    }
}

/// Ends with the wait, with a place that became free or with the wish to stop, which the next `begin` sees.
async fn wait_or_cancel<P: Deref<Target = Inner>>(mut sleep: Pin<&mut Sleep>, flow: &Flow<P>) {
    std::future::poll_fn(|cx| {
        let cancelled = flow.listener().is_some_and(|cancel| cancel.poll_cancelled(cx).is_ready());
        if cancelled || flow.is_called(cx.waker()) {
            return Poll::Ready(());
        }
        sleep.as_mut().poll(cx)
    })
    .await;
}

impl<P: Deref<Target = Inner>> Flow<P> {
    #[inline]
    fn judge<T, E>(&mut self, ended: &Last<T, E>, classifier: &impl Classifier<T, E>) -> Next {
        match ended {
            Last::Outcome(outcome) => self.ended(outcome, classifier),
            Last::TimedOut => self.timed_out(),
        }
    }
}

pin_project! {
    /// One attempt under way: within its time limit, and with its surroundings known to the pipelines inside.
    pub(super) struct Attempting<F> {
        #[pin]
        limited: Limited<F>,
        nesting: Nesting,
    }
}

impl<T, E, F: Future<Output = Result<T, E>>> Attempting<F> {
    #[inline]
    fn new(future: F, attempt: &Attempt) -> Self {
        Self { limited: Limited::new(future, attempt.time_left), nesting: attempt.nesting }
    }

    #[inline]
    fn poll_ended(self: Pin<&mut Self>, cx: &mut Context<'_>, pipeline: &Inner) -> Poll<Last<T, E>> {
        let this = self.project();
        let _inside = this.nesting.enter();
        this.limited.poll_within(cx, &pipeline.clock).map(|outcome| match outcome {
            Some(outcome) => Last::Outcome(outcome),
            None => Last::TimedOut,
        })
    }

    async fn or_cancelled<P: Deref<Target = Inner>>(self, flow: &Flow<P>) -> Option<Last<T, E>> {
        let mut attempting = std::pin::pin!(self);
        std::future::poll_fn(|cx| {
            if flow.listener().is_some_and(|cancel| cancel.poll_cancelled(cx).is_ready()) {
                return Poll::Ready(None);
            }
            let _inside = flow.spans().enter_attempt();
            attempting.as_mut().poll_ended(cx, &flow.pipeline).map(Some)
        })
        .await
    }
}

pin_project! {
    #[project = StageProjection]
    enum Stage<F> {
        /// Before the next attempt.
        Between,
        Attempting { #[pin] attempting: Attempting<F> },
        Waiting { #[pin] sleep: Sleep },
    }
}

pin_project! {
    /// Drives a call; the pipeline is borrowed or shared.
    pub(super) struct Execution<P, T, E, O, C>
    where
        P: Deref<Target = Inner>,
        O: Operation<T, E>,
    {
        // First, so that an operation's future is gone before its place in the breaker is given back.
        #[pin]
        stage: Stage<O::Future>,
        flow: Flow<P>,
        operation: O,
        classifier: C,
        last: Option<Last<T, E>>,
    }
}

impl<P, T, E, O, C> Execution<P, T, E, O, C>
where
    P: Deref<Target = Inner>,
    O: Operation<T, E>,
    C: Classifier<T, E>,
{
    #[inline]
    pub(super) fn new(pipeline: P, options: Option<Box<Options>>, operation: O, classifier: C) -> Self {
        Self { flow: Flow::new(pipeline, options), operation, classifier, last: None, stage: Stage::Between }
    }
}

impl<P, T, E, O, C> Future for Execution<P, T, E, O, C>
where
    P: Deref<Target = Inner>,
    O: Operation<T, E>,
    C: Classifier<T, E>,
{
    type Output = Result<T, Error<E>>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            if let Some(cancel) = this.flow.listener()
                && cancel.poll_cancelled(cx).is_ready()
            {
                // The attempt under way ends here, before its place in the breaker is given back.
                this.stage.set(Stage::Between);
                return Poll::Ready(this.flow.finish(this.last.take(), Stop::Cancelled, None));
            }
            let wait = match this.stage.as_mut().project() {
                StageProjection::Between => match this.flow.begin() {
                    Begin::Attempt(attempt) => {
                        let future = {
                            let _inside = (attempt.nesting.enter(), this.flow.spans().enter_attempt());
                            this.operation.attempt(attempt)
                        };
                        this.stage.set(Stage::Attempting { attempting: Attempting::new(future, &attempt) });
                        continue;
                    }
                    Begin::Wait(wait) => wait,
                    Begin::End(stop, refused) => {
                        return Poll::Ready(this.flow.finish(this.last.take(), stop, refused));
                    }
                },
                StageProjection::Attempting { attempting } => {
                    let ended = {
                        let _inside = this.flow.spans().enter_attempt();
                        ready!(attempting.poll_ended(cx, &this.flow.pipeline))
                    };
                    this.stage.set(Stage::Between);
                    match this.flow.judge(&ended, &*this.classifier) {
                        Next::Done => {
                            return Poll::Ready(this.flow.finish(Some(ended), Stop::NoRetry, None));
                        }
                        Next::End(stop) => return Poll::Ready(this.flow.finish(Some(ended), stop, None)),
                        Next::Wait(wait) => {
                            *this.last = Some(ended);
                            wait
                        }
                    }
                }
                StageProjection::Waiting { sleep } => {
                    if !this.flow.is_called(cx.waker()) {
                        ready!(sleep.poll(cx));
                    }
                    this.stage.set(Stage::Between);
                    continue;
                }
            };
            let sleep = this.flow.pipeline.clock.sleep(wait);
            this.stage.set(Stage::Waiting { sleep });
        }
    }
}

pin_project! {
    /// A call under way, from [`Pipeline::run`]. Dropping it cancels the call: the operation's future is dropped, and
    /// the breaker counts nothing.
    #[must_use = "futures do nothing unless awaited"]
    pub struct Run<'p, T, E, O, C>
    where
        O: Operation<T, E>,
    {
        #[pin]
        execution: Execution<Held<'p>, T, E, O, C>,
    }
}

impl<T, E, O, C> Future for Run<'_, T, E, O, C>
where
    O: Operation<T, E>,
    C: Classifier<T, E>,
{
    type Output = Result<T, Error<E>>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().execution.poll(cx)
    }
}

impl<T, E, O: Operation<T, E>, C> fmt::Debug for Run<'_, T, E, O, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("pipeline", &self.execution.flow.pipeline.name).finish_non_exhaustive()
    }
}
