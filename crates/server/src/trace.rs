//! Where the spans of this process and the traces of others meet. A request is a span of the trace that it came in, the task's steps are
//! spans of that trace, and so are the requests that they make. Without the feature `otel` there are no spans, and traces are passed on.

use steadfast::{Settings, Trace};
use steadfast_http::{Builder, Call, trace_headers};
use tracing::Span;

/// The target of spans that are of tasks.
#[cfg(feature = "otel")]
const TARGET: &str = "steadfast::step";

/// The span of a submission that came in this trace, and the trace that the task belongs to.
#[cfg(feature = "otel")]
pub(crate) fn of_submission(came_in: Option<Trace>, workflow: &str) -> (Span, Option<Trace>) {
    let name = format!("submit {workflow}");
    let span =
        tracing::debug_span!(target: TARGET, "submit", workflow, otel.name = name, otel.kind = "server");
    if let Some(trace) = &came_in {
        remote(trace).adopt(&span);
    }
    let own = steadfast_otel::Remote::of(&span);
    let own = own
        .and_then(|own| Some(Trace::new(own.trace, own.span, own.sampled)?.with_state(own.state.as_deref())));
    (span, own.or(came_in))
}

/// The span of a submission that came in this trace, and the trace that the task belongs to.
#[cfg(not(feature = "otel"))]
pub(crate) fn of_submission(came_in: Option<Trace>, _: &str) -> (Span, Option<Trace>) {
    (Span::none(), came_in)
}

/// Has steps be spans of their tasks' traces.
#[cfg(feature = "otel")]
pub(crate) fn of_steps(settings: &mut Settings) {
    settings.spans = steadfast::Spans::joined_by(|span, trace| remote(trace).adopt(span));
}

/// Has steps be spans of their tasks' traces.
#[cfg(not(feature = "otel"))]
pub(crate) fn of_steps(_: &mut Settings) {}

/// Has requests be made in the trace of their step.
pub(crate) fn of_calls(agent: Builder) -> Builder {
    agent.trace(std::sync::Arc::new(headers))
}

/// The headers of a call: of the span that it is made in, if there is one; otherwise the task's trace is passed on.
fn headers(call: &Call) -> Vec<(String, String)> {
    #[cfg(feature = "otel")]
    if let Some(own) = steadfast_otel::Remote::of(&Span::current())
        && let Some(trace) = Trace::new(own.trace, own.span, own.sampled)
    {
        // What the systems on the way have noted is the task's, also where the exporter has dropped it.
        let task = call.trace.as_ref().and_then(|trace| trace.state());
        let state = own.state.as_deref().or(task).map(|state| ("tracestate".to_owned(), state.to_owned()));
        return [("traceparent".to_owned(), trace.to_string())].into_iter().chain(state).collect();
    }
    trace_headers(call)
}

#[cfg(feature = "otel")]
fn remote(trace: &Trace) -> steadfast_otel::Remote {
    steadfast_otel::Remote {
        trace: trace.id(),
        span: trace.span(),
        sampled: trace.is_sampled(),
        state: trace.state().map(str::to_owned),
    }
}
