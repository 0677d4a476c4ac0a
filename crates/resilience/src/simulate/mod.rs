//! What a policy does to a service that goes down, told before it happens: the real pipeline code in virtual time against
//! a model of a service (feature `simulate`).
//!
//! ```
//! use std::time::Duration;
//! use steadfast_resilience::Pipeline;
//! use steadfast_resilience::simulate::Scenario;
//!
//! let payments = Pipeline::builder("payments").attempt_timeout(Duration::from_secs(1));
//! let report = Scenario::outage(Duration::from_secs(10)).rps(100.0).clients(20).run(&payments)?;
//! assert!(report.amplification() <= 1.1, "{report}");
//! assert!(report.recovers_within(Duration::from_secs(15)), "{report}");
//! # Ok::<(), steadfast_resilience::BuildError>(())
//! ```
//!
//! The model: calls come at random moments at a steady rate, spread over clients that share nothing. The service takes
//! requests in their order, at most `capacity` in a second, also those whose callers have given up: that is what keeps
//! real services down after an outage. What the callers do is not modelled but run: retry, budget, breaker and timeouts
//! are the code of a real [`Pipeline`](crate::Pipeline).
//!
//! A user's classifier, hooks of the operation and fallbacks take no part. Nothing is logged or measured meanwhile.

mod agenda;
mod comparison;
mod drawing;
mod ledger;
mod report;
mod run;
mod scenario;
mod service;
#[cfg(test)]
mod tests;
mod waits;

pub use comparison::{Comparison, Variant};
pub use report::{Report, Second};
pub use scenario::Scenario;
pub use service::Fault;
pub use waits::{Wait, Waits};
