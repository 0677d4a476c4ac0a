//! Looking for work: tasks that nobody has, and mail.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::{Event, StepId};
use steadfast_store::{Claimed, Error, Guard, Hold, Mail, Store, Stored, TaskId, Write};

use super::owned::{Happening, Owned};
use super::{Inbox, Scheduler};
use crate::stats::count;

/// The most tasks that are claimed in one write.
const MOST_AT_ONCE: usize = 256;
/// The most mail that is read at a time.
const MOST_MAIL: usize = 1_024;
/// How long a task is left alone whose workflow nobody here knows.
const UNKNOWN_WAITS: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(super) struct Claiming {
    /// A claim is under way.
    pub(super) under_way: bool,
    /// There may be more, as soon as there is room.
    pub(super) again: bool,
    /// How many were asked for.
    asked: usize,
    /// Nobody knows what became of a claim.
    pub(super) in_doubt: bool,
    reading_mail: bool,
    /// Workflows that were told of as unknown.
    told: HashSet<(Arc<str>, u32)>,
}

impl<S: Store> Scheduler<S> {
    /// Looks for work and for mail.
    pub(super) fn look(&mut self) {
        self.claim();
        self.read_mail();
        if !self.doubts.is_empty() {
            self.reread_soon();
        }
    }

    /// Claims what may be left in the store, once there is room for it.
    pub(super) fn claim_more(&mut self) {
        if self.claiming.again {
            self.claim();
        }
    }

    fn claim(&mut self) {
        let room = self.shared.settings.most_owned.saturating_sub(self.owned.len() + self.submitting.len());
        if self.claiming.under_way || self.is_stopping() || room == 0 || !self.shared.lease.holds() {
            return;
        }
        let (shared, most) = (Arc::clone(&self.shared), room.min(MOST_AT_ONCE));
        let node = shared.lease.node();
        self.claiming.under_way = true;
        (self.claiming.again, self.claiming.asked) = (false, most);
        if self.claiming.in_doubt {
            return self.asked.ask(async move { shared.store.owned(node).await }, Inbox::Holds);
        }
        let asking = async move {
            steadfast_store::failpoint!("claim.before");
            let claimed = shared.store.claim(node, most).await;
            steadfast_store::failpoint!("claim.after");
            claimed
        };
        self.asked.ask(asking, Inbox::Claimed);
    }

    pub(super) fn claimed(&mut self, claimed: Result<Vec<Claimed>, Error>) {
        self.claiming.under_way = false;
        match claimed {
            Ok(claimed) => {
                let all = claimed.len() == self.claiming.asked;
                let known = claimed.into_iter().filter_map(|claimed| self.adopt(claimed)).count();
                // What nobody here knows would be claimed and released again and again.
                self.claiming.again |= all && known > 0;
            }
            Err(error) => {
                self.claiming.in_doubt = true;
                self.shared.store_failed("nothing was claimed, or nobody knows", &error);
            }
        }
    }

    /// Takes a claimed task in, and goes on from where it was; `None` if it is nobody's here.
    pub(super) fn adopt(&mut self, claimed: Claimed) -> Option<()> {
        let Claimed { stored, owner_died, mail, reply } = claimed;
        let id = stored.id;
        if stored.owner != Some(self.shared.lease.node()) {
            return None;
        }
        // A late answer: this node has found out otherwise that it owns the task, and has gone on with it since.
        if self.owned.get(&id).is_some_and(|held| held.epoch >= stored.epoch) {
            return Some(());
        }
        let Some(workflow) = self.shared.worked_on_by(&stored) else {
            self.unknown(&stored);
            return None;
        };
        let now = self.shared.now();
        // One at rest that somebody has written to is counted like the others, until it rests again.
        self.open += u64::from(stored.task.state().is_at_rest());
        let mut owned = Owned::new(workflow, stored).replying(reply.as_ref());
        // An answer that came by mail counts, also if whoever sent it is dead.
        mail.iter().for_each(|mail| owned.take_in(mail));
        if let Some(doubt) = self.doubts.remove(&id) {
            // What was claimed is what the task is: there is nothing to doubt any more.
            owned.waiting.extend(doubt.happened_meanwhile());
        }
        if owner_died {
            let died = owned.owner_died(|step, attempt| self.runs_here(id, step, attempt));
            owned.waiting.extend(died);
        }
        owned.waiting.push_back(Happening::of(Event::Claimed));
        owned.waiting.extend(owned.due(now));
        steadfast_store::failpoint!("claim.adopted");
        self.dirty.insert(id);
        if let Some(stale) = self.owned.insert(id, owned) {
            // It was taken from this node and has come back: what happened to the old copy happens to the new one.
            self.give_up(id, stale);
        }
        Some(())
    }

    /// Whether this very attempt runs in this process, or has just answered: it can have outlived a lease.
    pub(super) fn runs_here(&self, id: TaskId, step: StepId, attempt: u32) -> bool {
        [&self.flight, &self.posting].iter().any(|runs| runs.get(&(id, step)) == Some(&attempt))
    }

    /// A task whose workflow nobody here knows, in its version and shape, waits: an upgrade may bring it back.
    pub(super) fn unknown(&mut self, stored: &Stored) {
        count(&self.shared.counters.unknown_workflows);
        if self.claiming.told.insert((Arc::clone(&stored.workflow), stored.version)) {
            tracing::warn!(
                workflow = %stored.workflow,
                version = stored.version,
                task = %stored.id,
                "tasks wait: this program does not know their workflow in this version and shape; register it"
            );
        }
        let write = Write {
            task: stored.id,
            guard: Guard { epoch: stored.epoch, revision: stored.revision, mail: None },
            head: None,
            steps: Vec::new(),
            outputs: Vec::new(),
            mail_read: None,
            hold: Hold::Release(self.shared.now() + UNKNOWN_WAITS),
            parked_on: None,
            messages: Vec::new(),
            audits: Vec::new(),
        };
        self.out.write(write);
    }

    // ---- mail ----

    /// Something that was written is mail to a task.
    pub(super) fn mailed(&mut self, task: TaskId) {
        match self.owned.contains_key(&task) {
            true => self.read_mail(),
            false => self.look(),
        }
    }

    fn read_mail(&mut self) {
        if self.claiming.reading_mail || self.owned.is_empty() {
            return;
        }
        self.claiming.reading_mail = true;
        let shared = Arc::clone(&self.shared);
        let asking = async move { shared.store.unread(shared.lease.node(), MOST_MAIL).await };
        self.asked.ask(asking, Inbox::Mail);
    }

    pub(super) fn mail(&mut self, mail: Result<Vec<Mail>, Error>) {
        self.claiming.reading_mail = false;
        match mail {
            Ok(mail) => {
                for mail in mail {
                    let task = mail.task;
                    if let Some(owned) = self.owned.get_mut(&task) {
                        owned.take_in(&mail);
                        self.dirty.insert(task);
                    }
                }
            }
            Err(error) => self.shared.store_failed("mail could not be read", &error),
        }
    }
}
