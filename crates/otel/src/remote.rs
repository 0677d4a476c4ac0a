//! Traces that come from other programs, and go on into others.

use std::str::FromStr as _;

use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// A span as other programs know it: what W3C Trace Context has in its headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// The id of its trace.
    pub trace: u128,
    /// Its own id.
    pub span: u64,
    /// Whether it is kept.
    pub sampled: bool,
    /// What the systems on the way have noted, as the header `tracestate`.
    pub state: Option<String>,
}

impl Remote {
    /// A span of this program as others know it; `None` if none is made of it, since it is filtered out or there is no exporter.
    #[must_use]
    pub fn of(span: &Span) -> Option<Self> {
        let context = span.context();
        let own = context.span().span_context().clone();
        let state = own.trace_state().header();
        own.is_valid().then(|| Self {
            trace: u128::from_be_bytes(own.trace_id().to_bytes()),
            span: u64::from_be_bytes(own.span_id().to_bytes()),
            sampled: own.is_sampled(),
            state: Some(state).filter(|state| !state.is_empty()),
        })
    }

    /// Has a span of this program be a child of this one. It must not have been entered yet. What nobody makes a span of is left alone.
    pub fn adopt(&self, child: &Span) {
        let flags = TraceFlags::default().with_sampled(self.sampled);
        // One that makes no sense is left out; the trace goes on without.
        let state =
            self.state.as_deref().and_then(|state| TraceState::from_str(state).ok()).unwrap_or_default();
        let (trace, span) = (TraceId::from(self.trace), SpanId::from(self.span));
        let context = SpanContext::new(trace, span, flags, true, state);
        // It fails where there is no exporter.
        let _ = child.set_parent(Context::new().with_remote_span_context(context));
    }
}
