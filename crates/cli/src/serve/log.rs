//! What a server writes to stderr.

use anyhow::{Context as _, Result};
use steadfast_server::Config;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::telemetry::Telemetry;

/// Writes lines to stderr from now on, for people or as JSON, and has spans sent if somebody wants them.
pub(super) fn begin(config: &Config, telemetry: &Telemetry) -> Result<()> {
    let level: Targets = config.log.level.parse().with_context(|| {
        format!(
            "log.level: `{}` is no level: write `info`, or by module `warn,steadfast_runtime=debug`",
            config.log.level
        )
    })?;
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let lines = match config.log.json {
        true => lines.json().flatten_event(true).boxed(),
        false => lines.with_target(false).boxed(),
    };
    tracing_subscriber::registry()
        .with(telemetry.layer())
        .with(lines.with_filter(level))
        .try_init()
        .context("the log was begun before")
}
