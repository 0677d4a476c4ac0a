//! Rules about how long things may take.

use std::time::Duration;

use super::{LONG_CALL, Seen};
use crate::policy::Severity;
use crate::policy::duration::print;

impl Seen<'_> {
    /// The longest that a call can take: every attempt times out, every wait is as long as it can be.
    fn worst_case(&self) -> Option<Duration> {
        let retries = self.retries?;
        let all = self.attempt?.saturating_mul(retries.saturating_add(1));
        let whole = all.saturating_add(self.retry.longest_waits(retries));
        Some(match self.retry.settings().max_elapsed {
            // The last wait ends within max_elapsed, and one more attempt follows.
            Some(limit) => whole.min(limit.saturating_add(self.attempt?)),
            None => whole,
        })
    }

    pub(super) fn longer_than_deadline(&mut self) {
        let (Some(worst), Some(limit)) = (self.worst_case(), self.service.complete_within) else { return };
        let first = self.attempt.unwrap_or_default();
        if worst > limit && self.retries != Some(0) {
            let (severity, fitting) = match first >= limit {
                true => (Severity::Warning, "no retry fits at all when the first attempt times out"),
                false => (Severity::Note, "the last retries may never happen"),
            };
            self.find(
                severity,
                ("longer-than-deadline", "complete_within"),
                format!("attempts and waits can take {}, complete_within is {}: {fitting}", print(worst), print(limit)),
                "retries that do not fit are only on paper; the caller gets a timeout instead of the real error",
                "shorten attempt_timeout or the waits, or raise complete_within",
            );
        }
    }

    pub(super) fn no_deadline(&mut self) {
        let Some(worst) = self.worst_case().filter(|_| self.service.complete_within.is_none()) else {
            return;
        };
        if worst > LONG_CALL {
            self.find(
                Severity::Note,
                ("no-deadline", "retry"),
                format!("a call can take {} and has no deadline", print(worst)),
                "somebody who waits for it gives up long before, and the work goes on for nobody",
                "set complete_within where somebody waits for the answer",
            );
        }
    }

    pub(super) fn no_attempt_timeout(&mut self) {
        if self.attempt.is_none() && self.service.complete_within.is_none() {
            self.find(
                Severity::Error,
                ("no-timeout", "attempt_timeout"),
                "neither an attempt nor a call has a time limit".to_owned(),
                "a service that hangs holds its callers for ever, and the breaker never learns of it",
                "set attempt_timeout",
            );
        }
    }

    pub(super) fn short_timeout(&mut self) {
        let facts = self.service.facts;
        let Some(attempt) = self.attempt else { return };
        if let Some(slowest) = facts.slowest_good.filter(|slowest| attempt < *slowest) {
            self.find(
                Severity::Error,
                ("short-timeout", "attempt_timeout"),
                format!("attempts end after {}, good calls take up to {}", print(attempt), print(slowest)),
                "good calls are made failures, and their retries are pure load",
                format!("set attempt_timeout to {} or more", print(slowest)),
            );
        } else if let Some(typical) = facts.typical.filter(|typical| attempt < typical.saturating_mul(3)) {
            self.find(
                Severity::Warning,
                ("short-timeout", "attempt_timeout"),
                format!("attempts end after {}, a typical call takes {}", print(attempt), print(typical)),
                "a little load makes good calls slower than the limit, and retries of them make it worse",
                "leave room for at least three times the typical time",
            );
        }
    }
}
