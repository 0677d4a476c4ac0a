//! What submitters need of a store.

use std::sync::Arc;
use std::time::Duration;

use steadfast_store::{Arrival, ArrivalId, HandedReplies, Intake, Replies, ReplyId, ReplyQueue, Settled};

use super::{AnyStore, Either, Told};

impl Replies for AnyStore {
    fn take_replies(
        &self,
        address: Arc<str>,
        most: usize,
        hold: Duration,
    ) -> impl Future<Output = Told<HandedReplies>> + Send {
        either!(self, store => store.take_replies(address, most, hold)).run()
    }

    fn settle_replies(&self, batch: Vec<(ReplyId, Settled)>) -> impl Future<Output = Told<usize>> + Send {
        either!(self, store => store.settle_replies(batch)).run()
    }

    fn reply_queues(&self) -> impl Future<Output = Told<Vec<ReplyQueue>>> + Send {
        either!(self, store => store.reply_queues()).run()
    }
}

impl Intake for AnyStore {
    fn has_outsiders(&self) -> bool {
        match self {
            Self::Sqlite(store) => store.has_outsiders(),
            Self::Memory(store) => store.has_outsiders(),
        }
    }

    fn version(&self) -> impl Future<Output = Told<u64>> + Send {
        either!(self, store => store.version()).run()
    }

    fn arrivals(
        &self,
        behind: Option<ArrivalId>,
        most: usize,
    ) -> impl Future<Output = Told<Vec<Arrival>>> + Send {
        either!(self, store => store.arrivals(behind, most)).run()
    }

    fn held_up(&self) -> Duration {
        match self {
            Self::Sqlite(store) => store.held_up(),
            Self::Memory(store) => store.held_up(),
        }
    }

    fn is_held_up(&self) -> bool {
        match self {
            Self::Sqlite(store) => store.is_held_up(),
            Self::Memory(store) => store.is_held_up(),
        }
    }
}
