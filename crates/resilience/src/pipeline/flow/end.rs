//! The end of a call: its result, and what it gives back.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use super::{Flow, Last};
use crate::breaker::Refused;
use crate::error::{About, Cause, Error};
use crate::pipeline::Inner;
use crate::retry::Stop;
use crate::story::Story;

impl<P: Deref<Target = Inner>> Flow<P> {
    /// The result for the caller. A value that was judged a failure is still the caller's.
    #[inline]
    pub(crate) fn finish<T, E>(
        &mut self,
        last: Option<Last<T, E>>,
        stop: Stop,
        refused: Option<Refused>,
    ) -> Result<T, Error<E>> {
        let limited = self.taken.as_ref().and_then(|taken| taken.refused());
        if !self.closed {
            self.tell_end(stop);
        }
        self.let_go();
        match (last, refused) {
            (Some(Last::Outcome(Ok(value))), _) => Ok(value),
            (None, Some(refused)) => Err(Error::refused(refused)),
            (Some(Last::Outcome(Err(error))), _) => Err(self.error(Cause::Operation(error), stop)),
            (Some(Last::TimedOut), _) => Err(self.error(Cause::TimedOut, stop)),
            (None, None) => match limited {
                Some(limited) => Err(self.error(Cause::Limited(limited), stop)),
                None if stop == Stop::Cancelled => {
                    Err(self.error(Cause::Cancelled { under_way: self.under_way }, stop))
                }
                None => Err(self.error(Cause::TimedOut, stop)),
            },
        }
    }

    #[cold]
    fn error<E>(&mut self, cause: Cause<E>, stop: Stop) -> Error<E> {
        let failed = self.failed.take();
        let next_try = failed.as_ref().and_then(|failed| failed.next_try);
        let story = failed.map(|failed| {
            let mut story = failed.story;
            story.end(self.pipeline.clock.now().since(self.started));
            story
        });
        Error::new(cause, stop, About { next_try, ..self.about(story, stop) })
    }

    #[cold]
    fn about(&self, story: Option<Story>, stop: Stop) -> About {
        let breaker = self.breaker().filter(|_| stop == Stop::BreakerOpen);
        About {
            name: Arc::clone(&self.pipeline.name),
            operation: self.options.as_deref().map_or(Cow::Borrowed(""), |own| own.operation.clone()),
            breaker: self.own_breaker().map(|breaker| Arc::clone(&breaker.core().name)),
            failure: story.as_ref().and_then(Story::last).map(|last| last.failure),
            story,
            next_probe: breaker.and_then(|breaker| breaker.core().next_probe_in(breaker.clock().now())),
            next_try: None,
        }
    }

    pub(super) fn give_place_back(&mut self) {
        if let (Some(ticket), Some(breaker)) = (self.ticket.take(), self.breaker()) {
            breaker.core().abandon(ticket, self.breaker_now(self.attempt_began));
        }
    }

    /// Gives back what a call holds that goes no further. One that succeeded holds nothing any more.
    #[inline]
    fn let_go(&mut self) {
        if self.ticket.is_some() || self.paid.is_some() || self.taken.is_some() {
            self.give_back();
        }
    }

    /// Its place in the breaker and under the limit, and the price of a retry that is not made.
    #[cold]
    fn give_back(&mut self) {
        self.leave();
        self.give_place_back();
        if let (Some(paid), Some(budget)) = (self.paid.take(), self.budget()) {
            budget.refund(paid);
        }
    }
}

impl<P: Deref<Target = Inner>> Drop for Flow<P> {
    #[inline]
    fn drop(&mut self) {
        if self.begun && !self.closed {
            self.tell_end(Stop::Cancelled);
        }
        self.let_go();
    }
}
