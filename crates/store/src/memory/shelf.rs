//! One operation after the other, under the lock.

use std::cmp::Reverse;
use std::sync::Arc;

use steadfast_engine::{StepId, Time};

use super::Shelf;
use crate::audit::{Audit, Audited};
use crate::bulk::{Bulk, PutBulk};
use crate::id::{NodeId, TaskId};
use crate::label::Labels;
use crate::record::{
    Circuit, Claimed, Entry, Kept, Mail, MailId, Message, Overdued, Payload, PayloadKey, Posted, Put,
    Schedule, Stored, Submission, Submitted,
};
use crate::text::{PutText, WorkflowText};
use crate::write::{Hold, Refusal, Write, Written};

/// The parts of a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    Epoch,
    Revision,
    Mail,
}

impl Shelf {
    pub(super) fn submit(&mut self, new: Submission) -> Submitted {
        let more = new.more.clone().unwrap_or_default();
        if more.arrival.is_some_and(|arrival| !self.arrivals.contains_key(&arrival)) {
            return Submitted::Gone;
        }
        if let Some(there) = self.tasks.get(&new.id) {
            let input = self.payloads.get(&PayloadKey { task: new.id, step: None });
            if more.arrival.is_some() && (there.workflow != new.workflow || input != Some(&new.input)) {
                return Submitted::OtherInput(new.id);
            }
            self.taken(more.arrival);
            return Submitted::Again;
        }
        let place = new
            .key
            .as_ref()
            .map(|key| (Arc::clone(&new.namespace), Arc::clone(&new.workflow), Arc::clone(key)));
        if let Some(first) = place.as_ref().and_then(|place| self.keys.get(place)).copied() {
            let input = self.payloads.get(&PayloadKey { task: first, step: None });
            if input != Some(&new.input) {
                return Submitted::OtherInput(first);
            }
            self.taken(more.arrival);
            return Submitted::Seen(first);
        }
        if let Some(reply) = &more.reply {
            let waiting = self.replies.waiting(&reply.address);
            if waiting >= reply.most {
                return Submitted::QueueFull(waiting);
            }
            let place = PayloadKey { task: new.id, step: Some(StepId::OF_REPLIES) };
            self.payloads.insert(place, Arc::clone(&reply.kept));
        }
        self.taken(more.arrival);
        if let Some(place) = place {
            self.keys.insert(place, new.id);
        }
        self.payloads.insert(PayloadKey { task: new.id, step: None }, new.input);
        for (step, output) in new.outputs {
            self.payloads.insert(PayloadKey { task: new.id, step: Some(step) }, output);
        }
        let wake_at = new.task.head().start_at().map_or(self.now, |time| time.max(self.now));
        let stored = Stored {
            id: new.id,
            namespace: new.namespace,
            workflow: new.workflow,
            version: new.version,
            shape: new.shape,
            key: new.key,
            priority: new.priority,
            parent: more.parent,
            task: new.task,
            epoch: u64::from(new.owner.is_some()),
            revision: 0,
            owner: new.owner,
            wake_at,
            parked_on: None,
            mail_last: MailId(0),
            mail_read: MailId(0),
            submitted_at: self.now,
        };
        self.tasks.insert(stored.id, stored);
        new.messages.into_iter().for_each(|message| self.tell(message));
        Submitted::New
    }

    pub(super) fn unread(&self, task: TaskId) -> impl Iterator<Item = &Mail> {
        let read = self.tasks.get(&task).map_or(MailId(0), |stored| stored.mail_read);
        self.mail.get(&task).into_iter().flatten().filter(move |mail| mail.id > read)
    }

    /// The tasks that a node owns and that are not at rest, or have mail.
    pub(super) fn owned(&self, node: NodeId) -> impl Iterator<Item = &Stored> {
        let at_work =
            |stored: &Stored| !stored.task.state().is_at_rest() || stored.mail_last > stored.mail_read;
        let owned = move |stored: &&Stored| stored.owner == Some(node) && at_work(stored);
        self.tasks.values().filter(owned)
    }

    fn is_alive(&self, node: NodeId) -> bool {
        self.leases.get(&node).is_some_and(|until| self.now < *until)
    }

    pub(super) fn claim(&mut self, node: NodeId, most: usize) -> Vec<Claimed> {
        let is_free = |stored: &&Stored| {
            let has_mail = self.unread(stored.id).next().is_some();
            let waits = match stored.task.state().is_at_rest() {
                true => has_mail,
                false => stored.owner.is_some() || stored.wake_at <= self.now || has_mail,
            };
            waits && stored.owner.is_none_or(|owner| owner != node && !self.is_alive(owner))
        };
        let free = self.tasks.values().filter(is_free).map(|stored| (stored.wake_at, stored.id)).collect();
        self.take(node, most, free)
    }

