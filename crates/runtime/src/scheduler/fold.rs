//! What follows from what happened: events are folded into one write.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::{
    Action, Ask, CHUNK, Dispatch, Event, Ignored, MAX_STEPS, Notice, Plan, Record, StepId, StepState,
    TaskState, Time, decide,
};
use steadfast_store::{Audit, Guard, Hold, Labels, MailId, Payload, Store, TaskId, Write};

use super::Inbox;
use super::Scheduler;
use super::owned::{Happening, Owned, Saving};
use crate::alert::of_task;
use crate::audit::audit_of;
use crate::handler::words_of;
use crate::judge::{judge, list, until};
use crate::stats::count;
use crate::workflow::Known;

/// How long a task is put away that cannot go on.
const PUT_AWAY: Duration = Duration::from_secs(60);

/// What a fold has come to.
#[derive(Default)]
pub(super) struct Folded {
    pub(super) acts_on: Vec<Happening>,
    pub(super) changed: BTreeSet<StepId>,
    pub(super) head_changed: bool,
    pub(super) state_changed: bool,
    pub(super) outputs: Vec<(StepId, Payload)>,
    pub(super) mail_read: Option<MailId>,
    pub(super) dispatches: Vec<Dispatch>,
    /// Whether it decides that something has not come: mail that came first wins.
    pub(super) minds_mail: bool,
    pub(super) notices: Vec<Notice>,
    /// What operators have asked for.
    pub(super) audits: Vec<Audit>,
}

impl Folded {
    /// What is to be stored at a place, in the place of what was. Labels are changes, of which each counts.
    fn keep(&mut self, at: StepId, output: Payload) {
        let before =
            self.outputs.iter().position(|(of, _)| *of == at).map(|place| self.outputs.remove(place).1);
        let output = match before.filter(|_| at == StepId::OF_LABELS) {
            Some(before) => Labels::read(&before).followed_by(Labels::read(&output)).pack(),
            None => output,
        };
        self.outputs.push((at, output));
    }
}

impl<S: Store> Scheduler<S> {
    /// Goes on with all tasks to which something happened.
    pub(super) fn go_on(&mut self) {
        while !self.dirty.is_empty() || !self.to_serve.is_empty() {
            for service in std::mem::take(&mut self.to_serve) {
                self.serve(&service);
            }
            for task in std::mem::take(&mut self.dirty) {
                let Some(mut owned) = self.owned.remove(&task) else { continue };
                if !owned.is_saving() && (!owned.waiting.is_empty() || owned.only_waits()) {
                    let folded = catch_unwind(AssertUnwindSafe(|| self.fold(task, &mut owned)));
                    match folded {
                        Ok(folded) => self.save(task, &mut owned, folded),
                        Err(panic) => {
                            self.cannot_go_on(task, owned, &words_of(&*panic));
                            continue;
                        }
                    }
                }
                self.owned.insert(task, owned);
            }
        }
    }

    /// A task that breaks the rules themselves: it must not take the others with it. It is put away, and tried again later.
    fn cannot_go_on(&mut self, id: TaskId, mut owned: Owned, words: &str) {
        tracing::error!(task = %id, workflow = %owned.workflow.name(), "a task cannot go on: {words}");
        self.shared.watchers.holds(id, false);
        self.give_places_back(id, &mut owned);
        let guard = Guard { epoch: owned.epoch, revision: owned.revision, mail: None };
        let write = Write::of(&Plan::default(), id, guard);
        self.out.write(Write { hold: Hold::Release(self.shared.now() + PUT_AWAY), ..write });
    }

