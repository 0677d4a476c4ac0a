//! The blocking door: the same pipeline, breaker and budget for code without async.

use super::call::{Call, Options};
use super::flow::{Begin, Flow, Last, Next};
use super::{Attempt, Pipeline};
use crate::classify::{Classifier, Classify, ErrorsOnly};
use crate::error::Error;
use crate::retry::Stop;

impl Pipeline {
    /// Runs an operation on this thread, with everything that [`run`](Self::run) does, but for one thing: an attempt
    /// under way cannot be ended from outside. Give [`Attempt::time_left`] to the operation as its own time limit.
    ///
    /// # Errors
    /// The operation's own error, a refusal, or the caller's cancellation, with the story.
    pub fn run_blocking<T, E, F>(&self, operation: F) -> Result<T, Error<E>>
    where
        F: FnMut(Attempt) -> Result<T, E>,
        E: Classify,
    {
        drive(self, None, &ErrorsOnly, operation)
    }
}

impl<C> Call<'_, C> {
    /// Runs the operation on this thread: see [`Pipeline::run_blocking`].
    ///
    /// # Errors
    /// The operation's own error, a refusal, or the caller's cancellation, with the story.
    pub fn run_blocking<T, E, F>(self, operation: F) -> Result<T, Error<E>>
    where
        F: FnMut(Attempt) -> Result<T, E>,
        C: Classifier<T, E>,
    {
        drive(self.pipeline, Some(self.options), &self.classifier, operation)
    }
}

fn drive<T, E>(
    pipeline: &Pipeline,
    options: Option<Box<Options>>,
    classifier: &impl Classifier<T, E>,
    mut operation: impl FnMut(Attempt) -> Result<T, E>,
) -> Result<T, Error<E>> {
    let mut flow = Flow::new(pipeline.source.hold(), options);
    let mut last = None;
    loop {
        let wait = match flow.begin() {
            Begin::End(stop, refused) => return flow.finish(last, stop, refused),
            Begin::Wait(wait) => wait,
            Begin::Attempt(attempt) => {
                let outcome = {
                    let _inside = (attempt.nesting.enter(), flow.spans().enter_attempt());
                    operation(attempt)
                };
                let next = flow.ended(&outcome, classifier);
                last = Some(Last::Outcome(outcome));
                match next {
                    Next::Done => return flow.finish(last, Stop::NoRetry, None),
                    Next::End(stop) => return flow.finish(last, stop, None),
                    Next::Wait(wait) => wait,
                }
            }
        };
        flow.block(wait);
    }
}
