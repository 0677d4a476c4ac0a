//! What the simulator looks at.

use std::hint::black_box;
use std::ops::Deref;

use super::Flow;
use crate::clock::Moment;
use crate::pipeline::Inner;
use crate::retry::State;

impl<P: Deref<Target = Inner>> Flow<P> {
    /// Whether an attempt was made.
    pub(crate) fn was_attempted(&self) -> bool {
        self.under_way || self.failed.as_ref().is_some_and(|failed| failed.story.attempts() > 0)
    }

    /// When it was first driven.
    pub(crate) fn started(&self) -> Moment {
        self.started
    }

    /// Looks at all of it but its failed attempts, which brings the memory near.
    pub(crate) fn look_at(&self) {
        let rules = self.pipeline.reclassify.len();
        let times = (self.started, self.deadline, self.attempt_began, self.paid);
        black_box((times, rules, self.nth, self.outer, self.previous, self.ticket.is_some(), self.closed));
    }

    /// Looks at what it knows of its failed attempts.
    pub(crate) fn look_at_failure(&self) {
        if let Some(failed) = &self.failed {
            black_box((
                failed.story.attempts(),
                failed.story.elapsed(),
                failed.retry.as_ref().map(State::retries),
            ));
        }
    }
}
