//! A task in memory.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use steadfast_engine::{Dispatch, Event, Fan, Record, StepId, StepState, Task, TaskState, Time, UndoState};
use steadfast_store::{Audit, AuditId, MAX_PAYLOAD, Mail, MailId, Payload, Stored, TaskId};

use crate::message::Request;
use crate::order::Order;
use crate::reply::Replying;
use crate::service::Service;
use crate::trace::Trace;
use crate::workflow::{Known, Workflow};

/// Payloads up to this size are kept in memory with their task.
const SMALL: usize = 1_024;

/// Something that happened to a task.
#[derive(Clone, Debug)]
pub(crate) struct Happening {
    pub(crate) event: Event,
    /// A step's output.
    pub(crate) output: Option<Payload>,
    /// The mail that it came by.
    pub(crate) mail: Option<MailId>,
    /// What an operator has asked for, under this id.
    pub(crate) asked: Option<AuditId>,
    /// The parts of a list.
    pub(crate) list: Vec<Payload>,
}

impl Happening {
    pub(crate) fn of(event: Event) -> Self {
        Self { event, output: None, mail: None, asked: None, list: Vec::new() }
    }
}

pub(crate) struct Owned {
    pub(super) workflow: Arc<Workflow>,
    pub(super) namespace: Arc<str>,
    pub(super) priority: i8,
    /// As it will be once what is being written is durable.
    pub(super) task: Task,
    pub(super) epoch: u64,
    pub(super) revision: u64,
    /// The last mail that was taken in.
    pub(super) mail_seen: MailId,
    pub(super) known: Known,
    /// What happened and was not acted on.
    pub(super) waiting: VecDeque<Happening>,
    pub(super) saving: Option<Box<Saving>>,
    /// Conditions that are being read for: what they say comes to this copy.
    pub(super) judging: u32,
    /// To whom it replies, and how much it has told.
    pub(super) reply: Option<Box<Replying>>,
    /// The trace that it belongs to, if it does to one. `None` for one that was claimed: an attempt reads it with its input.
    pub(super) trace: Option<Option<Arc<Trace>>>,
}

/// A write that is under way.
#[derive(Default)]
pub(crate) struct Saving {
    /// What it acts on: should nobody know what became of it, that happens again.
    pub(super) acts_on: Vec<Happening>,
    /// What it makes possible.
    pub(super) dispatches: Vec<Dispatch>,
    pub(super) changed: Vec<StepId>,
    pub(super) state_changed: bool,
    pub(super) releases: bool,
    /// Whether it is parked on a service.
    pub(super) parks: bool,
    /// Whether somebody is told of it.
    pub(super) tells: bool,
    /// Whether whoever submitted it is.
    pub(super) replies: bool,
    /// What operators have asked for, and what becomes of it.
    pub(super) audits: Vec<Audit>,
}

impl Owned {
    pub(crate) fn new(workflow: Arc<Workflow>, stored: Stored) -> Self {
        Self {
            workflow,
            namespace: stored.namespace,
            priority: stored.priority,
            task: stored.task,
            epoch: stored.epoch,
            revision: stored.revision,
            mail_seen: stored.mail_read,
            known: Known::default(),
            waiting: VecDeque::new(),
            saving: None,
            judging: 0,
            reply: None,
            trace: None,
        }
    }

    /// The same, replying to whom it did before.
    pub(super) fn replying(self, kept: Option<&Payload>) -> Self {
        let reply = kept.and_then(|kept| Replying::unpack(kept)).map(Box::new);
        Self { reply, ..self }
    }

    pub(crate) fn workflow(&self) -> &Workflow {
        &self.workflow
    }

    pub(crate) fn task(&self) -> &Task {
        &self.task
    }

    /// The service that a step calls, or the step of an item.
    pub(super) fn service(&self, id: StepId) -> &Service {
        self.workflow.service(self.task.step_of(id))
    }

