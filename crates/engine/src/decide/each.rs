//! Steps that are made once for each item of a list.
//!
//! The step itself waits for its items, which go their way as steps do. Only so many are under way at a time; those that have
//! not begun have no row. What is undone goes from the last to the first, as many at a time.

use std::sync::Arc;

use super::Followed;
use super::draft::Draft;
use crate::definition::{MAX_ITEMS, OnFailure, Step, StepId};
use crate::plan::{Ask, Ignored};
use crate::task::{Busy, Cause, End, Fan, StepState, Turn, UndoState};

impl Draft<'_> {
    // ---- the list ----

    /// It is the turn of a step that is made for each item: its list is asked for, or it goes on with the one that it has.
    pub(super) fn make_items_ready(&mut self, id: StepId) {
        if self.head().fan(id).is_none() {
            return self.ask(Ask::List(id));
        }
        self.turn(id, Turn::Waits { since: self.now, until: None });
        for item in self.given_up_items(id) {
            self.turn(item, Turn::Ended(StepState::Pending));
        }
        self.head_mut().change_fan(id, |fan| (fan.next, fan.failed) = (0, 0));
        self.advance(id);
    }

    /// The list is there.
    pub(super) fn listed(&mut self, id: StepId, items: usize) -> Followed {
        self.must_wait_for_judgement(id)?;
        if self.definition.step(id).fans_out().is_none() || self.head().fan(id).is_some() {
            return Err(Ignored::NotNow);
        }
        let Some((first, count)) = self.head().room_for(items) else {
            let why = format!(
                "too-many-items: the list has {items} items, and a task at most {MAX_ITEMS} over all its lists"
            );
            self.change(id, |record| record.last_failure = Some(Arc::from(why)));
            self.give_up(id);
            return Ok(());
        };
        let fan = Fan { step: id, first, count, next: 0, busy: 0, done: 0, failed: 0, back: 0, stuck: 0 };
        self.head_mut().change_more(|more| more.fans.push(fan));
        self.turn(id, Turn::Waits { since: self.now, until: None });
        self.advance(id);
        Ok(())
    }

    // ---- forward ----

    /// Begins with as many items as may be under way; ends the step when none is left.
    pub(super) fn advance(&mut self, id: StepId) {
        let Some(each) = self.definition.step(id).fans_out().filter(|_| self.waits_for_items(id)) else {
            return;
        };
        while let Some(fan) = self.head().fan(id).copied() {
            if fan.next == fan.count || fan.busy >= each.at_a_time {
                break;
            }
            let item = fan.item(fan.next);
            let begins = self.record(item).state == StepState::Pending;
            self.head_mut().change_fan(id, |fan| {
                fan.next += 1;
                fan.busy += u16::from(begins);
            });
            if begins {
                self.make_ready(item);
            }
        }
        if self.has_all_items(id) {
            self.completed(id);
        }
    }

    fn waits_for_items(&self, id: StepId) -> bool {
        self.record(id).state == StepState::Waiting
    }

    /// Whether a step waits for its items, and all of them have ended.
    fn has_all_items(&self, id: StepId) -> bool {
        let over = self.head().fan(id).is_some_and(|fan| fan.next == fan.count && fan.busy == 0);
        over && self.waits_for_items(id)
    }

    /// An item is done, or has failed and is tolerated.
    pub(super) fn item_ended(&mut self, item: StepId) {
        let done = self.record(item).state == StepState::Completed;
        let Some(id) = self.head().fan_of(item).map(|fan| fan.step) else { return };
        self.head_mut().change_fan(id, |fan| {
            fan.busy = fan.busy.saturating_sub(1);
            *(if done { &mut fan.done } else { &mut fan.failed }) += 1;
        });
        match self.head().ending.is_some() {
            true if self.has_all_items(id) => self.completed(id),
            true => self.drain(),
            false => self.advance(id),
        }
    }

    /// An item that is not tried again, and what that means for its step.
    pub(super) fn give_item_up(&mut self, item: StepId) {
        let Some(fan) = self.head().fan_of(item).copied() else { return };
        let (step, unknown) = (self.definition.step(fan.step), self.record(item).may_have_happened);
        let most = step.fans_out().map_or(0, |each| each.tolerates);
        let clear = step.is_idempotent() || !unknown;
        let tolerated = fan.failed < most && clear;
        let state = if unknown && !tolerated { StepState::Unknown } else { StepState::Failed };
        self.turn(item, Turn::Ended(state));
        if tolerated {
            return self.item_ended(item);
        }
        let end = match step.failure_means() {
            _ if !clear && !step.is_undone_when_unknown() => End::Fail,
            _ if !clear => End::Undo,
            OnFailure::Undo => End::Undo,
            OnFailure::Error | OnFailure::Continue => End::Fail,
        };
        let cause = if clear { Cause::StepFailed(fan.step) } else { Cause::OutcomeUnknown(fan.step) };
        self.items_failed(item, end, cause);
    }

    /// The step of an item has failed with it, and the task does not go on.
    pub(super) fn items_failed(&mut self, item: StepId, end: End, cause: Cause) {
        let Some(fan) = self.head().fan_of(item).copied() else { return };
        let failure = self.record(item).last_failure.clone();
        let failure = failure.as_deref().unwrap_or("it gave no reason");
        let why = format!("item {}: {failure}", fan.place_of(item).unwrap_or_default());
        self.head_mut().change_fan(fan.step, |fan| {
            fan.busy = fan.busy.saturating_sub(1);
            fan.failed += 1;
        });
        self.change(fan.step, |record| record.last_failure = Some(Arc::from(why)));
        self.turn(fan.step, Turn::Ended(StepState::Failed));
        self.end(end, cause);
    }

    /// Items of failed steps that had begun and do not run are as if they had not begun: whoever takes the step up again takes
    /// them up too.
    pub(super) fn put_items_back(&mut self) {
        for fan in self.head().fans().to_vec() {
            if self.record(fan.step).state == StepState::Failed {
                for item in
                    fan.items().filter(|item| self.record(*item).busy() != Busy::No).collect::<Vec<_>>()
                {
                    self.turn(item, Turn::Ended(StepState::Pending));
                }
                self.head_mut().change_fan(fan.step, |fan| fan.busy = 0);
            }
        }
    }

    /// What a step says, or the step of an item.
    pub(super) fn rules(&self, id: StepId) -> &Step {
        crate::task::rules(self.head(), self.definition, id)
    }

    /// Items that were given up.
    pub(super) fn given_up_items(&self, id: StepId) -> Vec<StepId> {
        let given_up = |item: &StepId| {
            matches!(self.record(*item).state, StepState::Failed | StepState::Unknown)
                && !self.record(*item).is_undoing()
        };
        self.head().fan(id).map_or_else(Vec::new, |fan| fan.items().filter(given_up).collect())
    }

    // ---- the undo ----

    /// No more items begin: those that have not ended are closed, and the step with them.
    pub(super) fn close_items(&mut self, id: StepId) {
        let Some(fan) = self.head().fan(id).copied() else { return };
        for item in fan.items() {
            let begun = self.record(item).attempt > 0 || self.record(item).busy() != Busy::No;
            if begun {
                self.close(item);
            }
        }
        self.head_mut().change_fan(id, |fan| fan.busy = 0);
        let begun = fan.done > 0 || fan.failed > 0;
        if begun && self.waits_for_items(id) {
            self.turn(id, Turn::Ended(StepState::Failed));
        }
    }

    /// Whether something of a step's items has to be undone; it is then to be undone.
    pub(super) fn mark_items(&mut self, id: StepId) -> bool {
        let has_undo = self.definition.step(id).undo_settings().is_some();
        if !has_undo || self.record(id).undo == UndoState::Done {
            return false;
        }
        // What an operator has done in its place is an operator's to undo.
        let mut left = self.record(id).may_have_happened;
        for item in self.head().fan(id).copied().iter().flat_map(Fan::items) {
            let record = self.record(item);
            left |= record.undo != UndoState::Done
                && (matches!(record.state, StepState::Completed | StepState::UndoFailed)
                    || record.may_have_happened);
        }
        if left {
            self.unstick_items(id, false);
            let state = self.record(id).state;
            let state = if state == StepState::UndoFailed { StepState::Failed } else { state };
            self.turn(id, Turn::Undo(UndoState::Pending, state));
        }
        left
    }

    /// Undos of items that have failed are to be made once more: those of which nobody knows whether they happened only if
    /// somebody has said that they did.
    pub(super) fn unstick_items(&mut self, id: StepId, happened: bool) {
        let Some(fan) = self.head().fan(id).copied() else { return };
        for item in fan.items() {
            let record = self.record(item);
            let state = match (record.undo, record.state) {
                (UndoState::Failed, StepState::UndoFailed) if record.may_have_happened => StepState::Unknown,
                (UndoState::Failed, StepState::UndoFailed) => StepState::Completed,
                (UndoState::Failed, _) if happened => StepState::Completed,
                _ => continue,
            };
            self.turn(item, Turn::Undo(UndoState::None, state));
        }
        self.head_mut().change_fan(id, |fan| (fan.back, fan.busy, fan.stuck) = (fan.count, 0, 0));
    }

    /// Begins the undo of a step's items.
    pub(super) fn undo_items(&mut self, id: StepId) {
        self.turn(id, Turn::Undo(UndoState::Waiting, StepState::Undoing));
        self.go_back(id);
    }

    /// Begins with as many undos as may be under way; ends the undo of the step when none is left.
    fn go_back(&mut self, id: StepId) {
        let at_a_time = self.definition.step(id).fans_out().map_or(1, |each| each.at_a_time);
        while let Some(fan) = self.head().fan(id).copied() {
            if fan.back == 0 || fan.busy >= at_a_time {
                break;
            }
            let item = fan.item(fan.back - 1);
            self.head_mut().change_fan(id, |fan| fan.back -= 1);
            self.undo_item(id, item);
        }
        let stuck = match self.head().fan(id) {
            Some(fan) if fan.busy > 0 => return,
            Some(fan) => fan.stuck,
            None => 0,
        };
        let why = match stuck {
            0 if self.record(id).may_have_happened => "by-hand: it was done by hand".to_owned(),
            0 => return self.undone(id),
            stuck => format!("items: {stuck} of its items could not be undone"),
        };
        self.change(id, |record| record.last_failure = Some(Arc::from(why)));
        self.give_undo_up(id);
    }

    fn undo_item(&mut self, id: StepId, item: StepId) {
        let (step, record) = (self.definition.step(id), self.record(item));
        let happened = record.state == StepState::Completed;
        match record.undo {
            UndoState::None if happened || record.may_have_happened && step.is_undone_when_unknown() => {
                let state = record.state;
                self.arm(item, state);
                self.turn(item, Turn::Undo(UndoState::Pending, StepState::Undoing));
                self.head_mut().change_fan(id, |fan| fan.busy += 1);
                self.make_ready(item);
            }
            // It may have happened, and to undo what did not happen is not safe.
            UndoState::None if record.may_have_happened => {
                self.turn(item, Turn::Undo(UndoState::Failed, StepState::Unknown));
                self.head_mut().change_fan(id, |fan| fan.stuck += 1);
            }
            UndoState::Failed => self.head_mut().change_fan(id, |fan| fan.stuck += 1),
            _ => {}
        }
    }

    /// The undo of an item has ended, well or not.
    pub(super) fn item_undone(&mut self, item: StepId) {
        let Some(id) = self.head().fan_of(item).map(|fan| fan.step) else { return };
        let stuck = self.record(item).undo == UndoState::Failed;
        self.head_mut().change_fan(id, |fan| {
            fan.busy = fan.busy.saturating_sub(1);
            fan.stuck += u16::from(stuck);
        });
        self.go_back(id);
    }

    /// Items that could not be undone count as undone.
    pub(super) fn take_items_as_undone(&mut self, id: StepId) {
        let Some(fan) = self.head().fan(id).copied() else { return };
        for item in fan.items() {
            if self.record(item).undo == UndoState::Failed {
                self.change(item, |record| record.change_more(|more| more.by_hand = true));
                self.turn(item, Turn::Undo(UndoState::Done, StepState::Undone));
            }
        }
        self.head_mut().change_fan(id, |fan| fan.stuck = 0);
    }

    // ---- what operators ask for ----

    /// Whether an attempt of an item is under way.
    pub(super) fn items_run(&self, id: StepId) -> bool {
        let runs = |item: StepId| self.record(item).is_running();
        self.head().fan(id).is_some_and(|fan| fan.items().any(runs))
    }

    /// Whether a step that was given up may have happened, or one of its items.
    pub(super) fn is_unclear(&self, id: StepId) -> bool {
        let unclear = |item: &StepId| self.record(*item).may_have_happened;
        unclear(&id) || self.given_up_items(id).iter().any(unclear)
    }

    /// Whether nobody knows if there is something to undo: of a step, or of all items that are stuck.
    pub(super) fn is_stuck_unclear(&self, id: StepId) -> bool {
        let unclear = |id: StepId| self.record(id).state == StepState::Unknown;
        match self.head().fan(id) {
            Some(fan) => fan.items().filter(|item| self.record(*item).undo == UndoState::Failed).all(unclear),
            None => unclear(id),
        }
    }

    /// A step is not made: its items that are not done are not made either.
    pub(super) fn skip_items(&mut self, id: StepId) {
        let Some(fan) = self.head().fan(id).copied() else { return };
        for item in fan.items() {
            let record = self.record(item);
            let begun = record.attempt > 0 || record.busy() != Busy::No;
            if begun && record.state != StepState::Completed {
                self.change(item, |record| record.may_have_happened = false);
                self.turn(item, Turn::Ended(StepState::Skipped));
            }
        }
        self.head_mut().change_fan(id, |fan| (fan.busy, fan.failed) = (0, 0));
    }
}
