//! Steps that ask for another task, and wait for its end.
//!
//! Each look at the other task is an attempt: the first one asks for it. While it goes on, the step waits; its end comes by mail
//! and wakes the step, so that it looks again. The undo goes the same way.

use std::time::Duration;

use super::Followed;
use super::draft::Draft;
use crate::definition::{CHILD_GONE, CHILD_UNFIT, StepId};
use crate::plan::Ignored;
use crate::task::{Busy, StepState, Turn};

/// How long a step waits that nobody wakes. Its task's end comes by mail: this is for what nobody has thought of.
const LOOK_AGAIN: Duration = Duration::from_secs(600);

impl Draft<'_> {
    /// The other task goes on: the step, or its undo, waits for it.
    pub(super) fn child_goes_on(&mut self, id: StepId) {
        let record = self.record(id);
        let (forward, told) = (!record.is_undoing(), record.since().is_some());
        self.change(id, |record| {
            record.change_more(|more| more.rounds = more.rounds.saturating_add(1));
            (record.failures, record.calls, record.owner_deaths) = (0, 0, 0);
            record.last_failure = None;
            // Whatever it does is this step's, until it is known how it has ended.
            record.may_have_happened |= forward;
        });
        let ending = forward && self.head().ending.is_some();
        match told && !ending {
            true => self.make_ready(id),
            false => self.turn(id, Turn::Waiting(self.now + LOOK_AGAIN)),
        }
        if ending {
            self.drain();
        }
    }

    /// The task that a step has asked for has ended: it looks, at once or as soon as it can.
    pub(super) fn woken(&mut self, id: StepId) -> Followed {
        let rules = self.rules(id);
        let is_list = rules.fans_out().is_some() && id.item().is_none();
        if rules.asks_for().is_none() || is_list {
            return Err(Ignored::NotNow);
        }
        let (record, now) = (self.record(id), self.now);
        match record.busy() {
            // It may have looked before that.
            Busy::Running if record.since().is_none() => {
                self.change(id, |record| record.change_more(|more| more.since = Some(now)));
            }
            Busy::Resting if !record.is_parked() => {
                self.must_go_on(id)?;
                match self.head().paused().is_some() {
                    true => self.turn(id, Turn::Waiting(now)),
                    false => self.make_ready(id),
                }
            }
            _ => return Err(Ignored::NotNow),
        }
        Ok(())
    }

    /// Whether an attempt is a look at a task that was asked for before: no code of the user's runs in it, and no process dies of it.
    pub(super) fn only_looks(&self, id: StepId) -> bool {
        let record = self.record(id);
        self.rules(id).asks_for().is_some() && (record.is_undoing() || record.rounds() > 0)
    }

    /// All steps look again: while the task was at rest, it had no mail.
    pub(super) fn look_for_children(&mut self) {
        let rows = self.task().rows().map(|(id, _)| id).collect::<Vec<_>>();
        for id in rows {
            let is_list = id.item().is_none() && self.rules(id).fans_out().is_some();
            let waits = self.record(id).state == StepState::Waiting;
            if waits && !is_list && self.rules(id).asks_for().is_some() {
                self.make_ready(id);
            }
        }
    }

    /// Whether a step, or one of its items, may have asked for a task of which it does not know the end: who does without the step would
    /// leave that one behind. One that is gone, or whose result does not fit, is settled by an operator's word that it `happened`.
    pub(super) fn may_have_child(&self, id: StepId, happened: bool) -> bool {
        let may = |id: StepId| {
            let record = self.record(id);
            let settled = happened && is_over(record.last_failure.as_deref().unwrap_or_default());
            record.may_have_happened && record.state != StepState::Completed && !settled
        };
        let items = self.head().fan(id).is_some_and(|fan| fan.items().any(may));
        self.definition.step(id).asks_for().is_some() && (items || may(id))
    }

    /// Whether a step waits for a task that goes on.
    pub(super) fn has_child(&self, id: StepId) -> bool {
        let has = |id: StepId| {
            let record = self.record(id);
            record.busy() != Busy::No && record.rounds() > 0 && record.may_have_happened
        };
        let items = self.head().fan(id).is_some_and(|fan| fan.items().any(has));
        self.definition.step(id).asks_for().is_some() && (items || has(id))
    }
}

/// Whether a step has failed in this way though its other task has ended, as far as anybody can know.
fn is_over(failure: &str) -> bool {
    let kind = failure.split(':').next().unwrap_or_default();
    [CHILD_GONE, CHILD_UNFIT].contains(&kind)
}