    /// What is in memory of what the code of a step may read. That of an item does not read of other items.
    pub(super) fn known(&self, of: StepId) -> Cow<'_, Known> {
        match self.task.head().fans() {
            fans if fans.is_empty() || of.item().is_some() => Cow::Borrowed(&self.known),
            fans => Cow::Owned(Known { fans: fans.to_vec(), ..self.known.clone() }),
        }
    }

    pub(super) fn is_saving(&self) -> bool {
        self.saving.is_some()
    }

    pub(super) fn keep_output(&mut self, step: StepId, output: &Payload) {
        self.known.outputs.retain(|(of, _)| *of != step);
        self.known.outputs.push((step, Arc::clone(output)));
    }

    /// Leaves what is large to the store, once it is there: until then nobody else could read it.
    pub(super) fn forget_large(&mut self) {
        self.known.input.take_if(|input| input.len() > SMALL);
        self.known.outputs.retain(|(_, output)| output.len() <= SMALL);
    }

    /// An attempt to make, at once.
    pub(super) fn order(&self, id: TaskId, dispatch: Dispatch) -> Order {
        let step = dispatch.step;
        let later =
            !dispatch.undo && self.task.rules(self.workflow.definition(), step).callback_within().is_some();
        Order {
            task: id,
            workflow: Arc::clone(&self.workflow),
            calls_used: self.task.step(step).calls,
            known: self.known(step).into_owned(),
            missing: self.missing(step, dispatch.undo),
            item: self.task.head().fan_of(step).copied(),
            edited: self.task.step(step).is_edited(),
            series: self.series(),
            turn: None,
            probes: false,
            asks: self.asks(&dispatch),
            callback: self.task.step(step).callback().open.filter(|_| later),
            trace: self.trace.clone().flatten(),
            dispatch,
        }
    }

    /// The attempt that a service answers later, as it was made; what of it is read has time until then.
    pub(crate) fn order_of_callback(&self, id: TaskId, step: StepId, complete_by: Time) -> Order {
        let record = self.task.step(step);
        let (attempt, round, series) = (record.attempt, record.rounds(), record.series());
        self.order(id, Dispatch { step, undo: false, attempt, complete_by, round, series, calls_left: None })
    }

    /// Events for what ran in a process that is dead; not for what runs in this one.
    pub(super) fn owner_died(&self, runs_here: impl Fn(StepId, u32) -> bool) -> Vec<Happening> {
        let ran = self
            .task
            .rows()
            .filter(|(step, record)| record.complete_by.is_some() && !runs_here(*step, record.attempt))
            .filter(|(step, _)| !self.task.awaits_callback(self.workflow.definition(), *step));
        ran.map(|(step, record)| Happening::of(Event::OwnerDied { step, attempt: record.attempt })).collect()
    }

    /// Events for the steps whose time has come.
    pub(super) fn due(&self, now: Time) -> Vec<Happening> {
        let due = self.waits().filter(|(_, time)| *time <= now);
        let due = due.map(|(step, _)| Happening::of(Event::Due { step }));
        let starts = self.starts_later().filter(|time| *time <= now);
        due.chain(starts.map(|_| Happening::of(Event::Claimed))).collect()
    }

    /// When it starts, if it has not begun.
    pub(super) fn starts_later(&self) -> Option<Time> {
        self.task.head().start_at().filter(|_| self.task.state() == TaskState::Pending)
    }

    /// When the next of them has to be looked at.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.waits().map(|(_, time)| time).chain(self.starts_later()).min()
    }

    /// The steps that go on at a time. Those on their way forward do not once the task is ending.
    fn waits(&self) -> impl Iterator<Item = (StepId, Time)> {
        let (ending, paused) = (self.task.head().ending.is_some(), self.task.head().paused().is_some());
        let goes_on = move |record: &Record| !paused && (!ending || record.undo != UndoState::None);
        let resting = self.task.rows().filter(move |(_, record)| goes_on(record));
        resting.filter_map(|(step, record)| record.not_before.map(|time| (step, time)))
    }

    /// Whether it is paused, and nothing of it runs in a process any more.
    pub(super) fn is_held_by_an_operator(&self) -> bool {
        self.task.head().paused().is_some() && self.judging == 0 && self.runs_elsewhere()
    }

    /// Whether nothing of it runs in a process, or could now.
    pub(super) fn only_waits(&self) -> bool {
        let head = self.task.head();
        let waits = head.ready == 0 && self.judging == 0;
        waits && (head.running > 0 || head.resting > 0) && self.runs_elsewhere()
    }

    /// Whether all that runs was taken on by services: it ends by mail, or by the supervisor.
    fn runs_elsewhere(&self) -> bool {
        let running = self.task.head().running;
        running == 0 || usize::try_from(running) == Ok(self.task.awaited(self.workflow.definition()))
    }

    /// When the time of the first of its steps is over that services have taken on.
    pub(super) fn awaited_until(&self) -> Option<Time> {
        let definition = self.workflow.definition();
        let awaited = self.task.rows().filter(|(step, _)| self.task.awaits_callback(definition, *step));
        awaited.filter_map(|(_, record)| record.complete_by).min()
    }

    /// The steps that are parked until their service lets them go.
    pub(super) fn parked(&self) -> impl Iterator<Item = StepId> {
        let ending = self.task.head().ending.is_some();
        let goes_on = move |record: &Record| match record.undo {
            UndoState::None => !ending && record.state == StepState::Parked,
            undo => undo == UndoState::Parked,
        };
        let parked = move |(_, record): &(StepId, &Record)| goes_on(record) && record.not_before.is_none();
        self.task.rows().filter(parked).map(|(step, _)| step)
    }

    /// Takes mail in that was not seen yet.
    pub(super) fn take_in(&mut self, mail: &Mail) {
        if mail.id <= self.mail_seen {
            return;
        }
        self.mail_seen = mail.id;
        let fits = |happening: &Happening| happening.output.as_ref().is_none_or(|it| it.len() <= MAX_PAYLOAD);
        let read = Request::unpack(&mail.body).map(Request::into_happening).filter(fits);
        let happening = read.unwrap_or_else(|| {
            tracing::warn!(task = %mail.task, "mail that nobody can read is put away");
            Happening::of(Event::Claimed)
        });
        // It was stored before anybody has written that something is due: it comes first.
        let is_due = |happening: &Happening| matches!(happening.event, Event::Due { .. });
        let place = self.waiting.iter().position(is_due).unwrap_or(self.waiting.len());
        self.waiting.insert(place, Happening { mail: Some(mail.id), ..happening });
    }

    /// What another task is asked for with, if that is what an attempt does.
    pub(super) fn asks(&self, dispatch: &Dispatch) -> Option<(Arc<str>, i8, bool)> {
        self.task.rules(self.workflow.definition(), dispatch.step).asks_for()?;
        let sure = dispatch.undo && !self.task.step(dispatch.step).may_have_happened;
        Some((Arc::clone(&self.namespace), self.priority, sure))
    }

    /// What the code of a step may read and is not in memory.
    pub(super) fn missing(&self, id: StepId, undo: bool) -> Vec<Option<StepId>> {
        let has = |of: &StepId| self.known.outputs.iter().any(|(known, _)| known == of);
        let step = self.task.step_of(id);
        let before = self.workflow.before(step).iter().copied();
        // An item does not see what became of the items of other steps: there may be thousands, and for each of its own kind.
        let items = id.item().is_none().then(|| self.items_before(step)).into_iter().flatten();
        let readable = before.chain(items).chain(undo.then_some(id));
        let outputs = readable.filter(|of| !has(of) && self.has_output(*of)).map(Some);
        let own = StepId::of_input(step);
        let edited = (self.task.step(id).is_edited() && !has(&own)).then_some(Some(own));
        let list = id.item().map(|item| Some(StepId::of_list(item)));
        let input = self.known.input.is_none().then_some(None);
        let trace = self.trace.is_none().then_some(Some(StepId::OF_TRACE));
        input.into_iter().chain(trace).chain(edited).chain(list).chain(outputs).collect()
    }

    /// The items of steps that come before this one.
    fn items_before(&self, step: StepId) -> impl Iterator<Item = StepId> {
        let before = self.workflow.before(step);
        let fans = self.task.head().fans().iter().filter(|fan| before.contains(&fan.step));
        fans.flat_map(Fan::items)
    }

    /// Whether a step has completed, also if it was or is being undone since, or an operator has given its output. One with
    /// items has none of its own.
    fn has_output(&self, step: StepId) -> bool {
        let record = self.task.step(step);
        if step.item().is_none() && self.workflow.definition().step(step).fans_out().is_some() {
            return record.is_by_hand();
        }
        let done = matches!(
            record.state,
            StepState::Completed | StepState::Undoing | StepState::UndoFailed | StepState::Undone
        );
        done || record.is_by_hand()
    }

    /// Steps that an operator has begun anew, under other keys.
    pub(super) fn series(&self) -> Vec<(StepId, u32)> {
        let steps = self.task.rows().filter(|(step, _)| step.item().is_none());
        let anew = steps.filter(|(_, record)| record.series() > 0);
        anew.map(|(step, record)| (step, record.series())).collect()
    }
}
