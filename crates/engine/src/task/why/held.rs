//! What each open step, or its undo, does or waits for.

use std::sync::Arc;

use super::super::{End, Ending, Paused, Record, StepState, Task, TaskState, UndoState};
use super::{Change, Held, On, Since};
use crate::definition::{Definition, Step, StepId, Wait};
use crate::event::Block;

/// A task that is asked why.
pub(super) struct Asking<'a> {
    pub(super) task: &'a Task,
    pub(super) definition: &'a Definition,
    pub(super) since: &'a Since,
}

impl Asking<'_> {
    pub(super) fn held(&self) -> Vec<Held> {
        let head = &self.task.head;
        let ids = self.definition.ids();
        if let Some(paused) = head.paused() {
            let hold = self.paused(paused);
            let running = ids.chain(self.items_at_work()).filter(|id| self.task.step(*id).is_running());
            let running = running.map(|id| self.busy(id, self.task.step(id).is_undoing()));
            return std::iter::once(hold).chain(running).collect();
        }
        match &head.ending {
            None if head.state == TaskState::Pending => vec![self.not_begun()],
            None => ids.chain(self.items_at_work()).filter_map(|id| self.forward(id)).collect(),
            Some(ending) if !ending.drained => {
                let running = self.items_at_work().filter(|id| self.task.step(*id).is_running());
                ids.chain(running).filter_map(|id| self.draining(id, ending)).collect()
            }
            Some(ending) if ending.end == End::Undo => {
                ids.chain(self.items_at_work()).filter_map(|id| self.undo(id)).collect()
            }
            Some(_) => Vec::new(),
        }
    }

    /// Items that run, could, or wait.
    fn items_at_work(&self) -> impl Iterator<Item = StepId> {
        self.task.rows().map(|(id, _)| id).filter(|id| id.item().is_some())
    }

    fn paused(&self, paused: &Paused) -> Held {
        let on = On::Paused { by: Arc::clone(&paused.by), why: Arc::clone(&paused.why) };
        Held { since: Some(paused.since), ..Held::of_task(on, Change::Operator) }
    }

    fn not_begun(&self) -> Held {
        let start_at = self.task.head.start_at();
        let (on, change) = match start_at {
            Some(_) => (On::Start, Change::Time),
            None => (On::Begin, Change::Node),
        };
        Held { since: self.since.state(), until: start_at, ..Held::of_task(on, change) }
    }

    // ---- the way forward ----

    fn forward(&self, id: StepId) -> Option<Held> {
        match self.task.step(id).state {
            StepState::Pending => Some(self.not_its_turn(id)),
            StepState::Ready | StepState::Parked | StepState::Running | StepState::Waiting => {
                Some(self.busy(id, false))
            }
            StepState::Failed | StepState::Unknown => self.given_up(id),
            _ => None,
        }
    }

    /// A step that an operator has not taken up with the others.
    fn given_up(&self, id: StepId) -> Option<Held> {
        let record = self.task.step(id);
        let unknown = record.state == StepState::Unknown;
        let settled = record.is_settled(self.definition.step(id));
        (!settled).then(|| self.hold(id, On::GivenUp { unknown }, Change::Operator))
    }

    fn not_its_turn(&self, id: StepId) -> Held {
        let is_open = |id: &StepId| !self.task.step(*id).is_settled(self.definition.step(*id));
        let before = self.definition.before(id);
        let open: Vec<_> = before.iter().copied().filter(is_open).collect();
        if !open.is_empty() {
            let change = Change::Steps(open.clone());
            return self.hold(id, On::Turn(open), change);
        }
        // Its turn came when the last one before it ended.
        let came = before.iter().filter_map(|id| self.since.step(*id)).max();
        Held { since: came, ..self.hold(id, On::Answer, Change::Node) }
    }

    /// A step, or its undo, that runs or could.
    fn busy(&self, id: StepId, undo: bool) -> Held {
        let (step, record) = (self.task.rules(self.definition, id), self.task.step(id));
        let fans_out = step.fans_out().is_some() && id.item().is_none();
        let (on, change) = match (record.undo, record.state) {
            (UndoState::Waiting, _) | (UndoState::None, StepState::Waiting) if fans_out => {
                (self.items(id, undo), Change::Items)
            }
            (UndoState::None, StepState::Running) if self.task.awaits_callback(self.definition, id) => {
                let number = record.attempt;
                (On::Callback { number, round: round(record) }, Change::Callback)
            }
            (UndoState::Running, _) | (UndoState::None, StepState::Running) => {
                (attempt(step, record, undo), Change::Answer)
            }
            (UndoState::Parked, _) | (UndoState::None, StepState::Parked) => parked(record),
            (UndoState::Waiting, _) if record.failures == 0 && step.asks_for().is_some() => child(step),
            (UndoState::Waiting, _) => (On::NextAttempt { failures: record.failures }, Change::Time),
            (UndoState::None, StepState::Waiting) => self.waits(id, step, record),
            _ => (On::Place, Change::Room),
        };
        let since = record.since().or_else(|| self.since.step(id));
        let until = record.complete_by.or(record.not_before);
        Held { undo, since, until, ..self.hold(id, on, change) }
    }

    /// How far a step has come with its items.
    fn items(&self, id: StepId, undo: bool) -> On {
        let Some(fan) = self.task.head.fan(id) else { return On::Answer };
        let (done, failed) = match undo {
            true => (fan.count - fan.back - fan.busy - fan.stuck, fan.stuck),
            false => (fan.done, fan.failed),
        };
        On::Items { done, failed, busy: fan.busy, count: fan.count }
    }

    fn waits(&self, id: StepId, step: &Step, record: &Record) -> (On, Change) {
        match step.wait() {
            Some(Wait::Time(_)) => (On::Time, Change::Time),
            Some(Wait::Signal { signal, or_none, .. }) => {
                let came = self.task.head.kept_for(id).is_some();
                let change = if came { Change::Node } else { Change::Signal(signal.clone()) };
                (On::Signal { signal: signal.clone(), or_none: *or_none, came }, change)
            }
            None => match step.repeats() {
                Some(repeat) if record.rounds() > 0 && record.failures == 0 => {
                    (On::NextRound { rounds: record.rounds(), at_most: repeat.at_most }, Change::Time)
                }
                None if record.failures == 0 && step.asks_for().is_some() => child(step),
                _ => (On::NextAttempt { failures: record.failures }, Change::Time),
            },
        }
    }

    // ---- the end ----

    /// What runs is waited for; then what was done is undone, and the rest is closed.
    fn draining(&self, id: StepId, ending: &Ending) -> Option<Held> {
        let (step, record) = (self.task.rules(self.definition, id), self.task.step(id));
        if record.is_running() {
            return Some(self.busy(id, false));
        }
        let items = self.task.head.fan(id).is_some_and(|fan| fan.done > 0);
        let happened = record.state == StepState::Completed || record.may_have_happened || items;
        let undo = ending.end == End::Undo && step.undo_settings().is_some() && happened;
        let open = matches!(
            record.state,
            StepState::Pending | StepState::Ready | StepState::Parked | StepState::Waiting
        );
        if !undo && !open {
            return None;
        }
        let running: Vec<_> =
            self.task.rows().filter(|(_, record)| record.is_running()).map(|(id, _)| id).collect();
        let change = Change::Steps(running.clone());
        Some(Held { undo, since: self.since.ending(), ..self.hold(id, On::Drain(running), change) })
    }

    pub(super) fn undo(&self, id: StepId) -> Option<Held> {
        let record = self.task.step(id);
        let hold = match record.undo {
            UndoState::None | UndoState::Done => return None,
            UndoState::Pending => self.later_undo(id),
            UndoState::Failed => {
                let unknown = record.state == StepState::Unknown;
                self.hold(id, On::Stuck { unknown }, Change::Operator)
            }
            UndoState::Ready | UndoState::Parked | UndoState::Running | UndoState::Waiting => {
                self.busy(id, true)
            }
        };
        Some(Held { undo: true, ..hold })
    }

    /// What came after a step has to be undone first; if one of those is stuck, somebody has to decide.
    fn later_undo(&self, id: StepId) -> Held {
        let mut first = self.later(id, |undo| undo == UndoState::None);
        first.sort_unstable();
        let all = self.later(id, |undo| undo != UndoState::Done);
        let stuck = all.iter().any(|id| self.task.step(*id).undo == UndoState::Failed);
        let change = if stuck { Change::Operator } else { Change::Steps(first.clone()) };
        self.hold(id, On::LaterUndo(first), change)
    }

    /// What came after a step and is still to be undone, at whatever distance behind such steps as may be passed.
    fn later(&self, id: StepId, may_pass: impl Fn(UndoState) -> bool) -> Vec<StepId> {
        let mut seen = vec![false; self.definition.steps().len()];
        let (mut found, mut next) = (Vec::new(), vec![id]);
        while let Some(id) = next.pop() {
            for later in self.definition.dependents(id) {
                if std::mem::replace(&mut seen[later.ordinal()], true) {
                    continue;
                }
                let undo = self.task.step(*later).undo;
                if !matches!(undo, UndoState::None | UndoState::Done) {
                    found.push(*later);
                }
                if may_pass(undo) {
                    next.push(*later);
                }
            }
        }
        found
    }

    fn hold(&self, id: StepId, on: On, change: Change) -> Held {
        let (step, record) = (self.task.rules(self.definition, id), self.task.step(id));
        let item = self.task.head.fan_of(id).and_then(|fan| fan.place_of(id));
        Held {
            step: Some(id),
            name: item.map_or_else(|| step.name().to_owned(), |item| format!("{}[{item}]", step.name())),
            service: step.wait().is_none().then(|| step.service().to_owned()),
            since: self.since.step(id),
            last_failure: record.last_failure.clone(),
            ..Held::of_task(on, change)
        }
    }
}

/// It waits for the task that it has asked for.
fn child(step: &Step) -> (On, Change) {
    let workflow = step.asks_for().unwrap_or_default().to_owned();
    (On::Child { workflow, task: None }, Change::Child)
}

fn attempt(step: &Step, record: &Record, undo: bool) -> On {
    let round = round(record).filter(|_| !undo);
    On::Attempt { number: record.attempt, round, heartbeat: step.heartbeat().filter(|_| !undo) }
}

/// Which round it is, of a step that is repeated.
fn round(record: &Record) -> Option<u32> {
    (record.rounds() > 0).then(|| record.rounds() + 1)
}

fn parked(record: &Record) -> (On, Change) {
    match record.blocked_on {
        Some(Block::Breaker) => (On::Breaker { circuit: None }, Change::Circuit),
        Some(Block::Suspect) => (On::Suspect, Change::Others),
        Some(Block::NoHandler) => (On::NoHandler, Change::Program),
        Some(Block::Limit) | None => (On::Limit, Change::Room),
    }
}
