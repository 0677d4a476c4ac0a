//! Conditions, times and lists, evaluated where what they read is known.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::value::RawValue;
use steadfast_engine::{CHUNK, Event, StepId};
use steadfast_store::{MAX_PAYLOAD, Payload};

use crate::handler::words_of;
use crate::scheduler::Happening;
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

/// For which items a step is made, with the list in parts.
pub(crate) fn list(workflow: &Workflow, step: StepId, known: &Known) -> Happening {
    let unknown = || Err("nobody said for which items".to_owned());
    let listed =
        catch_unwind(AssertUnwindSafe(|| workflow.list(step).map_or_else(unknown, |list| list(known))));
    let parts = listed.unwrap_or_else(|panic| Err(words_of(&*panic))).and_then(|items| {
        let parts = items.chunks(CHUNK).map(joined).collect::<Result<Vec<_>, _>>()?;
        Ok((items.len(), parts))
    });
    match parts {
        Ok((items, list)) => Happening { list, ..Happening::of(Event::Listed { step, items }) },
        Err(why) => Happening::of(Event::Unjudged { step, why: Arc::from(format!("list: {why}")) }),
    }
}

/// Items as one JSON array.
fn joined(items: &[Payload]) -> Result<Payload, String> {
    let size = items.iter().map(|item| item.len() + 1).sum::<usize>() + 1;
    if size > MAX_PAYLOAD {
        return Err(format!(
            "{} of its items have {size} bytes together, at most {MAX_PAYLOAD} are allowed",
            items.len()
        ));
    }
    let mut joined = Vec::with_capacity(size);
    for (nth, item) in items.iter().enumerate() {
        joined.push(if nth == 0 { b'[' } else { b',' });
        joined.extend_from_slice(item);
    }
    joined.push(b']');
    Ok(Payload::from(joined))
}

/// One item of a part of a list.
pub(crate) fn item_of(part: &[u8], place: u16) -> Result<Payload, String> {
    let items: Vec<&RawValue> = serde_json::from_slice(part).map_err(|error| error.to_string())?;
    let item = items.get(usize::from(place) % CHUNK).ok_or("it is not there")?;
    Ok(Payload::from(item.get().as_bytes()))
}

/// Whether a step is done with this output: one that is not repeated always is.
pub(crate) fn is_done(workflow: &Workflow, step: StepId, output: &[u8]) -> Result<bool, String> {
    let Some(done) = workflow.done(step) else { return Ok(true) };
    let judged = catch_unwind(AssertUnwindSafe(|| done(output)));
    judged.unwrap_or_else(|panic| Err(words_of(&*panic)))
}
