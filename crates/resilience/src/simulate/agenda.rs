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

/// Few enough pages to make at once, enough that each holds little to sort.
const PAGES: u64 = 1 << 17;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: Moment,
    /// How many were entered before.
    nth: u64,
    event: Event,
}

/// One page for each piece of the time. Only the entries of the page that is open are sorted.
pub(super) struct Agenda {
    end: Moment,
    pages: Vec<Vec<Entry>>,
    /// The nanoseconds of a page.
    length: u64,
    open: usize,
    /// What the open page held when it was opened, the last first.
    coming: Vec<Entry>,
    /// What was entered into it since.
    added: BinaryHeap<Reverse<Entry>>,
    /// Pages that were used up, to be written on again.
    blank: Vec<Vec<Entry>>,
    entered: u64,
}

impl Agenda {
    /// For what happens before the end; anything later is forgotten.
    pub(super) fn new(end: Moment) -> Self {
        let length = (end.as_nanos() / PAGES).max(1);
        let mut agenda = Self {
            end,
            pages: Vec::new(),
            length,
            open: 0,
            coming: Vec::new(),
            added: BinaryHeap::new(),
            blank: Vec::new(),
            entered: 0,
        };
        agenda.pages.resize_with(agenda.page(end) + 1, Vec::new);
        agenda
    }

    fn page(&self, at: Moment) -> usize {
        usize::try_from(at.as_nanos() / self.length).unwrap_or(usize::MAX)
    }

    pub(super) fn enter(&mut self, at: Moment, event: Event) {
        if at >= self.end {
            return;
        }
        self.entered += 1;
        let entry = Entry { at, nth: self.entered, event };
        let page = self.page(at);
        if page <= self.open {
            self.added.push(Reverse(entry));
            return;
        }
        let page = &mut self.pages[page];
        if page.capacity() == 0 {
            *page = self.blank.pop().unwrap_or_default();
        }
        page.push(entry);
    }

    /// The next event of the open page.
    pub(super) fn next(&mut self) -> Option<(Moment, Event)> {
        let entry = match (self.coming.last(), self.added.peek()) {
            (Some(coming), Some(Reverse(added))) if added < coming => {
                self.added.pop().map(|Reverse(entry)| entry)
            }
            (None, Some(_)) => self.added.pop().map(|Reverse(entry)| entry),
            _ => self.coming.pop(),
        }?;
        Some((entry.at, entry.event))
    }

    /// Opens the next page; `false` after the last.
    pub(super) fn turn_page(&mut self) -> bool {
        self.open += 1;
        let Some(page) = self.pages.get_mut(self.open) else { return false };
        let used = std::mem::replace(&mut self.coming, std::mem::take(page));
        if used.capacity() > 0 {
            self.blank.push(used);
        }
        self.coming.sort_unstable_by_key(|entry| Reverse((entry.at, entry.nth)));
        true
    }

    /// What the open page held when it was opened and still holds.
    pub(super) fn coming(&self) -> impl Iterator<Item = Event> {
        self.coming.iter().map(|entry| entry.event)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::random::Rng;

    fn all(agenda: &mut Agenda) -> Vec<(Moment, Event)> {
        let mut events = Vec::new();
        loop {
            events.extend(std::iter::from_fn(|| agenda.next()));
            if !agenda.turn_page() {
                return events;
            }
        }
    }

    #[test]
    fn events_come_in_the_order_of_their_times_and_then_of_entering() {
        for end in [1, 1_000, 600_000_000_000] {
            let end = Moment::ZERO + Duration::from_nanos(end);
            let mut agenda = Agenda::new(end);
            let mut rng = Rng::seeded(7);
            let mut expected = Vec::new();
            for number in 0..2_000 {
                let at = rng.between(Duration::ZERO, Duration::from_nanos(end.as_nanos() * 2));
                // Many of one moment.
                let at = Moment::ZERO + at / 64 * 64;
                let event = Event::Woken(Turn { call: number, number });
                agenda.enter(at, event);
                expected.push((at, event));
            }
            expected.retain(|(at, _)| *at < end);
            expected.sort_by_key(|(at, _)| *at);
            assert_eq!(all(&mut agenda), expected);
        }
    }

    #[test]
    fn what_is_entered_while_its_page_is_open_still_comes() {
        let mut agenda = Agenda::new(Moment::ZERO + Duration::from_secs(600));
        let at = |nanos| Moment::ZERO + Duration::from_nanos(nanos);
        agenda.enter(at(5), Event::Down);
        assert_eq!(agenda.next(), Some((at(5), Event::Down)));
        agenda.enter(at(6), Event::Back);
        agenda.enter(at(5), Event::Served);
        assert_eq!(all(&mut agenda), [(at(5), Event::Served), (at(6), Event::Back)]);
    }
}
