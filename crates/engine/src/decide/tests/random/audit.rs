//! What must hold in the end: the books of the services against the rows of the task.

use std::collections::BTreeSet;

use super::super::*;
use super::world::{Books, World};

impl World {
    /// What the services' books say must be what the task says.
    pub(in super::super) fn audit(&self) {
        let task = &self.run.task;
        for id in self.run.definition.ids().chain(self.items()) {
            let (record, books) = (task.step(id), self.books_of(id));
            let name = format!("{} ({id})", self.rules(id).name());
            let step = self.rules(id);
            if step.fans_out().is_some() && id.item().is_none() {
                self.audit_items(id);
                continue;
            }
            if step.wait().is_some() {
                self.audit_wait(id);
                continue;
            }
            if record.state == StepState::Completed {
                assert!(books.done, "{name} is completed, and was never done");
            }
            if record.undo == UndoState::Done {
                assert!(books.undone, "{name} is undone in the records alone");
            }
            if books.undone {
                assert!(record.undo != UndoState::None, "{name} was undone, and nobody knows");
            }
            // What is repeated leaves nothing behind.
            let lasting = step.repeats().is_none();
            let could = lasting
                && books.done
                && record.state != StepState::Completed
                && record.undo == UndoState::None;
            assert!(!could || record.may_have_happened, "{name} was done, and nobody knows");
        }
        match task.state() {
            TaskState::Completed => self.check_completed(),
            TaskState::Undone => self.check_undone(),
            TaskState::Failed => assert!(task.head().ending.is_some(), "failed without a reason"),
            state => panic!("not at rest: {state:?}"),
        }
    }

    /// A wait that is over has its signal, or did without one as its definition says.
    fn audit_wait(&self, id: StepId) {
        let (step, record) = (self.run.definition.step(id), self.run.task.step(id));
        let done = record.state == StepState::Completed;
        if let Some(Wait::Signal { or_none, .. }) = step.wait() {
            assert!(!done || *or_none || self.said.contains_key(&id), "{} has no signal", step.name());
            assert!(
                done || !self.said.contains_key(&id),
                "{} has a signal and did not end by it",
                step.name()
            );
        }
        let steps = self.said.iter().filter(|(at, _)| at.ordinal() < MAX_STEPS);
        let used: Vec<_> = steps.map(|(_, number)| number).collect();
        assert_eq!(used.iter().collect::<BTreeSet<_>>().len(), used.len(), "one signal ended two waits");
    }

    pub(super) fn books_of(&self, id: StepId) -> Books {
        self.books.get(&id).copied().unwrap_or_default()
    }

    pub(super) fn rules(&self, id: StepId) -> &Step {
        self.run.task.rules(&self.run.definition, id)
    }

    /// All items of all lists.
    fn items(&self) -> impl Iterator<Item = StepId> {
        self.run.task.head().fans().iter().flat_map(Fan::items)
    }

    /// What calls its service for a step: the step itself, or its items.
    fn made_for(&self, step: StepId) -> Vec<StepId> {
        self.run.task.head().fan(step).map_or_else(|| vec![step], |fan| fan.items().collect())
    }

    /// A step with items is what those say.
    fn audit_items(&self, id: StepId) {
        let (task, each) = (&self.run.task, self.rules(id).fans_out().unwrap());
        let Some(fan) = task.head().fan(id) else { return };
        let count = |state| fan.items().filter(|item| task.step(*item).state == state).count();
        if task.step(id).state == StepState::Completed && !task.step(id).is_by_hand() {
            let (done, failed) = (count(StepState::Completed), count(StepState::Failed));
            assert_eq!(
                done + failed,
                usize::from(fan.count),
                "{id} is completed, and not all items have ended"
            );
            assert!(
                failed <= usize::from(each.tolerates),
                "{id} is completed, and {failed} items have failed"
            );
        }
        if task.step(id).undo == UndoState::Done {
            let left = fan.items().find(|item| {
                let record = task.step(*item);
                record.undo != UndoState::Done
                    && (record.state == StepState::Completed || record.may_have_happened)
            });
            assert!(left.is_none(), "{id} is undone, and {left:?} is not");
        }
    }

    fn check_completed(&self) {
        let open = self.run.task.steps.iter().any(|record| {
            !matches!(record.state, StepState::Completed | StepState::Skipped | StepState::Failed)
        });
        assert!(!open && self.books.values().all(|books| !books.undone));
    }

    /// Everything that was done and can be undone is, each after what came after it.
    fn check_undone(&self) {
        for id in self.run.definition.ids().chain(self.items()) {
            let books = self.books_of(id);
            let undoable = self.rules(id).undo_settings().is_some();
            assert!(!books.done || !undoable || books.undone, "{id} was done and is not undone");
            let later = self.run.definition.dependents(self.run.task.step_of(id));
            for later in later.iter().flat_map(|later| self.made_for(*later)) {
                let after = self.books_of(later);
                if books.undone && after.undone && after.done {
                    assert!(books.undone_at > after.undone_at, "{id} was undone before {later}");
                }
            }
        }
    }
}
