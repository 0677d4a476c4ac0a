//! Spans and metrics of [`steadfast-resilience`](https://docs.rs/steadfast-resilience), and of everything else that uses
//! `tracing` and `metrics`, sent to an OpenTelemetry collector over OTLP (HTTP, protobuf).
//!
//! One call sets it up, one ends it and sends what is left:
//!
//! ```no_run
//! use tracing_subscriber::layer::SubscriberExt as _;
//! use tracing_subscriber::util::SubscriberInitExt as _;
//!
//! let telemetry = steadfast_otel::Telemetry::to("http://localhost:4318").service("checkout").start()?;
//! tracing_subscriber::registry().with(telemetry.layer()).init();
//! metrics::set_global_recorder(telemetry.recorder())?;
//! // ... the program ...
//! telemetry.shut_down()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The exporter sends from threads of its own. It must not know the library: names of spans and metrics are all that
//! they share.

mod recorder;
mod remote;
mod telemetry;

pub use recorder::OtelRecorder;
pub use remote::Remote;
pub use telemetry::{Builder, Error, Telemetry};
