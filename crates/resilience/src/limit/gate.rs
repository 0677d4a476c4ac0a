//! How many calls may be under way at once: places, and a queue in the order of arrival.
//!
//! A place that becomes free is handed to the first who waits, so that nobody who comes later overtakes. One lock guards
//! both; it is held for a few steps and never while foreign code runs.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use crate::cancel::Cancel;
use crate::clock::Clock;

/// How often a thread that waits for a place looks whether its caller cancelled.
const CANCEL_POLL: Duration = Duration::from_millis(10);

pub(super) struct Gate {
    state: Mutex<State>,
    /// Tells threads that wait that somebody was let in.
    let_in: Condvar,
}

#[derive(Default)]
struct State {
    /// The most at once; `None` is without a limit.
    most: Option<u32>,
    in_flight: u32,
    next_ticket: u64,
    queue: VecDeque<(u64, Option<Waker>)>,
    /// Let in, and not yet come: their places are counted already.
    called: Vec<u64>,
}

/// A call under way. Dropping it hands the place to the next one.
pub struct Place {
    gate: Arc<Gate>,
}

/// A call that waits for a place. Dropping it leaves the queue.
pub(super) struct Waiting {
    gate: Arc<Gate>,
    ticket: u64,
    has_place: bool,
}

impl State {
    fn has_room(&self) -> bool {
        self.most.is_none_or(|most| self.in_flight < most)
    }
}

impl Gate {
    /// With at most this many at once.
    pub(super) fn new(most: Option<u32>) -> Self {
        Self { state: Mutex::new(State { most, ..State::default() }), let_in: Condvar::new() }
    }

    /// Another number at once: who there is room for now is let in; who is in stays.
    pub(super) fn set_most(&self, most: Option<u32>) {
        self.state().most = most;
        self.admit();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn in_flight(&self) -> u32 {
        self.state().in_flight
    }

    pub(super) fn waiting(&self) -> usize {
        self.state().queue.len()
    }

    /// A place, if one is free and nobody waits for it.
    pub(super) fn try_enter(self: &Arc<Self>) -> Option<Place> {
        let mut state = self.state();
        (state.has_room() && state.queue.is_empty()).then(|| {
            state.in_flight += 1;
            Place { gate: Arc::clone(self) }
        })
    }

    /// A place in the queue, if it is not full.
    pub(super) fn line_up(self: &Arc<Self>, longest: u32) -> Option<Waiting> {
        let mut state = self.state();
        if state.queue.len() >= usize::try_from(longest).unwrap_or(usize::MAX) {
            return None;
        }
        state.next_ticket += 1;
        let ticket = state.next_ticket;
        state.queue.push_back((ticket, None));
        drop(state);
        // A place may have become free since it was asked for.
        self.admit();
        Some(Waiting { gate: Arc::clone(self), ticket, has_place: false })
    }

    /// Lets in whoever there is room for.
    fn admit(&self) {
        let mut wakers = Vec::new();
        let mut state = self.state();
        while state.has_room() {
            let Some((ticket, waker)) = state.queue.pop_front() else { break };
            state.in_flight += 1;
            state.called.push(ticket);
            wakers.extend(waker);
        }
        let called = !state.called.is_empty();
        drop(state);
        if called {
            self.let_in.notify_all();
        }
        // A waker is foreign code, which may come back here: not under the lock.
        wakers.into_iter().for_each(Waker::wake);
    }

    #[cfg(test)]
    pub(super) fn wake_all(&self) {
        self.let_in.notify_all();
    }

    fn leave(&self) {
        self.state().in_flight -= 1;
        self.admit();
    }
}

impl Waiting {
    /// The place, if it is this one's turn.
    pub(super) fn try_take(&mut self) -> Option<Place> {
        let mut state = self.gate.state();
        let at = state.called.iter().position(|ticket| *ticket == self.ticket)?;
        state.called.swap_remove(at);
        drop(state);
        self.has_place = true;
        Some(Place { gate: Arc::clone(&self.gate) })
    }

    /// Whether it is this one's turn; otherwise the waker is told when it is.
    #[cfg(any(feature = "tokio", feature = "simulate"))]
    pub(super) fn is_called(&self, waker: &Waker) -> bool {
        let mut state = self.gate.state();
        if state.called.contains(&self.ticket) {
            return true;
        }
        let mut before = Some(waker.clone());
        if let Some((_, known)) = state.queue.iter_mut().find(|(ticket, _)| *ticket == self.ticket) {
            std::mem::swap(known, &mut before);
        }
        drop(state);
        drop(before);
        false
    }

    /// Holds this thread until it is this one's turn, the time is over or the caller cancels.
    pub(super) fn block(&self, time: Duration, clock: &Clock, cancel: Option<&Cancel>) {
        let end = clock.now() + time;
        let mut state = self.gate.state();
        while !state.called.contains(&self.ticket) && !cancel.is_some_and(Cancel::is_cancelled) {
            let left = end.since(clock.now());
            if left.is_zero() {
                return;
            }
            let slice = if cancel.is_some() { left.min(CANCEL_POLL) } else { left };
            let woken = self.gate.let_in.wait_timeout(state, slice);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.gate.leave();
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.has_place {
            return;
        }
        let mut state = self.gate.state();
        if let Some(at) = state.called.iter().position(|ticket| *ticket == self.ticket) {
            state.called.swap_remove(at);
            drop(state);
            self.gate.leave();
        } else if let Some(at) = state.queue.iter().position(|(ticket, _)| *ticket == self.ticket) {
            let waker = state.queue.remove(at);
            drop(state);
            drop(waker);
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").finish_non_exhaustive()
    }
}
