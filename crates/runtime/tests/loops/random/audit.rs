//! What must hold of a task at its end, by the services' own books.

use super::*;

/// What the services' books say must be what the task says.
pub(crate) fn audit(workflow: &Workflow, stored: &Stored, lived: &Lived, ledger: &Ledger) {
    let definition = workflow.definition();
    stored.task.check(definition).unwrap();
    audit_signals(stored, lived);
    let books = |place: usize, undo| ledger.done.get(&(stored.id, place, undo));
    for (id, record) in stored.task.rows() {
        let (step, name, place) = (definition.step(id), definition.step(id).name(), id.ordinal());
        let (done, undone) = (books(place, false), books(place, true));
        if step.wait().is_some() {
            assert!(done.is_none(), "{name} waits, and was called");
            continue;
        }
        for (_, keys) in done.iter().chain(&undone) {
            let most = record.rounds() as usize + 1;
            assert!(keys.len() <= most, "{name} had {} keys in {most} rounds", keys.len());
        }
        if step.repeats().is_some() {
            // It leaves nothing behind.
            assert!(done.is_some() || record.state != StepState::Completed);
            continue;
        }
        if record.state == StepState::Completed {
            assert!(done.is_some(), "{name} is completed, and was never done");
        }
        if record.undo == UndoState::Done {
            assert!(undone.is_some(), "{name} is undone in the records alone");
        }
        if undone.is_some() {
            assert!(record.undo != UndoState::None, "{name} was undone, and nobody knows");
        }
        let recorded = record.state == StepState::Completed || record.undo != UndoState::None;
        if done.is_some() && !recorded {
            assert!(
                record.may_have_happened || said_no(record),
                "{name} was done, and nobody knows: {record:?}"
            );
        }
        if stored.task.state() == TaskState::Undone
            && done.is_some()
            && definition.step(id).undo_settings().is_some()
        {
            assert!(undone.is_some() || said_no(record), "{name} was done and is not undone: {record:?}");
        }
        // An undo comes after the undos of all that came after it.
        for later in definition.dependents(id) {
            if let (Some((at, _)), Some((later_at, _))) = (undone, books(later.ordinal(), true)) {
                assert!(later_at < at, "{name} was undone before what came after it");
            }
        }
    }
    match stored.task.state() {
        TaskState::Completed => {
            assert!((0..stored.task.steps().len()).all(|place| books(place, true).is_none()));
        }
        TaskState::Undone | TaskState::Failed => assert!(stored.task.head().ending.is_some()),
        state => panic!("not at rest: {state:?}"),
    }
}

/// A wait has ended by a signal of its name, which ended no other, or without one as its definition says.
pub(crate) fn audit_signals(stored: &Stored, lived: &Lived) {
    let definition = lived.workflow.definition();
    let mut used = BTreeSet::new();
    for (id, record) in stored.task.rows() {
        let Some(Wait::Signal { signal, or_none, .. }) = definition.step(id).wait() else { continue };
        let said = lived.said[&(stored.id, id)].as_deref();
        match (record.state, said) {
            (StepState::Completed, Some("null")) => assert!(or_none, "it needs a signal"),
            (StepState::Completed, Some(said)) => {
                assert!(said.starts_with(&**signal), "it waited for {signal}, and has {said}");
                assert!(used.insert(said), "{said} ended two waits");
            }
            (StepState::Completed, None) => panic!("a wait has ended without a word"),
            (_, said) => assert_eq!(said, None, "a signal was taken and not"),
        }
    }
}

/// A service that says no for good has not done it, whatever an earlier call under the same key did: that is its promise,
/// and these random ones break it.
pub(crate) fn said_no(record: &steadfast_engine::Record) -> bool {
    record.last_failure.as_deref() == Some("bad-request: scripted")
}
