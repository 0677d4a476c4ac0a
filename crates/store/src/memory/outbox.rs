//! The outbox, under the lock.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::Time;

use crate::id::TaskId;
use crate::outbox::{
    FORGOTTEN_AT_ONCE, Handed, KEYS_KEPT, OutboxId, OutboxKind, Outgoing, Sent, Settled, UNDELIVERABLE_KEPT,
    Undelivered,
};
use crate::record::Payload;

#[derive(Clone, Default)]
pub(super) struct Messages {
    last: u64,
    messages: BTreeMap<OutboxId, Slot>,
    keys: HashMap<Arc<str>, OutboxId>,
}

#[derive(Clone)]
struct Slot {
    message: Undelivered,
    key: Option<Arc<str>>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not handed out before then.
    Waits(Time),
    /// Only its key is kept, until then.
    Delivered(Time),
    /// Kept until then.
    GivenUp(Time),
}

impl Slot {
    fn waits(&self) -> Option<Time> {
        match self.state {
            State::Waits(not_before) => Some(not_before),
            State::Delivered(_) | State::GivenUp(_) => None,
        }
    }

    fn is_over(&self, now: Time) -> bool {
        matches!(self.state, State::Delivered(until) | State::GivenUp(until) if until <= now)
    }
}

impl Messages {
    pub(super) fn send(&mut self, message: Outgoing, now: Time) -> Sent {
        let Outgoing { task, kind, key, body, to: _ } = message;
        if let Some(seen) = key.as_ref().and_then(|key| self.keys.get(key)) {
            return Sent::Seen(*seen);
        }
        self.last += 1;
        let id = OutboxId(self.last);
        if let Some(key) = &key {
            self.keys.insert(Arc::clone(key), id);
        }
        let message = Undelivered { id, at: now, task, kind, body, tries: 0 };
        self.messages.insert(id, Slot { message, key, state: State::Waits(now) });
        Sent::New(id)
    }

    /// Whether an earlier message for the same task is to be handed out after this one would be.
    fn is_held_back(&self, slot: &Slot, not_before: Time) -> bool {
        let Undelivered { id, task, kind, .. } = slot.message;
        let same = |earlier: &Slot| earlier.message.task == task && earlier.message.kind == kind;
        let later = |earlier: &Slot| earlier.waits().is_some_and(|waits| waits > not_before);
        task.is_some() && self.messages.range(..id).any(|(_, earlier)| same(earlier) && later(earlier))
    }

    pub(super) fn hand_out(&mut self, kind: OutboxKind, most: usize, now: Time, hold: Duration) -> Handed {
        let of_kind = || self.messages.values().filter(|slot| slot.message.kind == kind);
        let waits = |slot: &Slot| slot.waits().map(|not_before| (not_before, slot.message.id));
        let mut due: Vec<_> = of_kind()
            .filter_map(|slot| {
                waits(slot).filter(|(not_before, _)| *not_before <= now).map(|due| (due, slot))
            })
            .filter(|((not_before, _), slot)| !self.is_held_back(slot, *not_before))
            .map(|(due, _)| due)
            .collect();
        due.sort_unstable();
        due.truncate(most);
        let hand_out = |(_, id): (Time, OutboxId)| {
            let slot = self.messages.get_mut(&id)?;
            slot.state = State::Waits(now + hold);
            slot.message.tries += 1;
            Some(slot.message.clone())
        };
        let messages = due.into_iter().filter_map(hand_out).collect();
        let kinds = self.messages.values().filter(|slot| slot.message.kind == kind);
        let next = kinds.filter_map(Slot::waits).filter(|not_before| *not_before > now).min();
        Handed { messages, next }
    }

    pub(super) fn settle(&mut self, id: OutboxId, settled: Settled, now: Time) {
        let Some(slot) = self.messages.get_mut(&id).filter(|slot| slot.waits().is_some()) else { return };
        match settled {
            Settled::Again(not_before) => slot.state = State::Waits(not_before),
            Settled::GivenUp => slot.state = State::GivenUp(now + UNDELIVERABLE_KEPT),
            Settled::Delivered if slot.key.is_some() => {
                slot.state = State::Delivered(now + KEYS_KEPT);
                slot.message.body = Payload::default();
            }
            Settled::Delivered => drop(self.messages.remove(&id)),
        }
    }

    /// Forgets what was kept for long enough.
    pub(super) fn forget(&mut self, now: Time) {
        let over = self.messages.iter().filter(|(_, slot)| slot.is_over(now)).map(|(id, _)| *id);
        for id in over.take(FORGOTTEN_AT_ONCE).collect::<Vec<_>>() {
            if let Some(key) = self.messages.remove(&id).and_then(|slot| slot.key) {
                self.keys.remove(&key);
            }
        }
    }

    /// Whether a message about a task waits.
    pub(super) fn waits_for(&self, task: TaskId) -> bool {
        self.messages.values().any(|slot| slot.message.task == Some(task) && slot.waits().is_some())
    }

    /// Forgets what was told of a task that is removed.
    pub(super) fn forget_of(&mut self, task: TaskId) {
        let keys = &mut self.keys;
        self.messages.retain(|_, slot| {
            let goes = slot.message.task == Some(task) && slot.waits().is_none();
            if let Some(key) = slot.key.as_ref().filter(|_| goes) {
                keys.remove(key);
            }
            !goes
        });
    }

    pub(super) fn given_up(&self, kind: OutboxKind, most: usize) -> Vec<Undelivered> {
        let of_kind = self.messages.values().filter(|slot| slot.message.kind == kind);
        let given_up = of_kind.filter(|slot| matches!(slot.state, State::GivenUp(_)));
        given_up.take(most).map(|slot| slot.message.clone()).collect()
    }
}
