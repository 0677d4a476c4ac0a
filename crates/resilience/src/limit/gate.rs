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

/// How often a thread that waits for a place looks whether its caller cancelled.
const CANCEL_POLL: Duration = Duration::from_millis(10);

#[derive(Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    /// Tells threads that wait that somebody was let in.
    let_in: Condvar,
}

#[derive(Default)]
struct State {
    in_flight: u32,
    next_ticket: u64,
    queue: VecDeque<(u64, Option<Waker>)>,
    /// Let in, and not yet come: their places are counted already.
    called: Vec<u64>,
}

/// A call under way. Dropping it hands the place to the next one.
pub struct Place {
    gate: Arc<Gate>,
    /// The most at once, as of when the place was given.
    concurrent: Option<u32>,
}

/// A call that waits for a place. Dropping it leaves the queue.
pub(super) struct Waiting {
    gate: Arc<Gate>,
    ticket: u64,
    concurrent: Option<u32>,
    has_place: bool,
}

impl Gate {
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
    pub(super) fn try_enter(self: &Arc<Self>, concurrent: Option<u32>) -> Option<Place> {
        let mut state = self.state();
        let free = concurrent.is_none_or(|most| state.in_flight < most) && state.queue.is_empty();
        free.then(|| {
            state.in_flight += 1;
            Place { gate: Arc::clone(self), concurrent }
        })
    }

    /// A place in the queue, if it is not full.
    pub(super) fn line_up(self: &Arc<Self>, concurrent: Option<u32>, most: u32) -> Option<Waiting> {
        let mut state = self.state();
        if state.queue.len() >= usize::try_from(most).unwrap_or(usize::MAX) {
            return None;
        }
        state.next_ticket += 1;
        let ticket = state.next_ticket;
        state.queue.push_back((ticket, None));
        Some(Waiting { gate: Arc::clone(self), ticket, concurrent, has_place: false })
    }

    /// Lets in whoever there is room for.
    pub(super) fn admit(&self, concurrent: Option<u32>) {
        let mut wakers = Vec::new();
        let mut state = self.state();
        while concurrent.is_none_or(|most| state.in_flight < most) {
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

    fn leave(&self, concurrent: Option<u32>) {
        self.state().in_flight -= 1;
        self.admit(concurrent);
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
        Some(Place { gate: Arc::clone(&self.gate), concurrent: self.concurrent })
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
    pub(super) fn block(&self, mut time: Duration, cancel: Option<&Cancel>) {
        let mut state = self.gate.state();
        while !state.called.contains(&self.ticket)
            && !time.is_zero()
            && !cancel.is_some_and(Cancel::is_cancelled)
        {
            let slice = if cancel.is_some() { time.min(CANCEL_POLL) } else { time };
            let woken = self.gate.let_in.wait_timeout(state, slice).unwrap_or_else(PoisonError::into_inner);
            // Woken for somebody else, it waits the rest again: a little too long, never too short.
            time = if woken.1.timed_out() { time - slice } else { time };
            state = woken.0;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.gate.leave(self.concurrent);
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
            self.gate.leave(self.concurrent);
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
