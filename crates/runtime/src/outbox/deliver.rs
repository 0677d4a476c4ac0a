//! Deliveries: a message is handed to every hook; one that fails, panics or takes too long is told again later.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use steadfast_resilience::clock::{Clock, Moment};
use steadfast_store::{OutboxId, Settled, Store, Undelivered};

use crate::alert::{Alert, AlertError, Hook};
use crate::handler::words_of;
use crate::shared::Shared;
use crate::stats::count;

/// What is to be delivered, and which hooks have had it; `None` when this node has not tried it yet.
pub(super) struct Delivery {
    pub(super) message: Undelivered,
    pub(super) had: Option<Vec<bool>>,
}

/// What became of it.
pub(super) struct Delivered {
    pub(super) id: OutboxId,
    pub(super) settled: Settled,
    pub(super) had: Vec<bool>,
}

/// Delivers messages about one task, one after another. Behind one that fails the others wait; none begins that might not
/// end before others may have it too.
pub(super) async fn in_order<S: Store>(
    shared: Arc<Shared<S>>,
    deliveries: Vec<Delivery>,
    held_until: Moment,
) -> Vec<Delivered> {
    let mut done: Vec<Delivered> = Vec::new();
    for delivery in deliveries {
        let stuck = done.last().is_some_and(|last| matches!(last.settled, Settled::Again(_)));
        let late = shared.clock.now() + shared.settings.alerts.limit > held_until;
        if stuck || late {
            let again = Settled::Again(shared.now());
            done.push(Delivered { id: delivery.message.id, settled: again, had: Vec::new() });
            continue;
        }
        steadfast_store::failpoint!("outbox.before_deliver");
        done.push(one(&shared, delivery).await);
        steadfast_store::failpoint!("outbox.after_deliver");
    }
    done
}

async fn one<S: Store>(shared: &Shared<S>, delivery: Delivery) -> Delivered {
    let Delivery { message, had } = delivery;
    let (hooks, is_new) = (&shared.settings.alerts.hooks, had.is_none());
    let mut had = had.filter(|had| had.len() == hooks.len()).unwrap_or_else(|| vec![false; hooks.len()]);
    let settled = match Alert::of_message(&message.body) {
        Ok(alert) => {
            if is_new {
                alert.log();
            }
            match tell(shared, &alert, &mut had).await {
                Ok(()) => Settled::Delivered,
                Err(why) => failed(shared, &message, &alert, &why),
            }
        }
        Err(error) => {
            give_up(shared, &message, &format!("it cannot be read: {error}"));
            Settled::GivenUp
        }
    };
    Delivered { id: message.id, settled, had }
}

/// Tells all hooks that have not had it, beside each other: one that hangs does not take the time of the others.
async fn tell<S: Store>(shared: &Shared<S>, alert: &Alert, had: &mut [bool]) -> Result<(), String> {
    let alerts = &shared.settings.alerts;
    let open = had.iter_mut().zip(&alerts.hooks).filter(|(had, _)| !**had);
    let told = open.map(|(had, hook)| async {
        let told = call(hook, alert.clone(), &shared.clock, alerts.limit).await;
        *had = told.is_ok();
        told
    });
    join_all(told).await.into_iter().collect()
}

async fn call(hook: &Hook, alert: Alert, clock: &Clock, limit: std::time::Duration) -> Result<(), String> {
    // Inside of the future, so that a hook that panics before its first wait is caught as well.
    let told = AssertUnwindSafe(async { hook(alert).await }).catch_unwind();
    tokio::select! {
        told = told => match told {
            Ok(told) => told.map_err(|error: AlertError| format!("the hook said: {error}")),
            Err(panic) => Err(words_of(&*panic)),
        },
        () = clock.sleep(limit) => Err(format!("the hook took longer than {limit:?}")),
    }
}

/// Tries again later, or gives it up.
fn failed<S: Store>(shared: &Shared<S>, message: &Undelivered, alert: &Alert, why: &str) -> Settled {
    let alerts = &shared.settings.alerts;
    if message.tries >= alerts.tries {
        give_up(shared, message, why);
        return Settled::GivenUp;
    }
    let wait = alerts.wait_after(message.tries);
    tracing::warn!(message = message.id.0, alert = %alert.id, tries = message.tries, ?wait,
        "an alert was not delivered, it is tried again: {why}");
    Settled::Again(shared.now() + wait)
}

fn give_up<S: Store>(shared: &Shared<S>, message: &Undelivered, why: &str) {
    count(&shared.counters.undeliverable);
    let task = message.task.map(|task| task.to_string());
    tracing::error!(
        message = message.id.0,
        task,
        tries = message.tries,
        "a message was not delivered and is given up, the outbox keeps it for 30 days: {why}"
    );
}
