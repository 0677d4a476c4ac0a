//! Events of circuits and policy files.

use crate::breaker::{Change, State};
use crate::telemetry::alert;

/// The target of what happens to circuits.
const CIRCUIT: &str = "steadfast_resilience::circuit";

/// The target of alerts.
const ALERT: &str = "steadfast_resilience::alert";

/// The target of what happens to policy files.
#[cfg(feature = "policy")]
const POLICY: &str = "steadfast_resilience::policy";

/// Opening is a warning, by hand too: calls are refused from here on.
pub(crate) fn state_changed(change: &Change) {
    let (breaker, from, to) = (&*change.breaker, change.from.as_str(), change.to.as_str());
    if matches!(change.to, State::Open | State::ForcedOpen) {
        tracing::warn!(target: CIRCUIT, breaker, from, to, "{change}");
    } else {
        tracing::info!(target: CIRCUIT, breaker, from, to, "{change}");
    }
}

#[cfg(feature = "tokio")]
pub(crate) fn exchange_silent(error: &crate::breaker::share::ExchangeError) {
    tracing::warn!(target: CIRCUIT, error = %error.0, "{error}");
}

/// At debug: during an outage there is one for each look.
#[cfg(feature = "tokio")]
pub(crate) fn health_checked(breaker: &str, health: &crate::breaker::Health) {
    tracing::debug!(target: CIRCUIT, breaker, up = health.is_up(), "a health check found the service {health}");
}

/// Does something of which nothing is logged.
#[cfg(feature = "simulate")]
pub(crate) fn silenced<T>(work: impl FnOnce() -> T) -> T {
    tracing::subscriber::with_default(tracing::subscriber::NoSubscriber::default(), work)
}

pub(crate) fn registry_full(registry: &str, max_keys: usize) {
    tracing::warn!(
        target: CIRCUIT,
        registry,
        max_keys,
        "the registry is full: new keys get breakers that are not kept, so nothing protects them; raise max_keys"
    );
}

#[cfg(feature = "policy")]
pub(crate) fn policies_changed(changes: &crate::policy::Changes) {
    if !changes.is_empty() {
        tracing::info!(target: POLICY, count = changes.all().len(), "policies changed: {changes}");
    }
}

/// What hurts in policies that are taken over, but for what hurt in those before.
#[cfg(feature = "policy")]
pub(crate) fn policies_hurt(policies: &crate::policy::Policies, before: Option<&crate::policy::Policies>) {
    use crate::policy::Severity;
    if !tracing::enabled!(target: POLICY, tracing::Level::WARN) {
        return;
    }
    let known = before.map(crate::policy::Policies::check).unwrap_or_default();
    let is_known = |finding: &crate::policy::Finding| {
        let same = |known: &crate::policy::Finding| {
            (&known.key, known.rule, &known.what) == (&finding.key, finding.rule, &finding.what)
        };
        known.iter().any(same)
    };
    for finding in policies.check().iter().filter(|finding| finding.severity >= Severity::Warning) {
        if !is_known(finding) {
            let crate::policy::Finding { rule, key, what, why, .. } = finding;
            tracing::warn!(target: POLICY, rule, key, "{key}: {what} [{rule}]: {why}");
        }
    }
}

#[cfg(feature = "policy")]
pub(crate) fn service_not_in_file(service: &str, file: &str, near: &str) {
    tracing::warn!(
        target: POLICY,
        service,
        "{file} has no service `{service}`, so its default is used; did you mean `{near}`?"
    );
}

#[cfg(feature = "policy")]
pub(crate) fn policy_listener_panicked() {
    tracing::error!(target: POLICY, "the listener of a policy file's watch panicked; the watch goes on");
}

#[cfg(feature = "policy")]
pub(crate) fn policies_refused(error: &crate::policy::Error) {
    tracing::error!(target: POLICY, "the changed policy file is refused, the old policies stay in force: {error}");
}

pub(crate) fn alerted(alert: &alert::Alert) {
    let alert::Alert { pipeline, value, threshold, calls, .. } = alert;
    let (pipeline, measure) = (&**pipeline, alert.measure.as_str());
    match alert.state {
        alert::State::Raised => {
            tracing::warn!(target: ALERT, pipeline, measure, value, threshold, calls, "alert raised: {alert}");
        }
        alert::State::Cleared => {
            tracing::info!(target: ALERT, pipeline, measure, value, threshold, calls, "alert cleared: {alert}");
        }
    }
}