    /// Acts on everything that happened to a task.
    pub(super) fn fold(&mut self, id: TaskId, owned: &mut Owned) -> Folded {
        let mut folded = Folded::default();
        let before = owned.task.head().clone();
        while let Some(happening) = owned.waiting.pop_front() {
            folded.mail_read = folded.mail_read.max(happening.mail);
            // The time is asked for each: it must not be earlier than what the event came from.
            let now = self.shared.now();
            let plan = match belongs_to_its_parent(owned, &happening.event) {
                true => Plan::refused(Ignored::OfParent),
                false => decide(owned.workflow.definition(), &owned.task, &happening.event, now),
            };
            folded.audits.extend(audit_of(id, owned, &happening, &plan));
            if let Some(ignored) = plan.ignored() {
                self.ignored(id, owned, &happening.event, ignored);
            }
            let could_be_called = could_be_called_back(owned, &happening.event);
            owned.task.apply(&plan);
            folded.changed.extend(plan.steps().iter().map(|(step, _)| *step));
            folded.dispatches.extend_from_slice(plan.dispatches());
            folded.notices.extend_from_slice(plan.notices());
            folded.minds_mail |= gives_up_a_signal(owned, &happening.event, &plan);
            folded.minds_mail |= could_be_called
                .is_some_and(|step| !owned.task.may_be_called_back(owned.workflow.definition(), step));
            let brought = plan.keeps().zip(happening.output.clone());
            let without = without_output(owned, &plan, happening.output.is_some());
            for (at, output) in brought.into_iter().chain(without) {
                // How far an attempt has come is for the next one, which reads it from the store. Of items there are too many.
                if at.ordinal() < 2 * MAX_STEPS {
                    owned.keep_output(at, &output);
                }
                folded.keep(at, output);
            }
            if let Event::Listed { step, .. } = happening.event
                && let Some(fan) = owned.task.head().fan(step).filter(|_| plan.ignored().is_none())
            {
                let places = fan.items().filter_map(StepId::item).step_by(CHUNK).map(StepId::of_list);
                folded.outputs.extend(places.zip(happening.list.iter().cloned()));
            }
            folded.acts_on.push(happening);
            for ask in plan.asks() {
                self.answer(id, owned, *ask);
            }
        }
        folded.head_changed = *owned.task.head() != before;
        folded.state_changed = owned.task.state() != before.state;
        folded
    }

    fn ignored(&mut self, id: TaskId, owned: &Owned, event: &Event, _why: Ignored) {
        match event {
            Event::Answered { .. } | Event::CalledBack { .. } => count(&self.shared.counters.late_answers),
            // The place that was taken for it is free again.
            Event::Granted { step, .. } => self.free_place(owned.service(*step).name(), id, *step),
            _ => {}
        }
    }

    /// Finds out what a task has to know, where that can be known now.
    fn answer(&mut self, id: TaskId, owned: &mut Owned, ask: Ask) {
        match ask {
            Ask::Condition(step) => {
                let missing = owned.missing(step, false);
                if missing.is_empty() {
                    let event = judge(&owned.workflow, step, &owned.known(step));
                    owned.waiting.push_front(Happening::of(event));
                } else {
                    self.judge_later(id, owned, step, missing);
                }
            }
            Ask::Until(step) => {
                let missing = owned.missing(step, false);
                if missing.is_empty() {
                    let event = until(&owned.workflow, step, &owned.known(step));
                    owned.waiting.push_front(Happening::of(event));
                } else {
                    self.compute_later(id, owned, step, missing);
                }
            }
            Ask::List(step) => {
                let missing = owned.missing(step, false);
                if missing.is_empty() {
                    let happening = list(&owned.workflow, step, &owned.known(step));
                    owned.waiting.push_front(happening);
                } else {
                    let workflow = Arc::clone(&owned.workflow);
                    self.read_first((id, step), owned, missing, move |known| {
                        Some(list(&workflow, step, known))
                    });
                }
            }
            Ask::Signal { step, kept_at } => match owned.known.kept(kept_at) {
                Some(says) => owned.waiting.push_front(taken(step, says)),
                None => self.read_signal(id, owned, step, kept_at),
            },
            Ask::Permit(_) if self.is_stopping() => {}
            Ask::Permit(step) if self.must_run_apart(id, owned, step) => {
                owned.waiting.push_front(self.runs_later(id, step));
            }
            Ask::Permit(step) => {
                if let Some(event) = self.ask_for_place(id, owned, step) {
                    owned.waiting.push_front(Happening::of(event));
                }
            }
        }
    }

