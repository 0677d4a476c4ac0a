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

/// Few enough that what is written to all of them in turn stays near.
const CHAPTERS: u64 = 1 << 10;
/// Pages of a chapter: each holds little to sort.
const PAGES: u64 = 1 << 7;

type Entry = (Moment, Event);

/// The time in chapters, and the chapter that is open in pages. Each holds its entries in the order they were entered;
/// only those of the page that is open are sorted.
pub(super) struct Agenda {
    end: Moment,
    /// The nanoseconds of a page.
    length: u64,
    /// Of those that are not open yet.
    chapters: Vec<Vec<Entry>>,
    /// Of the chapter that is open.
    pages: Vec<Vec<Entry>>,
    /// The page that is open, from the beginning of time.
    open: u64,
    /// What the open page held when it was opened, by time.
    coming: Vec<Entry>,
    /// How many of them came.
    came: usize,
    /// What was entered into it since, numbered.
    added: BinaryHeap<Reverse<(Moment, u64, Event)>>,
    /// Chapters that were used up, to be written on again.
    blank: Vec<Vec<Entry>>,
    /// Into open pages, so far.
    entered: u64,
}

impl Agenda {
    /// For what happens before the end; anything later is forgotten.
    pub(super) fn new(end: Moment) -> Self {
        let length = end.as_nanos() / (CHAPTERS * PAGES) + 1;
        Self {
            end,
            length,
            chapters: (0..CHAPTERS).map(|_| Vec::new()).collect(),
            pages: (0..PAGES).map(|_| Vec::new()).collect(),
            open: 0,
            coming: Vec::new(),
            came: 0,
            added: BinaryHeap::new(),
            blank: Vec::new(),
            entered: 0,
        }
    }

    pub(super) fn enter(&mut self, at: Moment, event: Event) {
        if at >= self.end {
            return;
        }
        let page = at.as_nanos() / self.length;
        if page <= self.open {
            self.entered += 1;
            self.added.push(Reverse((at, self.entered, event)));
        } else if page / PAGES == self.open / PAGES {
            self.pages[place(page % PAGES)].push((at, event));
        } else {
            let chapter = &mut self.chapters[place(page / PAGES)];
            if chapter.capacity() == 0 {
                *chapter = self.blank.pop().unwrap_or_default();
            }
            chapter.push((at, event));
        }
    }

    /// The next event of the open page.
    pub(super) fn next(&mut self) -> Option<Entry> {
        let coming = self.coming.get(self.came);
        if let Some(Reverse((at, _, event))) = self.added.peek()
            && coming.is_none_or(|coming| *at < coming.0)
        {
            let added = (*at, *event);
            self.added.pop();
            return Some(added);
        }
        self.came += usize::from(coming.is_some());
        coming.copied()
    }

    /// Opens the next page; `false` after the last.
    pub(super) fn turn_page(&mut self) -> bool {
        self.open += 1;
        if self.open.is_multiple_of(PAGES) {
            let Some(chapter) = self.chapters.get_mut(place(self.open / PAGES)) else { return false };
            let mut entries = std::mem::take(chapter);
            for entry in entries.drain(..) {
                self.pages[place(entry.0.as_nanos() / self.length % PAGES)].push(entry);
            }
            self.blank.push(entries);
        }
        self.coming.clear();
        self.came = 0;
        std::mem::swap(&mut self.coming, &mut self.pages[place(self.open % PAGES)]);
        self.coming.sort_by_key(|(at, _)| *at);
        true
    }

    /// What the open page held when it was opened.
    pub(super) fn coming(&self) -> impl Iterator<Item = Event> {
        self.coming.iter().map(|(_, event)| *event)
    }
}

fn place(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
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
