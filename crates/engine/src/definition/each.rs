//! Steps that are made once for each item of a list.

use super::{Step, StepId};

/// The most items of a task, over all its lists: all of their rows are held in memory together. Each list begins at a whole
/// hundred ([`CHUNK`]).
pub const MAX_ITEMS: usize = 20_000;
/// So many items of a list are stored together: to read one is not to read all.
pub const CHUNK: usize = 100;
/// The most items that may be under way at a time: their rows are written together when they begin.
pub const MAX_AT_A_TIME: u16 = 1_000;

/// The first places that are items', their progress and the lists.
const ITEMS: u16 = 4_000;
const PROGRESS: u16 = 24_000;
const LISTS: u16 = 44_000;

/// How a step is made for each item of a list. What else the step says, its time, retries and undo, is each item's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Each {
    /// How many items may be under way at a time.
    pub at_a_time: u16,
    /// With how many failed items the step still completes. One more, and it has failed.
    pub tolerates: u16,
}

impl Step {
    /// It is made once for each item of a list that is computed when its turn comes.
    pub fn each(mut self, each: Each) -> Self {
        self.each = Some(each);
        self
    }

    /// How it is made for each item of a list, if it is.
    #[must_use]
    pub fn fans_out(&self) -> Option<Each> {
        self.each
    }
}

impl StepId {
    /// The place of an item among all items of its task, from 0.
    #[must_use]
    pub const fn of_item(number: u16) -> Self {
        Self(ITEMS.saturating_add(number))
    }

    /// The place beyond all steps and items where a part of a list is stored: the one in which this item is.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "it fits")]
    pub const fn of_list(item: u16) -> Self {
        Self(LISTS.saturating_add(item / CHUNK as u16))
    }

    /// Which item of its task it is, from 0; `None` for a step.
    #[must_use]
    pub const fn item(self) -> Option<u16> {
        if self.0 >= ITEMS && self.0 < PROGRESS { Some(self.0 - ITEMS) } else { None }
    }

    /// The place where the progress of an item is stored.
    pub(super) const fn of_items_progress(item: u16) -> Self {
        Self(PROGRESS.saturating_add(item))
    }

    /// Whether it is the place of a step or an item, and not one beyond them.
    #[must_use]
    pub const fn is_made(self) -> bool {
        self.ordinal() < super::MAX_STEPS || self.item().is_some()
    }
}
