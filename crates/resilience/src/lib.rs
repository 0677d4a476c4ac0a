//! Retry, circuit breaker, timeout and retry budget for calls to services that fail, over one classification of errors.
//!
//! ```
//! use std::time::Duration;
//! use steadfast_resilience::{Breaker, Pipeline, Retry};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # async fn charge(key: impl std::fmt::Display) -> Result<String, std::io::Error> { Ok(format!("receipt {key}")) }
//! let payments = Pipeline::builder("payments")
//!     .attempt_timeout(Duration::from_secs(2))
//!     .retry(Retry::standard().max_retries(5))
//!     .breaker(Breaker::ratio(0.5).within(Duration::from_secs(30)).open_for(Duration::from_secs(5)))
//!     .build()?;
//!
//! // One idempotency key for all attempts; safe to spawn; the error tells the whole story.
//! let receipt = payments.run(|attempt| charge(attempt.key())).await?;
//! # assert!(receipt.starts_with("receipt "));
//! # Ok(()) }
//! ```
//!
//! - An error says what it means with [`Classify`]: transient, throttled, lasting or terminal, its kind, and the
//!   service's hint. Ready for `std::io::Error`, HTTP, gRPC and SQLSTATE in [`classify`].
//! - [`retry`] decides and never sleeps; [`breaker`] decides and never waits; [`Pipeline`] drives them for async,
//!   blocking and `tower` code alike.
//! - [`clock`] is the only module that asks the time: with a `VirtualClock` (feature `test-util`) an hour of waits runs
//!   in a millisecond.
//!
//! The guide has a chapter on [retry](https://github.com/steadfast-rs/steadfast/blob/main/docs/guide/retry.md) and one on
//! [circuit breakers](https://github.com/steadfast-rs/steadfast/blob/main/docs/guide/circuit-breakers.md), with when not
//! to use them; `examples/client.rs` is a complete client.
//!
//! - [`telemetry`] has counts, metrics and alerts; the guide's chapter
//!   [Watching](https://github.com/steadfast-rs/steadfast/blob/main/docs/guide/watching.md) says what is logged.
//!
//! Features: `tokio` and `tracing` (on by default), `tower`, `http`, `reqwest` for requests through a pipeline, `metrics`,
//! `policy` for policies in files, `simulate` for what a policy does in an outage, and `test-util` for your tests.
//!
//! Without a limit on calls the success path allocates nothing and takes no lock; `cargo xtask bench resilience` measures it beside its peers.
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod breaker;
mod cancel;
pub mod classify;
pub mod clock;
mod error;
mod key;
pub mod limit;
mod log;
pub mod pipeline;
#[cfg(feature = "policy")]
pub mod policy;
mod problem;
pub mod ramp;
pub mod random;
mod renewable;
pub mod retry;
#[cfg(feature = "simulate")]
pub mod simulate;
mod story;
#[cfg(feature = "svg")]
#[doc(hidden)]
pub mod svg;
mod sync;
pub mod telemetry;
mod window;

pub use breaker::Breaker;
pub use cancel::Cancel;
pub use classify::{Class, Classify, Effect, Kind, Unclassified, Verdict};
pub use error::{Cause, Error};
pub use key::IdempotencyKey;
pub use limit::Limit;
pub use pipeline::{Attempt, Group, LastGood, Pipeline};
pub use problem::{BuildError, Code, Problem};
pub use retry::Retry;
pub use story::{Story, Tried};

/// The guide's examples run as tests of this crate.
#[cfg(all(
    doctest,
    feature = "simulate",
    feature = "tower",
    feature = "reqwest",
    feature = "policy",
    feature = "metrics"
))]
mod guide {
    #[doc = include_str!("../../../docs/guide/retry.md")]
    struct Retry;
    #[doc = include_str!("../../../docs/guide/circuit-breakers.md")]
    struct CircuitBreakers;
    #[doc = include_str!("../../../docs/guide/limits.md")]
    struct Limits;
    #[doc = include_str!("../../../docs/guide/policy-files.md")]
    struct PolicyFiles;
    #[doc = include_str!("../../../docs/guide/simulating.md")]
    struct Simulating;
    #[doc = include_str!("../../../docs/guide/watching.md")]
    struct Watching;
    #[doc = include_str!("../README.md")]
    struct Readme;
}