    /// A condition or a time was evaluated that needed reading, or a signal was read.
    pub(super) fn judged(&mut self, id: TaskId, happening: Happening) {
        if let Some(owned) = self.owned.get_mut(&id) {
            owned.judging = owned.judging.saturating_sub(1);
        }
        self.happened(id, happening);
    }

    /// Reads what a condition needs, then judges.
    fn judge_later(&self, id: TaskId, owned: &mut Owned, step: StepId, missing: Vec<Option<StepId>>) {
        let workflow = Arc::clone(&owned.workflow);
        self.read_first((id, step), owned, missing, move |known| {
            Some(Happening::of(judge(&workflow, step, known)))
        });
    }

    /// Reads what a time is computed from, then computes it.
    fn compute_later(&self, id: TaskId, owned: &mut Owned, step: StepId, missing: Vec<Option<StepId>>) {
        let workflow = Arc::clone(&owned.workflow);
        self.read_first((id, step), owned, missing, move |known| {
            Some(Happening::of(until(&workflow, step, known)))
        });
    }

    /// Reads what a kept signal says.
    fn read_signal(&self, id: TaskId, owned: &mut Owned, step: StepId, kept_at: StepId) {
        let read = move |known: &Known| known.kept(kept_at).map(|says| taken(step, says));
        self.read_first((id, step), owned, vec![Some(kept_at)], read);
    }

    /// Reads what is missing, then tells what follows.
    fn read_first(
        &self,
        (id, step): (TaskId, StepId),
        owned: &mut Owned,
        missing: Vec<Option<StepId>>,
        follows: impl FnOnce(&Known) -> Option<Happening> + Send + 'static,
    ) {
        owned.judging += 1;
        let (shared, mut known) = (Arc::clone(&self.shared), owned.known(step).into_owned());
        tokio::spawn(async move {
            if known.read(&shared, id, missing, Time::from_millis(u64::MAX)).await.is_some()
                && let Some(happening) = follows(&known)
            {
                shared.tell(Inbox::Judged(id, happening));
            }
        });
    }

    /// Queues the write that a fold has come to, if there is something to write.
    fn save(&mut self, id: TaskId, owned: &mut Owned, folded: Folded) {
        let (hold, parked_on) = self.hold_after(owned, &folded);
        let nothing = !folded.head_changed
            && folded.changed.is_empty()
            && folded.mail_read.is_none()
            && folded.outputs.is_empty();
        if nothing && hold == Hold::Keep {
            self.watch_the_time(id, owned);
            return;
        }
        let (folded, replies) = self.reply(id, owned, folded);
        let tells_back = !replies.is_empty();
        let steps = folded.changed.iter().map(|step| (*step, owned.task.step(*step).clone())).collect();
        // What was asked of it before it comes to rest is still acted on, and a signal that came before its timeout.
        let minds_mail = folded.minds_mail || owned.task.state().is_at_rest();
        let mail = minds_mail.then_some(owned.mail_seen);
        let mut messages = of_task(&self.shared, id, &owned.workflow, &owned.task, &folded.notices);
        messages.extend(replies);
        let write = Write {
            task: id,
            guard: Guard { epoch: owned.epoch, revision: owned.revision, mail },
            head: folded.head_changed.then(|| owned.task.head().clone()),
            steps,
            outputs: folded.outputs,
            mail_read: folded.mail_read,
            hold,
            parked_on: parked_on.clone(),
            messages,
            audits: folded.audits.clone(),
        };
        owned.saving = Some(Box::new(Saving {
            acts_on: folded.acts_on,
            dispatches: folded.dispatches,
            changed: folded.changed.into_iter().collect(),
            state_changed: folded.state_changed,
            releases: hold != Hold::Keep,
            parks: parked_on.is_some(),
            tells: !folded.notices.is_empty(),
            replies: tells_back,
            audits: folded.audits,
        }));
        self.out.write(write);
    }

