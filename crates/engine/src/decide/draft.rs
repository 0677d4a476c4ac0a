//! A plan that is being made: the task as it will be, and what changed.

use std::collections::BTreeMap;

use crate::definition::{Definition, StepId, Wait};
use crate::event::Block;
use crate::plan::{Ask, Dispatch, Plan};
use crate::task::{Busy, Head, Record, Task, TaskState, Turn};
use crate::time::Time;

pub(super) struct Draft<'a> {
    pub(super) definition: &'a Definition,
    pub(super) now: Time,
    task: &'a Task,
    head: Head,
    /// What changed.
    steps: BTreeMap<StepId, Record>,
    asks: Vec<Ask>,
    dispatches: Vec<Dispatch>,
    /// Where what came beside the event belongs.
    pub(super) keeps: Option<StepId>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(definition: &'a Definition, task: &'a Task, now: Time) -> Self {
        let (asks, dispatches) = (Vec::new(), Vec::new());
        let (mut head, steps) = (task.head.clone(), BTreeMap::new());
        if let Some(paused) = head.paused() {
            head.state = paused.was;
        }
        Self { definition, now, task, head, steps, asks, dispatches, keeps: None }
    }

    /// The task as it was.
    pub(super) fn task(&self) -> &'a Task {
        self.task
    }

    pub(super) fn head(&self) -> &Head {
        &self.head
    }

    pub(super) fn head_mut(&mut self) -> &mut Head {
        &mut self.head
    }

    /// A step as it will be.
    pub(super) fn record(&self, id: StepId) -> &Record {
        self.steps.get(&id).unwrap_or_else(|| self.task.step(id))
    }

    /// Changes a step, and the task's counts with it.
    pub(super) fn change<T>(&mut self, id: StepId, change: impl FnOnce(&mut Record) -> T) -> T {
        let record = self.steps.entry(id).or_insert_with(|| self.task.step(id).clone());
        let before = record.busy();
        let told = change(record);
        let after = record.busy();
        self.count(before, after);
        told
    }

    pub(super) fn turn(&mut self, id: StepId, to: Turn) {
        self.change(id, |record| record.turn(to));
    }

    fn count(&mut self, before: Busy, after: Busy) {
        let mut count = |busy, by: i64| {
            let number = match busy {
                Busy::No => return,
                Busy::Running => &mut self.head.running,
                Busy::Ready => &mut self.head.ready,
                Busy::Resting => &mut self.head.resting,
            };
            *number = u32::try_from(i64::from(*number) + by).unwrap_or(0);
        };
        count(before, -1);
        count(after, 1);
    }

    /// A step, or its undo, could run: it asks for a place at its service, or begins to wait if it calls none.
    pub(super) fn make_ready(&mut self, id: StepId) {
        let step = self.rules(id);
        match step.wait().cloned() {
            Some(Wait::Time(Some(time))) => self.wait_until(id, self.now + time),
            Some(Wait::Time(None)) => self.ask(Ask::Until(id)),
            Some(Wait::Signal { timeout, .. }) => self.wait_for_signal(id, timeout),
            None if step.fans_out().is_some() && id.item().is_none() => self.make_items_ready(id),
            None => {
                self.turn(id, Turn::Ready);
                self.ask(Ask::Permit(id));
            }
        }
    }

    pub(super) fn park(&mut self, id: StepId, block: Block, until: Option<Time>) {
        self.turn(id, Turn::Parked(block, until));
    }

    /// A task that an operator holds asks for nothing, unless it has come to rest.
    fn stay_paused(&mut self) {
        let state = self.head.state;
        if self.head.paused().is_none() {
            return;
        }
        if state.is_at_rest() {
            return self.lift_pause();
        }
        self.asks.clear();
        self.head.state = TaskState::Paused;
        self.head.change_more(|more| {
            if let Some(paused) = &mut more.paused {
                paused.was = state;
            }
        });
    }

    /// The task is nobody's any more, and its deadline counts again.
    pub(super) fn lift_pause(&mut self) {
        let Some(paused) = self.head.paused().cloned() else { return };
        self.head.deadline = paused.left.map(|left| self.now + left);
        self.head.change_more(|more| more.paused = None);
        self.fit_callbacks();
    }

    pub(super) fn ask(&mut self, ask: Ask) {
        self.asks.push(ask);
    }

    pub(super) fn dispatch(&mut self, dispatch: Dispatch) {
        self.dispatches.push(dispatch);
    }

    pub(super) fn finish(mut self) -> Plan {
        self.rest_if_hopeless();
        if matches!(self.head.state, TaskState::Running | TaskState::Waiting) {
            let idle = self.head.running == 0 && self.head.ready == 0 && self.head.resting > 0;
            // What a condition or a time is asked for is not known to be waiting.
            let asked =
                self.asks.iter().any(|ask| matches!(ask, Ask::Condition(_) | Ask::Until(_) | Ask::List(_)));
            self.head.state = if idle && !asked { TaskState::Waiting } else { TaskState::Running };
        }
        self.stay_paused();
        let notices = self.notices(self.task, &self.steps);
        let Self { task, head, steps, asks, dispatches, keeps, .. } = self;
        let steps = steps.into_iter().filter(|(id, record)| task.step(*id) != record).collect();
        let head = (head != task.head).then_some(head);
        Plan { head, steps, asks, dispatches, keeps, notices, ignored: None }
    }
}
