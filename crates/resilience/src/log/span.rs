//! Spans: one for each call, one below it for each attempt, so that what an operation logs says where it belongs and a
//! trace shows the tries. At level `debug`: when that is off, there are none, and nothing is allocated for them.

use tracing::Span;
use tracing::field::Empty;
use tracing::span::Entered;

use super::Call;
use super::call::{CALL, named, tells_details};
use crate::classify::Verdict;

/// The spans of one call, if anybody wants them.
#[derive(Default)]
pub(crate) struct Spans(Option<Box<Both>>);

struct Both {
    call: Span,
    /// Of the attempt under way.
    attempt: Span,
}

impl Spans {
    /// Whether somebody may want spans; one comparison.
    #[inline]
    pub(crate) fn wanted() -> bool {
        tells_details()
    }

    /// Begins a call's span, below the one around its caller.
    #[cold]
    pub(crate) fn of_call(told: &Call<'_>) -> Self {
        let name = match named(told.operation) {
            Some(operation) => format!("{} {operation}", told.pipeline),
            None => told.pipeline.to_owned(),
        };
        let call = tracing::debug_span!(
            target: CALL,
            "call",
            pipeline = told.pipeline,
            operation = named(told.operation),
            operation_id = %told.key.get(),
            outcome = Empty,
            retries = Empty,
            otel.name = name,
            otel.status_code = Empty,
        );
        Self((!call.is_disabled()).then(|| Box::new(Both { call, attempt: Span::none() })))
    }

    #[inline]
    pub(crate) fn begin_attempt(&mut self, number: u32) {
        if let Some(both) = &mut self.0 {
            both.begin_attempt(number);
        }
    }

    #[inline]
    pub(crate) fn end_attempt(&mut self, verdict: &Verdict) {
        if let Some(both) = &mut self.0 {
            both.end_attempt(verdict);
        }
    }

    #[inline]
    pub(crate) fn end_call(&mut self, outcome: &'static str, retries: u32) {
        if let Some(both) = self.0.take() {
            both.end_call(outcome, retries);
        }
    }

    /// What is logged until the guard is dropped belongs to the call.
    #[inline]
    pub(crate) fn enter_call(&self) -> Option<Entered<'_>> {
        self.0.as_ref().map(|both| both.call.enter())
    }

    /// What is logged until the guard is dropped belongs to the attempt.
    #[inline]
    pub(crate) fn enter_attempt(&self) -> Option<Entered<'_>> {
        self.0.as_ref().map(|both| both.attempt.enter())
    }
}

impl Both {
    #[cold]
    fn begin_attempt(&mut self, number: u32) {
        self.attempt = tracing::debug_span!(
            target: CALL,
            parent: &self.call,
            "attempt",
            attempt = number,
            outcome = Empty,
            kind = Empty,
            class = Empty,
            otel.status_code = Empty,
        );
    }

    #[cold]
    fn end_attempt(&mut self, verdict: &Verdict) {
        let span = std::mem::replace(&mut self.attempt, Span::none());
        if verdict.is_success() {
            span.record("outcome", "succeeded");
            return;
        }
        span.record("outcome", "failed");
        span.record("kind", verdict.kind().as_str());
        span.record("class", verdict.class().as_str());
        span.record("otel.status_code", "ERROR");
    }

    #[cold]
    fn end_call(self, outcome: &'static str, retries: u32) {
        self.call.record("outcome", outcome);
        self.call.record("retries", retries);
        if matches!(outcome, "failed" | "refused" | "limited") {
            self.call.record("otel.status_code", "ERROR");
        }
    }
}
