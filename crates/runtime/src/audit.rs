//! What operators have asked for, as it is written to the audit log.

use std::sync::Arc;

use serde_json::{Value, json};
use steadfast_engine::{Definition, Event, Plan, StepId, Task};
use steadfast_store::{Audit, Payload, TaskId};

use crate::scheduler::{Happening, Owned};

/// The entry for something that an operator has asked for: what is so before, and what the plan makes of it.
pub(crate) fn audit_of(id: TaskId, owned: &Owned, happening: &Happening, plan: &Plan) -> Option<Audit> {
    let (Some(asked), Event::Asked { action, by, why }) = (happening.asked, &happening.event) else {
        return None;
    };
    let definition = owned.workflow().definition();
    let step = action.step().filter(|step| step.ordinal() < definition.steps().len());
    let before = shown(definition, owned.task(), step);
    let after = plan.ignored().is_none().then(|| {
        let mut after = owned.task().clone();
        after.apply(plan);
        shown(definition, &after, step)
    });
    let mut detail = json!({ "action": action.name(), "before": before });
    let step = step.map(|step| definition.step(step).name());
    for (name, value) in [("after", after), ("step", step.map(Value::from)), ("brings", brought(happening))] {
        if let Some(value) = value {
            detail[name] = value;
        }
    }
    Some(Audit {
        id: asked,
        task: Some(id),
        by: Arc::clone(by),
        why: Arc::clone(why),
        action: Arc::from(action.name()),
        refused: plan.ignored().map(|ignored| Arc::from(ignored.to_string())),
        detail: Payload::from(detail.to_string().into_bytes()),
    })
}

/// What an operator sees of a task, and of the step that it is about.
fn shown(definition: &Definition, task: &Task, step: Option<StepId>) -> Value {
    let mut shown = json!({ "task": format!("{:?}", task.state()).to_lowercase() });
    if let Some(deadline) = task.head().deadline {
        shown["deadline_ms"] = deadline.as_millis().into();
    }
    if let Some(step) = step {
        let record = task.step(step);
        let name = definition.step(step).name();
        shown["step"] = json!({ "name": name, "state": format!("{:?}", record.state).to_lowercase() });
        if record.is_undoing() {
            shown["step"]["undo"] = format!("{:?}", record.undo).to_lowercase().into();
        }
        if let Some(failure) = &record.last_failure {
            shown["step"]["last_failure"] = (&**failure).into();
        }
    }
    shown
}

/// What came beside it, if it is small enough to be shown; otherwise its size.
fn brought(happening: &Happening) -> Option<Value> {
    const SHOWN: usize = 4 << 10;
    let bytes = happening.output.as_ref()?;
    // Labels are a text, all else is JSON.
    let text = || std::str::from_utf8(bytes).ok().map(Value::from);
    let value = (bytes.len() <= SHOWN).then(|| serde_json::from_slice(bytes).ok().or_else(text)).flatten();
    Some(value.unwrap_or_else(|| json!({ "bytes": bytes.len() })))
}
