//! Spans and metrics over OTLP, if the settings ask for them and the program was built with the feature `otel`. Settings that ask for what
//! was not built in are refused when they are read.

use anyhow::Result;
use steadfast_server::{Config, Metrics, StartError};
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

/// Exporters under way, or none.
pub(super) struct Telemetry {
    #[cfg(feature = "otel")]
    sends: Option<steadfast_otel::Telemetry>,
}

#[cfg(feature = "otel")]
impl Telemetry {
    pub(super) fn begin(config: &Config) -> Result<Self> {
        use anyhow::Context as _;
        let sends =
            config.otlp.as_ref().map(|(url, name)| steadfast_otel::Telemetry::to(url).service(name).start());
        Ok(Self { sends: sends.transpose().context("telemetry.otlp")? })
    }

    /// What makes spans of tasks, steps and calls, and sends them.
    pub(super) fn layer<S>(&self) -> Option<impl Layer<S> + use<S>>
    where
        S: tracing::Subscriber + for<'span> LookupSpan<'span>,
    {
        use tracing::level_filters::LevelFilter;
        use tracing_subscriber::filter::Targets;
        // Those of the HTTP client and of the exporter itself are no spans of tasks.
        let wanted = Targets::new()
            .with_target("steadfast::step", LevelFilter::DEBUG)
            .with_target("steadfast_resilience", LevelFilter::DEBUG);
        self.sends.as_ref().map(|sends| sends.layer().with_filter(wanted))
    }

    /// Has everything measured, for `/metrics` and for the collector.
    pub(super) fn measure(&self) -> Result<Metrics, StartError> {
        match &self.sends {
            Some(sends) => steadfast_server::install_metrics_beside(sends.recorder()),
            None => steadfast_server::install_metrics(),
        }
    }

    /// Sends what is left. It waits for the collector, for seconds at most.
    pub(super) fn end(self) {
        if let Some(sends) = self.sends
            && let Err(error) = sends.shut_down()
        {
            tracing::warn!("{error}");
        }
    }
}

#[cfg(not(feature = "otel"))]
impl Telemetry {
    #[expect(clippy::unnecessary_wraps, reason = "with the feature it can fail")]
    pub(super) fn begin(_: &Config) -> Result<Self> {
        Ok(Self {})
    }

    pub(super) fn layer<S>(&self) -> Option<Box<dyn Layer<S> + Send + Sync>>
    where
        S: tracing::Subscriber + for<'span> LookupSpan<'span>,
    {
        None
    }

    pub(super) fn measure(&self) -> Result<Metrics, StartError> {
        steadfast_server::install_metrics()
    }

    pub(super) fn end(self) {}
}
