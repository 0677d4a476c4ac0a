//! The checker: looks at a breaker now and then, asks the user's check while it is open, and passes the answer on.

use std::any::Any;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::time::Duration;

use super::super::Breaker;
use super::{Due, Health};
use crate::clock::{Limited, Moment};
use crate::log;
use crate::random::Rng;

/// More often than this a service that is down would be asked for nothing new.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);

/// Looks are this share earlier or later at random, so that many instances do not check in step.
const SPREAD: u32 = 5;

/// A lease outlives this many looks: one that comes late must not hand over to the timer.
const LEASE_LOOKS: u32 = 2;

/// Watches over one breaker, from [`Breaker::health_check`]. Spawn [`run`](Self::run); drop it to stop.
#[must_use = "nothing is checked until `run`"]
pub struct HealthCheck<C> {
    breaker: Breaker,
    check: C,
    every: Duration,
    timeout: Duration,
    healthy_in_a_row: u32,
    instead_of_timer: bool,
    row: Row,
    rng: Rng,
}

/// Healthy answers in a row, in one open state.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    of: Option<Due>,
    healthy: u32,
}

impl Row {
    fn add(&mut self, due: Due, health: &Health) -> u32 {
        let before = if self.of == Some(due) { self.healthy } else { 0 };
        let healthy = if health.is_up() { before.saturating_add(1) } else { 0 };
        *self = Self { of: Some(due), healthy };
        healthy
    }
}

impl<C> HealthCheck<C> {
    pub(super) fn new(breaker: Breaker, check: C) -> Self {
        Self {
            breaker,
            check,
            every: Duration::from_secs(2),
            timeout: Duration::from_secs(2),
            healthy_in_a_row: 1,
            instead_of_timer: false,
            row: Row::default(),
            rng: Rng::from_entropy(),
        }
    }

    /// How often it looks, give or take a fifth at random. Default: 2 s; at the least 10 ms.
    pub fn every(mut self, interval: Duration) -> Self {
        self.every = interval.max(SHORTEST_INTERVAL);
        self
    }

    /// How long a check may take; one that takes longer is dropped and means *down*. Default: 2 s. Zero leaves time only
    /// for an answer that is ready at once.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// So many healthy answers in a row are needed before probes are let through. Default: 1; 0 means 1 too.
    pub fn healthy_in_a_row(mut self, answers: u32) -> Self {
        self.healthy_in_a_row = answers.max(1);
        self
    }

    /// While this check is alive, only a healthy answer lets probes through: the end of the open time alone does not.
    /// For services whose failed probes hurt. When the check is dropped the timer has the word again at once; when it
    /// is no longer polled, after two looks. What an operator forced open with an end is left to the timer.
    pub fn instead_of_timer(mut self) -> Self {
        if !std::mem::replace(&mut self.instead_of_timer, true) {
            self.breaker.core().check.join();
        }
        self
    }

    /// A seed for the spread of its looks, so that a test can replay them.
    pub fn seed(mut self, seed: u64) -> Self {
        self.rng = Rng::seeded(seed);
        self
    }

    fn now(&self) -> Moment {
        self.breaker.clock().now()
    }

    /// Keeps the timer from letting probes through until well after the next look.
    fn renew_lease(&self) {
        if self.instead_of_timer {
            let lease = self.every.saturating_add(self.timeout).saturating_mul(LEASE_LOOKS);
            self.breaker.core().check.renew(self.now() + lease);
        }
    }

    /// The time until the next look.
    fn next_wait(&mut self) -> Duration {
        let spread = self.every / SPREAD;
        let wait = self.rng.between(self.every.saturating_sub(spread), self.every.saturating_add(spread));
        if self.instead_of_timer {
            self.breaker.core().check.look_at(self.now() + wait);
        }
        wait
    }
}

impl<C, F> HealthCheck<C>
where
    C: FnMut() -> F,
    F: Future,
    F::Output: Into<Health>,
{
    /// Looks for ever. Spawn it; drop it to stop.
    pub async fn run(mut self) {
        loop {
            self.look().await;
            let wait = self.next_wait();
            self.breaker.clock().sleep(wait).await;
        }
    }

    /// Looks once, which is what [`run`](Self::run) does each time: for tests, and for programs with a schedule of their
    /// own. Returns what the check said; `None` when none was due.
    pub async fn look(&mut self) -> Option<Health> {
        self.renew_lease();
        let due = self.breaker.check_due()?;
        let health = self.ask().await;
        let enough = self.row.add(due, &health) >= self.healthy_in_a_row;
        log::health_checked(self.breaker.name(), &health);
        self.breaker.checked(due, &health, enough);
        Some(health)
    }

    /// Asks the user's check. Whatever it does, there is an answer within the time limit.
    async fn ask(&mut self) -> Health {
        let future = match catch_unwind(AssertUnwindSafe(&mut self.check)) {
            Ok(future) => future,
            Err(panic) => return panicked(&*panic),
        };
        let (clock, limit) = (self.breaker.clock(), self.timeout);
        let mut limited = Box::pin(Limited::new(future, Some(limit)));
        let health = poll_fn(|cx| {
            let poll = || limited.as_mut().poll_within(cx, clock).map(|answer| answer.map(Into::into));
            match catch_unwind(AssertUnwindSafe(poll)) {
                Ok(Poll::Pending) => Poll::Pending,
                Ok(Poll::Ready(Some(health))) => Poll::Ready(health),
                Ok(Poll::Ready(None)) => Poll::Ready(Health::down(format!("no answer within {limit:?}"))),
                Err(panic) => Poll::Ready(panicked(&*panic)),
            }
        })
        .await;
        // One that was given up may panic as it goes, too.
        match catch_unwind(AssertUnwindSafe(|| drop(limited))) {
            Ok(()) => health,
            Err(panic) => panicked(&*panic),
        }
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Health {
    let words = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without words");
    Health::down(format!("the check panicked: {words}"))
}

/// Gives the timer its word back, if no other check holds it.
impl<C> Drop for HealthCheck<C> {
    fn drop(&mut self) {
        if self.instead_of_timer {
            self.breaker.core().check.leave();
        }
    }
}

impl<C> fmt::Debug for HealthCheck<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HealthCheck")
            .field("breaker", &self.breaker)
            .field("every", &self.every)
            .field("timeout", &self.timeout)
            .field("healthy_in_a_row", &self.healthy_in_a_row)
            .field("instead_of_timer", &self.instead_of_timer)
            .finish_non_exhaustive()
    }
}
