//! The span in which a step is made: what it logs, and what its calls log, belongs to it. At level `debug`: when that is off, there are
//! none, and nothing is allocated for them.

use std::fmt;
use std::sync::Arc;

use tracing::Span;

use crate::handler::Work;
use crate::trace::Trace;

/// Joins a span to the trace that its task belongs to.
type Joins = Arc<dyn Fn(&Span, &Trace) + Send + Sync>;

/// How spans of steps are joined to the traces of their tasks, for programs that send spans to a collector.
#[derive(Clone, Default)]
pub struct Spans(Option<Joins>);

impl Spans {
    /// Joins them with this function. It is called before the span is entered.
    #[must_use]
    pub fn joined_by(join: impl Fn(&Span, &Trace) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(join)))
    }

    /// The span of an attempt at a step.
    pub(crate) fn of_attempt(&self, work: &Work, workflow: &str, step: &str) -> Span {
        let span = tracing::debug_span!(
            target: "steadfast::step",
            "step",
            task = %work.task,
            workflow,
            step,
            undo = work.undo,
            attempt = work.number,
            otel.name = format!("{workflow} {step}{}", if work.undo { " undo" } else { "" }),
        );
        if let (Some(join), Some(trace), false) = (&self.0, &work.trace, span.is_disabled()) {
            join(&span, trace);
        }
        span
    }
}

impl fmt::Debug for Spans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spans").field("joined", &self.0.is_some()).finish()
    }
}
