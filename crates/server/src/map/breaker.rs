//! Breakers: how one stands here, and what the store knows of it.

use steadfast::resilience::Breaker;
use steadfast::resilience::breaker::Override;
use steadfast::{CircuitRecord, rfc3339};
use steadfast_client::wire::breaker::{self, ForcedBy, Past};

use super::snake;

pub(crate) fn breaker(service: &str, own: &Breaker, stored: Option<&CircuitRecord>) -> breaker::Breaker {
    let report = own.report();
    breaker::Breaker {
        service: service.to_owned(),
        state: snake(report.state.as_str()),
        open_for_ms: report.open_for.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        forced_by: own.forced_by().map(|Override { who, why, .. }| ForcedBy { by: who, because: why }),
        calls: report.calls,
        failures: report.failures,
        slow: report.slow,
        probes: report.probes,
        refused: report.refused,
        last_trip: own.last_trip().map(|trip| trip.to_string()),
        failed_recoveries: report.failed_recoveries,
        steady_per_second: stored.and_then(|stored| stored.steady),
        ramp_stage: stored.and_then(|stored| stored.stage),
        history: stored.map(|stored| stored.history.iter().map(past).collect()).unwrap_or_default(),
    }
}

fn past(from: &steadfast::Past) -> Past {
    let forced_by = from.forced_by.clone().map(|(by, because)| ForcedBy { by, because });
    Past { at: rfc3339(from.at), state: snake(&from.state), forced_by }
}
