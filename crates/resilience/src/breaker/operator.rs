//! What people and programs do to a breaker by hand. Each deed is recorded with who and why.

use std::time::Duration;

use super::Breaker;
use super::control::By;
use super::event::Override;
use super::state::Input;
use super::trip::Reason;
use crate::classify::Verdict;

impl Breaker {
    /// Holds it open: every call is refused. With `Some(time)` it goes half-open after that; with `None` it stays open
    /// until somebody ends it. Done again, the time starts again.
    pub fn force_open(&self, time: Option<Duration>, who: impl Into<String>, why: impl Into<String>) {
        let now = self.clock().now();
        self.by_hand(Input::ForceOpen { until: time.map(|time| now + time) }, who, why);
    }

    /// Holds it closed: every call goes through and nothing trips it.
    pub fn force_closed(&self, who: impl Into<String>, why: impl Into<String>) {
        self.by_hand(Input::ForceClosed, who, why);
    }

    /// Lets probes through now.
    pub fn half_open(&self, who: impl Into<String>, why: impl Into<String>) {
        self.by_hand(Input::ForceHalfOpen, who, why);
    }

    /// Closes it with all counts at zero, and ends whatever was forced.
    pub fn reset(&self, who: impl Into<String>, why: impl Into<String>) {
        self.by_hand(Input::Reset, who, why);
    }

    /// Opens it as if a rule had been broken: for code that knows by other means that the service is down. Returns
    /// whether it did; a breaker that is not closed stays as it is.
    pub fn trip(&self, failure: &Verdict) -> bool {
        let now = self.clock().now();
        let settings = self.core().settings();
        let hold = failure.hint().unwrap_or_default().min(settings.max_hold);
        let trip = self.core().new_trip(Reason::Asked, *failure, None, now);
        self.core().change(&settings, None, Input::Tripped { hold }, Some(trip), now)
    }

    fn by_hand(&self, input: Input, who: impl Into<String>, why: impl Into<String>) {
        let by = Override { who: who.into(), why: why.into() };
        self.core().change_by(
            &self.core().settings(),
            None,
            input,
            Some(By::Operator(by)),
            self.clock().now(),
        );
    }
}
