//! The one place where states change.
//!
//! [`decide`] is total: any event may come in any state, and where it makes no sense there it changes nothing and says
//! so. It looks only at what changes: its cost does not grow with the steps that do not.

mod callback;
mod child;
mod draft;
mod each;
mod forward;
mod notice;
mod operate;
mod undo;
mod wait;

#[cfg(test)]
mod tests;

use draft::Draft;
pub(crate) use wait::in_words;

use crate::definition::{Definition, StepId};
use crate::event::{Answer, Event};
use crate::plan::{Ask, Ignored, Plan};
use crate::task::{Cause, End, Record, StepState, Task, TaskState, Token, UndoState};
use crate::time::Time;

/// What follows from an event.
#[must_use]
pub fn decide(definition: &Definition, task: &Task, event: &Event, now: Time) -> Plan {
    let mut draft = Draft::new(definition, task, now);
    let done = match event {
        Event::Asked { action, by, why } => draft.asked(*action, by, why),
        _ if task.state().is_at_rest() => Err(Ignored::Ended),
        _ if event.step().is_some_and(|id| !task.knows(definition, id)) => Err(Ignored::NoSuchStep),
        _ => draft.follow(event),
    };
    match done {
        Ok(()) => draft.finish(),
        Err(ignored) => Plan { ignored: Some(ignored), ..Plan::default() },
    }
}

/// `Err` for an event that changes nothing.
pub(crate) type Followed = Result<(), Ignored>;

