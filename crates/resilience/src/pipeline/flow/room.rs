//! A call's room under the pipeline's limit: a turn and a place for each attempt.

use std::ops::Deref;
use std::time::Duration;

use super::{Begin, Flow};
use crate::cancel::Listener;
use crate::clock::Moment;
use crate::limit::{Entry, Taken};
use crate::pipeline::Inner;
use crate::retry::Stop;

impl<P: Deref<Target = Inner>> Flow<P> {
    /// Takes a turn and a place where the pipeline has a limit; `None` when the attempt may begin. A call that the breaker
    /// would refuse takes nothing and does not wait.
    #[cold]
    pub(super) fn enter(&mut self, now: Moment) -> Option<Begin> {
        if self.breaker().is_some_and(|breaker| breaker.core().refuses_at(self.breaker_now(now))) {
            self.taken = None;
            return None;
        }
        self.take_room(now)
    }

    /// Takes a turn and a place; `None` when the attempt may begin.
    #[cold]
    pub(super) fn take_room(&mut self, now: Moment) -> Option<Begin> {
        let limit = self.pipeline.limit.as_ref()?;
        let taken = self.taken.get_or_insert_with(|| Box::new(Taken::new(limit)));
        match taken.enter(now) {
            Entry::Now => None,
            Entry::Wait(wait) if self.deadline.is_none_or(|deadline| now + wait < deadline) => {
                Some(Begin::Wait(wait))
            }
            Entry::Wait(wait) if taken.waits_for_place() => {
                // A place may come sooner than the time that it may take.
                Some(Begin::Wait(self.deadline.map_or(wait, |deadline| deadline.since(now))))
            }
            Entry::Wait(_) => {
                taken.give_up(now);
                Some(Begin::End(Stop::Limited, None))
            }
            Entry::Refused => Some(Begin::End(Stop::Limited, None)),
        }
    }

    /// Whether the turn of a call that waits for a place has come; otherwise the waker is told when it has.
    #[cfg(any(feature = "tokio", feature = "simulate"))]
    pub(crate) fn is_called(&self, waker: &std::task::Waker) -> bool {
        self.taken.as_ref().is_some_and(|taken| taken.is_called(waker))
    }

    /// Holds this thread for the wait that `begin` or `ended` asked for.
    pub(crate) fn block(&self, wait: Duration) {
        let cancel = self.listener().map(Listener::cancel);
        match self.taken.as_ref().filter(|taken| taken.waits_for_place() && self.pipeline.clock.is_real()) {
            Some(taken) => taken.block(wait, &self.pipeline.clock, cancel),
            None => self.pipeline.clock.block(wait, cancel),
        }
    }

    /// The attempt is over: its place is for others, also while this call waits for a retry.
    #[inline]
    pub(super) fn leave(&mut self) {
        if self.taken.is_some() {
            self.taken = None;
        }
    }
}
