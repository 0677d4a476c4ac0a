//! The server: HTTP API, configuration, workflows and services of one binary.
//!
//! [`router`] is the API over an [`Engine`](steadfast::Engine) and a [`House`], which knows workflows and services; [`serve`] lets requests
//! in. What goes over the wire are the types of [`steadfast_client::wire`], and every error is a problem with a code.
//!
//! Must never decide anything about a task: it asks the engine, and says what that said.

mod api;
mod check;
mod code;
mod config;
mod cursor;
mod extract;
mod guard;
mod house;
mod hub;
mod limits;
mod link;
mod map;
mod measure;
mod metrics;
mod openapi;
mod origin;
mod problem;
mod reference;
mod registry;
mod reload;
mod serve;
mod span;
mod start;
mod state;
mod trace;
mod unread;
mod webhook;

pub use self::measure::metrics_reference;
pub use self::metrics::install_metrics;
#[cfg(feature = "otel")]
pub use self::metrics::install_metrics_beside;
pub use api::router;
pub use check::{check, check_files};
pub use code::Code;
pub use config::{
    AlertsConfig, Config, ConfigError, Limits as ConfigLimits, Log, ServiceConfig, WebhookConfig, variables,
};
pub use house::House;
pub use limits::Limits;
pub use openapi::openapi;
pub use problem::Refusal;
pub use reference::reference;
pub use registry::Registry;
pub use serve::{check_address, serve};
pub use start::{Running, StartError, start};
pub use state::{Metrics, State};
