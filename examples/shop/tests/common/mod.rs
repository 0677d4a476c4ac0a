//! A shop for a test, in a folder of its own.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::sync::Arc;

use steadfast_shop::{Local, Row, Status, Town, World};
use tempfile::TempDir;
use tokio::sync::broadcast::error::RecvError;

/// The parts are dropped in this order: the world before the engine's folder.
pub(crate) struct Shopping {
    pub(crate) world: Arc<World>,
    pub(crate) engine: Arc<Local>,
    pub(crate) town: Arc<Town>,
    pub(crate) folder: TempDir,
}

impl Shopping {
    pub(crate) async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let town = Arc::new(Town::start().await.unwrap());
        let engine = Arc::new(Local::start(&folder.path().join("shop.db"), &town).await.unwrap());
        let world = Arc::new(World::open(Arc::clone(&town), engine.clone()).await.unwrap());
        Self { world, engine, town, folder }
    }

    /// Waits until an order has this status.
    pub(crate) async fn until(&self, number: i64, status: Status) -> Row {
        let mut news = self.world.orders().news();
        loop {
            let rows = self.world.orders().all().await.unwrap();
            if let Some(row) = rows.into_iter().find(|row| row.number() == number && row.status == status) {
                return row;
            }
            // Behind is fine: the table has it all.
            assert_ne!(news.recv().await, Err(RecvError::Closed), "the shop is closed");
        }
    }

    pub(crate) async fn close(self) {
        drop(self.world);
        self.engine.shut_down().await.unwrap();
    }
}
