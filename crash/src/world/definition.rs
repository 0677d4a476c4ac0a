//! The workflows, known to the driver and to the auditor.

use std::time::Duration;

use anyhow::{Context, Result};
use steadfast_engine::{Definition, OnFailure, Recovery, Step};

/// Three steps in a row; the last one is refused for a third of the tasks.
pub const SAGA: &str = "saga";
/// Three steps beside each other; one is busy at first, one is refused for some tasks.
pub const FAN: &str = "fan";
/// A step that is done and gives no answer at first: the supervisor's; and one whose service answers later, by callback.
pub const SILENT: &str = "silent";

/// A step that is refused, and nothing to undo: the task is an operator's then.
pub const HOPELESS: &str = "hopeless";

/// A step that asks for a saga of its own, with a step before it and one after.
pub const PARENT: &str = "parent";

/// Two steps at a service that is away at first: it is parked, probes, and is let go.
pub const PARKED: &str = "parked";

/// The service of all other steps.
pub(super) const SERVICE: &str = "ledger";
/// The one that is away at first.
pub(super) const AWAY: &str = "away";
/// By when an attempt must have answered: short, so that a silent one is found soon.
pub(crate) const COMPLETE_WITHIN: Duration = Duration::from_millis(300);
/// Tried again soon and often: a busy machine must not have a task given up.
const RECOVERY: Recovery = Recovery { at_once: 10, extended_wait: Duration::from_millis(100), last: 30 };

fn step(name: &str, after: &[&str]) -> Step {
    step_at(SERVICE, name, after)
}

fn step_at(service: &str, name: &str, after: &[&str]) -> Step {
    Step::new(name, service)
        .after(after.iter().copied())
        .complete_within(COMPLETE_WITHIN)
        .recovery(RECOVERY)
        .undo(COMPLETE_WITHIN)
        .undo_recovery(RECOVERY)
        .undo_when_unknown()
}

/// All of them.
///
/// # Errors
/// A workflow that is not well-formed.
pub fn definitions() -> Result<Vec<Definition>> {
    let saga = Definition::builder(SAGA)
        .step(step("reserve", &[]))
        .step(step("charge", &["reserve"]))
        .step(step("ship", &["charge"]));
    let fan = Definition::builder(FAN)
        .step(step("open", &[]))
        .step(step("left", &["open"]))
        .step(step("middle", &["open"]))
        .step(step("right", &["open"]))
        .step(step("close", &["left", "middle", "right"]));
    let silent = Definition::builder(SILENT)
        .step(step("send", &[]))
        .step(step("note", &["send"]).callback(COMPLETE_WITHIN));
    let hopeless = Definition::builder(HOPELESS).step(step("beg", &[]).on_failure(OnFailure::Error));
    let sub = Step::child("sub", SAGA).after(["begin"]);
    let parent = Definition::builder(PARENT).step(step("begin", &[])).step(sub).step(step("end", &["sub"]));
    let parked =
        Definition::builder(PARKED).step(step_at(AWAY, "ask", &[])).step(step_at(AWAY, "take", &["ask"]));
    [saga, fan, silent, hopeless, parent, parked].into_iter().map(|builder| Ok(builder.build()?)).collect()
}

/// The one of this name.
///
/// # Errors
/// There is none.
pub fn definition(name: &str) -> Result<Definition> {
    let found = definitions()?.into_iter().find(|definition| definition.name() == name);
    found.with_context(|| format!("no workflow {name}"))
}
