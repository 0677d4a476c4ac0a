//! One side of the comparison: where it is asked, with what, and whether its answer is one.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use hyper::body::Bytes;

use super::order::Order;
use super::process::Process;
use super::wire::{Answer, Line};

/// One that is asked for tasks.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) name: String,
    pub(super) who: Who,
    pub(super) address: SocketAddr,
    /// What works for it, but for the service that all share.
    pub(super) processes: Vec<Process>,
    /// The next task's number: it is the key of ours.
    next: AtomicU64,
}

/// Whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Ours,
    /// Another build of ours.
    Other,
    Hop,
    Restate,
}

impl Side {
    pub(super) fn new(
        name: impl Into<String>,
        who: Who,
        address: SocketAddr,
        processes: Vec<Process>,
    ) -> Self {
        Self { name: name.into(), who, address, processes, next: AtomicU64::new(0) }
    }

    /// The hop in front of the service.
    pub(super) fn hop(service: SocketAddr) -> Result<Self> {
        let (process, address) = Process::own(&["hop", &service.to_string()])?;
        Ok(Self::new("hop", Who::Hop, address, vec![process]))
    }

    pub(super) async fn open(&self) -> Result<Line> {
        Line::open(self.address).await
    }

    /// A task from its request to its result.
    pub(super) async fn one(&self, line: &mut Line) -> Result<()> {
        let answer = line.post(self.path(), self.body()?).await?;
        self.check(&answer)
    }

    fn path(&self) -> &'static str {
        match self.who {
            Who::Ours | Who::Other => "/api/v1/tasks?wait=30s",
            Who::Hop | Who::Restate => "/order/run",
        }
    }

    /// The same input for all. Ours comes under a key of its own, as a client would send that may have to ask again.
    pub(super) fn body(&self) -> Result<Bytes> {
        let order = Order::chair();
        let body = match self.who {
            Who::Ours | Who::Other => {
                let key = format!("order-{:08}", self.next.fetch_add(1, Ordering::Relaxed));
                serde_json::to_vec(&serde_json::json!({ "workflow": "order", "input": order, "key": key }))
            }
            Who::Hop | Who::Restate => serde_json::to_vec(&order),
        };
        Ok(body?.into())
    }

    /// The receipt of the last step has to be in it.
    fn check(&self, answer: &Answer) -> Result<()> {
        let text = String::from_utf8_lossy(&answer.body);
        let done = text.contains(r#""of":"send""#) && text.contains(r#""total":70"#);
        ensure!(
            answer.status == 200 && done,
            "{}: a task has not completed, but: {} {text}",
            self.name,
            answer.status
        );
        Ok(())
    }

    /// The processor time that its processes have had.
    pub(super) fn cpu(&self) -> Result<Duration> {
        self.processes.iter().map(Process::cpu).sum()
    }
}
