//! What somebody has to be told of: what is so now, and was not before. It is read off the rows, so that no move can forget it.

use std::collections::BTreeMap;

use super::draft::Draft;
use crate::definition::StepId;
use crate::plan::Notice;
use crate::task::{Record, StepState, Task, TaskState, UndoState};

impl Draft<'_> {
    /// What of the changes has to be told.
    pub(super) fn notices(&self, before: &Task, changed: &BTreeMap<StepId, Record>) -> Vec<Notice> {
        let is_stuck = |record: &Record| record.undo == UndoState::Failed;
        // Of items their step tells.
        let newly = |(id, record): &(&StepId, &Record)| {
            id.item().is_none() && is_stuck(record) && !is_stuck(before.step(**id))
        };
        let stuck = changed.iter().filter(newly).map(|(id, _)| Notice::UndoStuck { step: *id });
        let fails = self.head().state == TaskState::Failed && before.state() != TaskState::Failed;
        let failed = fails.then(|| Notice::TaskFailed { unknown: self.unknown_steps() });
        stuck.chain(failed).collect()
    }

    fn unknown_steps(&self) -> Vec<StepId> {
        let is_unknown = |id: StepId| self.record(id).state == StepState::Unknown;
        let has_unknown = |id: StepId| self.head().fan(id).is_some_and(|fan| fan.items().any(is_unknown));
        self.definition.ids().filter(|id| is_unknown(*id) || has_unknown(*id)).collect()
    }
}
