//! What is measured, for Prometheus.

use metrics_exporter_prometheus::PrometheusBuilder;

use crate::start::StartError;
use crate::state::Metrics;

/// Has everything measured that this process does from now on; what was measured is asked for at `/metrics`.
///
/// # Errors
/// Somebody measures already.
pub fn install_metrics() -> Result<Metrics, StartError> {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder)
        .map_err(|_| StartError::new("this process is measured by somebody else already"))?;
    Ok(handle)
}
