//! What is measured, for Prometheus.

#[cfg(feature = "otel")]
mod both;

use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusRecorder};
use steadfast::resilience::clock::Clock;

#[cfg(feature = "otel")]
use self::both::Both;
use crate::start::StartError;
use crate::state::Metrics;

/// How times are counted, in seconds: from a call on the same machine to the longest that anybody waits for one.
const SECONDS: [f64; 16] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];
/// How often what was measured is added up. The recorder keeps every single time until then, also where nobody ever asks.
const ADD_UP_EVERY: Duration = Duration::from_secs(5);

/// Has everything measured that this process does from now on; what was measured is asked for at `/metrics`.
///
/// # Errors
/// Somebody measures already.
pub fn install_metrics() -> Result<Metrics, StartError> {
    let recorder = recorder()?;
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder)
        .map_err(|_| StartError::new("this process is measured by somebody else already"))?;
    Ok(handle)
}

/// The same, and has another recorder hear of everything too.
///
/// # Errors
/// Somebody measures already.
#[cfg(feature = "otel")]
pub fn install_metrics_beside(
    other: impl metrics::Recorder + Send + Sync + 'static,
) -> Result<Metrics, StartError> {
    let recorder = recorder()?;
    let handle = recorder.handle();
    metrics::set_global_recorder(Both(recorder, other))
        .map_err(|_| StartError::new("this process is measured by somebody else already"))?;
    Ok(handle)
}

fn recorder() -> Result<PrometheusRecorder, StartError> {
    let builder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)
        .map_err(|error| StartError::new(format!("cannot measure: {error}")))?;
    Ok(builder.build_recorder())
}

/// Adds up what was measured, for as long as it is polled.
pub(crate) async fn add_up(metrics: Metrics, clock: Clock) {
    loop {
        clock.sleep(ADD_UP_EVERY).await;
        metrics.run_upkeep();
    }
}
