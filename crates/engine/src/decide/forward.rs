//! Steps on their way forward: unlocked, begun, answered, silent.

use std::sync::Arc;

use super::Followed;
use super::draft::Draft;
use crate::definition::{OnFailure, StepId};
use crate::event::{Block, Effect, Failure};
use crate::plan::{Ask, Dispatch, Ignored};
use crate::task::{Cause, End, Ending, StepState, TaskState, Token, Turn, UndoState};
use crate::time::Time;

impl Draft<'_> {
    // ---- a step's turn ----

    /// Whether everything before a step has ended.
    pub(super) fn is_unlocked(&self, id: StepId) -> bool {
        self.definition.before(id).iter().all(|id| self.record(*id).is_settled(self.definition.step(*id)))
    }

    /// It is a step's turn: it is asked about or made ready; skipped, and then `true`, if all that it came after was.
    pub(super) fn unlock(&mut self, id: StepId) -> bool {
        let before = self.definition.before(id);
        let skipped = |earlier: &StepId| {
            let earlier = self.record(*earlier);
            earlier.state == StepState::Skipped && !earlier.is_by_hand()
        };
        if !before.is_empty() && before.iter().all(skipped) {
            self.turn(id, Turn::Ended(StepState::Skipped));
            return true;
        }
        match self.definition.step(id).is_conditional() {
            true => self.ask(Ask::Condition(id)),
            false => self.make_ready(id),
        }
        false
    }

    /// It is a step's turn; if it is skipped, what comes after it may have its own.
    pub(super) fn have_its_turn(&mut self, id: StepId) {
        if self.unlock(id) {
            self.settled(id);
        }
    }

    pub(super) fn must_wait_for_judgement(&self, id: StepId) -> Followed {
        let waits = self.record(id).state == StepState::Pending && self.head().state != TaskState::Pending;
        let waits = waits && self.head().ending.is_none() && self.is_unlocked(id);
        if waits { Ok(()) } else { Err(Ignored::NotNow) }
    }

    pub(super) fn unjudged(&mut self, id: StepId, why: &Arc<str>) -> Followed {
        self.must_wait_for_judgement(id)?;
        self.change(id, |record| record.last_failure = Some(Arc::clone(why)));
        self.give_up(id);
        Ok(())
    }

    pub(super) fn judged(&mut self, id: StepId, holds: bool) -> Followed {
        self.must_wait_for_judgement(id)?;
        match holds {
            true => self.make_ready(id),
            false => {
                self.turn(id, Turn::Ended(StepState::Skipped));
                self.settled(id);
            }
        }
        Ok(())
    }

    pub(super) fn begin(&mut self, id: StepId, token: Token) -> Followed {
        if self.head().ending.is_some() {
            return Err(Ignored::Ending);
        }
        let deadline = self.head().deadline;
        if deadline.is_some_and(|time| self.now >= time) {
            return Err(Ignored::NotNow);
        }
        let step = self.rules(id);
        let (within, most) = (step.time(), step.most_calls());
        let complete_by = (self.now + within).min(deadline.unwrap_or(Time::from_millis(u64::MAX)));
        self.turn(id, Turn::Running(complete_by));
        self.hand_out_url(id, token);
        let record = self.record(id);
        let calls_left = most.map(|most| most.saturating_sub(record.calls));
        let (attempt, round, series) = (record.attempt, record.rounds(), record.series());
        self.dispatch(Dispatch { step: id, undo: false, attempt, round, series, complete_by, calls_left });
        Ok(())
    }

    // ---- how an attempt ended ----

    /// It is done.
    pub(super) fn completed(&mut self, id: StepId) {
        self.turn(id, Turn::Ended(StepState::Completed));
        if id.item().is_some() {
            return self.item_ended(id);
        }
        self.pass_no_return(id);
        self.settled(id);
    }

    pub(super) fn failed(&mut self, id: StepId, failure: &Failure) {
        let one_key = self.rules(id).is_idempotent();
        self.change(id, |record| {
            record.failures = record.failures.saturating_add(1);
            record.calls = record.calls.saturating_add(failure.calls);
            match failure.effect {
                Effect::None => {}
                Effect::Possible => record.may_have_happened = true,
                Effect::Refused => record.may_have_happened &= !one_key,
            }
            record.last_failure = Some(failure.kind.clone());
        });
        if failure.effect == Effect::Possible {
            self.pass_no_return(id);
        }
        match failure.again {
            Some(at) if self.may_repeat(id) && self.head().deadline.is_none_or(|end| at < end) => {
                self.wait(id, at);
            }
            _ => self.give_up(id),
        }
    }

    /// An attempt, of a step or of its undo, that called nothing.
    pub(super) fn not_made(&mut self, id: StepId, block: &Block, until: Option<Time>) {
        let forward = !self.record(id).is_undoing();
        self.park(id, block.clone(), until);
        match forward && self.head().ending.is_some() {
            true => self.drain(),
            // It stands in line again.
            false if until.is_none() => self.ask(Ask::Permit(id)),
            false => {}
        }
    }

    /// An attempt that gave no answer may have happened.
    pub(super) fn silent(&mut self, id: StepId, why: &str) {
        self.change(id, |record| {
            record.failures = record.failures.saturating_add(1);
            record.calls = record.calls.saturating_add(1);
            record.may_have_happened = true;
            record.last_failure = Some(Arc::from(why));
        });
        self.pass_no_return(id);
        let (failures, recovery) = (self.record(id).failures, self.rules(id).recoveries());
        if !self.may_repeat(id) || failures >= recovery.last {
            self.give_up(id);
        } else if failures > recovery.at_once {
            self.wait(id, self.now + recovery.extended_wait);
        } else {
            self.make_ready(id);
        }
    }

    /// An attempt that was cut off may have happened.
    pub(super) fn interrupted(&mut self, id: StepId) {
        self.may_have_been_done(id);
        match self.may_repeat(id) {
            true => self.make_ready(id),
            false => self.give_up(id),
        }
    }

    /// Whether another attempt is allowed at all.
    fn may_repeat(&self, id: StepId) -> bool {
        let (step, record) = (self.rules(id), self.record(id));
        self.head().ending.is_none()
            && (step.is_idempotent() || !record.may_have_happened)
            && step.most_calls().is_none_or(|most| record.calls < most)
    }

    pub(super) fn wait(&mut self, id: StepId, until: Time) {
        match until > self.now {
            true => self.turn(id, Turn::Waiting(until)),
            false => self.make_ready(id),
        }
    }

    /// A step that is not tried again, and what that means for the task.
    pub(super) fn give_up(&mut self, id: StepId) {
        if id.item().is_some() {
            return self.give_item_up(id);
        }
        let step = self.definition.step(id);
        let (means, unknown) = (step.failure_means(), self.record(id).may_have_happened);
        let goes_on = means == OnFailure::Continue && (step.is_idempotent() || !unknown);
        let state = if unknown && !goes_on { StepState::Unknown } else { StepState::Failed };
        self.turn(id, Turn::Ended(state));
        match (goes_on, unknown && !step.is_idempotent()) {
            (true, _) => self.settled(id),
            // Whether it happened is not known: undone where that is safe, or an operator decides.
            (false, true) => {
                let end = if step.is_undone_when_unknown() { End::Undo } else { End::Fail };
                self.end(end, Cause::OutcomeUnknown(id));
            }
            (false, false) => {
                let end = if means == OnFailure::Undo { End::Undo } else { End::Fail };
                self.end(end, Cause::StepFailed(id));
            }
        }
    }

    /// Nobody knows whether it happened, and nobody tries again.
    pub(super) fn unknown(&mut self, id: StepId) {
        self.may_have_been_done(id);
        self.turn(id, Turn::Ended(StepState::Unknown));
    }

    /// Nobody knows whether it has happened: it may have been the point of no return.
    pub(super) fn may_have_been_done(&mut self, id: StepId) {
        self.change(id, |record| record.may_have_happened = true);
        self.pass_no_return(id);
    }

    fn pass_no_return(&mut self, id: StepId) {
        if self.rules(id).is_point_of_no_return() {
            self.head_mut().no_return = true;
        }
    }

    /// A step has ended so that the task goes on: what waited for it may have its turn, or the task is complete.
    pub(super) fn settled(&mut self, id: StepId) {
        let mut ended = vec![id];
        while let Some(id) = ended.pop() {
            let head = self.head_mut();
            head.open = head.open.saturating_sub(1);
            if head.ending.is_some() {
                return self.drain();
            }
            for later in self.definition.dependents(id) {
                let waits = self.record(*later).state == StepState::Pending;
                if waits && self.is_unlocked(*later) && self.unlock(*later) {
                    ended.push(*later);
                }
            }
        }
        if self.head().open == 0 {
            self.head_mut().state = TaskState::Completed;
        }
    }

    // ---- the end of the way forward ----

    /// The task does not complete. What has not begun does not begin; what runs is waited for.
    pub(super) fn end(&mut self, end: End, cause: Cause) {
        if self.head().ending.is_some() {
            return self.drain();
        }
        let end = if self.head().no_return { End::Fail } else { end };
        self.head_mut().ending = Some(Ending { end, cause, drained: false });
        if end == End::Undo {
            self.head_mut().state = TaskState::Undoing;
        }
        self.drain();
    }

    /// Goes on with the end once nothing runs any more.
    pub(super) fn drain(&mut self) {
        if self.head().running > 0 {
            return;
        }
        let no_return = self.head().no_return;
        let Some(ending) = &mut self.head_mut().ending else { return };
        // What ran beside may have been the point of no return.
        if no_return {
            ending.end = End::Fail;
        }
        ending.drained = true;
        match ending.end {
            End::Fail => {
                self.put_items_back();
                self.head_mut().state = TaskState::Failed;
            }
            End::Undo => self.plan_undo(),
        }
    }

    /// A step that has not ended and will not run: it may have happened all the same.
    pub(super) fn close(&mut self, id: StepId) {
        self.close_items(id);
        let record = self.record(id);
        let open = matches!(
            record.state,
            StepState::Pending | StepState::Ready | StepState::Parked | StepState::Waiting
        );
        if open && record.undo == UndoState::None {
            let state = if record.may_have_happened { StepState::Unknown } else { StepState::Skipped };
            self.turn(id, Turn::Ended(state));
        }
    }
}
