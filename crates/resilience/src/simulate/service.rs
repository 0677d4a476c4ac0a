//! The model service: a queue that is worked off in its order at a steady rate, also for callers who have given up.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use super::agenda::{Agenda, Event, Turn};
use super::scenario::{BEFORE, Scenario};
use crate::classify::{Classify, Kind, Verdict};
use crate::clock::{Moment, scaled};

/// The share of its capacity that a service begins with when it has to warm up.
const COLD: f64 = 0.1;

/// What callers see while the service is down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// Requests are taken and not answered; they are worked off when the service is back.
    #[default]
    Hang,
    /// Connections are refused at once; requests that were waiting are lost.
    Refuse,
    /// Every request is answered with a server error; those that were waiting too.
    Error,
}

impl Fault {
    /// As it is written on a command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hang => "hang",
            Self::Refuse => "refuse",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    Refused,
    Lost,
    ServerError,
    Overloaded,
}

impl Classify for Failure {
    fn classify(&self) -> Verdict {
        match self {
            Self::Refused => Verdict::transient(Kind::CONNECT_REFUSED).without_effect(),
            Self::Lost => Verdict::transient(Kind::CONNECTION_LOST),
            Self::ServerError => Verdict::transient(Kind::SERVER_ERROR),
            Self::Overloaded => Verdict::transient(Kind::OVERLOADED).without_effect(),
        }
    }
}

pub(super) struct Service {
    /// Between two requests at full speed.
    gap: Duration,
    answer_time: Duration,
    limit: usize,
    fault: Fault,
    down_at: Moment,
    back_at: Moment,
    warm_up: Duration,
    queue: VecDeque<Turn>,
    busy: bool,
    /// From here on the next request can be served: an idle service serves at once.
    free_at: Moment,
}

impl Service {
    pub(super) fn new(scenario: &Scenario, agenda: &mut Agenda) -> Self {
        let down_at = Moment::ZERO + BEFORE;
        let back_at = down_at + scenario.outage;
        agenda.enter(down_at, Event::Down);
        agenda.enter(back_at, Event::Back);
        Self {
            gap: Duration::from_secs_f64(1.0 / scenario.capacity_or_default()),
            answer_time: scenario.answer_time,
            limit: scenario.queue.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX),
            fault: scenario.fault,
            down_at,
            back_at,
            warm_up: scenario.warm_up,
            queue: VecDeque::new(),
            busy: false,
            free_at: Moment::ZERO,
        }
    }

    fn is_down(&self, now: Moment) -> bool {
        now >= self.down_at && now < self.back_at
    }

    /// Takes a request, or fails it at once.
    pub(super) fn take(&mut self, request: Turn, now: Moment, agenda: &mut Agenda) -> Result<(), Failure> {
        match self.fault {
            Fault::Refuse if self.is_down(now) => return Err(Failure::Refused),
            Fault::Error if self.is_down(now) => return Err(Failure::ServerError),
            _ if self.queue.len() >= self.limit => return Err(Failure::Overloaded),
            _ => {}
        }
        self.queue.push_back(request);
        self.work(now, agenda);
        Ok(())
    }

    /// Begins with the next request if it can.
    fn work(&mut self, now: Moment, agenda: &mut Agenda) {
        if !self.busy && !self.queue.is_empty() && !self.is_down(now) {
            self.busy = true;
            agenda.enter(now.max(self.free_at), Event::Served);
        }
    }

    /// The time between two requests: longer while the service warms up.
    fn pace(&self, now: Moment) -> Duration {
        let warm = now.since(self.back_at);
        if now < self.back_at || warm >= self.warm_up {
            return self.gap;
        }
        let share = COLD + (1.0 - COLD) * warm.as_secs_f64() / self.warm_up.as_secs_f64();
        scaled(self.gap, 1.0 / share)
    }

    /// The request at the head is done, and the next one begins.
    pub(super) fn served(&mut self, now: Moment, agenda: &mut Agenda) {
        self.busy = false;
        self.free_at = now + self.pace(now);
        if let Some(request) = self.queue.pop_front() {
            agenda.enter(now + self.answer_time, Event::Answer(request));
        }
        self.work(now, agenda);
    }

    pub(super) fn back(&mut self, now: Moment, agenda: &mut Agenda) {
        self.work(now, agenda);
    }

    /// Goes down: a service that hangs keeps what waits, any other loses it.
    pub(super) fn down(&mut self) -> (Vec<Turn>, Failure) {
        let failure = if self.fault == Fault::Error { Failure::ServerError } else { Failure::Lost };
        if self.fault == Fault::Hang {
            return (Vec::new(), failure);
        }
        // The one that is being worked on stays: its answer is on its way.
        let keep = usize::from(self.busy);
        (self.queue.drain(keep..).collect(), failure)
    }
}
