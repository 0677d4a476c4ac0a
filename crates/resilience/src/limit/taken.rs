//! What one call has of a limit, from its turn to its end.

use std::time::Duration;

use super::gate::{Place, Waiting};
use super::pace::Turn;
use super::{By, Limit, Limited};
use crate::cancel::Cancel;
use crate::clock::{Clock, Moment};

/// What one attempt has taken, or waits for. Dropped, everything is given back.
pub(crate) struct Taken {
    limit: Limit,
    /// When its turn comes, by the rate.
    turn: Option<Turn>,
    /// Whether the attempt has begun: a turn that was used is not given back.
    begun: bool,
    /// Until when it waits for a place.
    until: Option<Moment>,
    waiting: Option<Waiting>,
    place: Option<Place>,
    /// Why it got nothing.
    refused: Option<Limited>,
}

/// Whether an attempt may begin.
pub(crate) enum Entry {
    Now,
    /// Ask again after this time, or when it is called.
    Wait(Duration),
    Refused,
}

impl Taken {
    pub(crate) fn new(limit: &Limit) -> Self {
        Self {
            limit: limit.clone(),
            turn: None,
            begun: false,
            until: None,
            waiting: None,
            place: None,
            refused: None,
        }
    }

    /// Takes what is there, and says what to wait for. First the turn, then the place, so that nobody holds a place for
    /// long without using it. Who had to wait for the place needs another turn then: the calls that a hang held back
    /// would all begin at once otherwise.
    pub(crate) fn enter(&mut self, now: Moment) -> Entry {
        let settings = self.limit.inner.settings.load_full();
        let until = *self.until.get_or_insert(now + settings.max_wait);
        let turn = match self.turn {
            Some(turn) => turn,
            None => match self.limit.inner.pace.reserve(&settings, now, until.since(now)) {
                Ok(turn) => *self.turn.insert(turn),
                Err(wait) => return self.refuse(By::Rate, Some(wait)),
            },
        };
        if turn.at > now {
            return Entry::Wait(turn.at - now);
        }
        if self.place.is_some() {
            return Entry::Now;
        }
        if self.place.is_none() && self.waiting.is_none() {
            self.place = self.limit.inner.gate.try_enter();
        }
        if self.place.is_none() && self.waiting.is_none() && until > now {
            self.waiting = self.limit.inner.gate.line_up(settings.waiting);
        }
        if let Some(waiting) = &mut self.waiting {
            self.place = waiting.try_take();
        }
        match (&self.place, &self.waiting) {
            (Some(_), Some(_)) => {
                self.waiting = None;
                self.turn = None;
                self.enter(now)
            }
            (Some(_), None) => Entry::Now,
            (None, Some(_)) if until > now => Entry::Wait(until - now),
            _ => self.refuse(By::Concurrency, None),
        }
    }

    /// It does not wait any longer: the caller's deadline comes first.
    pub(crate) fn give_up(&mut self, now: Moment) {
        let turn = self.turn.filter(|turn| turn.at > now);
        let by = if turn.is_some() { By::Rate } else { By::Concurrency };
        let _ = self.refuse(by, turn.map(|turn| turn.at - now));
    }

    #[cold]
    fn refuse(&mut self, by: By, retry_in: Option<Duration>) -> Entry {
        self.refused = Some(self.limit.refuse(by, retry_in));
        Entry::Refused
    }

    /// Why it got nothing, if so.
    pub(crate) fn refused(&self) -> Option<Limited> {
        self.refused
    }

    /// The attempt begins: its turn is used.
    pub(crate) fn begin(&mut self) {
        self.begun = true;
    }

    /// Whether its turn has come in the queue; otherwise the waker is told when it has.
    #[cfg(any(feature = "tokio", feature = "simulate"))]
    pub(crate) fn is_called(&self, waker: &std::task::Waker) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| waiting.is_called(waker))
    }

    /// Whether it waits for a place, and not only for a time.
    pub(crate) fn waits_for_place(&self) -> bool {
        self.waiting.is_some()
    }

    /// Holds this thread until its turn in the queue has come, the time is over or the caller cancels.
    pub(crate) fn block(&self, time: Duration, clock: &Clock, cancel: Option<&Cancel>) {
        if let Some(waiting) = &self.waiting {
            waiting.block(time, clock, cancel);
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let (Some(turn), false) = (self.turn, self.begun) {
            self.limit.inner.pace.give_back(turn);
        }
    }
}
