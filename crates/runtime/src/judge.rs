//! Conditions and times, evaluated where what they read is known.

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

/// Until when a step waits, as an event.
pub(crate) fn until(workflow: &Workflow, step: StepId, known: &Known) -> Event {
    let unknown = || Err("nobody said until when".to_owned());
    let computed =
        catch_unwind(AssertUnwindSafe(|| workflow.until(step).map_or_else(unknown, |until| until(known))));
    match computed.unwrap_or_else(|panic| Err(words_of(&*panic))) {
        Ok(at) => Event::Until { step, at },
        Err(why) => Event::Unjudged { step, why: Arc::from(format!("time: {why}")) },
    }
}

/// Whether a step is done with this output: one that is not repeated always is.
pub(crate) fn is_done(workflow: &Workflow, step: StepId, output: &[u8]) -> Result<bool, String> {
    let Some(done) = workflow.done(step) else { return Ok(true) };
    let judged = catch_unwind(AssertUnwindSafe(|| done(output)));
    judged.unwrap_or_else(|panic| Err(words_of(&*panic)))
}
