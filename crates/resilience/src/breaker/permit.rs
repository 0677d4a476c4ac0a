//! A permit: leave for one call, and the duty to say how it went.

use std::time::Duration;

use super::Breaker;
use super::core::{Ended, Ticket};
use crate::classify::Verdict;
use crate::clock::Moment;

/// Leave for one call. Say how it went with [`success`](Self::success), [`failure`](Self::failure) or
/// [`neutral`](Self::neutral); a permit that is dropped counts for nothing and gives its place back.
///
/// A permit belongs to the state it was given in. When that is over, what it says changes nothing.
#[derive(Debug)]
#[must_use = "a dropped permit counts for nothing"]
pub struct Permit<'a> {
    breaker: &'a Breaker,
    ticket: Option<Ticket>,
    started: Moment,
}

impl<'a> Permit<'a> {
    #[inline]
    pub(super) fn new(breaker: &'a Breaker, ticket: Ticket, started: Moment) -> Self {
        Self { breaker, ticket: Some(ticket), started }
    }

    #[inline]
    pub(super) fn started(&self) -> Moment {
        self.started
    }

    /// Whether this call is a half-open probe.
    #[must_use]
    pub fn is_probe(&self) -> bool {
        self.ticket.is_some_and(|ticket| ticket.probe)
    }

    /// It worked.
    #[inline]
    pub fn success(self, now: Moment) {
        self.settle(&Verdict::success(), now);
    }

    /// It failed like this.
    pub fn failure(self, failure: &Verdict, now: Moment) {
        self.settle(failure, now);
    }

    /// It says nothing about the service.
    pub fn neutral(self) {
        drop(self);
    }

    /// It ended with this verdict.
    #[inline]
    pub fn settle(self, verdict: &Verdict, now: Moment) {
        self.settle_with(verdict, now, &|| None);
    }

    /// The same, with the error in words for the trip's record, asked for only when it trips.
    #[inline]
    pub fn settle_with(mut self, verdict: &Verdict, now: Moment, message: &dyn Fn() -> Option<String>) {
        if let Some(ticket) = self.ticket.take() {
            let took: Duration = now.since(self.started);
            self.breaker.core().settle(ticket, Ended { verdict, took, now, message });
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.breaker.core().abandon(ticket, self.started);
        }
    }
}
