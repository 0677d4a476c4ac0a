//! What is told of a task: part of the write that brings it about.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use steadfast_engine::{MAX_STEPS, Notice, StepId, Task, TaskState, Time};
use steadfast_store::{Addressed, OutboxKind, Outgoing, Payload, ReplyPlace, TaskId};

use super::address::waiting_step;
use super::{Body, ReplyTo, Word};
use crate::message::Request;
use crate::workflow::Workflow;

/// To whom a task replies, and how much it has told. Kept with the task at [`StepId::OF_REPLIES`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Replying {
    to: Arc<str>,
    correlation: Option<Arc<str>>,
    told: u64,
}

/// What a write has to tell, and of which task.
pub(crate) struct Telling<'a> {
    pub(crate) task: TaskId,
    pub(crate) workflow: &'a Workflow,
    /// As it is after the write.
    pub(crate) rows: &'a Task,
    pub(crate) now: Time,
    /// Progress is left out where so many wait.
    pub(crate) most: u64,
}

impl Replying {
    pub(crate) fn new(to: &ReplyTo, correlation: Option<Arc<str>>) -> Self {
        Self { to: Arc::clone(to.text()), correlation, told: 0 }
    }

    pub(crate) fn pack(&self) -> Payload {
        // Packing into memory fails for no value of this type.
        postcard::to_stdvec(self).map(Payload::from).unwrap_or_default()
    }

    pub(crate) fn unpack(kept: &[u8]) -> Option<Self> {
        postcard::from_bytes(kept).ok()
    }

    /// What is stored with a submission, once all that it tells was told.
    pub(crate) fn place(&self, most: u64) -> ReplyPlace {
        ReplyPlace { address: Arc::clone(&self.to), kept: self.pack(), most }
    }

    /// The task that has asked for this one, if one has.
    pub(crate) fn parent(&self) -> Option<TaskId> {
        waiting_step(&self.to).map(|(task, _)| task)
    }

    /// The task is stored. One that has asked for it needs no word of that.
    pub(crate) fn received(&mut self, task: TaskId, workflow: &Arc<str>) -> Option<Outgoing> {
        self.parent().is_none().then(|| self.message(task, workflow, Word::Received, None, None))
    }

    /// Mail to the task that has asked for this one: it has ended.
    fn wakes(&self, telling: &Telling<'_>, state_changed: bool) -> Vec<Outgoing> {
        let ended = matches!(telling.rows.state(), TaskState::Completed | TaskState::Undone);
        let Some((parent, step)) = waiting_step(&self.to).filter(|_| ended && state_changed) else {
            return Vec::new();
        };
        let body = Request::ChildEnded { step }.pack();
        vec![Outgoing { task: Some(parent), kind: OutboxKind::Mail, key: None, body, to: None }]
    }

    /// The task could not be taken.
    pub(crate) fn not_taken(&mut self, task: TaskId, workflow: &Arc<str>, reason: &str) -> Outgoing {
        self.message(task, workflow, Word::Failed, Some(reason), None)
    }

    /// The messages that go with a write: an end if it comes to one, otherwise how far attempts have come.
    pub(crate) fn tell(
        &mut self,
        telling: &Telling<'_>,
        (state_changed, notices): (bool, &[Notice]),
        outputs: &[(StepId, Payload)],
    ) -> Vec<Outgoing> {
        if self.parent().is_some() {
            return self.wakes(telling, state_changed);
        }
        let name = telling.workflow.name();
        let failed = notices.iter().any(|notice| matches!(notice, Notice::TaskFailed { .. }));
        let reason = || telling.rows.in_words(telling.workflow.definition(), telling.now);
        match telling.rows.state() {
            TaskState::Failed if failed || state_changed => {
                vec![self.message(telling.task, name, Word::Failed, Some(&reason()), None)]
            }
            TaskState::Undone if state_changed => {
                vec![self.message(telling.task, name, Word::Undone, Some(&reason()), None)]
            }
            TaskState::Completed if state_changed => {
                let result = telling.workflow.result();
                vec![self.message(telling.task, name, Word::Completed, None, result)]
            }
            _ => outputs.iter().filter_map(|(place, _)| self.progress(telling, *place)).collect(),
        }
    }

    fn progress(&mut self, telling: &Telling<'_>, place: StepId) -> Option<Outgoing> {
        let step = place.ordinal().checked_sub(2 * MAX_STEPS).filter(|step| *step < MAX_STEPS)?;
        let definition = telling.workflow.definition();
        let step = definition.ids().nth(step).map(|step| definition.step(step).name().to_owned())?;
        let mut message =
            self.message(telling.task, telling.workflow.name(), Word::Progress, None, Some(place));
        message.body = self.body(telling.workflow.name(), Word::Progress, None, Some(step));
        message.to.iter_mut().for_each(|to| to.unless = Some(telling.most));
        Some(message)
    }

    fn message(
        &mut self,
        task: TaskId,
        workflow: &Arc<str>,
        says: Word,
        reason: Option<&str>,
        brings: Option<StepId>,
    ) -> Outgoing {
        self.told += 1;
        let address = Arc::clone(&self.to);
        let to = Some(Box::new(Addressed { address, number: self.told, brings, unless: None }));
        let body = self.body(workflow, says, reason.map(clipped), None);
        Outgoing { task: Some(task), kind: OutboxKind::Reply, key: None, body, to }
    }

    fn body(&self, workflow: &Arc<str>, says: Word, reason: Option<String>, step: Option<String>) -> Payload {
        let (workflow, correlation) = (Arc::clone(workflow), self.correlation.clone());
        let body = Body { workflow, correlation, says, step, reason };
        serde_json::to_vec(&body).map(Payload::from).unwrap_or_default()
    }
}

/// The most bytes of a reason: what a service said may be long.
const MOST_WORDS: usize = 4_096;

fn clipped(words: &str) -> String {
    let end = (0..=MOST_WORDS.min(words.len())).rev().find(|end| words.is_char_boundary(*end));
    words[..end.unwrap_or(0)].to_owned()
}
