//! Work that goes on beside the housekeeping.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use steadfast::resilience::clock::Clock;
use steadfast::{Engine, Outcome, Workflow};
use tokio::task::JoinSet;

use crate::clock::now;
use crate::engine::{Order, Receipt, order};

/// An engine on a file, with those who give it work.
pub(crate) struct Load {
    pub(crate) engine: Engine,
    flow: Workflow<Order, Receipt>,
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    /// How long each took, in milliseconds.
    took: Arc<Mutex<Vec<f64>>>,
    callers: JoinSet<Result<()>>,
}

impl Load {
    pub(crate) async fn start(path: &Path) -> Result<Self> {
        let flow = order(None)?;
        let engine = Engine::builder(format!("sqlite:{}", path.display())).workflow(&flow).start().await?;
        let (stop, done, took) = (Arc::default(), Arc::default(), Arc::default());
        Ok(Self { engine, flow, stop, done, took, callers: JoinSet::new() })
    }

    /// So many callers, each of which waits for its task and goes on with the next.
    pub(crate) fn run(&mut self, callers: usize) {
        for _ in 0..callers {
            let (engine, flow) = (self.engine.clone(), self.flow.clone());
            let (stop, done, took) = (Arc::clone(&self.stop), Arc::clone(&self.done), Arc::clone(&self.took));
            self.callers.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let began = now();
                    let outcome = engine.submit(&flow, &Order::chair()).await?.outcome().await?;
                    ensure!(matches!(outcome, Outcome::Completed(_)), "a task has not completed");
                    put(&took, began);
                    done.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            });
        }
    }

    /// One caller that submits a task every few milliseconds: how long until it is stored is how long a commit has to wait.
    pub(crate) fn submit_every(&mut self, every: Duration) {
        let (engine, flow) = (self.engine.clone(), self.flow.clone());
        let (stop, took) = (Arc::clone(&self.stop), Arc::clone(&self.took));
        self.callers.spawn(async move {
            let clock = Clock::system();
            while !stop.load(Ordering::Relaxed) {
                let began = now();
                engine.submit(&flow, &Order::chair()).await?;
                put(&took, began);
                clock.sleep(every).await;
            }
            Ok(())
        });
    }

    /// Tasks that have completed so far.
    pub(crate) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// How long each took since this was last asked.
    pub(crate) fn took(&self) -> Vec<f64> {
        std::mem::take(&mut *self.took.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) async fn end(mut self) -> Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(done) = self.callers.join_next().await {
            done??;
        }
        self.engine.shut_down().await?;
        Ok(())
    }
}

fn put(took: &Mutex<Vec<f64>>, began: std::time::Instant) {
    let millis = now().saturating_duration_since(began).as_secs_f64() * 1e3;
    took.lock().unwrap_or_else(PoisonError::into_inner).push(millis);
}