    /// A task that has nothing to do for long is put out of memory; the service that it waits for, if that is why.
    fn hold_after(&self, owned: &Owned, folded: &Folded) -> (Hold, Option<Arc<str>>) {
        if let Some(start_at) = owned.starts_later().filter(|_| owned.waiting.is_empty()) {
            let later = start_at > self.shared.now();
            return (if later { Hold::Release(start_at) } else { Hold::Keep }, None);
        }
        if !folded.dispatches.is_empty() || !owned.waiting.is_empty() {
            return (Hold::Keep, None);
        }
        // One that is paused waits for somebody, who writes to it.
        if owned.is_held_by_an_operator() {
            return (Hold::Release(Time::from_millis(u64::MAX)), None);
        }
        if !owned.only_waits() {
            return (Hold::Keep, None);
        }
        let far = self.shared.now() + self.shared.settings.release_after;
        match (owned.parked().next(), owned.next_due()) {
            (Some(_), _) => match self.waits_at_gate(owned) {
                Some((service, until)) => (Hold::Release(until), service),
                None => (Hold::Keep, None),
            },
            // A service is likely to call back soon.
            (None, _) if owned.awaited_until().is_some_and(|until| until <= far) => (Hold::Keep, None),
            (None, Some(due)) if due > far => (Hold::Release(due), None),
            // It waits for a signal or a callback, which comes by mail.
            (None, None) => (Hold::Release(Time::from_millis(u64::MAX)), None),
            _ => (Hold::Keep, None),
        }
    }

    pub(super) fn watch_the_time(&mut self, id: TaskId, owned: &Owned) {
        if let Some(due) = owned.next_due() {
            self.timers.push(std::cmp::Reverse((due, id)));
        }
    }
}

/// Steps that waited and have ended without an output: it is nothing, as JSON has it.
fn without_output(owned: &Owned, plan: &Plan, brought: bool) -> Vec<(StepId, Payload)> {
    let definition = owned.workflow.definition();
    let waited = |(step, record): &&(StepId, Record)| {
        let ended = record.state == StepState::Completed && !(brought && plan.keeps() == Some(*step));
        ended && owned.task.rules(definition, *step).wait().is_some()
    };
    let nothing = |(step, _): &(StepId, Record)| (*step, Payload::from(b"null".as_slice()));
    plan.steps().iter().filter(waited).map(nothing).collect()
}

/// Whether somebody else than its parent asks for the undo of a task that has given its parent what it asked for.
fn belongs_to_its_parent(owned: &Owned, event: &Event) -> bool {
    let Event::Asked { action: Action::Undo, by, .. } = event else { return false };
    let parent = owned.reply.as_ref().and_then(|reply| reply.parent());
    let by_another = |parent: TaskId| **by != *crate::child::asks_as(parent);
    owned.task.state() == TaskState::Completed && parent.is_some_and(by_another)
}

/// Whether it decides that a signal has not come.
fn gives_up_a_signal(owned: &Owned, event: &Event, plan: &Plan) -> bool {
    let Event::Due { step } = event else { return false };
    let signal = owned.task.rules(owned.workflow.definition(), *step).signal_name();
    signal.is_some() && plan.ignored().is_none() && owned.task.step(*step).state != StepState::Waiting
}

/// The step that an event is of, if its service may call back for the attempt under way, and this is something else. What ends that
/// attempt minds mail: a callback that is stored already came first.
fn could_be_called_back(owned: &Owned, event: &Event) -> Option<StepId> {
    let step = event.step().filter(|_| !matches!(event, Event::CalledBack { .. }))?;
    owned.task.may_be_called_back(owned.workflow.definition(), step).then_some(step)
}

/// What a kept signal says, for the step that takes it.
fn taken(step: StepId, says: Payload) -> Happening {
    Happening { output: Some(says), ..Happening::of(Event::Taken { step }) }
}
