//! What happens next: events in the order of their times, and those of one moment in the order they were entered.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::clock::Moment;

/// One turn of a call: an attempt or a wait. Every turn has another number, so that what was meant for an earlier one
/// falls dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    pub(super) call: u32,
    pub(super) number: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// Somebody makes a call.
    Arrival,
    /// The service goes down.
    Down,
    /// The service is back.
    Back,
    /// The service has worked off the request at the head of its queue.
    Served,
    /// An answer reaches the caller.
    Answer(Turn),
    /// An attempt has used up its time.
    TimedOut(Turn),
    /// A wait is over.
    Woken(Turn),
}

#[derive(Default)]
pub(super) struct Agenda {
    entries: BinaryHeap<Reverse<(Moment, u64, Event)>>,
    entered: u64,
}

impl Agenda {
    pub(super) fn enter(&mut self, at: Moment, event: Event) {
        self.entered += 1;
        self.entries.push(Reverse((at, self.entered, event)));
    }

    pub(super) fn next(&mut self) -> Option<(Moment, Event)> {
        self.entries.pop().map(|Reverse((at, _, event))| (at, event))
    }
}
