//! A task with everything that belongs to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use steadfast_engine::{Head, MAX_STEPS, Record, StepId, Time};

use crate::error::Error;
use crate::house::{Finding, FindingKind};
use crate::id::{AuditId, NodeId};
use crate::record::{Entry, MailId, Payload, Stored, check_size};
use crate::{MAX_ENVELOPE, MAX_KEY, MAX_PAYLOAD};

/// A task with everything that belongs to it, as it was at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole {
    /// Its rows.
    pub stored: Stored,
    /// What is stored beside them, by place: the input (`None`), outputs of steps, and what is kept beyond the steps.
    pub payloads: Vec<(Option<StepId>, Payload)>,
    /// What happened to it, oldest first.
    pub history: Vec<Entry>,
    /// All of its mail, oldest first.
    pub mail: Vec<Letter>,
}

/// Mail of a task, read or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// Its place.
    pub id: MailId,
    /// What it says.
    pub body: Payload,
    /// What an operator asked under this id.
    pub asked: Option<AuditId>,
}

/// What became of a task that was brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Brought {
    /// It is stored.
    New,
    /// It was there already, as it is here or further on. Nothing was changed.
    Seen,
    /// It cannot be stored, for this reason. Nothing was changed.
    Refused(String),
}

impl Whole {
    /// The task as a store has it that it comes into. Nobody works on it. What ran has an owner that is gone, so that whoever claims
    /// it is told so; what was parked is looked at anew, since circuits are those of another place.
    #[must_use]
    pub fn arriving(mut self) -> Self {
        let stored = &mut self.stored;
        // What somebody held, or was parked, is due at once.
        if stored.owner.is_some() | stored.parked_on.take().is_some() {
            stored.wake_at = Time::from_millis(0);
        }
        stored.owner = (stored.task.head().running > 0).then_some(NodeId::GONE);
        self
    }

