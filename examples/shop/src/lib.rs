//! A shop: a customer's order is written together with its task, in one transaction; the workflow reserves stock, charges the
//! card and sends the parcel, through services that fail; the customer sees how far the order has come; an operator repairs what
//! could not be healed.
//!
//! ```
//! use std::sync::Arc;
//! use steadfast_shop::{Local, Mood, Status, Town, Wanted, World};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let file = folder.path().join("shop.db");
//! let town = Arc::new(Town::start().await?);
//! let engine = Arc::new(Local::start(&file, &town).await?);
//! let world = World::open(Arc::clone(&town), engine.clone()).await?;
//!
//! let mut news = world.orders().news();
//! town.payments.set(Mood::Mute); // it charges, and cannot say so
//! let order = world.orders().place(Wanted::new("chair", 2, "good")?).await?;
//! while town.payments.entries().is_empty() {
//!     tokio::task::yield_now().await;
//! }
//! town.payments.set(Mood::Well);
//! while news.recv().await?.status != Status::Completed {}
//!
//! assert_eq!(town.payments.entries().len(), 1); // it was asked twice, and has charged once
//! assert_eq!(town.shipping.entries()[0].order, order.order);
//! # drop(world);
//! # engine.shut_down().await?;
//! # Ok(())
//! # }
//! ```
//!
//! - [`Town`] has the three services, each with a [ledger](Entry) and a [`Mood`]: well, slow, mute, down, busy, hanging.
//! - [`Orders`] is the shop's own table, in the file of the engine's store.
//! - [`Shop`] is the seam to whatever runs the workflow: [`Served`] is a server with the workflow as a file, [`Local`] an engine in
//!   the same process with the workflow in Rust.
//! - [`World`] is all of it; a [`Storefront`] shows it.
//! - A [`Story`] is a minute of it: normal traffic, a slow service, an outage, a declined card, a poisoned order. It checks itself,
//!   by the ledgers and the table.
//!
//! `steadfast demo` opens the shop over a server and tells the story.

mod error;
mod ledger;
mod local;
mod mood;
mod order;
mod orders;
pub mod promise;
mod queue;
mod served;
mod service;
mod shop;
mod storefront;
mod story;
mod town;
mod wire;
mod world;

pub use error::Error;
pub use ledger::{Answer, Entry, Ledger, MAX_ENTRIES};
pub use local::Local;
pub use mood::{Mood, Script};
pub use order::{
    BLESSED, CARDS, CURSED, DECLINED_CARD, GOOD_CARD, GOODS, MAX_QUANTITY, Order, Row, Status, Wanted,
};
pub use orders::{MAX_BURST, News, Orders, place_in};
pub use served::Served;
pub use service::{Kind, Service};
pub use shop::{FailedTask, Later, Link, Mend, QUEUE, Repair, ReplySeen, Shop, WORKFLOW};
pub use storefront::Storefront;
pub use story::{
    Beat, EffectFigures, OrderFigures, OutageFigures, Plan, RecoveryFigures, Report, SHORTEST, Story,
};
pub use town::{CONFIGURATION_FILE, PORTS, Town, WORKFLOW_FILE};
pub use world::World;