    pub(super) fn claim_parked(
        &mut self,
        node: NodeId,
        service: &str,
        from: Time,
        most: usize,
    ) -> Vec<Claimed> {
        let last = Time::from_millis(u64::MAX);
        let deadline = |stored: &Stored| stored.task.head().deadline.unwrap_or(last);
        let wanted = |(on, stored): &(&str, &Stored)| *on == service && deadline(stored) >= from;
        let order = |stored: &Stored| ((Reverse(stored.priority), deadline(stored)), stored.id);
        let parked = self.parked().filter(wanted).map(|(_, stored)| order(stored)).collect();
        self.take(node, most, parked)
    }

    /// Tasks that nobody works on, since they wait for a service.
    pub(super) fn parked(&self) -> impl Iterator<Item = (&str, &Stored)> {
        let idle = |stored: &&Stored| stored.owner.is_none() && !stored.task.state().is_at_rest();
        self.tasks.values().filter(idle).filter_map(|stored| Some((stored.parked_on.as_deref()?, stored)))
    }

    /// Gives a node the first of these tasks.
    fn take<O: Ord>(&mut self, node: NodeId, most: usize, mut free: Vec<(O, TaskId)>) -> Vec<Claimed> {
        free.sort_unstable();
        free.truncate(most);
        let claim = |(_, id): (O, TaskId)| {
            let mail = self.unread(id).cloned().collect();
            let stored = self.tasks.get_mut(&id)?;
            stored.epoch += 1;
            stored.parked_on = None;
            let owner_died = stored.owner.replace(node).is_some();
            let reply = self.payloads.get(&PayloadKey { task: id, step: Some(StepId::OF_REPLIES) }).cloned();
            Some(Claimed { stored: stored.clone(), owner_died, mail, reply })
        };
        free.into_iter().filter_map(claim).collect()
    }

    pub(super) fn write(&mut self, write: Write) -> Written {
        let now = self.now;
        let Some(stored) = self.tasks.get_mut(&write.task) else {
            return Written::Refused(Refusal::Unknown);
        };
        let broken = [
            (Check::Epoch, stored.epoch != write.guard.epoch, Refusal::Epoch),
            (Check::Revision, stored.revision != write.guard.revision, Refusal::Revision),
            (Check::Mail, write.guard.mail.is_some_and(|seen| stored.mail_last > seen), Refusal::Mail),
        ];
        #[cfg(test)]
        let broken = broken.map(|(check, broken, why)| (check, broken && self.plant != Some(check), why));
        if let Some((.., why)) = broken.into_iter().find(|(_, broken, _)| *broken) {
            return Written::Refused(why);
        }
        stored.revision += 1;
        stored.mail_read = stored.mail_read.max(write.mail_read.unwrap_or_default());
        let has_entry = write.has_entry();
        let entry = Entry { revision: stored.revision, at: now, head: write.head, steps: write.steps };
        entry.apply_to(&mut stored.task);
        match write.hold {
            Hold::Keep => {}
            Hold::Release(wake_at) => {
                (stored.owner, stored.wake_at, stored.parked_on) = (None, wake_at, write.parked_on);
            }
            Hold::Take => {
                stored.epoch += 1;
                (stored.owner, stored.wake_at, stored.parked_on) = (None, now, None);
            }
        }
        let (revision, id) = (stored.revision, stored.id);
        for (step, output) in write.outputs {
            let place = PayloadKey { task: id, step: Some(step) };
            let output = if step == StepId::OF_LABELS { self.change_labels(place, &output) } else { output };
            self.payloads.insert(place, output);
        }
        write.messages.into_iter().for_each(|message| self.tell(message));
        write.audits.into_iter().for_each(|audit| self.log(audit));
        if has_entry {
            self.history.entry(id).or_default().push(entry);
        }
        Written::Done(revision)
    }

    /// What the labels of a task are after a change.
    fn change_labels(&self, place: PayloadKey, change: &[u8]) -> Payload {
        let had = self.payloads.get(&place).map(|had| Labels::read(had)).unwrap_or_default();
        had.changed(Labels::read(change)).pack()
    }

    /// Whether a task has all of these labels.
    pub(super) fn has_labels(&self, task: TaskId, wanted: &[(Arc<str>, Arc<str>)]) -> bool {
        let own = self.payloads.get(&PayloadKey { task, step: Some(StepId::OF_LABELS) });
        let own = own.filter(|_| !wanted.is_empty()).map(|own| Labels::read(own)).unwrap_or_default();
        wanted.iter().all(|(name, value)| own.get(name) == Some(&**value))
    }

