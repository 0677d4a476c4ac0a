//! What is told of services by their numbers: each one's pipeline is held against its rules, every few seconds [T4].
//!
//! Each node tells of its own calls, and its alerts name it: what is over on one node may go on at another. It asks the store
//! for nothing.

use std::sync::Arc;

use steadfast_resilience::Pipeline;
use steadfast_resilience::telemetry::alert::{self, Measure, Watcher};
use steadfast_store::Store;

use super::{Alert, AlertKind, AlertState};
use crate::service::Service;
use crate::shared::Shared;

/// Watches all services, for as long as the node lives.
pub(crate) async fn watch<S: Store>(shared: Arc<Shared<S>>) {
    let mut watched: Vec<(Pipeline, Watcher)> = Vec::new();
    let mut seen = None;
    loop {
        let workflows = shared.workflows.load_full();
        if !seen.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, &workflows)) {
            workflows.services().into_iter().for_each(|service| begin(&shared, &mut watched, service));
            seen = Some(workflows);
        }
        for (pipeline, watcher) in &mut watched {
            for measured in watcher.look(pipeline.now()) {
                let alert = of_measured(&shared, &measured);
                shared.outbox.post(&shared.counters, &alert, None);
            }
        }
        shared.clock.sleep(shared.settings.alerts.watch_every).await;
    }
}

/// Watches a service too, if nobody does and there are rules for it.
fn begin<S: Store>(shared: &Shared<S>, watched: &mut Vec<(Pipeline, Watcher)>, service: &Service) {
    let (pipeline, rules) = (service.pipeline(), shared.settings.alerts.rules_of(service.name()));
    if !rules.is_empty() && !watched.iter().any(|(other, _)| other.is_same(pipeline)) {
        let watcher = Watcher::new(rules.iter().copied()).watch(pipeline).without_log();
        watched.push((pipeline.clone(), watcher));
    }
}

fn of_measured<S: Store>(shared: &Shared<S>, measured: &alert::Alert) -> Alert {
    let (state, advice) = match measured.state {
        alert::State::Raised => (AlertState::Raised, measured.measure.advice()),
        alert::State::Cleared => (AlertState::Cleared, "nothing: it is over"),
    };
    let (kind, words) = (kind_of(measured.measure), measured.in_words());
    Alert {
        service: Some(Arc::clone(&measured.pipeline)),
        value: Some(measured.value),
        threshold: measured.threshold.is_finite().then_some(measured.threshold),
        ..Alert::new(kind, state, shared.now(), shared.lease.node(), &words, advice)
    }
}

fn kind_of(measure: Measure) -> AlertKind {
    match measure {
        Measure::FailureRate => AlertKind::FailureRate,
        Measure::MeanRetries => AlertKind::Retries,
        Measure::ThrottledShare => AlertKind::Throttled,
        Measure::TimeToSuccess => AlertKind::SlowSuccess,
        _ => AlertKind::Other,
    }
}
