//! Services that fail on purpose, and virtual time, for tests of code that must live with failures.
//!
//! ```
//! use std::time::Duration;
//! use steadfast_resilience::{Pipeline, Retry};
//! use steadfast_testkit::{Script, Service, VirtualClock};
//!
//! let clock = VirtualClock::new();
//! let script = Script::fail().times(2).then(Script::throttle(Duration::from_secs(3))).then(Script::succeed());
//! let service = Service::new(&clock, script);
//!
//! let retry = Retry::fixed(Duration::from_millis(100)).max_retries(5).no_jitter();
//! let payments = Pipeline::builder("payments").clock(&clock).retry(retry).build()?;
//! clock.block_on(payments.run(|attempt| service.call(attempt)))?; // 3.2 s, at once
//!
//! let [short, long] = [Duration::from_millis(100), Duration::from_secs(3)];
//! service.ledger().assert_attempts(4).assert_waits(&[short, short, long]).assert_one_key();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

mod error;
#[cfg(feature = "http")]
pub mod http;
mod ledger;
mod player;
mod reply;
mod request;
pub mod script;
mod service;

pub use error::Error;
pub use ledger::{Ending, Entry, Ledger, MAX_ENTRIES};
pub use reply::{Fault, Reply};
pub use request::{ATTEMPT_HEADER, KEPT_BODY, KEY_HEADER, Request};
pub use script::{Answer, Part, Script};
pub use service::Service;
pub use steadfast_resilience::clock::{Clock, Moment, VirtualClock};
