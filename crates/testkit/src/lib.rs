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
//! clock.block_on(payments.run(|attempt| service.call(attempt)))?; // seconds, at once
//!
//! let (fixed, hinted) = (Duration::from_millis(100), Duration::from_secs(3));
//! let bounds = [fixed..=fixed, fixed..=fixed, hinted..=hinted * 6 / 5]; // a hint is spread, and never shortened
//! service.ledger().assert_attempts(4).assert_waits_between(&bounds).assert_one_key();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - A [`Script`] says what calls meet: success, failure, silence, slowness, throttling, overload, a dead port, any
//!   sequence of these by calls or by time, for all requests or for marked ones.
//! - A [`Service`] follows it in process, on any [`Clock`]: with a [`VirtualClock`] an hour of waits takes a millisecond.
//! - [`http::Server`] follows it as a real HTTP/1.1 server on loopback, or as a proxy that mangles the traffic in front
//!   of a service that exists.
//! - A [`Ledger`] has every call that reached them, with its times and its end, and assertions that show all of it when
//!   they fail.
//!
//! The same over a real wire, with any client:
//!
//! ```
//! use std::io::Write as _;
//! use std::net::TcpStream;
//! use std::time::Duration;
//! use steadfast_testkit::{Ending, Script, http::Server};
//!
//! let server = Server::start(Script::throttle(Duration::from_secs(3)).then(Script::succeed()))?;
//! let ask = || -> std::io::Result<String> {
//!     let mut client = TcpStream::connect(server.address())?;
//!     client.write_all(b"GET /stock HTTP/1.1\r\nhost: stock\r\nconnection: close\r\n\r\n")?;
//!     std::io::read_to_string(client)
//! };
//! assert!(ask()?.contains("retry-after: 3"));
//! assert!(ask()?.starts_with("HTTP/1.1 200 OK"));
//! server.ledger().assert_endings(&[Ending::Answered(429), Ending::Answered(200)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The guide has a chapter on
//! [testing with faults](https://github.com/steadfast-rs/steadfast/blob/main/docs/guide/testing-with-faults.md).
//!
//! Features: `http` (on by default) for [`http`]; without it there is no hyper in your tree. `workflow` for
//! `check_workflow`: a workflow of the engine against everything that can go wrong.
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
#[cfg(feature = "workflow")]
mod workflow;

pub use error::Error;
pub use ledger::{Ending, Entry, Ledger, MAX_ENTRIES};
pub use reply::{Fault, Reply};
pub use request::{ATTEMPT_HEADER, KEPT_BODY, KEY_HEADER, Request};
pub use script::{Answer, Part, Script};
pub use service::Service;
pub use steadfast_resilience::clock::{Clock, Moment, VirtualClock};
#[cfg(feature = "workflow")]
pub use workflow::{Checked, Ended, Story, Trouble, Wrong, check_workflow};

/// The examples of the guide and of the README run as tests of this crate.
#[cfg(all(doctest, feature = "http"))]
mod guide {
    #[doc = include_str!("../../../docs/guide/testing-with-faults.md")]
    struct TestingWithFaults;
    #[doc = include_str!("../README.md")]
    struct Readme;
}
