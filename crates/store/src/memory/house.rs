//! Keeping house, in memory.

use std::future::{Future, ready};
use std::path::PathBuf;
use std::sync::Arc;

use steadfast_engine::{TaskState, Time};

use super::{Memory, Shelf};
use crate::error::{Error, Kind};
use crate::house::{BackedUp, Backup, Cleaned, Expired, Finding, Retention, Transfer, Verified, Verify};
use crate::id::TaskId;
use crate::record::{Mail, PayloadKey, Stored};
use crate::whole::{Brought, Letter, Whole, key_taken};

/// How many tasks one call looks at, so that pages are tested here too.
const LOOKED_AT: usize = 64;

impl Shelf {
    /// When a task ended that is over, as far as that is so.
    fn ended(&self, stored: &Stored) -> Option<Time> {
        let over = matches!(stored.task.state(), TaskState::Completed | TaskState::Undone);
        let last = self.history.get(&stored.id).and_then(|entries| entries.last());
        over.then(|| last.map_or(stored.submitted_at, |entry| entry.at))
    }

    fn clean_up(&mut self, expired: Expired, behind: Option<TaskId>, most: usize) -> Cleaned {
        let mut cleaned = Cleaned::default();
        let bound = TaskId::first_at(expired.before);
        let behind = |task: &TaskId| behind.is_none_or(|behind| *task > behind) && *task < bound;
        let ids: Vec<_> = self.tasks.keys().copied().filter(behind).collect();
        for (place, id) in ids.iter().enumerate() {
            if place >= LOOKED_AT || cleaned.removed >= u64::try_from(most).unwrap_or(u64::MAX) {
                return cleaned;
            }
            (cleaned.looked_at, cleaned.behind) = (cleaned.looked_at + 1, Some(*id));
            let Some(stored) = self.tasks.get(id) else { continue };
            let Some(ended) = self.ended(stored) else { continue };
            let has_parent = stored.parent.is_some_and(|parent| self.tasks.contains_key(&parent));
            // One whose parent is there may be over at any time.
            let stays = has_parent.then_some(std::time::Duration::ZERO);
            if let Some(over_in) = expired.over_in(ended, stored.key.is_some()).or(stays) {
                cleaned.next_in = cleaned.next_in.into_iter().chain([over_in]).min();
            } else if stored.mail_last <= stored.mail_read && !self.outbox.waits_for(*id) {
                self.drop_task(*id);
                cleaned.removed += 1;
            }
        }
        Cleaned { behind: None, ..cleaned }
    }

    fn drop_task(&mut self, id: TaskId) {
        if let Some(Stored { namespace, workflow, key: Some(key), .. }) = self.tasks.remove(&id) {
            self.keys.remove(&(namespace, workflow, key));
        }
        self.payloads.retain(|key, _| key.task != id);
        self.asked.retain(|_, (task, _)| *task != id);
        self.mail.remove(&id);
        self.history.remove(&id);
        self.outbox.forget_of(id);
    }

    fn whole(&self, id: TaskId) -> Option<Whole> {
        let asked = |mail: &Mail| self.asked.iter().find(|(_, at)| **at == (id, mail.id)).map(|(id, _)| *id);
        let letter = |mail: &Mail| Letter { id: mail.id, body: Arc::clone(&mail.body), asked: asked(mail) };
        let payloads = self.payloads.range(PayloadKey { task: id, step: None }..);
        let payloads = payloads.take_while(|(key, _)| key.task == id);
        Some(Whole {
            stored: self.tasks.get(&id)?.clone(),
            payloads: payloads.map(|(key, body)| (key.step, Arc::clone(body))).collect(),
            history: self.history.get(&id).cloned().unwrap_or_default(),
            mail: self.mail.get(&id).into_iter().flatten().map(letter).collect(),
        })
    }

    fn bring(&mut self, whole: Whole) -> Brought {
        let whole = whole.arriving();
        let (stored, id) = (&whole.stored, whole.stored.id);
        if let Some(there) = self.whole(id) {
            return whole.is_in(&there).map_or_else(Brought::Refused, |()| Brought::Seen);
        }
        let place = stored
            .key
            .as_ref()
            .map(|key| (Arc::clone(&stored.namespace), Arc::clone(&stored.workflow), Arc::clone(key)));
        if let Some((place, by)) = place.as_ref().and_then(|place| Some((place, self.keys.get(place)?))) {
            return key_taken(&place.2, *by);
        }
        let asked: Vec<_> = whole.mail.iter().filter_map(|mail| Some((mail.asked?, (id, mail.id)))).collect();
        if let Some((asked, _)) = asked.iter().find(|(asked, _)| self.asked.contains_key(asked)) {
            return Brought::Refused(format!("what was asked as {asked} was asked of another task"));
        }
        self.keys.extend(place.map(|place| (place, id)));
        self.asked.extend(asked);
        let payloads = whole.payloads.into_iter();
        self.payloads.extend(payloads.map(|(step, body)| (PayloadKey { task: id, step }, body)));
        let mail = whole.mail.into_iter().map(|mail| Mail { id: mail.id, task: id, body: mail.body });
        self.mail.insert(id, mail.collect());
        self.history.insert(id, whole.history);
        self.tasks.insert(id, whole.stored);
        Brought::New
    }
}

impl Retention for Memory {
    fn clean_up(
        &self,
        expired: Expired,
        behind: Option<TaskId>,
        most: usize,
    ) -> impl Future<Output = Result<Cleaned, Error>> + Send {
        ready(Ok(self.shelf().clean_up(expired, behind, most)))
    }
}

impl Backup for Memory {
    fn back_up(&self, _: PathBuf) -> impl Future<Output = Result<BackedUp, Error>> + Send {
        let words = "a store in memory has no file to copy: use `sqlite:PATH`, or export its tasks";
        ready(Err(Error::new(Kind::Unsupported, words)))
    }
}

impl Verify for Memory {
    fn verify_file(&self) -> impl Future<Output = Result<Vec<Finding>, Error>> + Send {
        ready(Ok(Vec::new()))
    }

    fn verify(&self, behind: Option<TaskId>) -> impl Future<Output = Result<Verified, Error>> + Send {
        let shelf = self.shelf();
        let behind = |task: &&TaskId| behind.is_none_or(|behind| **task > behind);
        let ids: Vec<_> = shelf.tasks.keys().filter(behind).take(LOOKED_AT).copied().collect();
        let findings = ids.iter().filter_map(|id| shelf.whole(*id)).flat_map(|whole| whole.check());
        ready(Ok(Verified {
            looked_at: u64::try_from(ids.len()).unwrap_or(u64::MAX),
            findings: findings.collect(),
            behind: ids.last().copied().filter(|_| ids.len() == LOOKED_AT),
        }))
    }
}

impl Transfer for Memory {
    fn whole(&self, tasks: Vec<TaskId>) -> impl Future<Output = Result<Vec<Option<Whole>>, Error>> + Send {
        let shelf = self.shelf();
        ready(Ok(tasks.into_iter().map(|task| shelf.whole(task)).collect()))
    }

    fn bring(&self, batch: Vec<Whole>) -> impl Future<Output = Result<Vec<Brought>, Error>> + Send {
        let sizes = batch.iter().try_for_each(Whole::check_sizes);
        ready(sizes.map(|()| {
            let mut shelf = self.shelf();
            batch.into_iter().map(|whole| shelf.bring(whole)).collect()
        }))
    }
}
