//! The loop that calls hooks with their replies: at least once, in order for each task, for as long as it takes.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use steadfast_store::{Error, ReplyId, Settled, Store};

use super::settings::Hook;
use super::{Reply, ReplyTo};
use crate::handler::words_of;
use crate::shared::Shared;
use crate::stats::count;

/// The most calls of one hook under way: those that hang are given up after their limit, and so many may hang at a time.
const MOST_UNDER_WAY: usize = 64;
/// How often it is looked for replies that nobody here has stored.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// The least between two looks that nobody asked for: this node's clock can be ahead of the store's.
const SHORTEST_LOOK: Duration = Duration::from_millis(100);
/// The pause after the store has failed.
const PAUSE: Duration = Duration::from_millis(500);

/// Calls all hooks, for as long as the node lives.
pub(crate) async fn run<S: Store>(shared: Arc<Shared<S>>) {
    let hooks = shared.settings.replies.hooks.iter();
    join_all(hooks.map(|(name, hook)| serve(&shared, ReplyTo::hook(name), hook))).await;
}

async fn serve<S: Store>(shared: &Shared<S>, address: ReplyTo, hook: &Hook) {
    let mut stored = shared.replies.subscribe();
    loop {
        stored.mark_unchanged();
        let rest = match turn(shared, &address, hook).await {
            Ok(Some(rest)) => rest,
            Ok(None) => continue,
            Err(error) => {
                shared.store_failed("replies were not taken or settled", &error);
                shared.clock.sleep(PAUSE).await;
                continue;
            }
        };
        tokio::select! {
            _ = stored.changed() => {}
            () = shared.clock.sleep(rest) => {}
        }
    }
}

/// Delivers what is due; how long there is nothing to do if there was nothing.
async fn turn<S: Store>(
    shared: &Shared<S>,
    address: &ReplyTo,
    hook: &Hook,
) -> Result<Option<Duration>, Error> {
    let hold = shared.settings.replies.hold();
    let handed = shared.store.take_replies(Arc::clone(address.text()), MOST_UNDER_WAY, hold).await?;
    if handed.replies.is_empty() {
        let next = handed.next.map_or(LOOK_EVERY, |next| next.since(shared.now()));
        return Ok(Some(next.clamp(SHORTEST_LOOK, LOOK_EVERY)));
    }
    steadfast_store::failpoint!("reply.before_deliver");
    let told = handed.replies.into_iter().map(|reply| one(shared, hook, Reply::of(reply)));
    let settled = join_all(told).await;
    steadfast_store::failpoint!("reply.after_deliver");
    shared.store.settle_replies(settled).await?;
    shared.replies.changed();
    Ok(None)
}

async fn one<S: Store>(shared: &Shared<S>, hook: &Hook, reply: Reply) -> (ReplyId, Settled) {
    let (id, tries) = (reply.id, reply.tries);
    let limit = shared.settings.replies.limit;
    // Inside of the future, so that a hook that panics before its first wait is caught as well.
    let told = AssertUnwindSafe(async { hook(reply).await }).catch_unwind();
    let why = tokio::select! {
        told = told => match told {
            Ok(Ok(())) => {
                count(&shared.counters.replied);
                return (id, Settled::Delivered);
            }
            Ok(Err(error)) => format!("the hook said: {error}"),
            Err(panic) => words_of(&*panic),
        },
        () = shared.clock.sleep(limit) => format!("the hook took longer than {limit:?}"),
    };
    let wait = shared.settings.replies.wait_after(tries);
    tracing::warn!(reply = %id, tries, ?wait, "a reply was not delivered, it is tried again: {why}");
    (id, Settled::Again(shared.now() + wait))
}
