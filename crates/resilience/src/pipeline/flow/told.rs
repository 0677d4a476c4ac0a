//! What a call tells while it runs: to the log, the counts, the metrics and the hook. It decides nothing.

use std::ops::Deref;
use std::time::Duration;

use super::{Flow, Words};
use crate::breaker::Breaker;
use crate::classify::{Class, Verdict};
use crate::clock::Moment;
use crate::log;
use crate::pipeline::Inner;
use crate::retry::{Decision, FailedTry, Retry, Stop};
use crate::story::Story;
use crate::telemetry::{Outcome, Watched};

impl<P: Deref<Target = Inner>> Flow<P> {
    /// The spans that the doors enter while they run the operation.
    #[inline]
    pub(crate) fn spans(&self) -> &log::Spans {
        &self.spans
    }

    /// This call as the log names it.
    pub(super) fn told(&self) -> log::Call<'_> {
        log::Call {
            pipeline: &self.pipeline.name,
            operation: self.operation(),
            breaker: self.own_breaker().map(Breaker::name),
            key: self.key(),
            retry: self.retry(),
            clock: &self.pipeline.clock,
            started: self.started,
            has_fallback: self.options.as_deref().is_some_and(|own| own.has_fallback),
        }
    }

    /// This call as it is counted.
    #[inline]
    pub(super) fn watched(&self) -> Watched<'_> {
        Watched { pipeline: &self.pipeline, operation: self.operation() }
    }

    /// The call succeeded.
    #[inline]
    pub(super) fn tell_success(&mut self, now: Moment) {
        self.closed = true;
        let elapsed = now.since(self.started);
        self.pipeline.seen.watch.succeeded(&self.watched(), self.number, elapsed, now);
        let asked = self.pipeline.log_successes;
        if log::tells_success(self.number, asked) {
            let _inside = self.spans.enter_call();
            log::succeeded(&self.told(), self.number, elapsed, asked);
        }
        self.spans.end_call(Outcome::Succeeded.as_str(), self.number);
    }

    /// An attempt failed; with `Decision::Stop` the call did too.
    pub(super) fn tell(&mut self, verdict: &Verdict, decision: &Decision, now: Moment, message: Words<'_>) {
        let elapsed = now.since(self.started);
        let watch = &self.pipeline.seen.watch;
        watch.attempt_failed(&self.watched(), self.number, verdict, now);
        {
            let _inside = self.spans.enter_call();
            let tried = log::FailedAttempt {
                number: self.number,
                began: self.attempt_began.since(self.started),
                ended: elapsed,
                failure: verdict,
                message,
                decision,
            };
            log::failed_attempt(&self.told(), &tried);
        }
        if let Some(hook) = self.retry().and_then(Retry::hook) {
            hook.call(&FailedTry { retries: self.number, failure: verdict, decision, elapsed });
        }
        if matches!(decision, Decision::Stop(_)) {
            self.closed = true;
            let outcome = match verdict.class() {
                Class::Terminal => Outcome::Terminal,
                _ => Outcome::Failed,
            };
            watch_end(self, outcome, self.number, now);
        }
    }

    /// The call was refused at once: what most calls are during an outage, so the time is not asked for again.
    fn tell_refusal(&mut self) {
        if log::tells_details() {
            let _inside = self.spans.enter_call();
            let end =
                log::Ending { stop: Stop::BreakerOpen, last: None, retries: 0, elapsed: Duration::ZERO };
            log::ended(&self.told(), &end);
        }
        watch_end(self, Outcome::Refused, 0, self.started);
    }

    /// The call ends between attempts or before the first, or is dropped in the middle of one.
    #[cold]
    pub(super) fn tell_end(&mut self, stop: Stop) {
        self.closed = true;
        if stop == Stop::BreakerOpen && self.failed.is_none() && !self.waits_for_breaker() {
            return self.tell_refusal();
        }
        let now = if self.begun { self.pipeline.clock.now() } else { self.started };
        let story = self.failed.as_deref().map(|failed| &failed.story);
        let attempts = story.map_or(0, Story::attempts).saturating_add(u32::from(self.under_way));
        let retries = attempts.saturating_sub(1);
        let last = story.and_then(Story::last).map(|last| last.failure);
        let outcome = match stop {
            Stop::Cancelled => Outcome::Cancelled,
            Stop::BreakerOpen if last.is_none() => Outcome::Refused,
            Stop::Limited if last.is_none() => Outcome::Limited,
            _ => Outcome::Failed,
        };
        if self.under_way {
            self.pipeline.seen.watch.attempt_given_up(&self.watched(), retries);
        }
        {
            let _inside = self.spans.enter_call();
            let elapsed = now.since(self.started);
            log::ended(&self.told(), &log::Ending { stop, last: last.as_ref(), retries, elapsed });
        }
        watch_end(self, outcome, retries, now);
    }
}

fn watch_end<P: Deref<Target = Inner>>(flow: &mut Flow<P>, outcome: Outcome, retries: u32, now: Moment) {
    let elapsed = now.since(flow.started);
    flow.pipeline.seen.watch.ended(&flow.watched(), outcome, elapsed, now);
    flow.spans.end_call(outcome.as_str(), retries);
}
