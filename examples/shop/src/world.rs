//! The whole shop: services, orders, and whatever runs the workflow.

use std::sync::Arc;
use std::time::Duration;

use steadfast_resilience::clock::Clock;
use tokio::task::JoinHandle;

use crate::error::Error;
use crate::orders::Orders;
use crate::shop::Shop;
use crate::town::Town;

/// Replies that are acted on in one transaction: the engine waits while that lasts.
const AT_ONCE: usize = 200;
/// How long to wait after an error, or when no reply came.
const AGAIN: Duration = Duration::from_millis(100);

/// The shop. While it is there, the orders' status follows what the engine replies.
#[derive(Debug)]
pub struct World {
    town: Arc<Town>,
    orders: Orders,
    shop: Arc<dyn Shop>,
    keeping: JoinHandle<()>,
}

impl World {
    /// Opens the shop: over these services, and whatever runs the workflow.
    ///
    /// # Errors
    /// The orders' database cannot be used.
    pub async fn open(town: Arc<Town>, shop: Arc<dyn Shop>) -> Result<Self, Error> {
        let orders = Orders::open(shop.database()).await?;
        let keeping = tokio::spawn(keep(Arc::clone(&shop), orders.clone()));
        Ok(Self { town, orders, shop, keeping })
    }

    /// The services.
    #[must_use]
    pub fn town(&self) -> &Town {
        &self.town
    }

    /// The orders.
    #[must_use]
    pub fn orders(&self) -> &Orders {
        &self.orders
    }

    /// Whatever runs the workflow.
    #[must_use]
    pub fn shop(&self) -> &dyn Shop {
        &*self.shop
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.keeping.abort();
    }
}

/// Has the orders' status follow the replies, for ever. A reply is acknowledged once it is written: whoever dies between the
/// two gets it again, and it changes nothing.
async fn keep(shop: Arc<dyn Shop>, orders: Orders) {
    loop {
        match round(&*shop, &orders).await {
            Ok(0) => Clock::tokio().sleep(AGAIN).await,
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(error = error.whole(), "replies could not be acted on; they come again");
                Clock::tokio().sleep(AGAIN).await;
            }
        }
    }
}

/// How many replies came.
async fn round(shop: &dyn Shop, orders: &Orders) -> Result<usize, Error> {
    let replies = shop.replies(AT_ONCE).await?;
    let ids: Vec<_> = replies.iter().map(|reply| reply.id).collect();
    if !ids.is_empty() {
        orders.apply(replies).await?;
        shop.acknowledge(ids.clone()).await?;
    }
    Ok(ids.len())
}