    /// About what it takes, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        /// Of an entry or a row beside its payloads.
        const ROW: usize = 128;
        let bodies = self.payloads.iter().map(|(_, body)| body.len());
        let bodies: usize = bodies.chain(self.mail.iter().map(|mail| mail.body.len())).sum();
        bodies + ROW * (self.history.len() + self.stored.task.steps().len() + self.mail.len() + 4)
    }

    /// Whether it is within the limits that all stores have.
    ///
    /// # Errors
    /// What is too large, and by how much.
    pub fn check_sizes(&self) -> Result<(), Error> {
        check_size("a key", self.stored.key.as_ref().map_or(0, |key| key.len()), MAX_KEY)?;
        self.payloads.iter().try_for_each(|(_, body)| check_size("a payload", body.len(), MAX_PAYLOAD))?;
        self.mail
            .iter()
            .try_for_each(|mail| check_size("a message", mail.body.len(), MAX_PAYLOAD + MAX_ENVELOPE))
    }

    /// Whether a store that has this task as `there` has it already: the same, or further on than it is here. Otherwise what is not
    /// the same.
    ///
    /// # Errors
    /// What differs, in words.
    pub fn is_in(&self, there: &Self) -> Result<(), String> {
        let (own, stands) = (&self.stored, &there.stored);
        let input = |whole: &Self| whole.payloads.iter().find(|(place, _)| place.is_none()).cloned();
        let same = [
            ("namespace", own.namespace == stands.namespace),
            ("workflow", own.workflow == stands.workflow),
            ("version", own.version == stands.version && own.shape == stands.shape),
            ("key", own.key == stands.key),
            ("time of submission", own.submitted_at == stands.submitted_at),
            ("input", input(self) == input(there)),
        ];
        if let Some((what, _)) = same.into_iter().find(|(_, same)| !same) {
            return Err(format!("a task of this id is there, with another {what}"));
        }
        if own.revision > stands.revision {
            return Err(format!(
                "this task is there, and was written {} times, here {} times: what is there is not changed",
                stands.revision, own.revision
            ));
        }
        let first = there.history.get(..self.history.len());
        let rows = own.revision < stands.revision || own.task == stands.task;
        match first == Some(&self.history[..]) && rows {
            true => Ok(()),
            false => Err("a task of this id is there, and something else happened to it".to_owned()),
        }
    }

    /// What contradicts itself. The history begins after the submission, so that rows which it does not mention cannot be compared.
    #[must_use]
    pub fn check(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        let mut tell = |kind, words: String| found.push(Finding::of_task(kind, self.stored.id, words));
        let steps = self.stored.task.steps().len();
        if let Err(words) = self.stored.task.check_alone() {
            tell(FindingKind::Steps, words);
        }
        let mut last = 0;
        for entry in &self.history {
            if entry.revision <= last || entry.revision > self.stored.revision {
                let (revision, own) = (entry.revision, self.stored.revision);
                let words = format!("its history has revision {revision} behind {last}, the task has {own}");
                tell(FindingKind::History, words);
            }
            last = entry.revision;
            let beyond = |step: StepId| step.item().is_none() && step.ordinal() >= steps;
            if let Some((step, _)) = entry.steps.iter().find(|(step, _)| beyond(*step)) {
                let words = format!("its history has {step}, of which there is no row");
                tell(FindingKind::Steps, words);
            }
        }
        if let Some(words) = self.unlike_history() {
            tell(FindingKind::History, words);
        }
        if let Some(words) = self.bad_mail() {
            tell(FindingKind::Mail, words);
        }
        if !self.payloads.iter().any(|(place, _)| place.is_none()) {
            tell(FindingKind::Payload, "its input is missing".to_owned());
        }
        let beyond = |step: &StepId| (steps..MAX_STEPS).contains(&step.ordinal());
        if let Some(step) = self.payloads.iter().filter_map(|(place, _)| *place).find(beyond) {
            tell(FindingKind::Payload, format!("it has an output of {step}, of which there is no row"));
        }
        found
    }

    /// The first row that is not as the history has it last.
    fn unlike_history(&self) -> Option<String> {
        let last_head: Option<&Head> = self.history.iter().rev().find_map(|entry| entry.head.as_ref());
        if let Some(head) = last_head.filter(|head| *head != self.stored.task.head()) {
            let (says, led) = (self.stored.task.state(), head.state);
            return Some(format!("its row is not what its history leads to: it says {says:?}, that {led:?}"));
        }
        let changes = self.history.iter().flat_map(|entry| &entry.steps);
        let last: BTreeMap<StepId, &Record> = changes.map(|(step, record)| (*step, record)).collect();
        let unlike = |(id, record): &(StepId, &Record)| last.get(id).is_some_and(|led| led != record);
        let (id, record) = self.stored.task.all_rows().find(unlike)?;
        let led = last.get(&id).map(|led| led.state);
        Some(format!("the row of {id} is not what its history leads to: {:?}, {led:?}", record.state))
    }

    fn bad_mail(&self) -> Option<String> {
        let (last, read) = (self.stored.mail_last, self.stored.mail_read);
        if read > last {
            return Some(format!("mail {} was read, and {} is the last that came", read.0, last.0));
        }
        let numbers = (1..=last.0).map(Some).chain(std::iter::repeat(None));
        let found = self.mail.iter().map(|mail| Some(mail.id.0)).chain(std::iter::once(None));
        let (expected, found) = numbers.zip(found).find(|(expected, found)| expected != found)?;
        Some(match (expected, found) {
            (Some(number), _) => format!("mail {number} of {} is missing", last.0),
            (None, found) => {
                format!("it has mail {}, and {} is the last that came", found.unwrap_or(0), last.0)
            }
        })
    }
}

/// A refusal, since a key is taken.
#[must_use]
pub fn key_taken(key: &Arc<str>, by: crate::TaskId) -> Brought {
    Brought::Refused(format!("its key `{key}` is taken by task {by}"))
}
