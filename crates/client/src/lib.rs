//! A typed client of Steadfast's HTTP API, and what goes over the wire.
//!
//! ```no_run
//! use std::time::Duration;
//! use serde_json::json;
//! use steadfast_client::Client;
//! use steadfast_client::wire::submit::Submit;
//!
//! # async fn order() -> Result<(), steadfast_client::Error> {
//! let client = Client::new("http://127.0.0.1:7171")?;
//! let order = Submit::new("place-order", json!({ "sku": "a chair", "quantity": 1 })).key("order-7");
//! let task = client.submit_and_wait(&order, Duration::from_secs(30)).await?;
//! match task.outcome {
//!     Some(outcome) => println!("{}: {}", outcome.state, outcome.reason.unwrap_or_default()),
//!     None => println!("task {} is under way: {}", task.id, client.why(&task.id).await?.words),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A call that failed in passing is made again by [`steadfast_resilience`], where that is safe: what only reads, a submission under
//! a key, an operator's wish under an id. Others are made again only where the server says that it has done nothing. How long the
//! server asks to be left alone is heeded.
//!
//! Must never know the engine, a store, or anything of a terminal: the wire is all it shares with the server.

mod client;
mod error;
mod events;
mod house;
mod operate;
mod request;
mod sse;
mod tasks;
pub mod wire;

pub use client::{Builder, Client};
pub use error::{Error, Kind};
pub use events::Events;