impl Draft<'_> {
    fn follow(&mut self, event: &Event) -> Followed {
        match event {
            Event::Claimed => self.claimed(),
            Event::Judged { step, holds } => self.judged(*step, *holds),
            Event::Unjudged { step, why } => self.unjudged(*step, why),
            Event::Granted { step, token } => self.granted(*step, *token),
            Event::Refused { step, block, until } => self.refused(*step, block, *until),
            Event::Released { step } => self.released(*step),
            Event::Due { step } => self.due(*step),
            Event::Answered { step, attempt, answer } => self.answered(*step, *attempt, answer),
            Event::CalledBack { step, token, said, at, answer } => {
                self.called_back(*step, (*token, *said), *at, answer)
            }
            Event::TimedOut { step, attempt } => self.timed_out(*step, *attempt),
            Event::OwnerDied { step, attempt } => self.owner_died(*step, *attempt),
            Event::CutOff { step, attempt } => self.cut_off(*step, *attempt),
            Event::Until { step, at } => self.until(*step, *at),
            Event::Listed { step, items } => self.listed(*step, *items),
            Event::Signalled { signal, id } => self.signalled(signal, id.as_ref()),
            Event::Taken { step } => self.taken(*step),
            Event::Woken { step } => self.woken(*step),
            Event::Progressed { step, attempt } => self.progressed(*step, *attempt),
            Event::DeadlinePassed => self.deadline_passed(),
            Event::Cancelled { cause } => self.cancelled(cause),
            Event::Asked { action, by, why } => self.asked(*action, by, why),
        }
    }

    /// A task that begins unlocks its first steps; one that goes on asks again for whatever it waits for.
    fn claimed(&mut self) -> Followed {
        self.must_not_be_paused()?;
        if self.head().state == TaskState::Pending {
            match self.head().start_at() {
                Some(time) if self.now < time => return Err(Ignored::NotDue),
                Some(_) => self.head_mut().change_more(|more| more.start_at = None),
                None => {}
            }
            self.head_mut().state = TaskState::Running;
            for id in self.definition.ids().filter(|id| self.definition.before(*id).is_empty()) {
                self.unlock(id);
            }
            return Ok(());
        }
        self.ask_for_all();
        Ok(())
    }

    /// Asks for whatever the task waits for, and begins what has its turn.
    fn ask_for_all(&mut self) {
        let ending = self.head().ending.is_some();
        let items: Vec<_> = self.task().rows().map(|(id, _)| id).filter(|id| id.item().is_some()).collect();
        for id in self.definition.ids().chain(items) {
            let record = self.record(id);
            match (record.undo, record.state) {
                (UndoState::Ready, _) => self.ask(Ask::Permit(id)),
                (UndoState::None, StepState::Ready) if !ending => self.ask(Ask::Permit(id)),
                (UndoState::Parked, _) if record.not_before.is_none() => self.ask(Ask::Permit(id)),
                (UndoState::None, StepState::Parked) if !ending && record.not_before.is_none() => {
                    self.ask(Ask::Permit(id));
                }
                (UndoState::None, StepState::Pending) if !ending && self.is_unlocked(id) => {
                    self.have_its_turn(id);
                }
                (UndoState::None, StepState::Waiting) if !ending && id.item().is_none() => {
                    self.ask_for_kept(id);
                    self.advance(id);
                }
                _ => {}
            }
        }
    }

    /// Begins an attempt of a step or of its undo.
    fn granted(&mut self, id: StepId, token: Token) -> Followed {
        self.must_not_be_paused()?;
        self.must_be_ready(id)?;
        match self.record(id).is_undoing() {
            true => self.begin_undo(id),
            false => self.begin(id, token),
        }
    }

    /// One that is parked already may be told again, and for another reason.
    fn refused(&mut self, id: StepId, block: &crate::event::Block, until: Option<Time>) -> Followed {
        self.must_be_ready(id)?;
        self.must_go_on(id)?;
        self.park(id, block.clone(), until);
        Ok(())
    }

    fn released(&mut self, id: StepId) -> Followed {
        if !self.record(id).is_parked() {
            return Err(Ignored::NotNow);
        }
        self.must_go_on(id)?;
        self.make_ready(id);
        Ok(())
    }

    fn due(&mut self, id: StepId) -> Followed {
        self.must_not_be_paused()?;
        if self.record(id).busy() != crate::task::Busy::Resting {
            return Err(Ignored::NotNow);
        }
        if self.record(id).not_before.is_none_or(|time| self.now < time) {
            return Err(Ignored::NotDue);
        }
        self.must_go_on(id)?;
        match self.rules(id).wait().cloned() {
            Some(wait) => self.wait_is_over(id, &wait),
            None => {
                self.make_ready(id);
                Ok(())
            }
        }
    }

    /// Nothing begins while an operator holds the task.
    fn must_not_be_paused(&self) -> Followed {
        if self.head().paused().is_some() { Err(Ignored::Paused) } else { Ok(()) }
    }

    /// A step on its way forward does not begin once the task is ending.
    fn must_go_on(&self, id: StepId) -> Followed {
        let stops = self.head().ending.is_some() && !self.record(id).is_undoing();
        if stops { Err(Ignored::Ending) } else { Ok(()) }
    }

    /// It waits for nothing but its service.
    fn must_be_ready(&self, id: StepId) -> Followed {
        let record = self.record(id);
        let parked = record.is_parked() && record.not_before.is_none();
        let ready = record.busy() == crate::task::Busy::Ready || parked;
        if ready { Ok(()) } else { Err(Ignored::NotNow) }
    }

    /// The attempt under way, if it is this one.
    fn must_run(&self, id: StepId, attempt: u32) -> Result<&Record, Ignored> {
        let record = self.record(id);
        if record.is_running() && record.attempt == attempt { Ok(record) } else { Err(Ignored::Late) }
    }

    /// An answer to the attempt under way counts, whoever owns the task by now; one after its complete-by does not.
    fn answered(&mut self, id: StepId, attempt: u32, answer: &Answer) -> Followed {
        let record = self.must_run(id, attempt)?;
        if record.complete_by.is_some_and(|time| self.now >= time) {
            return Err(Ignored::Late);
        }
        match (record.is_undoing(), answer) {
            // It has said so before: from then on the service answers, and no agent.
            (false, _) if self.awaits_callback(id) => return Err(Ignored::Late),
            (false, answer) => return self.forward_answer(id, answer),
            (true, Answer::NotYet) if self.rules(id).asks_for().is_some() => self.child_goes_on(id),
            // An undo has no rounds: it is done.
            (true, Answer::Completed | Answer::NotYet) => self.undone(id),
            (true, Answer::Unheard) => self.undo_silent(id, NO_HEARTBEAT),
            (true, Answer::Failed(failure)) => self.undo_failed(id, failure),
            (true, Answer::NotMade { block, until }) => self.not_made(id, block, *until),
            (true, Answer::Later { .. }) => return Err(Ignored::NotNow),
        }
        Ok(())
    }

    /// What an attempt on its way forward has come to.
    fn forward_answer(&mut self, id: StepId, answer: &Answer) -> Followed {
        match answer {
            Answer::NotYet if self.rules(id).asks_for().is_some() => self.child_goes_on(id),
            Answer::NotYet if self.rules(id).repeats().is_some() => self.not_yet(id),
            Answer::Completed | Answer::NotYet => {
                self.keeps = Some(id);
                self.completed(id);
            }
            Answer::Unheard => self.silent(id, NO_HEARTBEAT),
            Answer::Failed(failure) => self.failed(id, failure),
            Answer::NotMade { block, until } => self.not_made(id, block, *until),
            Answer::Later { calls } => return self.taken_on(id, *calls),
        }
        Ok(())
    }

    /// How far an attempt has come is stored for as long as it runs, and changes nothing.
    fn progressed(&mut self, id: StepId, attempt: u32) -> Followed {
        self.must_run(id, attempt)?;
        self.keeps = Some(StepId::of_progress(id));
        Ok(())
    }

    fn timed_out(&mut self, id: StepId, attempt: u32) -> Followed {
        let record = self.must_run(id, attempt)?;
        if record.complete_by.is_none_or(|time| self.now < time) {
            return Err(Ignored::NotDue);
        }
        match record.is_undoing() {
            true => self.undo_silent(id, NO_ANSWER),
            false if self.awaits_callback(id) => self.silent(id, NO_CALLBACK),
            false => self.silent(id, NO_ANSWER),
        }
        Ok(())
    }

    /// What ran in a process that died has an unknown outcome, at once.
    fn owner_died(&mut self, id: StepId, attempt: u32) -> Followed {
        let undoing = self.must_run(id, attempt)?.is_undoing();
        self.must_be_in_a_process(id)?;
        if self.only_looks(id) {
            return self.cut_off(id, attempt);
        }
        let deaths = self.change(id, |record| {
            record.owner_deaths += 1;
            record.owner_deaths
        });
        match (undoing, deaths >= MAX_OWNER_DEATHS) {
            (true, true) => self.give_undo_up(id),
            (true, false) => self.undo_silent(id, OWNER_DIED),
            (false, true) => {
                self.unknown(id);
                match self.head().fan_of(id).map(|fan| fan.step) {
                    Some(step) => self.items_failed(id, End::Fail, Cause::OwnerDied(step)),
                    None => self.end(End::Fail, Cause::OwnerDied(id)),
                }
            }
            (false, false) => self.silent(id, OWNER_DIED),
        }
        Ok(())
    }

    /// What was cut off is made again where it may be. It counts as no failure: nothing of it is the step's.
    fn cut_off(&mut self, id: StepId, attempt: u32) -> Followed {
        let undoing = self.must_run(id, attempt)?.is_undoing();
        self.must_be_in_a_process(id)?;
        match undoing {
            true => self.make_ready(id),
            false => self.interrupted(id),
        }
        Ok(())
    }

    /// What a service has taken on does not end with a process.
    fn must_be_in_a_process(&self, id: StepId) -> Followed {
        if self.awaits_callback(id) { Err(Ignored::NotNow) } else { Ok(()) }
    }

    fn deadline_passed(&mut self) -> Followed {
        if self.head().deadline.is_none_or(|time| self.now < time) {
            return Err(Ignored::NotDue);
        }
        if self.head().ending.is_some() {
            return Err(Ignored::Ending);
        }
        self.end(End::Undo, Cause::Deadline);
        Ok(())
    }

    pub(crate) fn cancelled(&mut self, cause: &Cause) -> Followed {
        if self.head().ending.is_some() {
            return Err(Ignored::Ending);
        }
        if self.head().no_return {
            return Err(Ignored::NoReturn);
        }
        self.end(End::Undo, cause.clone());
        Ok(())
    }
}

/// How often a process may die under a step before an operator has to look: it may be the killer.
pub(crate) const MAX_OWNER_DEATHS: u32 = 3;
/// How an attempt failed that did not answer in time.
const NO_ANSWER: &str = "no-answer: it did not answer by its complete-by";
/// How an attempt failed whose service did not call back in time.
const NO_CALLBACK: &str = "no-callback: its service took it on, and did not call back in time";
/// How an attempt failed that was not heard of in time.
const NO_HEARTBEAT: &str = "no-heartbeat: it was not heard of in time";
/// How an attempt failed that ran in a process that is dead.
const OWNER_DIED: &str = "owner-died: the process died while it ran";
