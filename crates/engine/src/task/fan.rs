//! The items of steps that are made once for each item of a list.
//!
//! An item has a row like a step's, under a place of its own. Rows of items that have not begun are stored nowhere.

use std::collections::BTreeSet;

use super::{Busy, Head, Record, RecordMore, StepState, Task, UndoState};
use crate::definition::{CHUNK, Definition, MAX_ITEMS, Step, StepId};

/// How far a step has come with its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fan {
    /// Which step.
    pub step: StepId,
    /// The number of its first item among all of the task.
    pub first: u16,
    /// How many items it has.
    pub count: u16,
    /// So many were looked at, from the first on: they have begun, or had before.
    pub next: u16,
    /// Items, or undos of items, that have begun and not ended.
    pub busy: u16,
    /// Items that are done.
    pub done: u16,
    /// Items that have failed.
    pub failed: u16,
    /// Of its undo: items from this one on were looked at, from the last on.
    pub back: u16,
    /// Items that could not be undone.
    pub stuck: u16,
}

impl Fan {
    /// Its items, in their order.
    pub fn items(&self) -> impl DoubleEndedIterator<Item = StepId> + use<> {
        (self.first..self.first + self.count).map(StepId::of_item)
    }

    /// The item at this place of its list.
    #[must_use]
    pub fn item(&self, place: u16) -> StepId {
        StepId::of_item(self.first + place)
    }

    /// The place of an item in its list, if it is one of its own.
    #[must_use]
    pub fn place_of(&self, item: StepId) -> Option<u16> {
        let place = item.item()?.checked_sub(self.first)?;
        (place < self.count).then_some(place)
    }
}

/// An item that has not begun.
static PENDING: Record = Record {
    state: StepState::Pending,
    undo: UndoState::None,
    attempt: 0,
    complete_by: None,
    not_before: None,
    blocked_on: None,
    failures: 0,
    calls: 0,
    owner_deaths: 0,
    may_have_happened: false,
    last_failure: None,
    more: None::<Box<RecordMore>>,
};

/// The rows of a task's items.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Items {
    rows: Vec<Record>,
    /// Those that run, or could, or wait: what is looked at each time.
    at_work: BTreeSet<StepId>,
}

impl Items {
    pub(super) fn row(&self, item: u16) -> &Record {
        self.rows.get(usize::from(item)).unwrap_or(&PENDING)
    }

    pub(super) fn put(&mut self, item: u16, row: Record) {
        let place = usize::from(item);
        if self.rows.len() <= place {
            self.rows.resize(place + 1, Record::default());
        }
        match row.busy() {
            Busy::No => self.at_work.remove(&StepId::of_item(item)),
            _ => self.at_work.insert(StepId::of_item(item)),
        };
        self.rows[place] = row;
    }

    pub(super) fn at_work(&self) -> impl Iterator<Item = (StepId, &Record)> {
        self.at_work.iter().map(|id| (*id, self.row(id.item().unwrap_or_default())))
    }

    /// Those of which something is to be stored.
    pub(super) fn begun(&self) -> impl Iterator<Item = (StepId, &Record)> {
        let rows = (0..).map(StepId::of_item).zip(&self.rows);
        rows.filter(|(_, row)| **row != PENDING)
    }
}

impl Head {
    /// The steps that are made for each item of a list, as far as those are known.
    #[must_use]
    pub fn fans(&self) -> &[Fan] {
        self.more.as_ref().map_or(&[], |more| &more.fans)
    }

    /// The items of a step.
    #[must_use]
    pub fn fan(&self, step: StepId) -> Option<&Fan> {
        self.fans().iter().find(|fan| fan.step == step)
    }

    /// The step of an item, with its items.
    #[must_use]
    pub fn fan_of(&self, item: StepId) -> Option<&Fan> {
        item.item()?;
        self.fans().iter().find(|fan| fan.place_of(item).is_some())
    }

    pub(crate) fn change_fan(&mut self, step: StepId, change: impl FnOnce(&mut Fan)) {
        let fans = self.more.as_mut().map_or(&mut [][..], |more| &mut more.fans);
        if let Some(fan) = fans.iter_mut().find(|fan| fan.step == step) {
            change(fan);
        }
    }

    /// The number of the first item of the next list, if so many have room.
    pub(crate) fn room_for(&self, items: usize) -> Option<(u16, u16)> {
        let taken = self.fans().iter().map(|fan| usize::from(fan.first) + usize::from(fan.count)).max();
        let first = taken.unwrap_or(0).next_multiple_of(CHUNK);
        let fits = first.checked_add(items).is_some_and(|end| end <= MAX_ITEMS);
        let numbers = u16::try_from(first).ok().zip(u16::try_from(items).ok());
        numbers.filter(|_| fits)
    }
}

impl Task {
    /// What a step says, or the step of an item. The definition must be its own.
    pub fn rules<'d>(&self, definition: &'d Definition, id: StepId) -> &'d Step {
        rules(&self.head, definition, id)
    }

    /// Whether there is such a step or item. The definition must be its own.
    pub(crate) fn knows(&self, definition: &Definition, id: StepId) -> bool {
        id.ordinal() < definition.steps().len() || self.head.fan_of(id).is_some()
    }

    /// The step of an item; any other is its own.
    #[must_use]
    pub fn step_of(&self, id: StepId) -> StepId {
        step_of(&self.head, id)
    }
}

pub(crate) fn step_of(head: &Head, id: StepId) -> StepId {
    head.fan_of(id).map_or(id, |fan| fan.step)
}

pub(crate) fn rules<'d>(head: &Head, definition: &'d Definition, id: StepId) -> &'d Step {
    definition.step(step_of(head, id))
}
