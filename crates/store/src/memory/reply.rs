//! Replies and what is handed in, under the lock.

use std::collections::BTreeMap;
use std::future::{Future, ready};
use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::Time;

use super::{Memory, Shelf};
use crate::Intake;
use crate::error::Error;
use crate::outbox::{OutboxKind, Outgoing, Settled};
use crate::record::{Message, Payload, PayloadKey};
use crate::reply::{Addressed, Arrival, ArrivalId, HandedReplies, Reply, ReplyId, ReplyQueue};

/// Replies by their id: of a task, the first of them is the one whose turn it is.
#[derive(Clone, Default)]
pub(super) struct Replies(BTreeMap<ReplyId, Slot>);

#[derive(Clone)]
struct Slot {
    address: Arc<str>,
    reply: Reply,
    passes: bool,
    not_before: Time,
}

impl Replies {
    pub(super) fn waiting(&self, address: &str) -> u64 {
        let waiting = self.0.values().filter(|slot| *slot.address == *address).count();
        u64::try_from(waiting).unwrap_or(u64::MAX)
    }

    fn is_first(&self, id: ReplyId) -> bool {
        let from = ReplyId { number: 0, ..id };
        self.0.range(from..id).next().is_none()
    }

    fn add(&mut self, id: ReplyId, to: &Addressed, body: Payload, brings: Option<Payload>, now: Time) {
        if to.unless.is_some_and(|most| self.waiting(&to.address) >= most) {
            return;
        }
        if to.unless.is_some() {
            self.0.retain(|other, slot| other.task != id.task || !slot.passes || slot.reply.tries > 0);
        }
        let reply = Reply { id, at: now, tries: 0, body, brings };
        let address = Arc::clone(&to.address);
        self.0.insert(id, Slot { address, reply, passes: to.unless.is_some(), not_before: now });
    }

    fn hand_out(&mut self, address: &str, most: usize, now: Time, hold: Duration) -> HandedReplies {
        let firsts = || self.0.iter().filter(|(id, slot)| *slot.address == *address && self.is_first(**id));
        let mut due: Vec<_> = firsts()
            .filter(|(_, slot)| slot.not_before <= now)
            .map(|(id, slot)| (slot.not_before, *id))
            .collect();
        due.sort_unstable();
        due.truncate(most);
        let hand_out = |(_, id): (Time, ReplyId)| {
            let slot = self.0.get_mut(&id)?;
            slot.not_before = now + hold;
            slot.reply.tries += 1;
            Some(slot.reply.clone())
        };
        let replies = due.into_iter().filter_map(hand_out).collect();
        let firsts = self.0.iter().filter(|(id, slot)| *slot.address == *address && self.is_first(**id));
        let next = firsts.map(|(_, slot)| slot.not_before).filter(|not_before| *not_before > now).min();
        HandedReplies { replies, next }
    }

    fn settle(&mut self, id: ReplyId, settled: Settled) -> bool {
        if !self.is_first(id) {
            return false;
        }
        let Some(slot) = self.0.get_mut(&id).filter(|slot| slot.reply.tries > 0) else { return false };
        match settled {
            Settled::Again(not_before) => slot.not_before = not_before,
            Settled::Delivered | Settled::GivenUp => drop(self.0.remove(&id)),
        }
        true
    }
}

impl Shelf {
    /// What a write tells: a reply waits for its address, the rest goes the way of all messages.
    pub(super) fn tell(&mut self, message: Outgoing) {
        if let (OutboxKind::Mail, Some(task)) = (message.kind, message.task) {
            self.post(Message::new(task, message.body));
            return;
        }
        let (Some(to), Some(task)) = (&message.to, message.task) else {
            self.outbox.send(message, self.now);
            return;
        };
        let kept = |place| self.payloads.get(&PayloadKey { task, step: Some(place) }).cloned();
        let (id, brings) = (ReplyId { task, number: to.number }, to.brings.and_then(kept));
        self.replies.add(id, to, message.body, brings, self.now);
    }

    /// What was handed in is a task now.
    pub(super) fn taken(&mut self, arrival: Option<ArrivalId>) {
        arrival.map(|arrival| self.arrivals.remove(&arrival));
    }
}

impl Memory {
    /// The same, but that others may hand submissions in, and a node looks for them.
    #[must_use]
    pub fn open_to_others(mut self) -> Self {
        self.open_to_others = true;
        self
    }

    /// Hands a submission in, as another program does in a transaction of its own. Its place is given here.
    pub fn hand_in(&self, arrival: Arrival) -> ArrivalId {
        let mut shelf = self.shelf();
        shelf.handed_in += 1;
        let id = ArrivalId(shelf.handed_in);
        shelf.arrivals.insert(id, Arrival { id, ..arrival });
        id
    }
}

impl crate::Replies for Memory {
    fn take_replies(
        &self,
        address: Arc<str>,
        most: usize,
        hold: Duration,
    ) -> impl Future<Output = Result<HandedReplies, Error>> + Send {
        let mut shelf = self.shelf();
        let now = shelf.now;
        ready(Ok(shelf.replies.hand_out(&address, most, now, hold)))
    }

    fn settle_replies(
        &self,
        batch: Vec<(ReplyId, Settled)>,
    ) -> impl Future<Output = Result<usize, Error>> + Send {
        let mut shelf = self.shelf();
        ready(Ok(batch.into_iter().filter(|(id, settled)| shelf.replies.settle(*id, *settled)).count()))
    }

    fn reply_queues(&self) -> impl Future<Output = Result<Vec<ReplyQueue>, Error>> + Send {
        let shelf = self.shelf();
        let mut waiting = BTreeMap::<Arc<str>, u64>::new();
        for slot in shelf.replies.0.values() {
            *waiting.entry(Arc::clone(&slot.address)).or_default() += 1;
        }
        let queues = waiting.into_iter().map(|(address, waiting)| ReplyQueue { address, waiting });
        ready(Ok(queues.collect()))
    }
}

impl Intake for Memory {
    fn has_outsiders(&self) -> bool {
        self.open_to_others
    }

    fn version(&self) -> impl Future<Output = Result<u64, Error>> + Send {
        ready(Ok(self.shelf().handed_in))
    }

    fn arrivals(
        &self,
        behind: Option<ArrivalId>,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Arrival>, Error>> + Send {
        let shelf = self.shelf();
        let waiting = shelf.arrivals.values().filter(|one| behind.is_none_or(|behind| one.id > behind));
        ready(Ok(waiting.take(most).cloned().collect()))
    }

    fn held_up(&self) -> Duration {
        Duration::ZERO
    }

    fn is_held_up(&self) -> bool {
        false
    }
}
