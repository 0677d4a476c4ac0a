//! What is told of circuits: a listener on each service's breaker.
//!
//! A listener runs on the thread of a call and must not wait: it leaves the alert in memory, and the outbox's loop stores it,
//! as soon as the store can be reached.

use std::sync::{Arc, Weak};
use std::time::Duration;

use steadfast_engine::Time;
use steadfast_resilience::Breaker;
use steadfast_resilience::breaker::{Change, ChangeCause, State};
use steadfast_store::{NodeId, Store};

use super::{Alert, AlertKind, AlertState};
use crate::service::Service;
use crate::shared::Shared;

/// Nodes that tell of the same service within one of these tell of the same thing; and a circuit that opens again and again
/// is told of once in each.
const SAME_NEWS: Duration = Duration::from_secs(60);

/// Listens to the breakers of these services, for as long as the node lives; not to those that it listens to already, by whichever
/// name.
pub(crate) fn listen<S: Store>(shared: &Arc<Shared<S>>, services: &[Service], known: &[&Service]) {
    let mut heard: Vec<Breaker> = known.iter().filter_map(|service| service.pipeline().breaker()).collect();
    for service in services {
        let Some(breaker) = service.pipeline().breaker() else { continue };
        if heard.iter().any(|other| other.is_same(&breaker)) {
            continue;
        }
        let (node, name): (Weak<Shared<S>>, Arc<str>) = (Arc::downgrade(shared), Arc::from(service.name()));
        breaker.on_change(move |change| {
            if let Some(shared) = node.upgrade()
                && let Some((alert, key)) = circuit(&name, change, None, shared.now(), shared.lease.node())
            {
                shared.outbox.post(&shared.counters, &alert, Some(key));
            }
        });
        heard.push(breaker);
    }
}

/// What is told of a change of a service's circuit, with the key under which all nodes tell it once: that it has opened, or
/// that it is closed again. That a probe has failed is no news, nor is what another node has said: that one tells it.
///
/// `version` is the number of the opening, where all nodes count them together; without it the time is the key.
#[must_use]
pub fn circuit(
    service: &Arc<str>,
    change: &Change,
    version: Option<u64>,
    at: Time,
    node: NodeId,
) -> Option<(Alert, String)> {
    if matches!(change.cause, ChangeCause::Elsewhere) {
        return None;
    }
    let (kind, state, advice) = match (change.from.is_closed(), change.to.is_closed()) {
        (true, false) => (AlertKind::CircuitOpened, AlertState::Raised, advice(change.to)),
        (false, true) => (AlertKind::CircuitClosed, AlertState::Cleared, OVER),
        _ => return None,
    };
    let which = version.map_or_else(|| minute(at), |version| format!("v{version}"));
    let key = format!("{} {service} {which}", kind.as_str());
    let about = Alert::new(kind, state, at, node, &change.to_string(), advice);
    Some((Alert { service: Some(Arc::clone(service)), ..about }, key))
}

fn minute(at: Time) -> String {
    let each = u64::try_from(SAME_NEWS.as_millis()).unwrap_or(u64::MAX);
    format!("at {}", at.as_millis() / each)
}

const OVER: &str = "nothing: what was parked comes back in growing steps";

fn advice(state: State) -> &'static str {
    match state {
        State::ForcedOpen => "an operator holds it open: tasks that need the service wait until it is let go",
        _ => {
            "look at the service: tasks that need it are parked, and go on by themselves when it answers again"
        }
    }
}
