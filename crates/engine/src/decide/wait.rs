//! Steps that call nothing and wait, for a time or a signal; rounds of steps that are repeated.

use std::sync::Arc;
use std::time::Duration;

use super::Followed;
use super::draft::Draft;
use crate::definition::{StepId, Wait};
use crate::plan::{Ask, Ignored};
use crate::task::{Kept, NotTaken, StepState, Turn};
use crate::time::Time;

impl Draft<'_> {
    // ---- times ----

    /// A step waits until then; a time that has come is no wait.
    pub(super) fn wait_until(&mut self, id: StepId, until: Time) {
        match until > self.now {
            true => self.turn(id, Turn::Waits { since: self.now, until: Some(until) }),
            false => self.completed(id),
        }
    }

    /// The time was computed until which a step waits.
    pub(super) fn until(&mut self, id: StepId, at: Time) -> Followed {
        self.must_wait_for_judgement(id)?;
        if !self.definition.step(id).is_computed() {
            return Err(Ignored::NotNow);
        }
        self.wait_until(id, at);
        Ok(())
    }

    /// The time of a step has come that waits by its definition.
    pub(super) fn wait_is_over(&mut self, id: StepId, wait: &Wait) -> Followed {
        match wait {
            Wait::Time(_) => self.completed(id),
            // It came first, and only has to be read.
            Wait::Signal { .. } if self.head().kept_for(id).is_some() => {
                self.ask_for_kept(id);
            }
            Wait::Signal { or_none: true, .. } => self.completed(id),
            Wait::Signal { signal, timeout, .. } => {
                let time = timeout.unwrap_or_default();
                let why = format!("no-signal: `{signal}` did not come within {}", in_words(time));
                self.change(id, |record| {
                    record.failures = record.failures.saturating_add(1);
                    record.last_failure = Some(Arc::from(why));
                });
                self.give_up(id);
            }
        }
        Ok(())
    }

    // ---- signals ----

    /// A step waits for its signal; the oldest one that was kept is its own.
    pub(super) fn wait_for_signal(&mut self, id: StepId, timeout: Option<Duration>) {
        let until = timeout.map(|time| self.now + time);
        self.turn(id, Turn::Waits { since: self.now, until });
        let Some(signal) = self.definition.step(id).signal_name() else { return };
        let free = |kept: &&Kept| kept.step.is_none() && *kept.signal == *signal;
        if self.head().kept().iter().any(|kept| free(&kept)) {
            self.head_mut().change_more(|more| {
                if let Some(kept) = more.kept.iter_mut().find(|kept| free(&&**kept)) {
                    kept.step = Some(id);
                }
            });
            self.ask_for_kept(id);
        }
    }

    /// Asks for what the signal says that a step takes.
    pub(super) fn ask_for_kept(&mut self, step: StepId) {
        if let Some(kept) = self.head().kept_for(step) {
            let kept_at = kept.at;
            self.ask(Ask::Signal { step, kept_at });
        }
    }

    /// A signal ends the wait that began first, or is kept for one that has not begun.
    pub(super) fn signalled(&mut self, signal: &Arc<str>, id: Option<&Arc<str>>) -> Followed {
        if self.head().ending.is_some() {
            return Err(Ignored::Ending);
        }
        self.task().takes(self.definition, signal, id.map(|id| &**id)).map_err(|why| match why {
            NotTaken::Doubled => Ignored::Late,
            NotTaken::Unknown | NotTaken::Over => Ignored::NotNow,
        })?;
        if let Some(id) = id {
            self.head_mut().change_more(|more| more.seen.push(Arc::clone(id)));
        }
        let waits =
            |id: &StepId| self.record(*id).state == StepState::Waiting && self.head().kept_for(*id).is_none();
        let waiting = self.definition.waits_for(signal).filter(waits);
        match waiting.min_by_key(|id| (self.record(*id).since(), *id)) {
            Some(step) => {
                self.keeps = Some(step);
                self.completed(step);
            }
            None => {
                let taken = |at: &StepId| self.head().kept().iter().any(|kept| kept.at == *at);
                let at = (0..).map(StepId::of_signal).find(|at| !taken(at)).unwrap_or(StepId::of_signal(0));
                self.keeps = Some(at);
                let kept = Kept { signal: Arc::clone(signal), at, step: None };
                self.head_mut().change_more(|more| more.kept.push(kept));
            }
        }
        Ok(())
    }

    /// The signal that a step would have taken is there for the one that has waited longest, or for the next.
    pub(super) fn leave_signal(&mut self, id: StepId) {
        let Some(Kept { signal, at, .. }) = self.head().kept_for(id).cloned() else { return };
        let waits = |other: &StepId| {
            *other != id
                && self.record(*other).state == StepState::Waiting
                && self.head().kept_for(*other).is_none()
        };
        let waiting = self.definition.waits_for(&signal).filter(waits);
        let next = waiting.min_by_key(|other| (self.record(*other).since(), *other));
        self.head_mut().change_more(|more| {
            more.kept.iter_mut().filter(|kept| kept.at == at).for_each(|kept| kept.step = next);
        });
        if let Some(next) = next {
            self.ask_for_kept(next);
        }
    }

    /// What a kept signal says is there: the step that takes it is done.
    pub(super) fn taken(&mut self, id: StepId) -> Followed {
        let waits = self.record(id).state == StepState::Waiting && self.head().kept_for(id).is_some();
        if !waits || self.head().ending.is_some() {
            return Err(Ignored::NotNow);
        }
        self.head_mut().change_more(|more| more.kept.retain(|kept| kept.step != Some(id)));
        self.keeps = Some(id);
        self.completed(id);
        Ok(())
    }

    // ---- rounds ----

    /// A round of a repeated step is over, and it is not done: once more after a while, or it has failed.
    pub(super) fn not_yet(&mut self, id: StepId) {
        let repeat = self.definition.step(id).repeats();
        let rounds = self.change(id, |record| {
            record.change_more(|more| {
                more.rounds = more.rounds.saturating_add(1);
                more.callback.spend(None);
            });
            record.may_have_happened = false;
            record.rounds()
        });
        let again = repeat.filter(|repeat| repeat.at_most.is_none_or(|most| rounds < most));
        match again.filter(|_| self.head().ending.is_none()) {
            Some(repeat) => {
                self.change(id, |record| {
                    (record.failures, record.calls, record.owner_deaths) = (0, 0, 0);
                    record.last_failure = None;
                });
                self.wait(id, self.now + repeat.every);
            }
            None => {
                let why = format!("not-done: it was not done after {rounds} rounds");
                self.change(id, |record| {
                    record.failures = record.failures.saturating_add(1);
                    record.last_failure = Some(Arc::from(why));
                });
                self.give_up(id);
            }
        }
    }
}

/// A time for people: in its largest whole unit.
pub(crate) fn in_words(time: Duration) -> String {
    let millis = time.as_millis();
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")];
    match units.into_iter().find(|(unit, _)| millis >= *unit && millis.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{} {name}", millis / unit),
        None => format!("{millis} ms"),
    }
}