    pub(super) fn post(&mut self, message: Message) -> Posted {
        let Some(stored) = self.tasks.get_mut(&message.task) else { return Posted::Unknown };
        if stored.task.state().is_at_rest() && message.asked.is_none() {
            return Posted::AtRest;
        }
        if let Some(id) = message.asked
            && (self.audits.contains_key(&id) || self.asked.contains_key(&id))
        {
            return Posted::Again;
        }
        // Nobody works on a task at rest, but whoever has claimed it for mail that it has.
        if stored.task.state().is_at_rest() && stored.mail_last <= stored.mail_read {
            stored.owner = None;
        }
        let mail = self.mail.entry(message.task).or_default();
        let id = MailId(stored.mail_last.0 + 1);
        stored.mail_last = id;
        self.asked.extend(message.asked.map(|asked| (asked, (message.task, id))));
        mail.push(Mail { id, task: message.task, body: message.body });
        Posted::Done(id)
    }

    pub(super) fn put_bulk(&mut self, bulk: Bulk, more: Vec<TaskId>) -> PutBulk {
        let stands = self.bulks.get(&bulk.id).map(|(stands, _)| stands);
        if stands.map_or(0, |stands| stands.version) != bulk.version {
            return PutBulk::Other(stands.cloned());
        }
        let version = bulk.version + 1;
        let (stored, tasks) = self.bulks.entry(bulk.id).or_insert_with(|| (bulk.clone(), Vec::new()));
        tasks.extend(more);
        let count = u64::try_from(tasks.len()).unwrap_or(u64::MAX);
        *stored = Bulk { version, tasks: count, ..bulk };
        PutBulk::Done(version)
    }

    pub(super) fn log(&mut self, audit: Audit) {
        let at = self.now;
        self.audits.entry(audit.id).or_insert(Audited { at, audit });
    }

    pub(super) fn keep(&mut self, circuit: Circuit) -> Kept {
        let stands = self.circuits.get(&circuit.service);
        if stands.map_or(0, |stands| stands.version) != circuit.version {
            return Kept::Other(stands.cloned());
        }
        let version = circuit.version + 1;
        self.circuits.insert(Arc::clone(&circuit.service), Circuit { version, ..circuit });
        Kept::Done(version)
    }

    pub(super) fn put(&mut self, schedule: Schedule) -> Put {
        let stands = self.schedules.get(&schedule.name);
        if stands.map_or(0, |stands| stands.version) != schedule.version {
            return Put::Other(stands.cloned());
        }
        let before = self.removed.get(&schedule.name).copied().unwrap_or(0);
        let version = schedule.version.max(before) + 1;
        self.schedules.insert(Arc::clone(&schedule.name), Schedule { version, ..schedule });
        Put::Done(version)
    }

    pub(super) fn put_text(&mut self, text: WorkflowText) -> PutText {
        let place = (Arc::clone(&text.name), text.version);
        if let Some(stands) = self.texts.get(&place) {
            return PutText::Stands(stands.clone());
        }
        self.texts.insert(place, WorkflowText { at: self.now, ..text });
        PutText::Done
    }

    pub(super) fn remove(&mut self, name: &Arc<str>) -> bool {
        let removed = self.schedules.remove(name);
        let versions = removed.iter().map(|schedule| (Arc::clone(name), schedule.version));
        self.removed.extend(versions);
        removed.is_some()
    }

    pub(super) fn overdue(&self, behind: Option<Overdued>, most: usize) -> Vec<Overdued> {
        let mut overdue = Vec::new();
        for stored in self.tasks.values().filter(|stored| !stored.task.state().is_at_rest()) {
            let head = stored.task.head();
            if let Some(since) = head.deadline.filter(|time| *time <= self.now && head.ending.is_none()) {
                overdue.push(Overdued { task: stored.id, attempt: None, since });
            }
            for (id, record) in stored.task.rows() {
                if let Some(since) = record.complete_by.filter(|time| *time <= self.now) {
                    overdue.push(Overdued { task: stored.id, attempt: Some((id, record.attempt)), since });
                }
            }
        }
        overdue.retain(|overdue| behind.is_none_or(|behind| *overdue > behind));
        overdue.sort_unstable();
        overdue.truncate(most);
        overdue
    }
}

impl Entry {
    /// Does to a task what this write did.
    pub fn apply_to(&self, task: &mut steadfast_engine::Task) {
        task.put(self.head.as_ref(), &self.steps);
    }
}
