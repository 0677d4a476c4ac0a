//! Setting the exporters up and shutting them down.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{MetricExporter, Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, SpanData, SpanExporter as Export};
use tracing::Subscriber;
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::registry::LookupSpan;

use crate::OtelRecorder;

/// The name under which spans and metrics are sent.
const SCOPE: &str = "steadfast";

/// How often metrics are sent when nothing else is said.
const METRICS_EVERY: Duration = Duration::from_secs(15);
/// How long the collector may take for a request: at the end a program waits no longer than this for each.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Why telemetry could not be set up, or not be sent at the end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An address that this crate cannot send to.
    #[error(
        "`{endpoint}` is no address to send to: give one such as http://localhost:4318 (TLS is left to a collector beside the program)"
    )]
    Address {
        /// Where to.
        endpoint: String,
    },
    /// The exporter could not be built.
    #[error("the exporter to `{endpoint}` cannot be built: check the address, such as http://localhost:4318")]
    Build {
        /// Where to.
        endpoint: String,
        /// Why not.
        source: opentelemetry_otlp::ExporterBuildError,
    },
    /// What was left could not be sent.
    #[error("the last {what} could not be sent: is the collector there?")]
    ShutDown {
        /// Spans or metrics.
        what: &'static str,
        /// Why not.
        source: OTelSdkError,
    },
    /// What was left was refused, or nobody took it.
    #[error("the last {what} could not be sent: is the collector there?")]
    Lost {
        /// Spans or metrics.
        what: &'static str,
    },
}

/// Settings of [`Telemetry`].
#[derive(Clone, Debug)]
#[must_use = "nothing is sent until `start`"]
pub struct Builder {
    endpoint: String,
    service: Option<String>,
    metrics_every: Duration,
    timeout: Duration,
}

/// Exporters of spans and metrics under way.
#[derive(Debug)]
#[must_use = "dropped without `shut_down`, the last spans and metrics may be lost"]
pub struct Telemetry {
    tracers: SdkTracerProvider,
    meters: SdkMeterProvider,
    /// Whether the last spans that were sent did not arrive.
    spans_lost: Arc<AtomicBool>,
}

impl Builder {
    /// The program's name in traces and metrics. Default: that of `OTEL_SERVICE_NAME`, else `unknown_service`.
    pub fn service(mut self, name: impl Into<String>) -> Self {
        self.service = Some(name.into());
        self
    }

    /// How often metrics are sent. Default: 15 s.
    pub fn metrics_every(mut self, time: Duration) -> Self {
        self.metrics_every = time;
        self
    }

    /// How long the collector may take for one request. Default: 5 s.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// Starts the exporters.
    ///
    /// # Errors
    /// [`Error::Address`] and [`Error::Build`] for an address that makes no sense. Whether somebody answers there shows only later.
    pub fn start(self) -> Result<Telemetry, Error> {
        let base = self.endpoint.trim_end_matches('/');
        if base.strip_prefix("http://").is_none_or(str::is_empty) {
            return Err(Error::Address { endpoint: self.endpoint });
        }
        let failed = |source| Error::Build { endpoint: self.endpoint.clone(), source };
        let spans = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{base}/v1/traces"))
            .with_timeout(self.timeout);
        let metrics = MetricExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{base}/v1/metrics"))
            .with_timeout(self.timeout);
        let (spans, metrics) = (spans.build().map_err(failed)?, metrics.build().map_err(failed)?);
        let resource = match &self.service {
            Some(name) => Resource::builder().with_service_name(name.clone()).build(),
            None => Resource::builder().build(),
        };
        let reader = PeriodicReader::builder(metrics).with_interval(self.metrics_every).build();
        let spans_lost = Arc::new(AtomicBool::new(false));
        let spans = Watched { exporter: spans, lost: Arc::clone(&spans_lost) };
        Ok(Telemetry {
            spans_lost,
            tracers: SdkTracerProvider::builder()
                .with_batch_exporter(spans)
                .with_resource(resource.clone())
                .build(),
            meters: SdkMeterProvider::builder().with_reader(reader).with_resource(resource).build(),
        })
    }
}

impl Telemetry {
    /// Settings for a collector at this address, such as `http://localhost:4318`.
    pub fn to(endpoint: impl Into<String>) -> Builder {
        Builder { endpoint: endpoint.into(), service: None, metrics_every: METRICS_EVERY, timeout: TIMEOUT }
    }

    /// A layer for a `tracing` subscriber that makes OpenTelemetry's spans of those of `tracing`. The library's spans are
    /// at level `debug`: filter by target, such as `steadfast_resilience=debug`, if that is too much from others.
    #[must_use]
    pub fn layer<S>(&self) -> OpenTelemetryLayer<S, SdkTracer>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        tracing_opentelemetry::layer().with_tracer(self.tracers.tracer(SCOPE))
    }

    /// A recorder for the facade of the crate `metrics`: install it with `metrics::set_global_recorder`.
    #[must_use]
    pub fn recorder(&self) -> OtelRecorder {
        OtelRecorder::new(self.meters.meter(SCOPE))
    }

    /// Sends what is left, and ends the exporters.
    ///
    /// # Errors
    /// [`Error::ShutDown`] and [`Error::Lost`] when it could not be sent. Both are tried; the first failure is told.
    pub fn shut_down(self) -> Result<(), Error> {
        let spans = self.tracers.shutdown();
        let metrics = self.meters.shutdown();
        spans.map_err(|source| Error::ShutDown { what: "spans", source })?;
        if self.spans_lost.load(Ordering::Acquire) {
            return Err(Error::Lost { what: "spans" });
        }
        metrics.map_err(|source| Error::ShutDown { what: "metrics", source })
    }
}

/// An exporter that remembers whether what it sent last arrived: the SDK does not tell at the end.
#[derive(Debug)]
struct Watched {
    exporter: SpanExporter,
    lost: Arc<AtomicBool>,
}

impl Export for Watched {
    fn export(&self, batch: Vec<SpanData>) -> impl Future<Output = OTelSdkResult> + Send {
        let sent = self.exporter.export(batch);
        async move {
            let sent = sent.await;
            self.lost.store(sent.is_err(), Ordering::Release);
            sent
        }
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
