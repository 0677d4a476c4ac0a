//! Who of those that are parked in the store is taken into memory, and when.

use std::time::Duration;

use steadfast_engine::Time;
use steadfast_resilience::clock::Moment;
use steadfast_resilience::ramp::Ramp;
use steadfast_store::TaskId;

use super::{Gate, Phase, Place, Rank};

/// So much of what the ramp lets go is taken from the store at once.
const FETCHED_AHEAD: Duration = Duration::from_millis(500);
/// The most that are taken from the store at once.
const MOST_FETCHED: usize = 256;

impl Gate {
    /// A task was parked in the store.
    pub(in crate::scheduler) fn has_parked(&mut self) {
        (self.parked, self.all_until, self.fetches_all) = (true, None, false);
    }

    /// Tasks are parked on this service in the store, and the circuits were heard of. Whoever parked them may be gone, and what
    /// nobody else asks for goes through a ramp as after any outage. `before` is the rate that others had.
    pub(in crate::scheduler) fn others_have_parked(&mut self, before: Option<f64>, now: Moment) {
        let is_open = self.breaker().is_some_and(|breaker| !breaker.is_closed());
        let flows = matches!(self.phase, Phase::Flowing);
        if self.parked || self.fetching > 0 || self.is_shut() || flows && is_open {
            return;
        }
        self.has_parked();
        if flows && self.ramps {
            self.before = self.steady.per_second(now).or(self.before).or(before);
            self.phase = Phase::Ramping(Box::new(Ramp::begin(self.before, now, now.as_nanos())));
        }
    }

    /// Circuits were heard of. A node that may probe and has nobody to do it asks for what others have parked: they wait for it,
    /// and parked them without a word. `before` is the rate that others had, for one that had none itself.
    pub(in crate::scheduler) fn others_may_have_parked(&mut self, before: Option<f64>) {
        if !matches!(self.phase, Phase::Flowing) {
            self.before = self.before.or(before);
        }
        let has_nobody = self.line.is_empty() && !self.parked && self.fetching == 0;
        if has_nobody && self.may_probe() {
            self.has_parked();
        }
    }

    /// Whether nobody who is parked in the store comes before this one.
    fn is_nearest(&self, place: &Place) -> bool {
        !self.parked || self.all_until.is_some_and(|until| place.rank <= until)
    }

    /// How many are to be taken from the store, and from which deadline on.
    pub(in crate::scheduler) fn wants(&self) -> Option<(usize, Time)> {
        if !self.parked || self.fetching > 0 {
            return None;
        }
        let wants = match &self.phase {
            Phase::Shut => 0,
            Phase::Flowing => self.most.saturating_sub(self.used + self.line.len()).min(MOST_FETCHED),
            Phase::Probing => {
                let known = self.nearest_fresh().is_some_and(|place| self.is_nearest(&place));
                let wants = self.may_probe() && !known;
                if wants { (1 + self.probed.len()).min(MOST_FETCHED) } else { 0 }
            }
            Phase::Ramping(ramp) => {
                let soon = (ramp.rate() * FETCHED_AHEAD.as_secs_f64()).ceil();
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is small")]
                let soon = (soon as usize).clamp(1, MOST_FETCHED);
                // Half a batch is left when the next one is asked for.
                let in_reach = self.line.in_reach(self.in_reach);
                let known = in_reach.take_while(|place| self.is_nearest(place)).take(soon).count();
                if known < soon.div_ceil(2) { soon } else { 0 }
            }
        };
        let from = if self.fetches_all { Time::from_millis(0) } else { self.in_reach };
        (wants > 0).then_some((wants, from))
    }

    pub(in crate::scheduler) fn fetches(&mut self, tasks: usize) {
        self.fetching = tasks;
    }

    /// Whether somebody is on the way from the store who may come before all that are here.
    pub(super) fn nearer_comes(&self) -> bool {
        let first = match self.phase {
            Phase::Probing => self.nearest_fresh(),
            _ => self.nearest(),
        };
        self.fetching > 0 && first.is_none_or(|first| !self.is_nearest(&first))
    }

    /// These came from the store, with their ranks; `None` if nobody knows.
    pub(in crate::scheduler) fn fetched(&mut self, came: Option<Vec<(TaskId, Rank)>>) {
        let asked = std::mem::take(&mut self.fetching);
        let Some(came) = came else { return };
        if came.len() < asked {
            // Those that can hardly be done in time have not come yet.
            self.parked = !self.fetches_all;
            self.fetches_all = true;
        }
        self.all_until = came.iter().map(|(_, rank)| *rank).max();
        self.back = came.into_iter().map(|(task, _)| task).collect();
    }
}
