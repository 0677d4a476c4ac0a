//! Steps under which the process died twice: one of them may be the killer, so they run one at a time.

use std::collections::BTreeSet;

use steadfast_engine::{Block, Event, StepId};
use steadfast_store::{Store, TaskId};

use super::Scheduler;
use super::owned::{Happening, Owned};

#[derive(Default)]
pub(super) struct Apart {
    /// The last that had its turn.
    turn: Option<(TaskId, StepId)>,
    /// Who waits for it. Oldest tasks first.
    line: BTreeSet<(TaskId, StepId)>,
}

impl<S: Store> Scheduler<S> {
    /// Whether a step has to wait while another such step runs. If none does, this one has its turn.
    pub(super) fn must_run_apart(&mut self, id: TaskId, owned: &Owned, step: StepId) -> bool {
        if !owned.task.step(step).is_suspect() {
            return false;
        }
        let beside =
            |other: &(TaskId, StepId)| other.0 == id && owned.task.step(other.1).complete_by.is_some();
        let other = self.apart.turn.filter(|other| *other != (id, step));
        if other.is_some_and(|other| self.is_busy(other) || beside(&other)) {
            return true;
        }
        self.apart.line.remove(&(id, step));
        self.apart.turn = Some((id, step));
        false
    }

    /// What a step is told that has to wait for its turn, until it is called. Should its task be put out of memory, or go to another
    /// node, it asks again when it is claimed.
    pub(super) fn runs_later(&mut self, id: TaskId, step: StepId) -> Happening {
        self.apart.line.insert((id, step));
        Happening::of(Event::Refused { step, block: Block::Suspect, until: None })
    }

    /// Once nobody has the turn, the next in line is called: whether anybody was.
    pub(super) fn next_apart(&mut self) -> bool {
        if self.is_stopping() || self.apart.turn.is_some_and(|turn| self.is_busy(turn)) {
            return false;
        }
        while let Some((id, step)) = self.apart.line.pop_first() {
            // Others have gone meanwhile, or wait for something else.
            let waits = |owned: &Owned| owned.task.step(step).blocked_on == Some(Block::Suspect);
            if self.owned.get(&id).is_some_and(waits) {
                self.apart.turn = Some((id, step));
                self.happened(id, Happening::of(Event::Released { step }));
                return true;
            }
        }
        false
    }

    /// Whether a step runs, or something of its task is on its way.
    fn is_busy(&self, (task, step): (TaskId, StepId)) -> bool {
        let writing = |owned: &Owned| owned.is_saving() || !owned.waiting.is_empty();
        self.flight.contains_key(&(task, step)) || self.owned.get(&task).is_some_and(writing)
    }
}
