//! How many calls may be under way at once: places, and a queue in the order of arrival.
//!
//! A place that becomes free is handed to the first who waits, so that nobody who comes later overtakes. One lock guards
//! both; it is held for a few steps and never while foreign code runs.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use crate::cancel::Cancel;
use crate::clock::Clock;

/// How often a thread that waits for a place looks whether its caller cancelled.
const CANCEL_POLL: Duration = Duration::from_millis(10);

pub(super) struct Gate {
    state: Mutex<State>,
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

    /// Where somebody stands in the queue. Tickets are given in order.
    fn place_of(&self, ticket: u64) -> Option<usize> {
        self.queue.binary_search_by_key(&ticket, |(known, _)| *known).ok()
    }
}

/// Wakes a thread that waits, and no other.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Gate {
    /// With at most this many at once.
    pub(super) fn new(most: Option<u32>) -> Self {
        Self { state: Mutex::new(State { most, ..State::default() }) }
    }

    /// Changes how many may be in at once. Those who wait come in as far as there is room; nobody is sent out.
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
        drop(state);
        // A waker is foreign code, which may come back here: not under the lock.
        wakers.into_iter().for_each(Waker::wake);
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
    pub(super) fn is_called(&self, waker: &Waker) -> bool {
        let mut state = self.gate.state();
        if state.called.contains(&self.ticket) {
            return true;
        }
        let mut before = Some(waker.clone());
        if let Some(at) = state.place_of(self.ticket) {
            std::mem::swap(&mut state.queue[at].1, &mut before);
        }
        drop(state);
        drop(before);
        false
    }

    /// Holds this thread until it is this one's turn, the time is over or the caller cancels.
    pub(super) fn block(&self, time: Duration, clock: &Clock, cancel: Option<&Cancel>) {
        let end = clock.now() + time;
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        while !self.is_called(&waker) && !cancel.is_some_and(Cancel::is_cancelled) {
            let left = end.since(clock.now());
            if left.is_zero() {
                return;
            }
            // Woken for another reason it looks again.
            std::thread::park_timeout(if cancel.is_some() { left.min(CANCEL_POLL) } else { left });
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
        } else if let Some(at) = state.place_of(self.ticket) {
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
