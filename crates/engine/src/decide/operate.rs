//! What operators ask for.

use std::sync::Arc;

use super::Followed;
use super::draft::Draft;
use crate::action::Action;
use crate::definition::StepId;
use crate::plan::Ignored;
use crate::task::{Cause, End, Paused, Record, StepState, TaskState, Turn, UndoState};
use crate::time::Time;

impl Draft<'_> {
    /// Does what an operator asks for, or says why not.
    pub(super) fn asked(&mut self, action: Action, by: &Arc<str>, why: &Arc<str>) -> Followed {
        let is_failed = self.head().state == TaskState::Failed;
        if self.definition.steps().is_empty() && is_failed && !matches!(action, Action::Undo | Action::Label)
        {
            return Err(Ignored::NotTaken);
        }
        if action.step().is_some_and(|step| step.ordinal() >= self.definition.steps().len()) {
            return Err(Ignored::NoSuchStep);
        }
        let cause = || Cause::Cancelled { by: Arc::clone(by), why: Arc::clone(why) };
        match action {
            Action::Retry { step, edited, did_not_happen } => self.retry(step, edited, did_not_happen),
            Action::Skip { step, happened } => self.skip(step, happened),
            Action::Pause => self.pause(by, why),
            Action::Resume => self.resume(),
            Action::Cancel if self.head().state.is_at_rest() => Err(Ignored::Ended),
            Action::Cancel | Action::Undo if self.is_being_undone() => Err(Ignored::UndoBegun),
            Action::Cancel | Action::Undo => {
                self.undo_asked(&cause())?;
                self.lift_pause();
                Ok(())
            }
            Action::Deadline(at) => self.change_deadline(at),
            Action::Label => {
                self.keeps = Some(StepId::OF_LABELS);
                Ok(())
            }
            Action::RetryUndo { step, happened } => self.retry_undo(step, happened),
            Action::TakeAsUndone { step } => self.take_as_undone(step),
        }
    }

    /// Whether the undo has begun, or will once what runs has ended, and nothing of it is stuck for good.
    fn is_being_undone(&self) -> bool {
        let undo = self.head().ending.as_ref().is_some_and(|ending| ending.end == End::Undo);
        undo && !self.head().state.is_at_rest()
    }

    // ---- the way forward ----

    fn retry(&mut self, id: StepId, edited: bool, did_not_happen: bool) -> Followed {
        self.must_be_on_its_way()?;
        self.must_have_time()?;
        let (step, record) = (self.definition.step(id), self.record(id));
        self.must_be_open(id)?;
        let failed = is_given_up(record);
        match record.state {
            StepState::Pending => return Err(Ignored::NotItsTurn),
            StepState::Ready if !edited && !self.has_failed() => return Err(Ignored::GoesOn),
            // It waits by its definition: there is no attempt that could come sooner.
            StepState::Waiting if step.wait().is_some() || step.fans_out().is_some() => {
                return Err(Ignored::GoesOn);
            }
            _ if self.has_child(id) => return Err(Ignored::ChildGoesOn),
            _ => {}
        }
        let awaits = self.awaits_callback(id);
        if (self.is_unclear(id) || awaits) && !did_not_happen && (edited || !step.is_idempotent()) {
            return Err(Ignored::MayHaveHappened);
        }
        self.take_up();
        if awaits && !did_not_happen {
            self.may_have_been_done(id);
        }
        self.begin_anew(id, edited, did_not_happen);
        if edited {
            self.keeps = Some(StepId::of_input(id));
        }
        match failed {
            true => self.have_its_turn_again(id),
            false => self.make_ready(id),
        }
        Ok(())
    }

    /// A step that was given up has its turn again; its condition and its time too, if that is how far it came.
    fn have_its_turn_again(&mut self, id: StepId) {
        match self.record(id).attempt {
            0 => {
                self.turn(id, Turn::Ended(StepState::Pending));
                self.have_its_turn(id);
            }
            _ => self.make_ready(id),
        }
    }

    /// The failures of a step are forgotten.
    fn begin_anew(&mut self, id: StepId, edited: bool, did_not_happen: bool) {
        for item in self.given_up_items(id) {
            self.begin_anew(item, edited, did_not_happen);
        }
        let asks = self.rules(id).asks_for().is_some();
        self.change(id, |record| {
            (record.failures, record.calls, record.owner_deaths) = (0, 0, 0);
            record.may_have_happened &= !did_not_happen;
            // Under the old keys a service would only repeat what it answered before. What may be under way is asked for under the
            // key that it has: another task is looked for, and a round of which nobody knows is made again.
            let open = record.may_have_happened;
            let anew = if asks { !open } else { edited || record.rounds() > 0 && !open };
            if anew {
                record.change_more(|more| {
                    more.series = more.series.saturating_add(1);
                    more.rounds = 0;
                    more.edited |= edited;
                    more.callback.spend(None);
                });
            }
        });
    }

    fn skip(&mut self, id: StepId, happened: bool) -> Followed {
        self.must_be_on_its_way()?;
        self.must_have_time()?;
        self.must_be_open(id)?;
        let begun = self.head().state != TaskState::Pending;
        if self.record(id).state == StepState::Pending && !(begun && self.is_unlocked(id)) {
            return Err(Ignored::NotItsTurn);
        }
        if self.may_have_child(id, happened) {
            return Err(Ignored::ChildGoesOn);
        }
        self.take_up();
        self.leave_signal(id);
        self.skip_items(id);
        // Where the items were to be undone one by one, nobody but an operator can undo what was done in their place.
        let is_whole = happened && self.definition.step(id).fans_out().is_some();
        self.change(id, |record| {
            record.may_have_happened = is_whole;
            record.change_more(|more| more.by_hand = true);
        });
        self.keeps = Some(id);
        match happened {
            true => self.completed(id),
            false => {
                self.turn(id, Turn::Ended(StepState::Skipped));
                self.settled(id);
            }
        }
        Ok(())
    }

    /// A task that had given its way up takes it up again: what was left where it stood goes on.
    fn take_up(&mut self) {
        if self.has_failed() {
            self.head_mut().ending = None;
            self.head_mut().state = TaskState::Running;
            self.ask_for_all();
            self.look_for_children();
            // Its last step was done, and it failed all the same: its deadline had passed behind the point of no return.
            if self.head().open == 0 {
                self.head_mut().state = TaskState::Completed;
            }
        }
    }

    fn has_failed(&self) -> bool {
        self.head().state == TaskState::Failed
    }

    /// There is a way forward, or there was one that can be taken up again.
    fn must_be_on_its_way(&self) -> Followed {
        match (self.head().state, &self.head().ending) {
            (TaskState::Completed | TaskState::Undone, _) => Err(Ignored::Ended),
            (_, Some(ending)) if ending.end == End::Undo => Err(Ignored::UndoBegun),
            (TaskState::Failed, _) | (_, None) => Ok(()),
            (_, Some(_)) => Err(Ignored::Ending),
        }
    }

    fn must_have_time(&self) -> Followed {
        let passed = self.head().deadline.is_some_and(|time| self.now >= time);
        if passed { Err(Ignored::DeadlinePassed) } else { Ok(()) }
    }

    /// The step has not ended, and nothing of it runs. Nobody has to wait for a service that may call back in days.
    fn must_be_open(&self, id: StepId) -> Followed {
        let (step, record) = (self.definition.step(id), self.record(id));
        match record.is_running() && !self.awaits_callback(id) || self.items_run(id) {
            true => Err(Ignored::StepRuns),
            false if record.is_settled(step) => Err(Ignored::StepEnded),
            false => Ok(()),
        }
    }

    /// Where an operator has taken one failed step up and left another, the task fails again once nothing else goes on.
    pub(super) fn rest_if_hopeless(&mut self) {
        let head = self.head();
        let goes_on = matches!(head.state, TaskState::Running | TaskState::Waiting) && head.ending.is_none();
        let idle = head.running == 0 && head.ready == 0 && head.resting == 0;
        if !goes_on || !idle || head.open == 0 {
            return;
        }
        let has_turn = |id: &StepId| self.record(*id).state == StepState::Pending && self.is_unlocked(*id);
        if self.definition.ids().any(|id| has_turn(&id)) {
            return;
        }
        let left = self.left_behind().next();
        if let Some(id) = left {
            let unknown = self.record(id).state == StepState::Unknown;
            let cause = if unknown { Cause::OutcomeUnknown(id) } else { Cause::StepFailed(id) };
            self.end(End::Fail, cause);
        }
    }

    /// Steps that were given up, and without which the task does not complete.
    fn left_behind(&self) -> impl Iterator<Item = StepId> {
        let stands_in_the_way = |id: &StepId| {
            let record = self.record(*id);
            is_given_up(record) && !record.is_settled(self.definition.step(*id))
        };
        self.definition.ids().filter(stands_in_the_way)
    }

    // ---- the whole task ----

    fn pause(&mut self, by: &Arc<str>, why: &Arc<str>) -> Followed {
        let (state, now) = (self.head().state, self.now);
        if state.is_at_rest() {
            return Err(Ignored::Ended);
        }
        if self.head().paused().is_some() {
            return Err(Ignored::Paused);
        }
        let left = self.head_mut().deadline.take().map(|deadline| deadline.since(now));
        let paused = Paused { by: Arc::clone(by), why: Arc::clone(why), since: now, left, was: state };
        self.head_mut().change_more(|more| more.paused = Some(paused));
        self.fit_callbacks();
        Ok(())
    }

    fn resume(&mut self) -> Followed {
        if self.head().paused().is_some() {
            self.lift_pause();
            // One whose time to start has not come waits for it.
            match self.claimed() {
                Err(Ignored::NotDue) | Ok(()) => return Ok(()),
                refused => return refused,
            }
        }
        match &self.head().ending {
            Some(ending) if self.has_failed() && ending.end == End::Undo => self.retry_undos(),
            Some(_) if self.has_failed() => self.retry_all(),
            _ if self.head().state.is_at_rest() => Err(Ignored::Ended),
            _ => Err(Ignored::GoesOn),
        }
    }

    /// Makes all again that has failed.
    fn retry_all(&mut self) -> Followed {
        self.must_have_time()?;
        let failed: Vec<_> = self.left_behind().collect();
        let unclear = |id: &StepId| self.is_unclear(*id) && !self.definition.step(*id).is_idempotent();
        if failed.iter().any(unclear) {
            return Err(Ignored::MayHaveHappened);
        }
        self.take_up();
        for id in failed {
            self.begin_anew(id, false, false);
            self.have_its_turn_again(id);
        }
        Ok(())
    }

    fn change_deadline(&mut self, at: Option<Time>) -> Followed {
        if matches!(self.head().state, TaskState::Completed | TaskState::Undone) {
            return Err(Ignored::Ended);
        }
        if self.head().ending.as_ref().is_some_and(|ending| ending.end == End::Undo) {
            return Err(Ignored::UndoBegun);
        }
        if at.is_some_and(|at| at <= self.now) {
            return Err(Ignored::DeadlinePassed);
        }
        let now = self.now;
        if self.head().paused().is_none() {
            self.head_mut().deadline = at;
            self.fit_callbacks();
            return Ok(());
        }
        self.head_mut().change_more(|more| {
            if let Some(paused) = &mut more.paused {
                paused.left = at.map(|at| at.since(now));
            }
        });
        Ok(())
    }

    // ---- the undo ----

    fn retry_undo(&mut self, id: StepId, happened: bool) -> Followed {
        self.must_be_stuck(id)?;
        if self.is_stuck_unclear(id) && !happened {
            return Err(Ignored::MayHaveHappened);
        }
        self.unstick_items(id, happened);
        self.undo_again(id);
        self.finish_undo();
        Ok(())
    }

    /// Tries all undos again that have failed, but those of steps of which nobody knows whether they happened.
    fn retry_undos(&mut self) -> Followed {
        let stuck = |id: &StepId| {
            let record = self.record(*id);
            record.undo == UndoState::Failed && !self.is_stuck_unclear(*id)
        };
        let stuck: Vec<_> = self.definition.ids().filter(stuck).collect();
        if stuck.is_empty() {
            return Err(Ignored::MayHaveHappened);
        }
        for id in stuck {
            self.unstick_items(id, false);
            self.undo_again(id);
        }
        self.finish_undo();
        Ok(())
    }

    fn undo_again(&mut self, id: StepId) {
        self.head_mut().state = TaskState::Undoing;
        let unknown = self.record(id).state != StepState::Unknown && self.record(id).may_have_happened;
        self.arm(id, if unknown { StepState::Unknown } else { StepState::Completed });
        self.try_undo(id);
    }

    fn take_as_undone(&mut self, id: StepId) -> Followed {
        self.must_be_stuck(id)?;
        self.change(id, |record| record.change_more(|more| more.by_hand = true));
        self.head_mut().state = TaskState::Undoing;
        self.take_items_as_undone(id);
        self.undone(id);
        Ok(())
    }

    fn must_be_stuck(&self, id: StepId) -> Followed {
        match (self.head().state, self.record(id).undo) {
            (TaskState::Completed | TaskState::Undone, _) => Err(Ignored::Ended),
            (_, UndoState::Failed) => Ok(()),
            _ => Err(Ignored::UndoNotStuck),
        }
    }
}

/// Whether a step was given up.
fn is_given_up(record: &Record) -> bool {
    matches!(record.state, StepState::Failed | StepState::Unknown)
}
