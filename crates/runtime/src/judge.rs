//! Conditions, evaluated where what they read is known.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use steadfast_engine::{Event, StepId};

use crate::handler::words_of;
use crate::workflow::{Known, Workflow};

/// Whether a step is to run, as an event.
pub(crate) fn judge(workflow: &Workflow, step: StepId, known: &Known) -> Event {
    let Some(condition) = workflow.condition(step) else { return Event::Judged { step, holds: true } };
    let judged = catch_unwind(AssertUnwindSafe(|| condition(known)));
    match judged.unwrap_or_else(|panic| Err(words_of(&*panic))) {
        Ok(holds) => Event::Judged { step, holds },
        Err(why) => Event::Unjudged { step, why: Arc::from(format!("condition: {why}")) },
    }
}
